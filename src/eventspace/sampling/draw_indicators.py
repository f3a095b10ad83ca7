"""Indicators drawn from their conditional law, several bits at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.functions import QUICK, exp
from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.types import Floats
from eventspace.engines.gram import sum_up
from eventspace.sampling.draw_variates import shuffle

BLOCK = 4  # bits that are drawn jointly: 2^4 sets are weighed


@dataclass(frozen=True)
class DrawIndicators:
    """A step of an engine: draw some items' bits, given the prior's log-odds."""

    of_column: Floats  # the precision of each user's noise

    def __call__(self, S: Any, v: Any, e: Any, log_odds: Any, indicators: Any, seeds: Any) -> None:
        """Draw the indicators in place."""
        v += log_odds
        draw_indicators(S, v, indicators, seeds)

    @property
    def row_by_row(self) -> Any:
        """The same with the sums."""
        return sum_and_draw_indicators

    @property
    def of_one_row(self) -> Any:
        """The same for one row; it reads the first array only, and needs no numbers."""
        return draw_indicator, 1, ()


@njit(cache=True, nogil=True)
def sum_and_draw_indicators(
    ptr: Any,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    n_events: int,
    log_odds: Any,
    indicators: Any,
    seeds: Any,
) -> None:
    """Draw each row of ``indicators``, from its entries."""
    n_columns = factors.shape[1]
    S, v = np.empty((n_columns, n_columns)), np.empty(n_columns)
    order, room = np.empty(n_events, np.int64), np.empty(n_events + (1 << BLOCK))
    for i in range(len(indicators)):
        e = sum_up(ptr[i], ptr[i + 1], index, value, weight, factors, S, v)
        draw_indicator(i, S, v, e, order, room, log_odds, indicators, seeds)


@njit(cache=True, nogil=True)
def draw_indicator(
    i: int, S: Any, v: Any, e: float, order: Any, room: Any, log_odds: Any, psi: Any, seeds: Any
) -> None:
    """Draw row i of ``psi``, from its quadratic. ``order`` and ``room`` are overwritten."""
    n_events = psi.shape[1]
    for d in range(n_events):
        v[d] += log_odds[i, d]
    seeds[i] = _draw_row(S, v, psi[i], seeds[i], order, room[:n_events], room[n_events:])


@njit(cache=True, nogil=True)
def draw_indicators(S: Any, v: Any, indicators: Any, seeds: Any) -> None:
    """Draw each row psi of ``indicators`` from exp(-psi'S psi / 2 + v'psi), in place."""
    order, gradient, energy = _room(indicators.shape[1])
    for i in range(len(indicators)):
        A = S[min(i, S.shape[0] - 1)]
        seeds[i] = _draw_row(A, v[i], indicators[i], seeds[i], order, gradient, energy)


@njit(cache=True, nogil=True)
def _room(n_events: int) -> tuple[Any, Any, Any]:
    return np.empty(n_events, np.int64), np.empty(n_events), np.empty(1 << BLOCK)


@njit(cache=True, nogil=True)
def _draw_row(
    S: Any, v: Any, psi: Any, state: np.uint64, order: Any, gradient: Any, energy: Any
) -> np.uint64:
    """Draw psi from exp(-psi'S psi / 2 + v'psi), in place; gives the state of the stream.

    The events are put into blocks at random; the bits of a block are drawn together, given the
    others, from all their 2^BLOCK settings. S is symmetric; it may be padded.
    """
    n_events = psi.size
    for d in range(n_events):
        gradient[d] = -v[d]  # of the exponent's negative: S psi - v
    for e in range(n_events):
        if psi[e] > 0.5:
            row = S[e]
            for d in range(n_events):
                gradient[d] += row[d]
    state = shuffle(state, order)
    for first in range(0, n_events, BLOCK):
        n_bits = min(BLOCK, n_events - first)
        least = _weigh(S, psi, gradient, order, first, n_bits, energy)
        total = _exponentials(least, energy[: 1 << n_bits])
        state = next_random(state)
        left = uniform(state) * total
        chosen = 0
        while left >= energy[chosen] and chosen + 1 < 1 << n_bits:
            left -= energy[chosen]
            chosen += 1
        for k in range(n_bits):
            if (chosen >> k) & 1:
                d = order[first + k]
                sign, row = 1.0 - 2.0 * psi[d], S[d]
                psi[d] += sign
                for e in range(n_events):
                    gradient[e] += sign * row[e]
    return state


@njit(**QUICK)
def _exponentials(least: float, energy: Any) -> float:
    """Write exp(least - energy) in place; gives the sum."""
    total = 0.0
    for code in range(energy.size):
        energy[code] = exp(least - energy[code])
        total += energy[code]
    return total


@njit(cache=True, nogil=True)
def _weigh(
    S: Any, psi: Any, gradient: Any, order: Any, first: int, n_bits: int, energy: Any
) -> float:
    """The energy of every way to flip the bits of a block, over that of now; gives the least.

    By doubling: with bit k as well, a way costs what k alone does, and k's products with the rest.
    """
    least = energy[0] = 0.0
    for k in range(n_bits):
        d = order[first + k]
        sign, row = 1.0 - 2.0 * psi[d], S[d]
        alone = sign * gradient[d] + 0.5 * row[d]
        for code in range(1 << k):
            both = alone
            for j in range(k):
                if (code >> j) & 1:
                    e = order[first + j]
                    both += sign * (1.0 - 2.0 * psi[e]) * row[e]
            energy[code | (1 << k)] = energy[code] + both
            least = min(least, energy[code] + both)
    return least
