"""The sums (e.1) and (e.2) of the paper, over the observed entries of each user or item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.jit import njit
from eventspace._base.prefetch import LINE, prefetch
from eventspace._base.types import Floats
from eventspace._base.vectors import WIDE
from eventspace.engines.strips import AHEAD, make_line, make_strip

BATCH = 128  # entries: their factor rows stay in the cache from strip to strip
CACHE_BYTES = 1 << 24  # factors of which there are more are summed in parts
PART_BYTES = 1 << 22

_line_1, _line_3 = (make_line(n) for n in (1, 3))
_top_1, _top_2 = (make_strip(n, top=True, weighted=False) for n in (1, 2))
_low_1, _low_2 = (make_strip(n, top=False, weighted=False) for n in (1, 2))
_weighted_top_1, _weighted_top_2 = (make_strip(n, top=True, weighted=True) for n in (1, 2))
_weighted_low_1, _weighted_low_2 = (make_strip(n, top=False, weighted=True) for n in (1, 2))


def padded(factors: NDArray[Any]) -> NDArray[Any]:
    """The factors with zeros behind them, so that rows are whole vectors; at least 32 bits each."""
    n_rows, n_events = factors.shape
    n_columns = -(-n_events // WIDE) * WIDE
    number = factors.dtype if factors.dtype == np.float32 else np.float64
    if n_columns == n_events:
        return np.ascontiguousarray(factors, dtype=number)
    wide = np.zeros((n_rows, n_columns), dtype=number)
    wide[:, :n_events] = factors
    return wide


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def sum_up(
    start: int,
    stop: int,
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Any,
    G: Floats,
    h: Floats,
) -> float:
    """Fill G and h with the sums over some entries; give e.

    With f_t the row of ``factors`` that entry t points to, w_t its weight and p_t its value:
    ``G = sum_t w_t f_t f_t'``, ``h = sum_t w_t p_t f_t``, ``e = sum_t w_t p_t^2``.
    For items the factors are PMFs (S_i, v_i); for users they are indicators (Q_u, r_u).
    An empty ``weight`` means that every weight is one. Factors are ``padded``, and so are G and h.
    """
    clear(G, h)
    energy = add_up(start, stop, index, value, weight, factors, G, h)
    mirror(G)
    return energy


@njit(cache=True, nogil=True)
def clear(G: Floats, h: Floats) -> None:
    """Begin a sum."""
    for a in range(h.size):
        h[a] = 0.0
        for b in range(h.size):
            G[a, b] = 0.0


@njit(cache=True, nogil=True)
def mirror(G: Floats) -> None:
    """End a sum: what is above the diagonal is below it, too."""
    for a in range(len(G)):
        for b in range(a):
            G[a, b] = G[b, a]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def add_up(
    start: int,
    stop: int,
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Any,
    G: Floats,
    h: Floats,
) -> float:
    """Add the sums over some entries to the upper half of G and to h; give e."""
    n_columns = factors.shape[1]
    weighted = weight.size > 0
    scaled = np.empty(BATCH)
    energy = 0.0
    for first in range(start, stop, BATCH):
        last = min(first + BATCH, stop)
        for t in range(first, last):
            p = np.float64(value[t])
            scaled[t - first] = p * weight[t] if weighted else p
        # by itself: a loop that also writes is added up in vectors, or not, by where arrays lie
        for t in range(first, last):
            energy += scaled[t - first] * value[t]
        for a in range(0, n_columns, WIDE):
            for b in range(a, n_columns, 2 * WIDE):
                if b + WIDE < n_columns:
                    if weighted and a == 0:
                        _weighted_top_2(factors, index, weight, scaled, first, last, a, b, G, h)
                    elif weighted:
                        _weighted_low_2(factors, index, weight, scaled, first, last, a, b, G, h)
                    elif a == 0:
                        _top_2(factors, index, weight, scaled, first, last, a, b, G, h)
                    else:
                        _low_2(factors, index, weight, scaled, first, last, a, b, G, h)
                elif weighted and a == 0:
                    _weighted_top_1(factors, index, weight, scaled, first, last, a, b, G, h)
                elif weighted:
                    _weighted_low_1(factors, index, weight, scaled, first, last, a, b, G, h)
                elif a == 0:
                    _top_1(factors, index, weight, scaled, first, last, a, b, G, h)
                else:
                    _low_1(factors, index, weight, scaled, first, last, a, b, G, h)
    return energy


def normal_equations(
    ptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: NDArray[Any],
    gram: Floats,
    linear: Floats,
    energy: Floats,
) -> None:
    """Fill, for each row k of ``ptr``, the quadratic ``x'Gx - 2h'x + e`` of its least squares."""
    fill_quadratics(ptr, index, value, weight, padded(factors), gram, linear, energy)


@njit(cache=True, nogil=True)
def fill_quadratics(
    ptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Any,
    gram: Floats,
    linear: Floats,
    energy: Floats,
) -> None:
    """As ``normal_equations``, for kernels: the factors are padded."""
    if n_parts(factors) > 1:
        _fill_by_parts(ptr, index, value, weight, factors, gram, linear, energy)
        return
    n_columns = factors.shape[1]
    G, h = np.empty((n_columns, n_columns)), np.empty(n_columns)
    for k in range(ptr.size - 1):
        energy[k] = sum_up(ptr[k], ptr[k + 1], index, value, weight, factors, G, h)
        _take(G, h, gram[k], linear[k])


@njit(cache=True, nogil=True)
def n_parts(factors: Any) -> int:
    """In how many parts factors are summed: one if they fit the cache."""
    n_bytes = factors.size * factors.itemsize
    return 1 if n_bytes <= CACHE_BYTES else -(-n_bytes // PART_BYTES)


@njit(cache=True, nogil=True)
def _fill_by_parts(
    ptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Any,
    gram: Floats,
    linear: Floats,
    energy: Floats,
) -> None:
    """Fill quadratics where factors do not fit the cache: each part of them serves all rows.

    Entries are in ascending order of what they point to, so each row goes on where it was (if they
    are not, the sums are still right). A row of one batch is summed at once, with the bits that it
    has anywhere else. No sum depends on the other rows.
    """
    n_rows, n_columns, parts = ptr.size - 1, factors.shape[1], n_parts(factors)
    G, h = np.zeros((n_rows, n_columns, n_columns)), np.zeros((n_rows, n_columns))
    at = ptr[:-1].copy()
    for k in range(n_rows):
        energy[k] = 0.0
    for part in range(1, parts + 1):
        beyond = part * len(factors) // parts
        for k in range(n_rows):
            stop = ptr[k + 1]
            if part < parts and stop - ptr[k] > BATCH:
                stop = _first_from(beyond, index, at[k], stop)
            energy[k] += add_up(at[k], stop, index, value, weight, factors, G[k], h[k])
            at[k] = stop
    for k in range(n_rows):
        mirror(G[k])
        _take(G[k], h[k], gram[k], linear[k])


@njit(cache=True, nogil=True)
def _take(G: Floats, h: Floats, gram: Floats, linear: Floats) -> None:
    """Copy a quadratic, without what it is padded with."""
    for a in range(linear.size):
        linear[a] = h[a]
        for b in range(linear.size):
            gram[a, b] = G[a, b]


@njit(cache=True, nogil=True)
def _first_from(least: int, index: NDArray[np.int32], start: int, stop: int) -> int:
    """The first of some entries, in ascending order, that points to ``least`` or beyond."""
    while start < stop:
        middle = (start + stop) // 2
        if index[middle] < least:
            start = middle + 1
        else:
            stop = middle
    return start


def sums_of_rows(ptr: NDArray[np.int64], index: NDArray[np.int32], factors: Floats) -> Floats:
    """The sum of the factors that the entries of each row point to: rows x events."""
    wide = padded(factors.astype(np.float32))
    found = np.zeros((len(ptr) - 1, wide.shape[1]))
    _sums_of_rows(ptr, index, wide, found)
    return found[:, : factors.shape[1]]


@njit(cache=True, nogil=True)
def _sums_of_rows(ptr: Any, index: Any, factors: Any, found: Floats) -> None:
    n_columns = factors.shape[1]
    for k in range(len(found)):
        column = 0
        while column + 3 * WIDE <= n_columns:
            _line_3(factors, index, ptr[k], ptr[k + 1], column, found[k])
            column += 3 * WIDE
        while column < n_columns:
            _line_1(factors, index, ptr[k], ptr[k + 1], column, found[k])
            column += WIDE


def weighted_squares(rows: Floats, weights: Floats) -> Floats:
    """``sum_k weights[k, d] rows[k] rows[k]'`` for each column d: columns x features x features."""
    n_rows, n_columns = rows.shape
    wide, n = padded(rows.astype(np.float32)), weights.shape[1]
    every, none = np.arange(n_rows, dtype=np.int32), np.zeros(n_rows, dtype=np.float32)
    found = np.empty((n, n_columns, n_columns))
    ptr, linear, energy = np.array([0, n_rows]), np.empty((1, n_columns)), np.empty(1)
    for d, weight in enumerate(np.ascontiguousarray(weights.T, dtype=np.float32)):
        fill_quadratics(ptr, every, none, weight, wide, found[d : d + 1], linear, energy)
    return found


