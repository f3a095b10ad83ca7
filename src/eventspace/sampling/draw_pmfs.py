"""PMFs and each user's noise drawn from their conditional laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.types import Floats
from eventspace.sampling.draw_variates import draw_gamma, draw_truncated, shuffle

MOST_PRECISION = 1e12  # a deviation of 1e-6: what is stored of a value is hardly nearer to it
TINY = 1e-12  # a mass below this is none
FLAT = 1e-6  # curvature that changes no law, and lets no sum lose its digits


@dataclass(frozen=True)
class DrawPmfs:
    """A step of an engine: draw some users' noise, then their PMFs."""

    noise_shape: float  # of the Gamma law of the precisions
    noise_rate: float

    def __call__(
        self, Q: Any, r: Any, e: Any, n_ratings: Any, counts: Any, pmf: Any, tau: Any, seeds: Any
    ) -> None:
        """Draw precisions tau and PMFs in place, given the pseudo-counts."""
        Q = one_each(Q, len(pmf))
        tau[:] = draw_precisions(Q, r, e, n_ratings, pmf, self.noise_shape, self.noise_rate, seeds)
        Q *= tau[:, None, None]
        r *= tau[:, None]
        draw_pmfs(Q, r, counts, pmf, seeds)


def one_each(Q: Floats, n_users: int) -> Floats:
    """A matrix for each user, also where all share one, as in a full table."""
    return np.repeat(Q, n_users, axis=0) if len(Q) < n_users else Q


@njit(cache=True, nogil=True)
def draw_precisions(
    Q: Any, r: Any, energy: Any, counts: Any, pmf: Any, shape: float, rate: float, seeds: Any
) -> Any:
    """Draw each user's noise precision: Gamma(shape, rate) times the likelihood of the ratings.

    It is at most MOST_PRECISION: a table without noise would drive it up for ever.
    """
    precision = np.empty(len(pmf))
    for u in range(len(pmf)):
        error = energy[u]
        for d in range(pmf.shape[1]):
            row = -2.0 * r[u, d]
            for e in range(pmf.shape[1]):
                row += Q[u, d, e] * pmf[u, e]
            error += pmf[u, d] * row
        seeds[u], gamma = draw_gamma(seeds[u], shape + 0.5 * counts[u])
        precision[u] = min(gamma / (rate + 0.5 * max(error, 0.0)), MOST_PRECISION)
    return precision


@njit(cache=True, nogil=True)
def draw_pmfs(Q: Any, r: Any, pseudo_counts: Any, pmf: Any, seeds: Any) -> None:
    """Draw each row theta of ``pmf`` from exp(-theta'Q theta / 2 + r'theta) times Dirichlet's law.

    Mass moves between two events at a time, each event with two others in a random circle. Along
    such a line the law is a normal, times a power of each of the two masses; a height drawn below
    each power leaves the interval in which the power is higher (Neal, 2003), and on it the normal.
    """
    n_events = pmf.shape[1]
    order = np.empty(n_events, np.int64)
    gradient = np.empty(n_events)
    for u in range(len(pmf)):
        theta, counts, state = pmf[u], pseudo_counts[u], seeds[u]
        for d in range(n_events):
            gradient[d] = -r[u, d]
            for e in range(n_events):
                gradient[d] += Q[u, d, e] * theta[e]
        state = shuffle(state, order)
        for k in range(n_events):
            a, b = order[k], order[(k + 1) % n_events]
            if a == b or theta[a] + theta[b] <= TINY:
                continue
            state, least_a, most_a = _draw_bounds(state, theta[a], counts[a] - 1.0)
            state, least_b, most_b = _draw_bounds(state, theta[b], counts[b] - 1.0)
            low = max(-theta[a], least_a - theta[a], theta[b] - most_b)
            high = min(theta[b], most_a - theta[a], theta[b] - least_b)
            if low >= high:  # by rounding only
                continue
            curvature = Q[u, a, a] + Q[u, b, b] - 2.0 * Q[u, a, b]
            scale = 1.0 / math.sqrt(max(curvature, FLAT))
            middle = -(gradient[a] - gradient[b]) * scale * scale
            state, x = draw_truncated(state, (low - middle) / scale, (high - middle) / scale)
            shift = min(max(middle + scale * x, low), high)
            theta[a] += shift
            theta[b] -= shift
            for e in range(n_events):
                gradient[e] += shift * (Q[u, e, a] - Q[u, e, b])
        seeds[u] = state


@njit(cache=True, nogil=True)
def _draw_bounds(state: np.uint64, mass: float, power: float) -> tuple[np.uint64, float, float]:
    """Between which masses mass^power is above a height drawn uniformly below its present one."""
    if power == 0.0:
        return state, 0.0, 1.0
    state = next_random(state)
    bound = max(mass, TINY) * (1.0 - uniform(state)) ** (1.0 / power)
    if power < 0.0:
        return state, 0.0, bound
    return state, bound, 1.0
