"""The indicator step over the unit hypercube: for each item a convex quadratic on a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace.indicators.quadratic import half_gradient, sum_of_weights


@dataclass(frozen=True)
class Box:
    """The solver with its settings; what is not solved to ``tol`` counts as not proved."""

    tol: float = 1e-7
    max_sweeps: int = 1000
    guarantee: ClassVar[str] = "certified gap"

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, psi: Floats, seeds: NDArray[np.uint64]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Improve ``psi`` in place; return the cost of each row, and which are least to ``tol``."""
        cost, proved = np.empty(len(psi)), np.empty(len(psi), dtype=np.bool_)
        coordinate_descent(S, v, psi, self.tol, self.max_sweeps, cost, proved)
        return cost, proved


@njit(cache=True, nogil=True)
def coordinate_descent(
    S: Floats,
    v: Floats,
    psi: Floats,
    tol: float,
    max_sweeps: int,
    cost: Floats,
    proved: NDArray[np.bool_],
) -> None:
    """Minimise ``psi'S psi - 2 v'psi`` over [0, 1]^D for each row of ``psi``, in place.

    Each step sets one coordinate to its minimiser, so the cost never rises. It stops when the
    duality gap is at most ``tol`` times the item's sum of weights: the mean squared error is then
    within ``tol`` of the least.
    """
    n_items, n_events = psi.shape
    slope = np.empty(n_events)
    for i in range(n_items):
        H, x = S[min(i, S.shape[0] - 1)], psi[i]
        enough = tol * sum_of_weights(H)
        cost[i] = half_gradient(H, v[i], x, slope)
        proved[i] = box_gap(slope, x) <= enough
        for _ in range(max_sweeps):
            if proved[i]:
                break
            for a in range(n_events):
                if H[a, a] > 0.0:
                    move = min(max(x[a] - slope[a] / H[a, a], 0.0), 1.0) - x[a]
                    x[a] += move
                    for b in range(n_events):
                        slope[b] += move * H[a, b]
            cost[i] = half_gradient(H, v[i], x, slope)
            proved[i] = box_gap(slope, x) <= enough


@njit(cache=True, nogil=True)
def box_gap(slope: Floats, x: Floats) -> float:
    """Return the most that ``grad'(x - y)`` can be: the cost of x is at most this above the least.

    ``slope`` is half the gradient; the worst y has a one where it is negative.
    """
    gap = 0.0
    for a in range(x.size):
        gap += slope[a] * x[a] - min(slope[a], 0.0)
    return 2.0 * gap
