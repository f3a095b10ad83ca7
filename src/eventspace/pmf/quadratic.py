"""What every solver of the pmf step needs of ``f(theta) = theta'H theta - 2 r'theta``."""

from __future__ import annotations

from eventspace._base.jit import njit
from eventspace._base.types import Floats


@njit(cache=True, nogil=True)
def half_gradient(H: Floats, r: Floats, theta: Floats, slope: Floats) -> None:
    """Write ``H theta - r`` to ``slope``; H is symmetric, and its rows are added up."""
    for a in range(theta.size):
        slope[a] = -r[a]
    for b in range(theta.size):
        row, mass = H[b], theta[b]
        for a in range(theta.size):
            slope[a] += row[a] * mass


@njit(cache=True, nogil=True)
def cost_of(slope: Floats, r: Floats, theta: Floats) -> float:
    """Return f(theta), from ``slope = H theta - r``."""
    cost = 0.0
    for a in range(theta.size):
        cost += theta[a] * (slope[a] - r[a])
    return cost


@njit(cache=True, nogil=True)
def duality_gap(slope: Floats, theta: Floats) -> float:
    """Return ``(grad - min grad)'theta``: f(theta) is at most this far above its least value.

    No term is below zero. ``grad'theta - min grad`` may be, since a PMF adds up to one only up to
    rounding.
    """
    lowest, gap = slope[0], 0.0
    for a in range(slope.size):
        lowest = min(lowest, slope[a])
    for a in range(slope.size):
        gap += (slope[a] - lowest) * theta[a]
    return 2.0 * gap


@njit(cache=True, nogil=True)
def squared_error_of(Q: Floats, diagonal: Floats, r: Floats, energy: float, theta: Floats) -> float:
    """Return ``theta'Q theta - 2 r'theta + energy``, with this diagonal in place of Q's own.

    It is a sum of squares, which rounding may leave just below zero: it is zero then.
    """
    error = energy
    for a in range(theta.size):
        if theta[a] > 0.0:
            row, half = Q[a], 0.5 * diagonal[a] * theta[a] - r[a]
            for b in range(a):
                half += row[b] * theta[b]
            error += 2.0 * theta[a] * half
    return max(error, 0.0)


@njit(cache=True, nogil=True)
def largest_diagonal(H: Floats) -> float:
    """The scale of a user's cost: the largest weight that an event carries."""
    largest = H[0, 0]
    for a in range(1, H.shape[0]):
        largest = max(largest, H[a, a])
    return float(largest)
