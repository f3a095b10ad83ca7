"""The paper's solver: semidefinite relaxation, then randomised rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_whole
from eventspace._base.jit import njit
from eventspace._base.randomness import fill_normal
from eventspace._base.rows import set_row, wide
from eventspace._base.types import Floats
from eventspace.indicators.quadratic import half_gradient, read_code, tolerance, write_code
from eventspace.indicators.relaxation import mix, rank_for, scatter

MAX_SWEEPS = 1000
GAIN = 1e-9  # of the value, in a sweep: the relaxation is then solved to about 1e-6


@dataclass(frozen=True)
class SDR:
    """The paper's solver: each relaxation is rounded ``n_roundings`` times, the best is kept."""

    n_roundings: int = 50
    guarantee: ClassVar[str] = "heuristic"

    def __post_init__(self) -> None:
        check_whole("n_roundings", self.n_roundings, 1)

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
        sdr(S, v, energy, codes, seeds, self.n_roundings, cost)
        return cost, np.zeros(len(v), dtype=np.bool_)


@njit(cache=True, nogil=True)
def sdr(
    S: Floats,
    v: Floats,
    energy: Floats,
    codes: NDArray[np.uint64],
    seeds: NDArray[np.uint64],
    n_roundings: int,
    cost: Floats,
) -> None:
    """Solve the relaxation for each item and round it ``n_roundings`` times (the paper's M_rnd).

    A rounding takes the side of a random hyperplane on which each column of the factor lies,
    relative to that of the homogenising coordinate, the first axis: ``z = sign(V'u) sign(u_1)``.
    Heuristic: the best of the roundings and the incumbent is kept, ties go to the incumbent.
    """
    n_items, n_events = v.shape
    A = wide(n_events, n_events)
    V = wide(rank_for(n_events + 1), n_events)
    G, along, diagonal = np.empty_like(V), wide(1, n_events), np.empty(n_events)
    normal = np.empty(V.shape[0])
    x = np.empty(n_events)
    slope = np.empty(n_events)
    for i in range(n_items):
        common = S[min(i, S.shape[0] - 1)]
        for a in range(n_events):
            for b in range(n_events):
                A[a, b] = common[a, b]
        least = tolerance(common)
        read_code(codes[i], x)
        best = half_gradient(A, v[i], x, slope)
        state = scatter(seeds[i], V, n_events)
        mix(A, v[i], V, G, diagonal, MAX_SWEEPS, GAIN)
        for _ in range(n_roundings):
            state = fill_normal(state, normal)
            set_row(along, 0, V, 0, normal[0] - 1.0, V, 0)
            for q in range(1, normal.size):
                set_row(along, 0, along, 0, normal[q], V, q)
            for d in range(n_events):
                x[d] = 1.0 if along[0, d] * normal[0] > 0.0 else 0.0
            found = half_gradient(A, v[i], x, slope)
            if found < best - least:
                best = found
                codes[i] = write_code(x)
        cost[i] = best + energy[i]
