"""Pairwise steps with exact line search: the default solver of the pmf step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventspace._base.checks import check_number, check_whole
from eventspace._base.codes import WORD
from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace._base.vectors import WIDE
from eventspace.pmf.extremes import extremes
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
    """Minimise ``theta'Q theta - 2 r'theta`` over the simplex for each row of ``pmf``, in place."""
    n_users, n_events = pmf.shape
    slope = room_for_slope(n_events)
    for u in range(n_users):
        H, theta = Q[min(u, Q.shape[0] - 1)], pmf[u]
        settle(H, r[u], theta, slope, tol, max_steps)
        cost[u] = cost_of(slope[:n_events], r[u], theta)
        gap[u] = duality_gap(slope[:n_events], theta)


@njit(cache=True, nogil=True)
def room_for_slope(n_events: int) -> Floats:
    """An array for ``settle`` to write the slope to."""
    return np.full(-(-max(n_events, 1) // WIDE) * WIDE, np.inf)


@njit(cache=True, nogil=True)
def settle(H: Floats, r: Floats, theta: Floats, slope: Floats, tol: float, max_steps: int) -> None:
    """Minimise ``theta'H theta - 2 r'theta`` over the simplex; ``slope`` is ``H theta - r`` then.

    Each step moves mass from the worst event that has some to the best event, by an exact line
    search along e_i - e_j. A step costs O(D) and never raises the cost, so a warm start is kept or
    improved. It stops when the duality gap is at most ``tol`` times the largest diagonal
    entry of H (for a user, at most the sum of weights). H is symmetric; it may be padded.
    """
    n_events = theta.size
    half_gradient(H, r, theta, slope)
    few = n_events <= WORD
    held = np.uint64(0)  # the events that have mass
    for a in range(n_events if few else 0):
        if theta[a] > 0.0:
            held |= np.uint64(1) << np.uint64(a)
    enough = 0.5 * tol * max(largest_diagonal(H[:n_events]), 0.0)  # it may be concave
    for _ in range(max_steps):
        best, worst = extremes(slope, held) if few else _extremes_of_many(slope, theta)
        fall = slope[worst] - slope[best]  # bounds half the duality gap
        if fall <= enough:
            break
        curvature = H[best, best] + H[worst, worst] - 2.0 * H[best, worst]
        if curvature * theta[worst] > fall:
            step = min(fall / curvature, theta[worst])  # which rounding may put beyond it
            theta[worst] -= step
        else:
            step = theta[worst]
            theta[worst] = 0.0
            held &= ~(np.uint64(1) << np.uint64(worst))
        theta[best] += step
        held |= np.uint64(1) << np.uint64(best)  # of no use beyond a word
        to, away = H[best], H[worst]
        for a in range(n_events):
            slope[a] += step * (to[a] - away[a])


@njit(cache=True, nogil=True)
def _extremes_of_many(slope: Floats, theta: Floats) -> tuple[int, int]:
    """As ``extremes``, where there are more events than a word has bits."""
    best, worst = 0, 0
    for a in range(theta.size):
        if slope[a] < slope[best]:
            best = a
        if theta[a] > 0.0 and (theta[worst] <= 0.0 or slope[a] > slope[worst]):
            worst = a
    return best, worst
