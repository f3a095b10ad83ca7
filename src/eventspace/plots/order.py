"""The order of the items: who implies whom, and how much is implied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from eventspace.inclusion import Classes, covers
from eventspace.plots.axes import COLOURS, QUIET, axes_of, label_of
from eventspace.reasoning import Reasoning
from eventspace.space import known_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

MOST_ITEMS = 24  # a diagram of more has more lines than eyes follow
SWEEPS = 12  # of the search for an order of the classes with few crossings


def influence(model: Reasoning, ax: Axes | None = None, *, min_evidence: int = 1) -> Axes:
    """The part of the items that imply each item, in descending order: the paper's figure.

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


def hasse(model: Reasoning, ax: Axes | None = None, *, items: Any = None) -> Axes:
    """The Hasse diagram of some items: a line leads up from each to those that it implies.

    Items with the same set are one node. What follows from other lines is not drawn. Without
    ``items`` the 24 with the most ratings are shown.
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
    x, y = _places(len(classes), lower, upper)
    widest = int(np.bincount(y).max(initial=1))
    ax = axes_of(ax, figsize=(max(6.4, 2.1 * widest), max(4.0, 1.1 * (y.max(initial=0) + 1))))
    for a, b in zip(lower, upper, strict=True):
        ax.plot([x[a], x[b]], [y[a], y[b]], color=QUIET, linewidth=0.9, zorder=1)
    ptr, members = classes.members
    for c in range(len(classes)):
        names = [label_of(ids.values[chosen[k]]) for k in members[ptr[c] : ptr[c + 1]]]
        shown = "\n".join(names[:2]) + (f"\nand {len(names) - 2} more" if len(names) > 2 else "")
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": COLOURS[0]}
        ax.text(x[c], y[c], shown, ha="center", va="center", fontsize="x-small", bbox=box, zorder=2)
    ax.set_axis_off()
    ax.set(xlim=(-0.6 * widest, 0.6 * widest), ylim=(-0.5, y.max(initial=0) + 0.5))
    return ax


def _places(n: int, lower: Positions, upper: Positions) -> tuple[Floats, Positions]:
    """Where the classes stand: in rows by the longest way up to them, near those they belong to."""
    y = np.zeros(n, dtype=np.int64)
    for a, b in sorted(zip(lower.tolist(), upper.tolist(), strict=True)):  # sets before supersets
        y[b] = max(y[b], y[a] + 1)
    x = np.zeros(n)
    for row in range(y.max(initial=0) + 1):
        _spread(x, np.flatnonzero(y == row))
    for sweep in range(SWEEPS):
        up = sweep % 2 == 0
        here, there = (upper, lower) if up else (lower, upper)
        rows = range(y.max(initial=0) + 1)
        for row in rows if up else reversed(rows):
            classes = np.flatnonzero(y == row)
            for c in classes:
                related = there[here == c]
                x[c] = x[related].mean() if related.size else x[c]
            _spread(x, classes)
    return x, y


def _spread(x: Floats, row: Positions) -> None:
    """Put a row's classes side by side, in the order of their x, in the middle."""
    order = np.argsort(x[row], kind="stable")
    x[row[order]] = np.arange(len(row)) - 0.5 * (len(row) - 1)
