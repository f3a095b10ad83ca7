"""The observed entries, put in order: by user and by item."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventspace._base.jit import njit

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]

UNKNOWN: Float64Array = np.empty(0)  # what is missing says nothing


class Entries(NamedTuple):
    """One order of the observed entries: row r holds ``ptr[r]:ptr[r + 1]`` of the other arrays.

    ``weight`` is empty where the observations have none. ``missing`` is the weight with which a
    cell that is not stored says no, for each column; it is empty where such cells say nothing.
    """

    ptr: Int64Array
    index: Int32Array  # type: ignore[assignment]  # hides tuple.index
    value: Float32Array
    weight: Float32Array
    missing: Float64Array = UNKNOWN

    @property
    def sizes(self) -> Int64Array:
        """How many entries each row has."""
        return np.diff(self.ptr)

    @property
    def rated(self) -> npt.NDArray[np.bool_]:
        """Which rows say anything: those with entries, or all if what is missing speaks."""
        return np.asarray((self.sizes > 0) | (self.missing.size > 0))

    def counts(self, fading: bool = False) -> Float64Array:
        """How many observations each row is worth: a no that is missing counts by its weight.

        So does all where weights are ``fading``: they say how much an observation still counts, and
        not how exact it is.
        """
        own = np.repeat(np.arange(len(self.sizes)), self.sizes)
        weight = self.weight if fading else None
        stored = np.bincount(own, weight, len(self.sizes)).astype(np.float64)
        if not self.missing.size:
            return stored
        of_stored = np.bincount(own, self.missing[self.index], len(stored))
        return np.asarray(stored + self.missing.sum() - of_stored)

    def times(self, of_column: Float64Array) -> Entries:
        """The entries with their weights times a number for each column."""
        weight = of_column.astype(np.float32)[self.index]
        if self.weight.size:
            weight *= self.weight
        missing = self.missing * of_column if self.missing.size else self.missing
        return self._replace(weight=weight, missing=missing)

    def taken(self, rows: Int64Array) -> Entries:
        """These rows only."""
        sizes = self.sizes[rows]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(self.ptr[rows] - ptr[:-1], sizes) + np.arange(ptr[-1])
        weight = self.weight[at] if self.weight.size else self.weight
        return Entries(ptr, self.index[at], self.value[at], weight, self.missing)

    def kept(self, mask: npt.NDArray[np.bool_]) -> Entries:
        """These entries only, in the same rows."""
        ptr = np.concatenate([[0], np.cumsum(mask)])[self.ptr]
        weight = self.weight[mask] if self.weight.size else self.weight
        return Entries(ptr, self.index[mask], self.value[mask], weight, self.missing)


class Repeats(NamedTuple):
    """How many pairs of row and index occur more than once; the first, and how often it does."""

    pairs: int
    first: tuple[int, int]
    times: int


def group(
    keys: Int32Array, others: Int32Array, value: Float32Array, weight: Float32Array, n_rows: int
) -> Entries:
    """Gather triples into rows by ``keys``; within a row they keep the order they came in."""
    return Entries(*_group(keys, others, value, weight, n_rows))


def transpose(entries: Entries, n_rows: int) -> Entries:
    """The other order. Each of its rows is sorted by index, equal ones in the order they had.

    So two transpositions sort any grouping, in O(entries).
    """
    return Entries(*_transpose(*entries[:4], n_rows))


def find_repeats(entries: Entries) -> Repeats:
    """Count the repeated pairs of sorted entries."""
    pairs, row, index, times = _find_repeats(entries.ptr, entries.index)
    return Repeats(pairs, (row, index), times)


def merge_repeats(entries: Entries, *, mean: bool) -> Entries:
    """Keep one of each repeated pair of sorted entries: their weighted mean, or the last of them.

    A mean carries the sum of the weights: the two say the same about the pair to a weighted sum
    of squares, up to a constant. It does not depend on the order of the entries, to the last bit.
    """
    ptr, index = entries.ptr.copy(), entries.index.copy()
    value, weight = entries.value.copy(), entries.weight.copy()
    kept = _merge_repeats(ptr, index, value, weight, mean)
    return Entries(ptr, index[:kept].copy(), value[:kept].copy(), weight[:kept].copy())


def revised(entries: Entries, changes: Entries) -> Entries:
    """The entries with changes made: the values of these hold, and where they are NaN, none does.

    Both are sorted, and have weights or have none. Changes may have more rows, which are new. Only
    rows with changes are looked at; all between them is copied as it is.
    """
    n_new = len(changes.ptr) - len(entries.ptr)
    ptr = np.append(entries.ptr, np.full(n_new, entries.ptr[-1]))
    known, rows = entries._replace(ptr=ptr), np.flatnonzero(changes.sizes)
    new = Entries(*_revised(*known.taken(rows)[:4], *changes.taken(rows)[:4]))
    sizes = known.sizes
    sizes[rows] = new.sizes
    cuts = zip([0, *ptr[rows + 1]], [*ptr[rows], ptr[-1]], strict=True)
    between, theirs = [slice(*cut) for cut in cuts], [slice(*cut) for cut in pairwise(new.ptr)]
    # one piece of memory for all columns: a large one is had sooner than several
    weighted = entries.weight.size > 0 or changes.weight.size > 0
    columns = np.empty((3 if weighted else 2, int(sizes.sum())), np.float32)
    spliced = [columns[0].view(np.int32), *columns[1:]]
    for k, column in enumerate(spliced, 1):
        old, others = entries[k], new[k]
        pieces = (part for n, cut in enumerate(theirs) for part in (old[between[n]], others[cut]))
        np.concatenate([*pieces, old[between[-1]]], out=column)
    weight = spliced[2] if weighted else entries.weight
    return Entries(np.append(0, np.cumsum(sizes)), spliced[0], spliced[1], weight)


@njit(cache=True, nogil=True)
def are_sorted(rows: Any, columns: Any) -> bool:
    """Whether triples come by row, then by column."""
    for k in range(1, rows.size):
        if rows[k] < rows[k - 1] or (rows[k] == rows[k - 1] and columns[k] < columns[k - 1]):
            return False
    return True


@njit(cache=True, nogil=True)
def pointers(rows: Any, n_rows: int) -> Any:
    """Where each row begins among entries in the order of their rows, and where the last ends."""
    ptr = np.zeros(n_rows + 1, np.int64)
    for k in range(rows.size):
        ptr[rows[k] + 1] += 1
    for r in range(n_rows):
        ptr[r + 1] += ptr[r]
    return ptr


@njit(cache=True, nogil=True)
def _group(keys: Any, others: Any, value: Any, weight: Any, n_rows: int) -> Any:
    ptr = pointers(keys, n_rows)
    free = ptr[:-1].copy()
    index = np.empty_like(others)
    value_out = np.empty_like(value)
    weight_out = np.empty_like(weight)
    for k in range(keys.size):
        to = free[keys[k]]
        free[keys[k]] += 1
        index[to] = others[k]
        value_out[to] = value[k]
        if weight.size > 0:
            weight_out[to] = weight[k]
    return ptr, index, value_out, weight_out


@njit(cache=True, nogil=True)
def _transpose(ptr: Any, index: Any, value: Any, weight: Any, n_rows: int) -> Any:
    ptr_out = pointers(index, n_rows)
    free = ptr_out[:-1].copy()
    index_out = np.empty_like(index)
    value_out = np.empty_like(value)
    weight_out = np.empty_like(weight)
    for r in range(ptr.size - 1):
        for k in range(ptr[r], ptr[r + 1]):
            to = free[index[k]]
            free[index[k]] += 1
            index_out[to] = r
            value_out[to] = value[k]
            if weight.size > 0:
                weight_out[to] = weight[k]
    return ptr_out, index_out, value_out, weight_out


@njit(cache=True, nogil=True)
def _find_repeats(ptr: Any, index: Any) -> Any:
    pairs, row, first, times = 0, -1, -1, 0
    for r in range(ptr.size - 1):
        for k in range(ptr[r] + 1, ptr[r + 1]):
            if index[k] != index[k - 1]:
                continue
            if k - 1 == ptr[r] or index[k - 2] != index[k]:
                pairs += 1
                if pairs == 1:
                    row, first, times = r, index[k], 1
            if pairs == 1:
                times += 1
    return pairs, row, first, times


@njit(cache=True, nogil=True)
def _merge_repeats(ptr: Any, index: Any, value: Any, weight: Any, mean: bool) -> int:
    kept = 0
    k = 0
    for r in range(ptr.size - 1):
        end = ptr[r + 1]
        ptr[r] = kept
        while k < end:
            first, same = k, index[k]
            while k < end and index[k] == same:
                k += 1
            index[kept] = same
            if k - first == 1 or not mean:
                value[kept] = value[k - 1]
                if weight.size > 0:
                    weight[kept] = weight[k - 1]
            elif weight.size > 0:
                w = weight[first:k].astype(np.float64)
                mass = np.sort(w).sum()  # sorted, a sum is the same in whatever order they came
                value[kept] = np.sort(w * value[first:k]).sum() / mass
                weight[kept] = mass
            else:
                value[kept] = np.sort(value[first:k].astype(np.float64)).sum() / (k - first)
            kept += 1
    ptr[ptr.size - 1] = kept
    return kept


@njit(cache=True, nogil=True)
def _revised(
    ptr: Any, index: Any, value: Any, weight: Any, at: Any, column: Any, new: Any, new_weight: Any
) -> Any:
    most, weighted = index.size + column.size, new_weight.size > 0 or weight.size > 0
    ptr_out = np.zeros(at.size, np.int64)
    index_out = np.empty(most, index.dtype)
    value_out = np.empty(most, value.dtype)
    weight_out = np.empty(most if weighted else 0, weight.dtype)
    to = 0
    for r in range(at.size - 1):
        k, end = ptr[r], ptr[r + 1]
        for t in range(at[r], at[r + 1] + 1):  # up to each change, and after the last of the row
            while k < end and (t == at[r + 1] or index[k] < column[t]):
                index_out[to] = index[k]
                value_out[to] = value[k]
                if weighted:
                    weight_out[to] = weight[k]
                k += 1
                to += 1
            if t == at[r + 1]:
                break
            if k < end and index[k] == column[t]:
                k += 1
            if not np.isnan(new[t]):
                index_out[to] = column[t]
                value_out[to] = new[t]
                if weighted:
                    weight_out[to] = new_weight[t]
                to += 1
        ptr_out[r + 1] = to
    return ptr_out, index_out[:to].copy(), value_out[:to].copy(), weight_out[:to].copy()
