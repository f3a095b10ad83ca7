"""Maps: the users' PMFs and the items' sets, similar ones beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from sklearn.utils.validation import check_is_fitted

from eventspace._base.types import Floats, Positions
from eventspace.logic.space import known_positions
from eventspace.plots.axes import axes_of, label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_ROWS = 200  # beyond it nobody reads a row
NAMED = 50  # rows up to which each has its name
INCH = 0.18  # of height for a row with a name


def pmfs(model: Any, ax: Axes | None = None, *, users: Any = None) -> Axes:
    """How users spread their mass over the events: one row per user, one column per event.

    Similar users stand next to each other. Without ``users``, those with the most ratings are
    shown, at most 200.
    """
    check_is_fitted(model)
    seen = model.observations_
    rows = _chosen(seen.user_ids, users, seen.by_user.sizes, "user")
    rows = rows[_by_similarity(model.pmf_[rows])]
    names = [label_of(seen.user_ids.values[row]) for row in rows]
    ax = _map(ax, model.pmf_[rows], names, cmap="Blues")
    ax.figure.colorbar(ax.images[0], ax=ax, label="mass")
    ax.set(xlabel="event", ylabel="user" if len(rows) <= NAMED else f"{len(rows)} users")
    return ax


def indicators(model: Any, ax: Axes | None = None, *, items: Any = None) -> Axes:
    """In which events items come true: one row per item, one column per event, dark where true.

    Similar items stand next to each other. Without ``items``, those with the most ratings are
    shown, at most 200.
    """
    check_is_fitted(model)
    seen = model.observations_
    rows = _chosen(seen.item_ids, items, seen.by_item.sizes, "item")
    bits = model.indicators_[rows].astype(np.float64)
    order = _by_similarity(bits)
    names = [label_of(seen.item_ids.values[row]) for row in rows[order]]
    ax = _map(ax, bits[order], names, cmap="Greys", vmin=0.0, vmax=1.25)
    ax.set(xlabel="event", ylabel="item" if len(rows) <= NAMED else f"{len(rows)} items")
    return ax


def _chosen(ids: Any, wanted: Any, ratings: NDArray[Any], what: str) -> Positions:
    """Those wanted, or those with the most ratings."""
    if wanted is None:
        most = np.argsort(-ratings, kind="stable")[:MOST_ROWS]
        return np.asarray(most[ratings[most] > 0])
    return known_positions(ids, wanted, what, "Draw the others.")


def _by_similarity(rows: Floats) -> Positions:
    """An order in which the leaves of a tree of clusters stand, neighbours being alike."""
    if len(rows) < 3:
        return np.arange(len(rows))
    tree = hierarchy.linkage(rows, "average", optimal_ordering=True)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.int64)


def _map(ax: Axes | None, rows: Floats, names: list[str], **look: Any) -> Axes:
    named = len(rows) <= NAMED
    height = max(3.0, 1.0 + INCH * len(rows)) if named else 6.0
    ax = axes_of(ax, figsize=(6.4, height))
    ax.imshow(rows, aspect="auto", interpolation="none", **look)
    ax.locator_params(axis="x", integer=True)
    ax.set_yticks(range(len(rows)) if named else [], names if named else [], fontsize="small")
    return ax
