"""What the pictures of examples have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eventspace.plots.axes import COLOURS

STYLE: dict[Any, Any] = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
Picture = Callable[[dict[str, Any]], Figure]


def save(pictures: Mapping[str, Picture], figures: dict[str, Any], folder: Path) -> None:
    """Draw each, and write it under its name."""
    with plt.rc_context(STYLE):
        for name, picture in pictures.items():
            figure = picture(figures)
            figure.savefig(folder / f"{name}.png", dpi=150)
            plt.close(figure)


def dots(ax: Axes, rows: Mapping[str, Mapping[str, Sequence[float]]], measure: str) -> None:
    """One row per tool, from top to bottom: one dot per seed, and a stroke at their mean."""
    for y, (tool, row) in enumerate(rows.items()):
        colour = COLOURS[0] if tool.startswith("Kolmogorov") else "0.45"
        ax.plot(row[measure], [y] * len(row[measure]), "o", color=colour, alpha=0.35, ms=5)
        ax.plot(np.mean(row[measure]), y, "|", color=colour, ms=14, mew=2.5)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
