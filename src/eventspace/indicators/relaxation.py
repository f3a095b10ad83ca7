"""The semidefinite relaxation of (Q2), solved on a low-rank factor by the mixing method.

With z = 2x - 1 and a last coordinate w = 1 the quadratic ``x'S x - 2 v'x`` is ``(z, w)'C(z, w)``
plus a constant. Relaxing the products to inner products of unit vectors gives the SDP of the paper,
``min tr(C V'V)`` with unit columns V_a. The mixing method (Wang and Kolter, 2017) sets one column
after the other to its optimum ``-g / |g|``, g = sum_b C_ab V_b. At a solution y_a = |g_a| is dual
feasible: C + diag(y) is positive semidefinite.
"""

from __future__ import annotations

import math

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.randomness import fill_normal
from eventspace._base.types import Floats


@njit(cache=True, nogil=True)
def lift(S: Floats, v: Floats, C: Floats) -> None:
    """Write the matrix of the relaxation, with a zero diagonal, to ``C``, (D+1) x (D+1)."""
    n_events = v.size
    C[n_events, n_events] = 0.0
    for a in range(n_events):
        row = 0.0
        for b in range(n_events):
            C[a, b] = 0.25 * S[a, b]
            row += S[a, b]
        C[a, a] = 0.0
        C[a, n_events] = C[n_events, a] = 0.25 * row - 0.5 * v[a]


@njit(cache=True, nogil=True)
def rank_for(n: int) -> int:
    """The least k with k (k + 1) / 2 > n: for vectors so long no local minimum is spurious."""
    rank = 1
    while rank * (rank + 1) // 2 <= n:
        rank += 1
    return rank


@njit(cache=True, nogil=True)
def scatter(state: np.uint64, V: Floats) -> np.uint64:
    """Fill ``V`` with random unit columns, the start of mixing; return the advanced stream."""
    rank, n = V.shape
    column = np.empty(rank)
    for a in range(n):
        state = fill_normal(state, column)
        square = 0.0
        for q in range(rank):
            square += column[q] * column[q]
        for q in range(rank):
            V[q, a] = column[q] / math.sqrt(square)
    return state


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def mix(C: Floats, V: Floats, y: Floats, max_sweeps: int, tol: float) -> int:
    """Sweep over the columns of ``V`` until a sweep gains less than ``tol`` of the value.

    Setting column a from V_a to -g/|g| lowers the value by ``|g| |V_a + g/|g||^2``. Returns the
    number of sweeps; the norms |g_a| of the last are in ``y``.
    """
    rank, n = V.shape
    g = np.empty(rank)
    for sweep in range(max_sweeps):
        gain = value = 0.0
        for a in range(n):
            square = 0.0
            for q in range(rank):
                s = 0.0
                for b in range(n):
                    s += C[a, b] * V[q, b]
                g[q] = s
                square += s * s
            norm = math.sqrt(square)
            y[a] = norm
            value += norm
            if norm > 0.0:
                moved = 0.0
                for q in range(rank):
                    target = -g[q] / norm
                    moved += (target - V[q, a]) ** 2
                    V[q, a] = target
                gain += norm * moved
        if gain <= tol * value:
            return sweep + 1
    return max_sweeps


@njit(cache=True, nogil=True)
def project(V: Floats, direction: Floats, along: Floats) -> None:
    """Write the inner product of each column of ``V`` with ``direction`` to ``along``."""
    rank, n = V.shape
    for a in range(n):
        along[a] = 0.0
    for q in range(rank):
        for a in range(n):
            along[a] += direction[q] * V[q, a]
