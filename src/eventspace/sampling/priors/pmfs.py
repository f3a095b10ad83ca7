"""The prior of a user's PMF: the items that a user chooses to rate say much about the user.

A PMF has a Dirichlet law around a centre. The centre is a linear regression on the indicators of
the items rated, and on their number. The user's inclination shifts it towards the events in which
much comes true. The concentration says how closely PMFs follow their centres, and is drawn along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventspace.engines.workbench import Held, Workbench
from eventspace.sampling.draw_inclinations import INCLINED_USERS
from eventspace.sampling.draw_pmfs import TINY
from eventspace.sampling.log_dirichlet import LEAST_COUNT, LOG_DENSITIES
from eventspace.sampling.priors.features import Features, ridge_of
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.interface import Numbers, Prior, Rng, State
from eventspace.sampling.slices import draw_by_slices

RIDGES = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # to choose from, on features of unit variance
ENOUGH_USERS = 1000  # to choose a ridge by; more than twice as many are thinned out
LEAST_OTHERS = 1e-9  # what a centre owes to other users, at least
LOG_ODDS_PER_CHANCE = 4.0  # around one half
LEAST_CONCENTRATION = 1e-100  # below it PMFs know of no centre anyway
MOST_CONCENTRATION = 1e4  # beyond it all PMFs are as good as their centres, and would freeze
DEVIATIONS = 3.0  # of the log of a concentration, in which its next value is sought at first


@dataclass
class PmfPrior(Prior):
    """Pseudo-counts ``concentration * centre_u``, the centre leaning by the inclination of u."""

    features: Features  # of users, given bits
    inclinations: Inclinations
    concentration: Numbers
    is_given: bool  # the concentration: it is not drawn

    def draw(self, state: State, rng: Rng) -> Held:
        """The pseudo-counts, users x events."""
        centres, towards = self.expected(state)
        tilted, own = np.empty_like(centres), self.inclinations
        rows = centres, state.pmf, own.of_each, tilted, state.user_seeds
        numbers = own.numbers(self.concentration)
        state.bench.each(INCLINED_USERS, rows, (towards, state.bench.hold(numbers)))
        own.draw_variance(state, state.known_users, rng)
        if not self.is_given:
            self.concentration = draw_concentration(self.concentration, tilted, state, rng)
        return pseudo_counts(state.bench.numbers(self.concentration), tilted)

    def expected(self, state: State) -> tuple[Held, Held]:
        """Centres with the least count of each event, and where the inclined lean to."""
        least = LEAST_COUNT / np.maximum(self.concentration, LEAST_CONCENTRATION)
        centres = np.maximum(self.centres(state), state.bench.numbers(least))
        return centres, lean(state.indicators, state.known_items)

    def centres(self, state: State) -> Held:
        """Where PMFs are expected: users x events."""
        if not self.features.told:
            return mean_centres(state.pmf, state.known_users)
        Z = self.features(state.indicators)
        return regressed_centres(Z, state.pmf, state.known_users, state.bench)


def mean_centres(pmf: Held, known: Held) -> Held:
    """The same for all: the mean of the known."""
    return np.zeros_like(pmf) + (known @ pmf / known.sum())[..., None, :]


def regressed_centres(Z: Held, pmf: Held, known: Held, bench: Workbench) -> Held:
    """Ridge regressions of PMFs on features Z, each user's learnt from the other known ones.

    A user's own PMF is left out, otherwise the centre would follow it wherever it goes. The ridge
    is the one that predicts the left-out PMFs of some known users best.
    """
    rows, n_events, n_features = known[:, None] * Z, pmf.shape[-1], Z.shape[-1]
    turned = rows.swapaxes(-1, -2)
    gram, linear = bench.fetch(turned @ Z)[..., None, :, :], bench.fetch(turned @ pmf)
    penalties = np.array([np.diag(ridge_of(n_features, ridge)) for ridge in RIDGES])
    inverses = np.linalg.inv(gram + penalties)  # chains x ridges x features x features
    weights = np.concatenate([inverses @ linear[..., None, :, :], inverses], axis=-1)

    def left_out(weights: Held, users: Held) -> Held:
        found = Z[..., None, users, :] @ bench.hold(weights)
        own = (found[..., n_events:] * rows[..., None, users, :]).sum(axis=-1, keepdims=True)
        others = np.maximum(1 - own, LEAST_OTHERS)
        return (found[..., :n_events] - own * pmf[..., None, users, :]) / others

    at = np.flatnonzero(bench.fetch(known))
    some = bench.hold(at[:: max(len(at) // ENOUGH_USERS, 1)])
    apart = np.square(left_out(weights, some) - pmf[..., None, some, :])
    best = np.argmin(bench.fetch(apart.sum(axis=(-1, -2))), axis=-1)
    chosen = np.take_along_axis(weights, best[..., None, None, None], axis=-3)
    return left_out(chosen, slice(None))[..., 0, :, :]


def lean(indicators: Held, known: Held) -> Held:
    """How much more comes true in each event than in others, in log-odds around one half."""
    rate = known @ indicators / known.sum()
    return LOG_ODDS_PER_CHANCE * (rate - rate.mean(axis=-1, keepdims=True))


def pseudo_counts(concentration: Held, centres: Held) -> Held:
    """The Dirichlet laws of PMFs around their centres."""
    return np.maximum(concentration * centres, LEAST_COUNT)


def draw_concentration(concentration: Numbers, centres: Held, state: State, rng: Rng) -> Numbers:
    """Draw the concentration given the PMFs: beforehand, its log is normal around that of D."""
    log_pmf, n_events = np.log(np.maximum(state.pmf, TINY)), state.pmf.shape[-1]
    found, bench = np.empty_like(state.precision), state.bench
    typical = np.log(n_events)

    def log_density(x: Numbers) -> Numbers:
        numbers = bench.hold(np.exp(x)[..., None])
        bench.each(LOG_DENSITIES, (centres, log_pmf, found), (numbers,))
        density = bench.fetch(found @ state.known_users) - 0.5 * np.square(x - typical)
        return np.where(x > np.log(MOST_CONCENTRATION), -np.inf, density)

    n_known = float(state.known_users.sum())
    width = DEVIATIONS / np.sqrt(1.0 + n_known * (n_events - 1) / 2)
    return np.exp(draw_by_slices(log_density, np.log(concentration), float(width), rng))
