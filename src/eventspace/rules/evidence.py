"""What a table of ratings says about two items: how many rated both, and how they agree."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import is_real
from eventspace._base.errors import UserError
from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace.data.deviations import deviations
from eventspace.data.entries import Entries
from eventspace.data.observations import Observations


class Comparison(NamedTuple):
    """Sums over the users who rated both of two items, one fixed and the other each of some."""

    both: Floats  # the number of these users
    le: Floats  # the fixed one has at most the other's value
    ge: Floats  # the other has at most the fixed one's
    like: Floats  # the fixed one is liked
    like_other: Floats  # the other is liked
    like_both: Floats  # both are
    product: Floats  # of the two deviations from what the means say
    square: Floats  # of the fixed one's
    square_other: Floats  # of the other's

    def swapped(self) -> Comparison:
        """The same, with the other one fixed."""
        return Comparison(
            self.both,
            self.ge,
            self.le,
            self.like_other,
            self.like,
            self.like_both,
            self.product,
            self.square_other,
            self.square,
        )

    @property
    def correlation(self) -> Floats:
        """How far users agree on the two beyond what the means say; 0 where nothing varies."""
        scale = np.sqrt(self.square * self.square_other)
        correlation = np.zeros(len(scale))
        np.divide(self.product, scale, out=correlation, where=scale > 0)
        return correlation


class Evidence:
    """The ratings of a table, one item against others: O(ratings of the item's raters)."""

    def __init__(self, observations: Observations, liked_from: float) -> None:
        """``liked_from`` is the least value that is a like, in the unit of the table."""
        threshold = np.float32(observations.to_unit(liked_from))
        deviation = deviations(observations)
        self._by_user = _facts(observations.by_user, deviation.by_user, threshold)
        self._by_item = _facts(observations.by_item, deviation.by_item, threshold)
        self._slot = np.full(observations.n_items, -1, dtype=np.int64)

    def compare(self, item: int, others: NDArray[np.int64]) -> Comparison:
        """The ratings of an item with those of each of some others."""
        sums = np.zeros((len(others), len(Comparison._fields)))
        self._slot[others] = np.arange(len(others))
        _compare(item, *self._by_item, *self._by_user, self._slot, sums)
        self._slot[others] = -1
        return Comparison(*sums.T)

    def compare_pairs(self, items: NDArray[np.int64], others: NDArray[np.int64]) -> Comparison:
        """The ratings of each of some pairs."""
        sums = np.zeros((len(items), len(Comparison._fields)))
        order = np.argsort(items, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(items[order])) + 1):
            if rows.size:
                sums[rows] = np.transpose(self.compare(int(items[rows[0]]), others[rows]))
        return Comparison(*sums.T)


def liked_from(seen: Observations, like: Any) -> float:
    """The least value that is a like: as said, or the least observed one above the mean."""
    if like is None:
        value = seen.by_user.value
        above = value[value > value.mean(dtype=np.float64)]
        return float(seen.from_unit(above.min())) if above.size else math.inf
    if not is_real(like) or math.isnan(like):
        raise UserError("must be a number, in the unit of the table.", parameter="like", value=like)
    return float(like)


def held_out_evidence(X: Any, trained: Observations, like: float) -> Evidence:
    """The evidence of a table with the items, and in the unit, of the training data."""
    known = trained.item_ids
    if isinstance(X, str) and known.positions([X])[0] >= 0:
        raise UserError(f"{X!r} is an item, not a table: rules(item={X!r}) gives its rules.")
    table = Observations.of(X, items=known)
    if not table.by_item.sizes[: len(known)].any():
        raise UserError("None of the items of the table is one of the model's.")
    if table.scale[1] < like:
        warnings.warn(
            f"nothing in the table reaches {like:g}, from which on a value counts as a like: "
            "is it in the unit of the training data?",
            stacklevel=4,
        )
    return Evidence(table, like)


def _facts(entries: Entries, deviation: Entries, threshold: np.float32) -> tuple[Any, Any, Any]:
    """(ptr, index, facts): of each entry its value, whether it is a like, its deviation."""
    value = entries.value
    return entries.ptr, entries.index, np.column_stack([value, value >= threshold, deviation.value])


@njit(cache=True, nogil=True)
def _compare(
    item: int,
    item_ptr: Any,
    item_user: Any,
    item_facts: Any,
    user_ptr: Any,
    user_item: Any,
    user_facts: Any,
    slot: Any,
    sums: Any,
) -> None:
    for k in range(item_ptr[item], item_ptr[item + 1]):
        value, like, deviation = item_facts[k, 0], item_facts[k, 1], np.float64(item_facts[k, 2])
        for m in range(user_ptr[item_user[k]], user_ptr[item_user[k] + 1]):
            at = slot[user_item[m]]
            if at < 0:
                continue
            other_value, other_like = user_facts[m, 0], user_facts[m, 1]
            other_deviation = np.float64(user_facts[m, 2])
            sums[at, 0] += 1.0
            sums[at, 1] += value <= other_value
            sums[at, 2] += other_value <= value
            sums[at, 3] += like
            sums[at, 4] += other_like
            sums[at, 5] += like * other_like
            sums[at, 6] += deviation * other_deviation
            sums[at, 7] += deviation * deviation
            sums[at, 8] += other_deviation * other_deviation
