"""What a table of ratings says of two items: who rated both, and how the ratings agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from eventspace.entries import Entries
from eventspace.observations import Observations

Floats = NDArray[np.float64]
Counted = NDArray[np.int64]

DAMPING = 5.0  # a mean of few ratings is drawn to zero as by this many


class Counts(NamedTuple):
    """Over the users who rated both of two items, one fixed and the other each of all."""

    both: Counted  # they are so many
    le: Counted  # the fixed one has at most the other's value
    ge: Counted  # the other has at most the fixed one's
    like: Counted  # the fixed one is liked
    like_other: Counted  # the other is liked
    like_both: Counted  # both are

    def taken(self, rows: NDArray[Any]) -> Counts:
        """Those with some of the others."""
        return Counts(*(count[rows] for count in self))

    def swapped(self) -> Counts:
        """The same, with the other one fixed."""
        return Counts(self.both, self.ge, self.le, self.like_other, self.like, self.like_both)


class Evidence:
    """The ratings of a table, one item against all others: O(ratings of the item's raters)."""

    def __init__(self, observations: Observations, liked_from: float) -> None:
        """``liked_from`` is the least value that is a like, in the unit of the table."""
        self.observations = observations
        self.liked_from = np.float32(observations.to_unit(liked_from))
        self._sums = np.zeros((observations.n_items, len(Counts._fields)), dtype=np.int64)
        self._touched = np.empty(observations.n_items, dtype=np.int64)

    def counts(self, item: int) -> tuple[NDArray[np.int64], Counts]:
        """The items with a rater in common with this one, and how their ratings compare."""
        seen = self.observations
        n = _count(
            item, *seen.by_item[:3], *seen.by_user[:3], self.liked_from, self._sums, self._touched
        )
        others = np.sort(self._touched[:n])
        others = others[others != item]
        counts = Counts(*self._sums[others].T)
        self._sums[self._touched[:n]] = 0
        return others, counts

    def counts_of_pairs(self, items: NDArray[np.int64], others: NDArray[np.int64]) -> Counts:
        """How the ratings of each of some pairs compare: zeros without a rater in common."""
        found = np.zeros((len(items), len(Counts._fields)), dtype=np.int64)
        for item in np.unique(items):
            known, counts = self.counts(int(item))
            rows = np.flatnonzero((items == item) & np.isin(others, known))
            found[rows] = np.transpose(counts.taken(np.searchsorted(known, others[rows])))
        return Counts(*found.T)


class Agreement:
    """How far users agree on two items beyond what the items' and the users' means say."""

    def __init__(self, observations: Observations) -> None:
        self._by_user, self._by_item = deviations(observations)
        self._sums = np.zeros((observations.n_items, 3))

    def correlation(self, item: int, others: NDArray[np.int64]) -> Floats:
        """The correlation of an item's deviations with those of each other, 0 without any."""
        arrays = (*self._by_item[:3], *self._by_user[:3])
        _multiply(item, *arrays, self._sums)
        product, square, square_of_other = self._sums[others].T
        _clear(item, *self._by_item[:2], *self._by_user[:2], self._sums)
        scale = np.sqrt(square * square_of_other)
        correlation = np.zeros(len(others))
        np.divide(product, scale, out=correlation, where=scale > 0)
        return correlation


class Deviations(NamedTuple):
    """The observations in both orders, the values over what the means explain."""

    by_user: Entries
    by_item: Entries


def deviations(observations: Observations) -> Deviations:
    """Each value less the mean, the item's and the user's damped deviation from it."""
    by_user, by_item = observations.by_user, observations.by_item
    mean = float(by_user.value.mean(dtype=np.float64))
    item_mean = _damped_means(by_item, np.zeros(observations.n_users), mean)
    user_mean = _damped_means(by_user, item_mean, mean)
    return Deviations(
        by_user._replace(value=_less(by_user, user_mean, item_mean, mean)),
        by_item._replace(value=_less(by_item, item_mean, user_mean, mean)),
    )


def _damped_means(entries: Entries, of_other: Floats, mean: float) -> Floats:
    """Each row's mean, over what the mean of all and the others' means explain."""
    sizes = np.diff(entries.ptr)
    rest = entries.value - mean - of_other[entries.index]
    sums = np.bincount(np.repeat(np.arange(len(sizes)), sizes), rest, len(sizes))
    return np.asarray(sums / (sizes + DAMPING))


def _less(entries: Entries, of_row: Floats, of_other: Floats, mean: float) -> NDArray[np.float32]:
    of_rows = np.repeat(of_row, np.diff(entries.ptr))
    return (entries.value - mean - of_rows - of_other[entries.index]).astype(np.float32)


@njit(cache=True, nogil=True)
def _count(
    item: int,
    item_ptr: Any,
    item_user: Any,
    item_value: Any,
    user_ptr: Any,
    user_item: Any,
    user_value: Any,
    liked_from: Any,
    sums: Any,
    touched: Any,
) -> int:
    n = 0
    for k in range(item_ptr[item], item_ptr[item + 1]):
        value = item_value[k]
        like = np.int64(value >= liked_from)
        for m in range(user_ptr[item_user[k]], user_ptr[item_user[k] + 1]):
            other, other_value = user_item[m], user_value[m]
            like_other = np.int64(other_value >= liked_from)
            if sums[other, 0] == 0:
                touched[n] = other
                n += 1
            sums[other, 0] += 1
            sums[other, 1] += value <= other_value
            sums[other, 2] += other_value <= value
            sums[other, 3] += like
            sums[other, 4] += like_other
            sums[other, 5] += like & like_other
    return n


@njit(cache=True, nogil=True)
def _multiply(
    item: int,
    item_ptr: Any,
    item_user: Any,
    item_value: Any,
    user_ptr: Any,
    user_item: Any,
    user_value: Any,
    sums: Any,
) -> None:
    for k in range(item_ptr[item], item_ptr[item + 1]):
        value = np.float64(item_value[k])
        for m in range(user_ptr[item_user[k]], user_ptr[item_user[k] + 1]):
            other, other_value = user_item[m], np.float64(user_value[m])
            sums[other, 0] += value * other_value
            sums[other, 1] += value * value
            sums[other, 2] += other_value * other_value


@njit(cache=True, nogil=True)
def _clear(
    item: int, item_ptr: Any, item_user: Any, user_ptr: Any, user_item: Any, sums: Any
) -> None:
    for k in range(item_ptr[item], item_ptr[item + 1]):
        for m in range(user_ptr[item_user[k]], user_ptr[item_user[k] + 1]):
            for c in range(sums.shape[1]):
                sums[user_item[m], c] = 0.0
