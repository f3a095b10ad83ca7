"""The prior of a user's PMF: the items that a user chooses to rate say much about the user.

A PMF has a Dirichlet law around a centre. The centre is a linear regression on the indicators of
the items rated, and on their number. The user's inclination shifts it towards the events in which
much comes true. The concentration says how closely PMFs follow their centres, and is drawn along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eventspace.engines.workbench import Held, Workbench
from eventspace.sampling.draw_inclinations import INCLINED_USERS
from eventspace.sampling.draw_pmfs import TINY
from eventspace.sampling.log_dirichlet import LEAST_COUNT, LOG_DENSITIES
from eventspace.sampling.priors.features import Features, ridge_of
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.interface import Prior, State

RIDGES = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # to choose from, on features of unit variance
ENOUGH_USERS = 1000  # to choose a ridge by; more than twice as many are thinned out
LEAST_OTHERS = 1e-9  # what a centre owes to other users, at least
LOG_ODDS_PER_CHANCE = 4.0  # around one half
LEAST_CONCENTRATION = 1e-100  # below it PMFs know of no centre anyway
MOST_CONCENTRATION = 1e4  # beyond it all PMFs are as good as their centres, and would freeze
WIDTH = 0.1  # of the first interval in which the log of a concentration is sought


@dataclass
class PmfPrior(Prior):
    """Pseudo-counts ``concentration * centre_u``, the centre leaning by the inclination of u."""

    features: Features  # of users, given bits
    inclinations: Inclinations
    concentration: float
    is_given: bool  # the concentration: it is not drawn

    def draw(self, state: State, rng: np.random.Generator) -> Held:
        """The pseudo-counts, users x events."""
        centres, towards = self.expected(state)
        tilted, own = np.empty_like(centres), self.inclinations
        rows = centres, towards, state.pmf, own.of_each, tilted, state.user_seeds
        state.bench.each(INCLINED_USERS, *rows, self.concentration, own.variance, own.width)
        own.draw_variance(state.known_users, rng)
        if not self.is_given:
            self.concentration = draw_concentration(self.concentration, tilted, state, rng)
        return pseudo_counts(self.concentration, tilted)

    def expected(self, state: State) -> tuple[Held, Held]:
        """Centres with the least count of each event, and where the inclined lean to."""
        least = LEAST_COUNT / max(self.concentration, LEAST_CONCENTRATION)
        return np.maximum(self.centres(state), least), lean(state.indicators, state.known_items)

    def centres(self, state: State) -> Held:
        """Where PMFs are expected: users x events."""
        if not self.features.told:
            return mean_centres(state.pmf, state.known_users)
        Z = self.features(state.indicators)
        return regressed_centres(Z, state.pmf, state.known_users, state.bench)


def mean_centres(pmf: Held, known: Held) -> Held:
    """The same for all: the mean of the known."""
    return np.tile(known @ pmf / known.sum(), (len(pmf), 1))


def regressed_centres(Z: Held, pmf: Held, known: Held, bench: Workbench) -> Held:
    """Ridge regressions of PMFs on features Z, each user's learnt from the other known ones.

    A user's own PMF is left out, otherwise the centre would follow it wherever it goes. The ridge
    is the one that predicts the left-out PMFs of some known users best.
    """
    rows, n_events = known[:, None] * Z, pmf.shape[1]
    gram, linear = bench.fetch(rows.T @ Z), bench.fetch(rows.T @ pmf)

    def left_out(ridge: float, users: slice) -> Held:
        inverse = np.linalg.inv(gram + np.diag(ridge_of(len(gram), ridge)))
        found = Z[users] @ bench.hold(np.hstack([inverse @ linear, inverse]))
        own = (found[:, n_events:] * rows[users]).sum(axis=1, keepdims=True)
        return (found[:, :n_events] - own * pmf[users]) / np.maximum(1 - own, LEAST_OTHERS)

    some = slice(None, None, max(len(pmf) // ENOUGH_USERS, 1))
    apart = [np.square(left_out(ridge, some) - pmf[some]).sum(axis=1) for ridge in RIDGES]
    errors = bench.fetch(np.stack([known[some] @ squares for squares in apart]))
    return left_out(RIDGES[int(np.argmin(errors))], slice(None))


def lean(indicators: Held, known: Held) -> Held:
    """How much more comes true in each event than in others, in log-odds around one half."""
    rate = known @ indicators / known.sum()
    return LOG_ODDS_PER_CHANCE * (rate - rate.mean())


def pseudo_counts(concentration: float, centres: Held) -> Held:
    """The Dirichlet laws of PMFs around their centres."""
    return np.maximum(concentration * centres, LEAST_COUNT)


def draw_concentration(
    concentration: float, centres: Held, state: State, rng: np.random.Generator
) -> float:
    """Draw the concentration given the PMFs: beforehand, its log is normal around that of D."""
    log_pmf, n_events = np.log(np.maximum(state.pmf, TINY)), state.pmf.shape[1]
    found = np.empty_like(state.known_users)

    def log_density(x: float) -> float:
        if x > np.log(MOST_CONCENTRATION):
            return -np.inf
        state.bench.each(LOG_DENSITIES, centres, log_pmf, found, float(np.exp(x)))
        return float(state.known_users @ found) - 0.5 * float(x - np.log(n_events)) ** 2

    return float(np.exp(draw_by_slice(log_density, float(np.log(concentration)), WIDTH, rng)))


def draw_by_slice(
    log_density: Callable[[float], float], x: float, width: float, rng: np.random.Generator
) -> float:
    """The next draw after x: uniform where the density is above a height below its own at x.

    The interval is widened by steps, then narrowed by misses (Neal, 2003).
    """
    height = log_density(x) - rng.exponential()
    if not np.isfinite(height):
        raise ValueError(f"There is no slice at {x}, where the log of the density is {height}.")
    low = x - width * rng.random()
    high = low + width
    while log_density(low) > height:
        low -= width
    while log_density(high) > height:
        high += width
    while True:
        new = rng.uniform(low, high)
        if log_density(new) >= height:
            return new
        low, high = (new, high) if new < x else (low, new)
