"""PMFs and each user's noise drawn from their conditional laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.types import Floats
from eventspace.engines.gram import sum_up
from eventspace.pmf.quadratic import cost_of, half_gradient
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
        self,
        Q: Any,
        r: Any,
        e: Any,
        n_ratings: Any,
        counts: Any,
        pmf: Any,
        tau: Any,
        error: Any,
        seeds: Any,
    ) -> None:
        """Draw precisions tau and PMFs in place, given the pseudo-counts; write squared errors."""
        Q = one_each(Q, len(pmf))
        tau[:] = draw_precisions(Q, r, e, n_ratings, pmf, self.noise_shape, self.noise_rate, seeds)
        draw_pmfs(Q, r, tau, counts, pmf, seeds)
        error[:] = np.maximum(
            e + np.einsum("ud,ude,ue->u", pmf, Q, pmf) - 2 * np.einsum("ud,ud->u", r, pmf), 0.0
        )

    @property
    def row_by_row(self) -> Any:
        """The same with the sums."""

        def draw(*arrays: Any) -> None:
            sum_and_draw_pmfs(*arrays, self.noise_shape, self.noise_rate)

        return draw

    @property
    def of_one_row(self) -> Any:
        """The same for one row; it reads the first two arrays only, and takes these numbers."""
        return draw_user, 2, (self.noise_shape, self.noise_rate)


def one_each(Q: Floats, n_users: int) -> Floats:
    """A matrix for each user, also where all share one, as in a full table."""
    return np.repeat(Q, n_users, axis=0) if len(Q) < n_users else Q


@njit(cache=True, nogil=True)
def sum_and_draw_pmfs(
    ptr: Any,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    n_ratings: Any,
    counts: Any,
    pmf: Any,
    tau: Any,
    error: Any,
    seeds: Any,
    shape: float,
    rate: float,
) -> None:
    """Draw each user's precision, then each row of ``pmf``, from their entries.

    ``error`` is the squared error of each user's ratings then.
    """
    n_events, n_columns = pmf.shape[1], factors.shape[1]
    Q, r = np.empty((n_columns, n_columns)), np.empty(n_columns)
    order, gradient = np.empty(n_events, np.int64), np.empty(n_events)
    for u in range(len(pmf)):
        e = sum_up(ptr[u], ptr[u + 1], index, value, weight, factors, Q, r)
        rows = n_ratings, counts, pmf, tau, error, seeds
        draw_user(u, Q, r, e, order, gradient, *rows, shape, rate)


@njit(cache=True, nogil=True)
def draw_user(
    u: int,
    Q: Any,
    r: Any,
    e: float,
    order: Any,
    gradient: Any,
    n_ratings: Any,
    counts: Any,
    pmf: Any,
    tau: Any,
    error: Any,
    seeds: Any,
    shape: float,
    rate: float,
) -> None:
    """Draw user u's precision and PMF, from the quadratic. Both scratch arrays are overwritten."""
    theta = pmf[u]
    half_gradient(Q, r, theta, gradient)
    before = e + cost_of(gradient, r, theta)
    state, precision = _draw_precision(seeds[u], before, n_ratings[u], shape, rate)
    tau[u] = precision
    seeds[u] = _draw_row(Q, precision, counts[u], theta, state, order, gradient)
    error[u] = max(e + cost_of(gradient, r, theta), 0.0)


@njit(cache=True, nogil=True)
def draw_precisions(
    Q: Any, r: Any, energy: Any, counts: Any, pmf: Any, shape: float, rate: float, seeds: Any
) -> Any:
    """Draw each user's noise precision: Gamma(shape, rate) times the likelihood of the ratings."""
    precision, gradient = np.empty(len(pmf)), np.empty(pmf.shape[1])
    for u in range(len(pmf)):
        half_gradient(Q[u], r[u], pmf[u], gradient)
        error = energy[u] + cost_of(gradient, r[u], pmf[u])
        seeds[u], precision[u] = _draw_precision(seeds[u], error, counts[u], shape, rate)
    return precision


@njit(cache=True, nogil=True)
def _draw_precision(
    state: np.uint64, error: float, count: float, shape: float, rate: float
) -> tuple[np.uint64, float]:
    """A precision given the squared error of so many ratings.

    It is at most MOST_PRECISION: a table without noise would drive it up for ever.
    """
    state, gamma = draw_gamma(state, shape + 0.5 * count)
    return state, min(gamma / (rate + 0.5 * max(error, 0.0)), MOST_PRECISION)


@njit(cache=True, nogil=True)
def draw_pmfs(Q: Any, r: Any, tau: Any, pseudo_counts: Any, pmf: Any, seeds: Any) -> None:
    """Draw each row theta from exp(-tau (theta'Q theta / 2 - r'theta)) times Dirichlet's law."""
    n_events = pmf.shape[1]
    order, gradient = np.empty(n_events, np.int64), np.empty(n_events)
    for u in range(len(pmf)):
        half_gradient(Q[u], r[u], pmf[u], gradient)
        seeds[u] = _draw_row(Q[u], tau[u], pseudo_counts[u], pmf[u], seeds[u], order, gradient)


@njit(cache=True, nogil=True)
def _draw_row(
    Q: Any, tau: float, counts: Any, theta: Any, state: np.uint64, order: Any, gradient: Any
) -> np.uint64:
    """Draw theta in place; ``gradient`` is Q theta - r. Gives the state of the stream.

    Mass moves between two events at a time, each event with two others in a random circle. Along
    such a line the law is a normal, times a power of each of the two masses; a height drawn below
    each power leaves the interval in which the power is higher (Neal, 2003), and on it the normal.
    Q is symmetric; it may be padded.
    """
    n_events = theta.size
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
        to, away = Q[a], Q[b]
        curvature = tau * (to[a] + away[b] - 2.0 * to[b])
        scale = 1.0 / math.sqrt(max(curvature, FLAT))
        middle = -tau * (gradient[a] - gradient[b]) * scale * scale
        state, x = draw_truncated(state, (low - middle) / scale, (high - middle) / scale)
        shift = min(max(middle + scale * x, low), high)
        theta[a] += shift
        theta[b] -= shift
        for e in range(n_events):
            gradient[e] += shift * (to[e] - away[e])
    return state


@njit(cache=True, nogil=True)
def _draw_bounds(state: np.uint64, mass: float, power: float) -> tuple[np.uint64, float, float]:
    """Between which masses mass^power is above a height drawn uniformly below its present one."""
    if power == 0.0:
        return state, 0.0, 1.0
    state = next_random(state)
    bound = max(mass, TINY) * math.exp(math.log(1.0 - uniform(state)) / power)
    if power < 0.0:
        return state, 0.0, bound
    return state, bound, 1.0
