"""Pairwise steps with exact line search: the default solver of the pmf step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventspace._base.checks import check_number, check_whole
from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace.pmf.quadratic import cost_of, duality_gap, half_gradient, largest_diagonal


@dataclass(frozen=True)
class Pairwise:
    """Pairwise steps, at most ``max_steps``, until the relative duality gap is ``tol`` or less."""

    tol: float = 1e-7
    max_steps: int = 10_000
    guarantee: ClassVar[str] = "certified gap"

    def __post_init__(self) -> None:
        check_number("tol", self.tol)
        check_whole("max_steps", self.max_steps, 1)

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Improve ``pmf`` in place; return the cost and the duality gap of each row."""
        cost, gap = np.empty(len(pmf)), np.empty(len(pmf))
        pairwise(Q, r, pmf, self.tol, self.max_steps, cost, gap)
        return cost, gap


@njit(cache=True, nogil=True)
def pairwise(
    Q: Floats, r: Floats, pmf: Floats, tol: float, max_steps: int, cost: Floats, gap: Floats
) -> None:
    """Minimise ``theta'Q theta - 2 r'theta`` over the simplex for each row of ``pmf``, in place.

    Each step moves mass from the worst event that has some to the best event, by an exact line
    search along e_i - e_j. A step costs O(D) and never raises the cost, so a warm start is kept or
    improved. It stops when the duality gap is at most ``tol`` times the largest diagonal
    entry of Q (for a user, at most the sum of weights).
    """
    n_users, n_events = pmf.shape
    slope = np.empty(n_events)
    for u in range(n_users):
        H, theta = Q[min(u, Q.shape[0] - 1)], pmf[u]
        half_gradient(H, r[u], theta, slope)
        enough = 0.5 * tol * max(largest_diagonal(H), 0.0)  # it may be concave
        for _ in range(max_steps):
            best, worst = 0, -1
            for a in range(n_events):
                if slope[a] < slope[best]:
                    best = a
                if theta[a] > 0.0 and (worst < 0 or slope[a] > slope[worst]):
                    worst = a
            fall = slope[worst] - slope[best]  # bounds half the duality gap
            if fall <= enough:
                break
            curvature = H[best, best] + H[worst, worst] - 2.0 * H[best, worst]
            if curvature * theta[worst] > fall:
                step = fall / curvature
                theta[worst] -= step
            else:
                step = theta[worst]
                theta[worst] = 0.0
            theta[best] += step
            for a in range(n_events):
                slope[a] += step * (H[a, best] - H[a, worst])
        cost[u] = cost_of(slope, r[u], theta)
        gap[u] = duality_gap(slope, theta)
