"""The order of the items: which implies which, and how much is implied."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eventspace._base.types import Floats, Positions
from eventspace.logic.inclusion import Classes, covers
from eventspace.logic.space import known_positions
from eventspace.plots.axes import COLOURS, QUIET, axes_of, label_of
from eventspace.plots.layers import layers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ITEMS = 24  # a diagram of more has more lines than eyes follow
BESIDE = 0.25  # half of the height of a row that its boxes may take


def influence(model: Any, ax: Axes | None = None, *, min_evidence: int = 1) -> Axes:
    """The share of the items that imply each item, in descending order: the paper's figure.

    The maximal items, which come true in every event that occurs, are marked.
    """
    check_is_fitted(model)
    order = model.order(min_evidence)
    table = order.influence()
    beta, items = np.asarray(table["influence"]), np.asarray(table["item"])
    maximal = np.isin(items, order.maximal())
    ax, rank = axes_of(ax), np.arange(1, len(beta) + 1)
    ax.plot(rank, beta, color=COLOURS[0], label=f"{len(beta):,} items")
    if maximal.any():
        ax.plot(
            rank[maximal],
            beta[maximal],
            linestyle="",
            marker="o",
            fillstyle="none",
            color=COLOURS[5],
            label=f"{maximal.sum():,} maximal",
        )
    ax.set(xlabel="item, by influence", ylabel="part of the items that imply it", ylim=(0, 1.02))
    ax.legend(frameon=False, fontsize="small")
    return ax


def hasse(model: Any, ax: Axes | None = None, *, items: Any = None) -> Axes:
    """The Hasse diagram of some items: a line leads up from each to those that it implies.

    Items with the same set are one node. Implications that follow from other lines are not drawn.
    Lines go around other nodes, and lines that share an end may run together. Without ``items``,
    the 24 items with the most ratings are shown.
    """
    check_is_fitted(model)
    space = model.order().space
    ids, ratings = space.observations.item_ids, space.ratings
    if items is None:
        chosen = np.argsort(-ratings, kind="stable")[:MOST_ITEMS]
    else:
        chosen = known_positions(ids, items, "item", "Draw the others.")
    chosen = chosen[ratings[chosen] > 0]
    classes = Classes(space.sets[chosen])
    lower, upper = covers(classes)
    placed = layers(len(classes), list(zip(lower.tolist(), upper.tolist(), strict=True)))
    x, y = placed.x, placed.row
    wide, high = np.ptp(x) + 1.2 if x.size else 1.2, y.max(initial=0) + 1
    ax = axes_of(ax, figsize=(max(6.4, 1.75 * wide), max(4.0, 1.1 * high)))
    for way in placed.ways:
        ax.plot(*_curve(x[way], y[way]), color=QUIET, linewidth=0.9, zorder=1)
    ptr, members = classes.members
    for c in range(len(classes)):
        names = [label_of(ids.values[chosen[k]]) for k in members[ptr[c] : ptr[c + 1]]]
        shown = "\n".join(names[:2]) + (f"\nand {len(names) - 2} more" if len(names) > 2 else "")
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": COLOURS[0]}
        ax.text(x[c], y[c], shown, ha="center", va="center", fontsize="x-small", bbox=box, zorder=2)
    ax.set_axis_off()
    middle = 0.5 * (x.min(initial=0) + x.max(initial=0))
    ax.set(xlim=(middle - 0.5 * wide, middle + 0.5 * wide), ylim=(-0.5, high - 0.5))
    return ax


def _curve(x: Floats, row: Positions) -> tuple[Floats, Floats]:
    """Upright where a row's boxes are, swung from one row to the next."""
    t = np.linspace(0, 1, 24)
    swing = t * t * (3 - 2 * t)
    across = [a + (b - a) * swing for a, b in pairwise(x)]
    up = [r + BESIDE + (1 - 2 * BESIDE) * t for r in row[:-1]]
    return np.concatenate([x[:1], *across, x[-1:]]), np.concatenate([row[:1], *up, row[-1:]])
