"""PMFs and each user's noise drawn from their conditional laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eventspace._base.functions import QUICK, exp, log, wave
from eventspace._base.jit import njit
from eventspace._base.randomness import fill_uniform, hashed
from eventspace._base.types import Floats
from eventspace._base.vectors import WIDE
from eventspace.engines.row_sums import room_for, sum_row
from eventspace.pmf.quadratic import cost_of, half_gradient
from eventspace.sampling.draw_variates import draw_gamma, draw_truncated_from, shuffle

MOST_PRECISION = 1e12  # a deviation of 1e-6: what is stored of a value is hardly nearer to it
TINY = 1e-12  # a mass below this is none
FLAT = 1e-6  # curvature that changes no law, and lets no sum lose its digits
ODD = np.uint64(1)  # a stream's state is never zero
BELOW, ABOVE, NORMAL, TURN, PLACE, HEIGHT, N_DRAWS = range(7)  # what an event needs of chance


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
        return partial(sum_and_draw_pmfs, shape=self.noise_shape, rate=self.noise_rate)

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
    n_events: int,
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
    n_columns, room = -(-n_events // WIDE) * WIDE, room_for(factors, n_events)
    Q, r = np.empty((n_columns, n_columns)), np.empty(n_columns)
    order, real = np.empty(n_events, np.int64), np.empty((1 + N_DRAWS) * n_events)
    for u in range(len(pmf)):
        e = sum_row(ptr[u], ptr[u + 1], index, value, weight, factors, room, Q, r)
        rows = n_ratings, counts, pmf, tau, error, seeds
        draw_user(u, Q, r, e, order, real, *rows, shape, rate)


@njit(cache=True, nogil=True)
def draw_user(
    u: int,
    Q: Any,
    r: Any,
    e: float,
    order: Any,
    room: Any,
    n_ratings: Any,
    counts: Any,
    pmf: Any,
    tau: Any,
    error: Any,
    seeds: Any,
    shape: float,
    rate: float,
) -> None:
    """Draw user u's precision and PMF, from the quadratic; ``order`` and ``room`` are scratch."""
    theta, n_events = pmf[u], pmf.shape[1]
    gradient, draws = room[:n_events], room[n_events : (1 + N_DRAWS) * n_events]
    half_gradient(Q, r, theta, gradient)
    before = e + cost_of(gradient, r, theta)
    state, precision = _draw_precision(seeds[u], before, n_ratings[u], shape, rate)
    tau[u] = precision
    seeds[u] = _draw_row(Q, precision, counts[u], theta, state, order, gradient, draws)
    error[u] = max(e + cost_of(gradient, r, theta), 0.0)


@njit(cache=True, nogil=True)
def _room(n_events: int) -> tuple[Any, Any, Any]:
    return np.empty(n_events, np.int64), np.empty(n_events), np.empty(N_DRAWS * n_events)


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
    """A precision given the squared error of ``count`` ratings.

    It is at most MOST_PRECISION: a table without noise would drive it up for ever.
    """
    state, gamma = draw_gamma(state, shape + 0.5 * count)
    return state, min(gamma / (rate + 0.5 * max(error, 0.0)), MOST_PRECISION)


@njit(cache=True, nogil=True)
def draw_pmfs(Q: Any, r: Any, tau: Any, pseudo_counts: Any, pmf: Any, seeds: Any) -> None:
    """Draw each row theta from exp(-tau (theta'Q theta / 2 - r'theta)) times Dirichlet's law."""
    n_events = pmf.shape[1]
    order, gradient, draws = _room(n_events)
    for u in range(len(pmf)):
        half_gradient(Q[u], r[u], pmf[u], gradient)
        seeds[u] = _draw_row(
            Q[u], tau[u], pseudo_counts[u], pmf[u], seeds[u], order, gradient, draws
        )


@njit(cache=True, nogil=True)
def _draw_row(
    Q: Any,
    tau: float,
    counts: Any,
    theta: Any,
    state: np.uint64,
    order: Any,
    gradient: Any,
    draws: Any,
) -> np.uint64:
    """Draw theta in place; ``gradient`` is Q theta - r. Gives the state of the stream.

    Mass moves between two events at a time, each event with two others in a random circle. Along
    such a line the law is a normal, times a power of each of the two masses; a height drawn below
    each power leaves the interval in which the power is higher (Neal, 2003), and on it the normal.
    Q is symmetric; it may be padded.
    """
    n_events = theta.size
    state = shuffle(state, order)
    state = _fill(state, counts, draws)
    for k in range(n_events):
        a, b = order[k], order[(k + 1) % n_events]
        if a == b or theta[a] + theta[b] <= TINY:
            continue
        low, high = -theta[a], theta[b]
        bound = max(theta[a], TINY) * draws[BELOW * n_events + a]
        if counts[a] > 1.0:
            low = max(low, bound - theta[a])
        elif counts[a] < 1.0:
            high = min(high, bound - theta[a])
        bound = max(theta[b], TINY) * draws[ABOVE * n_events + b]
        if counts[b] > 1.0:
            high = min(high, theta[b] - bound)
        elif counts[b] < 1.0:
            low = max(low, theta[b] - bound)
        if low >= high:  # by rounding only
            continue
        to, away = Q[a], Q[b]
        root = math.sqrt(max(tau * (to[a] + away[b] - 2.0 * to[b]), FLAT))
        scale = 1.0 / root
        middle = -tau * (gradient[a] - gradient[b]) * scale * scale
        # a stream of its own: how many draws one move needs does not change the next
        _, x = draw_truncated_from(
            hashed(state, k) | ODD,
            (low - middle) * root,
            (high - middle) * root,
            draws[NORMAL * n_events + k],
            draws[PLACE * n_events + k],
            draws[HEIGHT * n_events + k],
        )
        shift = min(max(middle + scale * x, low), high)
        theta[a] += shift
        theta[b] -= shift
        for e in range(n_events):
            gradient[e] += shift * (to[e] - away[e])
    return state


@njit(**QUICK)
def _fill(state: np.uint64, counts: Any, draws: Any) -> np.uint64:
    """What a row needs of chance, all of it at once.

    BELOW and ABOVE are what a mass is times at the height that is drawn below its power, once for
    each of the two moves of an event. The others are the first proposal of each move.
    """
    n_events = counts.size
    state = fill_uniform(state, draws)
    for d in range(n_events):
        power = counts[d] - 1.0 if counts[d] != 1.0 else 1.0  # where it is one, nothing is asked
        draws[BELOW * n_events + d] = exp(log(1.0 - draws[BELOW * n_events + d]) / power)
        draws[ABOVE * n_events + d] = exp(log(1.0 - draws[ABOVE * n_events + d]) / power)
        radius = math.sqrt(-2.0 * log(1.0 - draws[NORMAL * n_events + d]))
        draws[NORMAL * n_events + d] = radius * wave(draws[TURN * n_events + d])
        draws[HEIGHT * n_events + d] = -log(1.0 - draws[HEIGHT * n_events + d])
    return state
