"""Draws inside kernels: each takes the state of a stream and gives the advanced one back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform

WIDE = math.sqrt(2.0 * math.pi)  # an interval with this many standard deviations
SIDE = 0.25  # of zero: from there on an interval counts as lying on one side


@njit(cache=True, nogil=True)
def draw_normal(state: np.uint64) -> tuple[np.uint64, float]:
    """A standard normal (Box-Muller)."""
    state = next_random(state)
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
    state = next_random(state)
    return state, radius * math.cos(2.0 * math.pi * uniform(state))


@njit(cache=True, nogil=True)
def draw_truncated_from(
    state: np.uint64, low: float, high: float, normal: float, place: float, height: float
) -> tuple[np.uint64, float]:
    """As ``draw_truncated``, with the draws of the first proposal, which may be made beforehand.

    They are a normal, a uniform in [0, 1) and an exponential one. What is accepted has the law, and
    so has what is drawn anew if it is not. Only how wide the interval is decides what is proposed.
    """
    wide = high - low > WIDE
    x = normal if wide else low + (high - low) * place
    nearest = min(max(low, 0.0), high)
    if low <= x <= high and (wide or 0.5 * (x - nearest) * (x + nearest) <= height):
        return state, x
    return draw_truncated(state, low, high)


@njit(cache=True, nogil=True)
def draw_truncated(state: np.uint64, low: float, high: float) -> tuple[np.uint64, float]:
    """A standard normal between two bounds, by rejection (Robert, 1995): it is exact.

    Proposals are normal where the interval is wide and around zero, uniform where it is narrow,
    exponential in a tail; about half of them or more are accepted. Without any room between the
    bounds (or with one that is no number) there is nothing to draw: the lower one is given.

    A bound is often zero but for rounding. So nothing is decided there, but at SIDE.
    """
    if not low < high:
        return state, low
    sign = 1.0
    if low + high < -SIDE:
        sign, low, high = -1.0, -high, -low
    if low <= SIDE and high - low > WIDE:
        while True:
            state, x = draw_normal(state)
            if low <= x <= high:
                return state, sign * x
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))  # of the best exponential proposal
    if low <= SIDE or rate * (high - low) < 1.0:
        nearest = min(max(low, 0.0), high)
        while True:
            state = next_random(state)
            x = low + (high - low) * uniform(state)
            state = next_random(state)
            if math.log(1.0 - uniform(state)) <= 0.5 * (nearest - x) * (nearest + x):
                return state, sign * x
    while True:
        state = next_random(state)
        x = low - math.log(1.0 - uniform(state)) / rate
        state = next_random(state)
        if x <= high and math.log(1.0 - uniform(state)) <= -0.5 * (x - rate) * (x - rate):
            return state, sign * x


@njit(cache=True, nogil=True)
def draw_gamma(state: np.uint64, shape: float) -> tuple[np.uint64, float]:
    """A Gamma of scale one and a shape of at least one (Marsaglia and Tsang, 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state, x = draw_normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state = next_random(state)
        if math.log(1.0 - uniform(state)) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return state, d * v


@njit(cache=True, nogil=True)
def shuffle(state: np.uint64, order: Any) -> np.uint64:
    """Put the numbers from zero on into ``order``, in random order."""
    for k in range(order.size):
        order[k] = k
    for k in range(order.size - 1, 0, -1):
        state = next_random(state)
        j = int(uniform(state) * (k + 1))
        order[k], order[j] = order[j], order[k]
    return state
