"""The paper's solver: semidefinite relaxation, then randomised rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_whole
from eventspace._base.jit import njit
from eventspace._base.randomness import fill_normal
from eventspace._base.types import Floats
from eventspace.indicators.quadratic import half_gradient, read_code, tolerance, write_code
from eventspace.indicators.relaxation import lift, mix, project, rank_for, scatter

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
    relative to that of the homogenising coordinate: ``z = sign(V'u) sign(V_{D+1}'u)``.
    Heuristic: the best of the roundings and the incumbent is kept, ties go to the incumbent.
    """
    n_items, n_events = v.shape
    C = np.empty((n_events + 1, n_events + 1))
    V = np.empty((rank_for(n_events + 1), n_events + 1))
    y = np.empty(n_events + 1)
    normal = np.empty(V.shape[0])
    along = np.empty(n_events + 1)
    x = np.empty(n_events)
    slope = np.empty(n_events)
    for i in range(n_items):
        A = S[min(i, S.shape[0] - 1)]
        least = tolerance(A)
        read_code(codes[i], x)
        best = half_gradient(A, v[i], x, slope)
        state = scatter(seeds[i], V)
        lift(A, v[i], C)
        mix(C, V, y, MAX_SWEEPS, GAIN)
        for _ in range(n_roundings):
            state = fill_normal(state, normal)
            project(V, normal, along)
            for d in range(n_events):
                x[d] = 1.0 if along[d] * along[n_events] > 0.0 else 0.0
            found = half_gradient(A, v[i], x, slope)
            if found < best - least:
                best = found
                codes[i] = write_code(x)
        cost[i] = best + energy[i]
