"""Inclinations drawn given PMFs, or bits, by a few of Metropolis's steps each.

An item's inclination is added to the log-odds of all its bits. A user's inclination shifts the
centre of the PMF towards the events in which much comes true.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eventspace._base.functions import QUICK, exp, log
from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace.engines.workbench import RowKernel
from eventspace.sampling.draw_pmfs import TINY
from eventspace.sampling.draw_variates import draw_normal
from eventspace.sampling.log_dirichlet import log_density

MOST = 6.0  # of an inclination, and of what else the log-odds of a prior are made of
STEPS = 2  # in a sweep


@njit(**QUICK)
def draw_inclined_user(
    c: int,
    u: int,
    room: Any,
    centres: Any,
    pmf: Any,
    inclined: Any,
    tilted: Any,
    seeds: Any,
    towards: Any,
    numbers: Any,
) -> None:
    """Draw ``inclined[u]`` given the PMF; ``tilted[u]`` is the centre that leans by it.

    The inclined of chain c lean ``towards[c]``. Its numbers are the concentration, the variance of
    inclinations, and the width of a step.
    """
    n_events = pmf.shape[1]
    log_pmf, centre, lean = room[:n_events], tilted[u], towards[c]
    concentration, variance, width = numbers[c, 0], numbers[c, 1], numbers[c, 2]
    for d in range(n_events):
        log_pmf[d] = log(max(pmf[u, d], TINY))
    state, x = seeds[u], inclined[u]
    tilt(x, centres[u], lean, centre)
    now = log_density(log_pmf, concentration, centre) - x * x / (2.0 * variance)
    for _ in range(STEPS):
        state, normal = draw_normal(state)
        state = next_random(state)
        other = x + width * normal
        if abs(other) < MOST:
            tilt(other, centres[u], lean, centre)
            there = log_density(log_pmf, concentration, centre) - other * other / (2.0 * variance)
            if math.log(1.0 - uniform(state)) < there - now:
                x, now = other, there
    tilt(x, centres[u], lean, centre)
    seeds[u], inclined[u] = state, x


@njit(**QUICK, inline="always")
def tilt(x: float, centre: Any, towards: Any, tilted: Any) -> None:
    """The centre of a user who is inclined by x; it sums to one."""
    total = 0.0
    for d in range(centre.size):
        tilted[d] = centre[d] * exp(x * towards[d])
    for d in range(centre.size):  # by itself, as in ``gram.sum_up``
        total += tilted[d]
    for d in range(centre.size):
        tilted[d] /= total


@njit(**QUICK)
def draw_inclined_users(
    centres: Any, pmf: Any, inclined: Any, tilted: Any, seeds: Any, towards: Any, numbers: Any
) -> None:
    """Draw the inclinations of all users, in place."""
    room, shared = np.empty(pmf.shape[1]), (towards, numbers)
    for u in range(len(pmf)):
        draw_inclined_user(0, u, room, centres, pmf, inclined, tilted, seeds, *shared)


@njit(**QUICK)
def draw_inclined_item(
    c: int,
    i: int,
    room: Any,
    indicators: Any,
    log_odds: Any,
    inclined: Any,
    seeds: Any,
    numbers: Any,
) -> None:
    """Draw ``inclined[i]`` given the bits, whose log-odds it adds to.

    The numbers of chain c are the variance of inclinations, and the width of a step.
    """
    psi, odds, variance, width = indicators[i], log_odds[i], numbers[c, 0], numbers[c, 1]
    n_true = 0.0
    for d in range(psi.size):
        n_true += psi[d]
    state, x = seeds[i], inclined[i]
    now = x * n_true - _log_of_all(odds, x) - x * x / (2.0 * variance)
    for _ in range(STEPS):
        state, normal = draw_normal(state)
        state = next_random(state)
        other = x + width * normal
        if abs(other) < MOST:
            there = other * n_true - _log_of_all(odds, other) - other * other / (2.0 * variance)
            if math.log(1.0 - uniform(state)) < there - now:
                x, now = other, there
    seeds[i], inclined[i] = state, x


@njit(**QUICK, inline="always")
def _log_of_all(log_odds: Any, inclined: float) -> float:
    """``sum_d log(1 + exp(log_odds_d + x))``: the log of what the laws of bits are divided by."""
    found = 0.0
    for d in range(log_odds.size):
        found += log(1.0 + exp(log_odds[d] + inclined))
    return found


@njit(**QUICK)
def draw_inclined_items(
    indicators: Any, log_odds: Any, inclined: Any, seeds: Any, numbers: Any
) -> None:
    """Draw the inclinations of all items, in place."""
    room = np.empty(0)
    for i in range(len(indicators)):
        draw_inclined_item(0, i, room, indicators, log_odds, inclined, seeds, numbers)


INCLINED_USERS = RowKernel(draw_inclined_user, draw_inclined_users)
INCLINED_ITEMS = RowKernel(draw_inclined_item, draw_inclined_items)
