"""Where pictures are drawn, and in which colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventspace._base.extras import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
QUIET = "0.6"
LONGEST = 28  # characters of a label


def axes_of(ax: Axes | None, **figure: Any) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    with extra("plot", "Pictures are drawn by", "matplotlib"):
        from matplotlib import pyplot as plt
    return plt.figure(layout="constrained", **figure).add_subplot()


def label_of(id_: Any) -> str:
    """An id as a label: not too long, and nothing in it is taken for mathematics."""
    text = str(id_)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
    return text.replace("$", r"\$")
