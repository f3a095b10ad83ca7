"""New users and items in a draw that is there already: drawn given all that it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from eventspace._base.types import Floats, Seeds
from eventspace.data.newcomers import News
from eventspace.pmf import Pairwise
from eventspace.sampling.chain import NOISE_SHAPE, Chain, Laws, spread
from eventspace.sampling.draw_indicators import draw_indicators, times_precision
from eventspace.sampling.draw_pmfs import draw_pmfs, draw_precisions, one_each
from eventspace.sampling.inclinations import Inclinations
from eventspace.sampling.priors import (
    as_normal,
    log_dirichlet,
    log_likelihood_of_bits,
    log_of,
    pseudo_counts,
    tilted,
)

PRIOR_STEPS = 10  # of the regressions of the bits, from zero: few are left to go
NEAREST = Pairwise()  # where a new user begins
SWEEPS = 40  # over the new users, then over the new items


@dataclass
class Folding(Chain):
    """A chain on all observations in which what was known stays as it is."""

    new: News = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rated_users[self.new.n_users :] = False
        self._rated_items[self.new.items] = False

        # what a new item is like is not known yet: like the mean, it speaks for no event
        self.indicators[self.new.items] = self.indicators[self._rated_items].mean(axis=0)

    def know(self, precision: Floats, laws: Laws) -> None:
        """Take over the precision of the known users, and what all have in common."""
        first = self.new.n_users
        self.precision[:first] = precision
        self.noise_rate = NOISE_SHAPE / float(precision[self._rated_users[:first]].mean())
        self.user_inclinations.variance = laws.user_variance
        self.item_inclinations.variance = laws.item_variance

    def draw_users(self) -> None:
        """The new users, who have rated known items."""
        first = self.new.n_users
        if first == len(self.pmf):
            return
        by_user = self.new.entries.by_user.rows(first)
        pmf, precision, seeds = self.pmf[first:], self.precision[first:], self._user_seeds[first:]
        n_rated, n_events = by_user.sizes.astype(float), pmf.shape[1]
        centres, towards = self.centres_and_lean()
        centres = centres[first:]
        pmf[:] = centres / centres.sum(axis=1, keepdims=True)
        A_start, b_start = as_normal(self.concentration, pmf)
        precise, variance = NOISE_SHAPE / self.noise_rate, self.user_inclinations.variance

        def step(
            Q: Floats,
            r: Floats,
            energy: Floats,
            counted: Floats,
            centre: Floats,
            b: Floats,
            theta: Floats,
            precision: Floats,
            seeds: Seeds,
        ) -> None:
            Q = one_each(Q, len(theta))
            NEAREST(precise * Q + A_start, precise * r + b, theta)
            theta[:] = spread(theta)
            inclined = Inclinations.none(len(theta), n_events, variance)

            def counts(x: Floats) -> Floats:
                return pseudo_counts(self.concentration, tilted(centre, x, towards))

            def log_likelihood(x: Floats) -> Floats:
                return log_dirichlet(counts(x), log_of(theta))

            for _ in range(SWEEPS):
                precision[:] = draw_precisions(
                    Q, r, energy, counted, theta, NOISE_SHAPE, self.noise_rate, seeds
                )
                inclined.draw(log_likelihood, self.rng)
                tau, expected = precision[:, None], counts(inclined.of_each)
                draw_pmfs(Q * tau[:, None], r * tau, expected, theta, seeds)

        rows = (n_rated, centres, b_start, pmf, precision, seeds)
        self.engine.run(step, by_user, self.indicators, *rows)

    def new_log_odds(self) -> Floats:
        """What is expected of the bits of the new items, if they are inclined to nothing."""
        if not self.new.items.size:
            return np.empty((0, self.pmf.shape[1]))
        X = self._item_features()
        for _ in range(PRIOR_STEPS):
            self._learn_items(X)
        return self._item_prior.expected(X)[self.new.items]

    def draw_items(self, log_odds: Floats) -> None:
        """The new items, which known users have rated, given what is expected of their bits."""
        if not self.new.items.size:
            return
        by_item = self.new.entries.by_item.taken(self.new.items)
        bits, seeds = (log_odds > 0).astype(np.float64), self._item_seeds[self.new.items]
        variance = self.item_inclinations.variance

        def step(
            S: Floats, v: Floats, energy: Floats, expected: Floats, psi: Floats, seeds: Seeds
        ) -> None:
            v += expected
            inclined = Inclinations.none(len(v), v.shape[1], variance)
            for _ in range(SWEEPS):
                draw_indicators(S, v + inclined.of_each[:, None], psi, seeds)
                inclined.draw(partial(log_likelihood_of_bits, psi, expected), self.rng)

        weighted = times_precision(by_item, self.precision)
        self.engine.run(step, weighted, self.pmf, log_odds, bits, seeds)
        self.indicators[self.new.items] = bits
