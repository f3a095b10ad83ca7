"""PMFs and each user's noise drawn from their conditional laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from eventspace.gibbs.draws import draw_gamma, draw_truncated, shuffle

MOST_PRECISION = 1e12  # a deviation of 1e-6: what is stored of a value is hardly nearer to it
FLAT = 1e-6  # curvature that changes no law, and lets no sum lose its digits


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
def draw_pmfs(Q: Any, r: Any, pmf: Any, seeds: Any) -> None:
    """Draw each row theta of ``pmf``, on the simplex, from exp(-theta'Q theta / 2 + r'theta).

    Mass moves between two events at a time, each event with two others in a random circle: along
    such a line the law is a truncated normal.
    """
    n_events = pmf.shape[1]
    order = np.empty(n_events, np.int64)
    gradient = np.empty(n_events)
    for u in range(len(pmf)):
        theta, state = pmf[u], seeds[u]
        for d in range(n_events):
            gradient[d] = -r[u, d]
            for e in range(n_events):
                gradient[d] += Q[u, d, e] * theta[e]
        state = shuffle(state, order)
        for k in range(n_events):
            a, b = order[k], order[(k + 1) % n_events]
            if a == b or theta[a] + theta[b] <= 0.0:
                continue
            curvature = Q[u, a, a] + Q[u, b, b] - 2.0 * Q[u, a, b]
            scale = 1.0 / math.sqrt(max(curvature, FLAT))
            middle = -(gradient[a] - gradient[b]) * scale * scale
            low, high = -theta[a], theta[b]
            state, x = draw_truncated(state, (low - middle) / scale, (high - middle) / scale)
            shift = min(max(middle + scale * x, low), high)
            theta[a] += shift
            theta[b] -= shift
            for e in range(n_events):
                gradient[e] += shift * (Q[u, e, a] - Q[u, e, b])
        seeds[u] = state
