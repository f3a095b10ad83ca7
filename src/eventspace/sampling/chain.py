"""One chain: a state of PMFs, indicators, inclinations and noise; a sweep draws the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.randomness import streams
from eventspace._base.types import Floats
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.sampling.draw_indicators import DrawIndicators, times_precision
from eventspace.sampling.draw_pmfs import DrawPmfs
from eventspace.sampling.inclinations import Inclinations
from eventspace.sampling.priors import (
    LEAST_COUNT,
    ItemPrior,
    draw_concentration,
    features,
    incidence,
    lean,
    log_dirichlet,
    log_likelihood_of_bits,
    log_of,
    pmf_centres,
    pseudo_counts,
    tilted,
)

NOISE_SHAPE = 20.0  # of the Gamma law of the users' precisions: they differ by a quarter or so
NOISE_RATE = 0.8  # where its rate starts: a standard deviation of about 0.2
MOST_WEIGHT = 1e20  # times any precision it is still a number in 32 bits
LEAST_CONCENTRATION = 1e-100  # below it PMFs know of no centre anyway
START_SHARE = 0.02  # of the mass, which is spread over all events: none is out of the question


class Laws(NamedTuple):
    """What users, and items, have in common, and each draw has anew."""

    concentration: float  # of PMFs around their centres
    user_variance: float  # of their inclinations
    item_variance: float


def spread(pmf: Floats) -> Floats:
    """PMFs from which any other may be reached."""
    return np.asarray((1 - START_SHARE) * pmf + START_SHARE / pmf.shape[1])


@dataclass
class Chain:
    """Where a chain stands."""

    observations: Observations
    engine: Engine
    pmf: Floats  # users x events
    indicators: Floats  # items x events, 0 or 1
    concentration_given: float | None  # of the PMFs around their centres; None: drawn along
    informed: bool  # whether the priors know who rated what
    rng: np.random.Generator
    user_attributes: Floats  # users x attributes, of mean zero; there may be none
    item_attributes: Floats
    concentration: float = field(init=False)
    precision: Floats = field(init=False)  # of each user's noise
    noise_rate: float = field(default=NOISE_RATE, init=False)  # of the Gamma law of these
    user_inclinations: Inclinations = field(init=False)
    item_inclinations: Inclinations = field(init=False)

    def __post_init__(self) -> None:
        seen = self.observations
        if seen.by_user.weight.max(initial=0.0) > MOST_WEIGHT:
            raise UserError(
                f"A weight of {seen.by_user.weight.max():g} is more than a chain can add up "
                f"({MOST_WEIGHT:g}): scale the weights down."
            )
        self.pmf, self.indicators = self.pmf.copy(), self.indicators.copy()  # drawn in place
        given, n_events = self.concentration_given, self.pmf.shape[1]
        self.concentration = float(n_events) if given is None else given
        self.precision = np.full(seen.n_users, NOISE_SHAPE / NOISE_RATE)
        self.user_inclinations = Inclinations.none(seen.n_users, n_events)
        self.item_inclinations = Inclinations.none(seen.n_items, n_events)
        self._user_seeds = streams(self.rng, seen.n_users)
        self._item_seeds = streams(self.rng, seen.n_items)
        self._counts = seen.by_user.sizes.astype(np.float64)
        self._rated_items = seen.by_item.rated
        self._rated_users = self._counts > 0
        self._by_item = incidence(seen.by_item, seen.n_users)
        self._by_user = incidence(seen.by_user, seen.n_items)
        n_features = 2 + n_events + self.item_attributes.shape[1] if self.informed else 1
        self._item_prior = ItemPrior(n_features, n_events)

    @property
    def laws(self) -> Laws:
        """Those of the last sweep."""
        return Laws(
            self.concentration,
            self.user_inclinations.variance,
            self.item_inclinations.variance,
        )

    def sweep(self) -> None:
        """Draw indicators, noise and PMFs, each given the rest; before each, its prior."""
        self._draw_indicators()
        self._draw_pmfs()

    def log_odds(self) -> Floats:
        """The prior of the bits, items x events; what it depends on is drawn and learnt first."""
        X, inclined = self._item_features(), self.item_inclinations
        self._learn_items(X)
        inclined.draw_variance(self._rated_items, self.rng)
        return self._item_prior.expected(X) + inclined.of_each[:, None]

    def _learn_items(self, X: Floats) -> None:
        """Draw the items' inclinations, then a step of the regressions of their bits."""
        inclined, expected = self.item_inclinations, self._item_prior.expected(X)
        inclined.draw(partial(log_likelihood_of_bits, self.indicators, expected), self.rng)
        self._item_prior.learn(X, self.indicators, self._rated_items, inclined.of_each)

    def _item_features(self) -> Floats:
        if self.informed:
            return features(self._by_item, self.pmf, self.item_attributes)
        return np.ones((len(self.indicators), 1))

    def centres(self) -> Floats:
        """The prior means of the PMFs, users x events."""
        if self.informed:
            Z = features(self._by_user, self.indicators, self.user_attributes)
            return pmf_centres(Z, self.pmf, self._rated_users)
        return np.tile(self.pmf[self._rated_users].mean(axis=0), (len(self.pmf), 1))

    def centres_and_lean(self) -> tuple[Floats, Floats]:
        """Centres with the least count of each event, and where they lean to by inclinations."""
        least = LEAST_COUNT / max(self.concentration, LEAST_CONCENTRATION)
        centres = np.maximum(self.centres(), least)
        return centres, lean(self.indicators[self._rated_items])

    def pseudo_counts(self) -> Floats:
        """The Dirichlet laws of the PMFs, users x events; what they depend on is drawn first."""
        centres, towards = self.centres_and_lean()
        inclined, known, log_pmf = self.user_inclinations, self._rated_users, log_of(self.pmf)

        def log_likelihood(x: Floats) -> Floats:
            counts = pseudo_counts(self.concentration, tilted(centres, x, towards))
            return log_dirichlet(counts, log_pmf)

        inclined.draw(log_likelihood, self.rng)
        inclined.draw_variance(known, self.rng)
        centres = tilted(centres, inclined.of_each, towards)
        if self.concentration_given is None:
            self.concentration = draw_concentration(
                self.concentration, centres[known], self.pmf[known], self.rng
            )
        return pseudo_counts(self.concentration, centres)

    def _draw_indicators(self) -> None:
        log_odds, by_item = self.log_odds(), self.observations.by_item
        self.engine.run(
            DrawIndicators(),
            times_precision(by_item, self.precision),
            self.pmf,
            log_odds,
            self.indicators,
            self._item_seeds,
        )

    def _draw_pmfs(self) -> None:
        self.engine.run(
            DrawPmfs(NOISE_SHAPE, self.noise_rate),
            self.observations.by_user,
            self.indicators,
            *(self._counts, self.pseudo_counts(), self.pmf, self.precision, self._user_seeds),
        )
        # the conjugate law of the rate, with a prior that is worth one user
        known = self.precision[self._rated_users]
        shape = NOISE_SHAPE * (len(known) + 1)
        self.noise_rate = self.rng.gamma(shape) / (known.sum() + NOISE_SHAPE / NOISE_RATE)
