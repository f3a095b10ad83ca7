"""Local search: flips of one or two bits, from several starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_whole
from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.types import Floats
from eventspace.indicators.quadratic import half_gradient, read_code, tolerance, write_code


@dataclass(frozen=True)
class Local:
    """Flips of one or two events while they help, from ``n_starts`` starts."""

    n_starts: int = 20
    guarantee: ClassVar[str] = "heuristic"

    def __post_init__(self) -> None:
        check_whole("n_starts", self.n_starts, 1)

    def __call__(
        self,
        S: Floats,
        v: Floats,
        energy: Floats,
        codes: NDArray[np.uint64],
        seeds: NDArray[np.uint64],
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Improve ``codes`` in place; return each item's cost and whether it is proved least."""
        cost = np.empty(len(v))
        local(S, v, energy, codes, seeds, self.n_starts, cost)
        return cost, np.zeros(len(v), dtype=np.bool_)


@njit(cache=True, nogil=True)
def descend_by_flips(S: Floats, v: Floats, x: Floats, slope: Floats, least: float) -> float:
    """Flip the best bit or pair of bits of ``x`` while that gains ``least`` or more; return g(x).

    Flipping a changes g by ``2 s_a slope_a + S_aa`` with s_a = 1 - 2 x_a, and flipping b as well by
    its own such term and ``2 s_a s_b S_ab``: O(D^2) per move.
    """
    n_events = x.size
    cost = half_gradient(S, v, x, slope)
    while True:
        change, first, second = -least, -1, -1
        for a in range(n_events):
            sign_a = 1.0 - 2.0 * x[a]
            change_a = 2.0 * sign_a * slope[a] + S[a, a]
            if change_a < change:
                change, first, second = change_a, a, -1
            for b in range(a):
                sign_b = 1.0 - 2.0 * x[b]
                both = change_a + 2.0 * sign_b * (slope[b] + sign_a * S[a, b]) + S[b, b]
                if both < change:
                    change, first, second = both, a, b
        if first < 0:
            return cost
        cost += change
        _flip(S, x, slope, first)
        if second >= 0:
            _flip(S, x, slope, second)


@njit(cache=True, nogil=True)
def _flip(S: Floats, x: Floats, slope: Floats, d: int) -> None:
    sign = 1.0 - 2.0 * x[d]
    x[d] += sign
    for a in range(x.size):
        slope[a] += sign * S[a, d]


@njit(cache=True, nogil=True)
def local(
    S: Floats,
    v: Floats,
    energy: Floats,
    codes: NDArray[np.uint64],
    seeds: NDArray[np.uint64],
    n_starts: int,
    cost: Floats,
) -> None:
    """Improve each code by pair flips from itself, from the empty set and from random sets.

    ``n_starts`` counts all of them. Heuristic: nothing is proved. Ties go to the earlier start,
    so to the incumbent first.
    """
    n_items, n_events = v.shape
    x = np.empty(n_events)
    slope = np.empty(n_events)
    for i in range(n_items):
        A = S[min(i, S.shape[0] - 1)]
        least = tolerance(A)
        state = seeds[i]
        best = np.inf
        read_code(codes[i], x)
        for start in range(n_starts):
            if start > 0:
                for d in range(n_events):
                    state = next_random(state)
                    x[d] = 1.0 if start > 1 and uniform(state) < 0.5 else 0.0
            found = descend_by_flips(A, v[i], x, slope, least)
            if found < best - least:
                best = found
                codes[i] = write_code(x)
        cost[i] = best + energy[i]
