"""Indicators drawn from their conditional law, several bits at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.sampling.draw_variates import shuffle

BLOCK = 4  # bits that are drawn jointly: 2^4 sets are weighed


@dataclass(frozen=True)
class DrawIndicators:
    """A step of an engine: draw some items' bits, given the prior's log-odds."""

    def __call__(self, S: Any, v: Any, e: Any, log_odds: Any, indicators: Any, seeds: Any) -> None:
        """Draw the indicators in place; the weights of the entries hold the noise."""
        v += log_odds
        draw_indicators(S, v, indicators, seeds)


def times_precision(by_item: Entries, precision: Floats) -> Entries:
    """The entries with weights that hold the precision of their users' noise."""
    weight = precision[by_item.index].astype(np.float32)
    if by_item.weight.size:
        weight *= by_item.weight
    missing = by_item.missing * precision if by_item.missing.size else by_item.missing
    return by_item._replace(weight=weight, missing=missing)


@njit(cache=True, nogil=True)
def draw_indicators(S: Any, v: Any, indicators: Any, seeds: Any) -> None:
    """Draw each row psi of ``indicators`` from exp(-psi'S psi / 2 + v'psi), in place.

    The events are put into blocks at random; the bits of a block are drawn together, given the
    others, from all their 2^BLOCK settings, which a Gray code runs through one flip at a time.
    """
    n_events = S.shape[1]
    order = np.empty(n_events, np.int64)
    gradient = np.empty(n_events)  # of the exponent's negative: S psi - v
    energy = np.empty(1 << BLOCK)
    for i in range(indicators.shape[0]):
        psi, state, A = indicators[i], seeds[i], S[min(i, S.shape[0] - 1)]
        for d in range(n_events):
            gradient[d] = -v[i, d]
            for e in range(n_events):
                gradient[d] += A[d, e] * psi[e]
        state = shuffle(state, order)
        for first in range(0, n_events, BLOCK):
            n_bits = min(BLOCK, n_events - first)
            least = _weigh(A, psi, gradient, order, first, n_bits, energy)
            total = 0.0
            for code in range(1 << n_bits):
                energy[code] = math.exp(least - energy[code])
                total += energy[code]
            state = next_random(state)
            left = uniform(state) * total
            chosen = 0
            while left >= energy[chosen] and chosen + 1 < 1 << n_bits:
                left -= energy[chosen]
                chosen += 1
            for k in range(n_bits):
                if (chosen >> k) & 1:
                    _flip(A, psi, gradient, order[first + k])
        seeds[i] = state


@njit(cache=True, nogil=True)
def _weigh(
    S: Any, psi: Any, gradient: Any, order: Any, first: int, n_bits: int, energy: Any
) -> float:
    """The energy of every way to flip the bits of a block, over that of now; gives the least."""
    now, least, flipped = 0.0, 0.0, 0
    energy[0] = 0.0
    for step in range(1, 1 << n_bits):
        k = 0
        while (step >> k) & 1 == 0:
            k += 1
        now += _flip_within(S, psi, gradient, order, first, n_bits, k)
        flipped ^= 1 << k
        energy[flipped] = now
        least = min(least, now)
    # a Gray code ends with its last bit alone
    _flip_within(S, psi, gradient, order, first, n_bits, n_bits - 1)
    return least


@njit(cache=True, nogil=True)
def _flip_within(
    S: Any, psi: Any, gradient: Any, order: Any, first: int, n_bits: int, k: int
) -> float:
    """Flip one bit, with the gradient kept up within its block only; gives the change."""
    d = order[first + k]
    sign = 1.0 - 2.0 * psi[d]
    change: float = sign * gradient[d] + 0.5 * S[d, d]
    psi[d] += sign
    for j in range(first, first + n_bits):
        gradient[order[j]] += sign * S[order[j], d]
    return change


@njit(cache=True, nogil=True)
def _flip(S: Any, psi: Any, gradient: Any, d: int) -> None:
    sign = 1.0 - 2.0 * psi[d]
    psi[d] += sign
    for e in range(gradient.size):
        gradient[e] += sign * S[e, d]
