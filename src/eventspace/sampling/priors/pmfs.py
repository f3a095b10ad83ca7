"""The prior of a user's PMF: the items that a user chooses to rate say much about the user.

A PMF has a Dirichlet law around a centre. The centre is a linear regression on the indicators of
the items rated, and on their number. The user's inclination shifts it towards the events in which
much comes true. The concentration says how closely PMFs follow their centres, and is drawn along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eventspace._base.types import Bits, Floats
from eventspace.sampling.draw_pmfs import TINY
from eventspace.sampling.log_dirichlet import log_dirichlet
from eventspace.sampling.priors.features import ridge_of
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.interface import Prior, State

RIDGES = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # to choose from, on features of unit variance
LEAST_OTHERS = 1e-9  # what a centre owes to other users, at least
LOG_ODDS_PER_CHANCE = 4.0  # around one half
LEAST_COUNT = 0.2  # of an event in the Dirichlet law of a PMF
LEAST_CONCENTRATION = 1e-100  # below it PMFs know of no centre anyway
MOST_CONCENTRATION = 1e4  # beyond it all PMFs are as good as their centres, and would freeze
WIDTH = 0.1  # of the first interval in which the log of a concentration is sought


class Around(NamedTuple):
    """Where PMFs are expected, and to which events they lean if users are inclined."""

    centres: Floats  # users x events
    towards: Floats  # events

    def tilted(self, inclined: Floats) -> Floats:
        """The centres of users with these inclinations; they sum to one."""
        found = self.centres * np.exp(inclined[:, None] * self.towards)
        return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass
class PmfPrior(Prior):
    """Pseudo-counts ``concentration * centre_u``, the centre leaning by the inclination of u."""

    centres: Callable[[State], Floats]  # users x events
    inclinations: Inclinations
    concentration: float
    is_given: bool  # the concentration: it is not drawn

    def draw(self, state: State, rng: np.random.Generator) -> Floats:
        """The pseudo-counts, users x events."""
        around, known = self.expected(state), state.known_users
        self.draw_inclinations(self.inclinations, around, state.pmf, rng)
        self.inclinations.draw_variance(known, rng)
        centres = around.tilted(self.inclinations.of_each)
        if not self.is_given:
            self.concentration = draw_concentration(
                self.concentration, centres[known], state.pmf[known], rng
            )
        return pseudo_counts(self.concentration, centres)

    def expected(self, state: State) -> Around:
        """Centres with the least count of each event, and where they lean to."""
        least = LEAST_COUNT / max(self.concentration, LEAST_CONCENTRATION)
        centres = np.maximum(self.centres(state), least)
        return Around(centres, lean(state.indicators[state.known_items]))

    def draw_inclinations(
        self, inclinations: Inclinations, around: Around, pmf: Floats, rng: np.random.Generator
    ) -> None:
        """Draw what users with these PMFs are inclined to."""
        log_pmf = log_of(pmf)

        def log_likelihood(x: Floats) -> Floats:
            return log_dirichlet(pseudo_counts(self.concentration, around.tilted(x)), log_pmf)

        inclinations.draw(log_likelihood, rng)


def mean_centres(pmf: Floats, known: Bits) -> Floats:
    """The same for all: the mean of the known."""
    return np.tile(pmf[known].mean(axis=0), (len(pmf), 1))


def regressed_centres(Z: Floats, pmf: Floats, known: Bits) -> Floats:
    """Ridge regressions of PMFs on features Z, each user's learnt from the other known ones.

    A user's own PMF is left out, otherwise the centre would follow it wherever it goes. The ridge
    is the one that predicts the left-out PMFs best.
    """
    rows, mass = Z[known], pmf[known]
    gram, linear = rows.T @ rows, rows.T @ mass
    inverses = [np.linalg.inv(gram + np.diag(ridge_of(Z.shape[1], ridge))) for ridge in RIDGES]
    errors = []
    for inverse in inverses:
        apart = rows @ (inverse @ linear) - mass
        own = np.einsum("up,up->u", rows @ inverse, rows)
        left_out = np.einsum("ud,ud->u", apart, apart)
        errors.append((left_out / np.square(np.maximum(1.0 - own, LEAST_OTHERS))).sum())
    inverse = inverses[int(np.argmin(errors))]
    own = np.where(known, np.einsum("up,up->u", Z @ inverse, Z), 0.0)[:, None]
    return np.asarray((Z @ (inverse @ linear) - own * pmf) / np.maximum(1 - own, LEAST_OTHERS))


def lean(indicators: Floats) -> Floats:
    """How much more comes true in each event than in others, in log-odds around one half."""
    rate = indicators.mean(axis=0)
    return np.asarray(LOG_ODDS_PER_CHANCE * (rate - rate.mean()))


def pseudo_counts(concentration: float, centres: Floats) -> Floats:
    """The Dirichlet laws of PMFs around their centres."""
    return np.maximum(concentration * centres, LEAST_COUNT)


def log_of(pmf: Floats) -> Floats:
    """Finite, also where there is no mass."""
    return np.asarray(np.log(np.maximum(pmf, TINY)))


def draw_concentration(
    concentration: float, centres: Floats, pmf: Floats, rng: np.random.Generator
) -> float:
    """Draw the concentration given the PMFs: beforehand, its log is normal around that of D."""
    log_pmf, n_events = log_of(pmf), pmf.shape[1]

    def log_density(x: float) -> float:
        if x > np.log(MOST_CONCENTRATION):
            return -np.inf
        of_users = log_dirichlet(pseudo_counts(float(np.exp(x)), centres), log_pmf)
        return float(of_users.sum() - 0.5 * (x - np.log(n_events)) ** 2)

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
