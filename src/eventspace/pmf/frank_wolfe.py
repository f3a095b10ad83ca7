"""Frank-Wolfe as the paper prints it, with its step rule to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventspace._base.checks import check_choice, check_number, check_whole
from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace.pmf.quadratic import cost_of, duality_gap, half_gradient, largest_diagonal

PAPER, JAGGI, LINE_SEARCH = 0, 1, 2
STEPS = {"paper": PAPER, "jaggi": JAGGI, "line-search": LINE_SEARCH}


@dataclass(frozen=True)
class FrankWolfe:
    """The paper's procedure; ``step`` is "paper", "jaggi" or "line-search". Ends like Pairwise."""

    step: str = "paper"
    tol: float = 1e-7
    max_steps: int = 100
    guarantee: ClassVar[str] = "certified gap"

    def __post_init__(self) -> None:
        check_choice("step", self.step, STEPS)
        check_number("tol", self.tol)
        check_whole("max_steps", self.max_steps, 1)

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Improve ``pmf`` in place; return the cost and the duality gap of each row."""
        cost, gap = np.empty(len(pmf)), np.empty(len(pmf))
        frank_wolfe(Q, r, pmf, STEPS[self.step], self.tol, self.max_steps, cost, gap)
        return cost, gap


@njit(cache=True, nogil=True)
def frank_wolfe(
    Q: Floats,
    r: Floats,
    pmf: Floats,
    rule: int,
    tol: float,
    max_steps: int,
    cost: Floats,
    gap: Floats,
) -> None:
    """Move each row of ``pmf`` towards the vertex of steepest descent, step after step.

    The step is alpha = k/(k+1) (``PAPER``), 2/(k+2) (``JAGGI``, the paper's source) or the exact
    minimiser on the segment (``LINE_SEARCH``). The first two may raise the cost: a row that ends
    above where it began is put back. Stops as :func:`eventspace.pmf.pairwise.pairwise` does.
    """
    n_users, n_events = pmf.shape
    slope = np.empty(n_events)
    theta = np.empty(n_events)
    for u in range(n_users):
        H = Q[min(u, Q.shape[0] - 1)]
        for a in range(n_events):
            theta[a] = pmf[u, a]
        half_gradient(H, r[u], theta, slope)
        start = cost_of(slope, r[u], theta)
        enough = tol * largest_diagonal(H)
        for k in range(1, max_steps + 1):
            fall = duality_gap(slope, theta)
            if fall <= enough:
                break
            vertex = np.argmin(slope)
            if rule == PAPER:
                alpha = k / (k + 1.0)
            elif rule == JAGGI:
                alpha = 2.0 / (k + 2.0)
            else:
                # along d = e - theta: d'Hd = H_ee - 2 (H theta)_e + theta'H theta
                curvature = H[vertex, vertex] - 2.0 * (slope[vertex] + r[u, vertex])
                for a in range(n_events):
                    curvature += theta[a] * (slope[a] + r[u, a])
                alpha = 0.5 * fall / curvature if curvature > 0.5 * fall else 1.0
            for a in range(n_events):
                slope[a] = (1.0 - alpha) * slope[a] + alpha * (H[a, vertex] - r[u, a])
                theta[a] *= 1.0 - alpha
            theta[vertex] += alpha
        cost[u] = cost_of(slope, r[u], theta)
        if cost[u] <= start:
            for a in range(n_events):
                pmf[u, a] = theta[a]
        else:
            cost[u] = start
            half_gradient(H, r[u], pmf[u], slope)
        gap[u] = duality_gap(slope, pmf[u])
