"""The sums (e.1) and (e.2) of the paper, over the observed entries of each user or item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eventspace._base.jit import njit
from eventspace._base.prefetch import LINE, prefetch
from eventspace._base.types import Floats

AHEAD = 16  # entries between asking for a row and using it


@njit(cache=True, nogil=True, fastmath={"contract"})
def normal_equations(
    ptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    weight: NDArray[np.float32],
    factors: Floats,
    gram: Floats,
    linear: Floats,
    energy: Floats,
) -> None:
    """Fill, for each row k of ``ptr``, the quadratic ``x'Gx - 2h'x + e`` of its least squares.

    With f_t the row of ``factors`` that entry t points to, w_t its weight and p_t its value:
    ``G_k = sum_t w_t f_t f_t'``, ``h_k = sum_t w_t p_t f_t``, ``e_k = sum_t w_t p_t^2``.
    For items the factors are PMFs (S_i, v_i); for users they are indicators (Q_u, r_u).
    An empty ``weight`` means that every weight is one.

    Four entries are added at a time, so G is read and written once for four updates of D^2
    multiply-adds each. The rows of ``factors`` are prefetched some entries ahead: if they do not
    fit the cache, this halves the time.
    """
    n_events = factors.shape[1]
    last = index.size - AHEAD - 4
    weighted = weight.size > 0
    one = np.float32(1.0)
    for k in range(ptr.size - 1):
        G, h = gram[k], linear[k]
        for a in range(n_events):
            h[a] = 0.0
            for b in range(n_events):
                G[a, b] = 0.0
        squares = 0.0
        t, end = ptr[k], ptr[k + 1]
        while t + 4 <= end:
            if t <= last:
                for ahead in range(t + AHEAD, t + AHEAD + 4):
                    for a in range(0, n_events, LINE):
                        prefetch(factors, index[ahead], a)
            f0, f1 = factors[index[t]], factors[index[t + 1]]
            f2, f3 = factors[index[t + 2]], factors[index[t + 3]]
            p0, p1, p2, p3 = value[t], value[t + 1], value[t + 2], value[t + 3]
            w0 = weight[t] if weighted else one
            w1 = weight[t + 1] if weighted else one
            w2 = weight[t + 2] if weighted else one
            w3 = weight[t + 3] if weighted else one
            squares += np.float64(w0) * p0 * p0 + np.float64(w1) * p1 * p1
            squares += np.float64(w2) * p2 * p2 + np.float64(w3) * p3 * p3
            for a in range(n_events):
                y0, y1, y2, y3 = w0 * f0[a], w1 * f1[a], w2 * f2[a], w3 * f3[a]
                h[a] += y0 * p0 + y1 * p1 + y2 * p2 + y3 * p3
                for b in range(n_events):
                    G[a, b] += y0 * f0[b] + y1 * f1[b] + y2 * f2[b] + y3 * f3[b]
            t += 4
        while t < end:
            f, p = factors[index[t]], value[t]
            w = weight[t] if weighted else one
            squares += np.float64(w) * p * p
            for a in range(n_events):
                y = w * f[a]
                h[a] += y * p
                for b in range(n_events):
                    G[a, b] += y * f[b]
            t += 1
        energy[k] = squares


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