def n_packed(n_events: int) -> int:
    """How many numbers a quadratic is: half of G with its diagonal, then h, then e."""
    return n_events * (n_events + 1) // 2 + n_events + 1


@njit(cache=True, nogil=True)
def packed_equations(
    ptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Any,
    n_events: int,
    packed: Floats,
) -> None:
    """Fill, for each row k of ``ptr``, its quadratic in one row of numbers; factors are padded."""
    n_columns = factors.shape[1]
    G, h = np.empty((n_columns, n_columns)), np.empty(n_columns)
    for k in range(ptr.size - 1):
        energy = sum_up(ptr[k], ptr[k + 1], index, value, weight, factors, G, h)
        at = 0
        for a in range(n_events):
            for b in range(a, n_events):
                packed[k, at] = G[a, b]
                at += 1
        for a in range(n_events):
            packed[k, at + a] = h[a]
        packed[k, at + n_events] = energy


@njit(cache=True, nogil=True)
def unpack_equations(packed: Floats, gram: Floats, linear: Floats, energy: Floats) -> None:
    """Fill G, h and e of each row from what ``packed_equations`` gave."""
    n_events = linear.shape[1]
    for k in range(len(packed)):
        at = 0
        for a in range(n_events):
            for b in range(a, n_events):
                gram[k, a, b] = gram[k, b, a] = packed[k, at]
                at += 1
        for a in range(n_events):
            linear[k, a] = packed[k, at + a]
        energy[k] = packed[k, at + n_events]


@njit(cache=True, nogil=True, fastmath={"contract"})
def linear_terms(
    ptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Floats,
    linear: Floats,
    energy: Floats,
) -> None:
    """Fill h and e only, as ``normal_equations`` does: of D multiply-adds for each entry."""
    n_events = factors.shape[1]
    last = index.size - AHEAD
    for k in range(ptr.size - 1):
        h = linear[k]
        h[:] = 0.0
        squares = 0.0
        for t in range(ptr[k], ptr[k + 1]):
            if t < last:
                for a in range(0, n_events, LINE):
                    prefetch(factors, index[t + AHEAD], a)
            f, p = factors[index[t]], np.float64(value[t])
            y = p * weight[t] if weight.size > 0 else p
            squares += y * p
            for a in range(n_events):
                h[a] += y * f[a]
        energy[k] = squares
