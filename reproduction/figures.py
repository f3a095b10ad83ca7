"""How the pictures look: small, one palette that the colour-blind can tell apart, no frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
GREY = "0.45"


def axes(n: int = 1, width: float = 4.6, height: float = 3.4, **options: Any) -> tuple[Any, Any]:
    """A figure with n pictures side by side, and these."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, found = plt.subplots(
        1, n, figsize=(width * n, height), layout="constrained", squeeze=False, **options
    )
    for ax in found[0]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9)
    return figure, found[0] if n > 1 else found[0][0]


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and forget it."""
    import matplotlib.pyplot as plt

    figure.savefig(folder / f"{name}.png", dpi=130, metadata={"Software": None})
    plt.close(figure)
