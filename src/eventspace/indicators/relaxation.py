"""The semidefinite relaxation of (Q2), solved on a low-rank factor by the mixing method.

With z = 2x - 1 and w = 1 the quadratic ``4 (x'S x - 2 v'x)`` is ``z'S z + 2 w (S1 - 2v)'z`` plus a
constant. Relaxing the products to inner products of unit vectors gives the SDP of the paper. Only
the angles count, so the vector of w is the first axis, for good. The mixing method (Wang and
Kolter, 2017) sets one column V_a of the others after the other to its optimum ``-g / |g|``, where
``g = sum_b S_ab V_b`` over the other columns and ``S1 - 2v`` along the axis. At a solution the
norms |g_a| are dual feasible: with them for a diagonal, S is positive semidefinite.
"""

from __future__ import annotations

import math

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.randomness import fill_normal
from eventspace._base.rows import set_row
from eventspace._base.types import Floats


@njit(cache=True, nogil=True)
def rank_for(n: int) -> int:
    """The least k with k (k + 1) / 2 > n: for vectors so long no local minimum is spurious."""
    rank = 1
    while rank * (rank + 1) // 2 <= n:
        rank += 1
    return rank


@njit(cache=True, nogil=True)
def scatter(state: np.uint64, V: Floats, n: int) -> np.uint64:
    """Fill n columns of ``V`` with random unit vectors; return the advanced stream."""
    rank = V.shape[0]
    column = np.empty(rank)
    for a in range(n):
        state = fill_normal(state, column)
        square = 0.0
        for q in range(rank):
            square += column[q] * column[q]
        for q in range(rank):
            V[q, a] = column[q] / math.sqrt(square)
    return state


@njit(cache=True, nogil=True, error_model="numpy")
def mix(
    S: Floats, v: Floats, V: Floats, G: Floats, diagonal: Floats, max_sweeps: int, tol: float
) -> int:
    """Sweep over the columns of ``V`` until a sweep gains less than ``tol`` of the value.

    Setting column a from V_a to -g/|g| lowers the value by ``|g| |V_a + g/|g||^2``. Returns the
    number of sweeps; the norms |g_a| of the last are in ``diagonal``. ``G``, of the shape of V, is
    room for V S. S and V are padded.
    """
    rank, n_events = V.shape[0], v.size
    for q in range(rank):
        for a in range(G.shape[1]):
            G[q, a] = 0.0
    for a in range(n_events):
        G[0, a] = -2.0 * v[a]
    for b in range(n_events):
        set_row(G, 0, G, 0, 1.0 + V[0, b], S, b)
        for q in range(1, rank):
            set_row(G, q, G, q, V[q, b], S, b)
    for sweep in range(max_sweeps):
        gain = value = 0.0
        for a in range(n_events):
            own, square = S[a, a], 0.0
            for q in range(rank):
                g = G[q, a] - own * V[q, a]
                square += g * g
            norm = math.sqrt(square)
            diagonal[a] = norm
            value += norm
            if norm > 0.0:
                moved, shrink = 0.0, -1.0 / norm
                for q in range(rank):
                    step = (G[q, a] - own * V[q, a]) * shrink - V[q, a]
                    V[q, a] += step
                    moved += step * step
                    set_row(G, q, G, q, step, S, a)
                gain += norm * moved
        if gain <= tol * value:
            return sweep + 1
    return max_sweeps
