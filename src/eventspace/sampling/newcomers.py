"""New users and items of a posterior: drawn in each of its samples, given all that it says.

The known part does not change, and priors learn from it alone. A new user has rated known items:
the noise, the inclination and the PMF are drawn in turn. A new item was rated by known users, or by
new users, which are drawn first: its bits and its inclination are drawn in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Bits, Floats
from eventspace.data.newcomers import News
from eventspace.fitting.compression import Part
from eventspace.pmf import Pairwise
from eventspace.sampling.chain import Chain, spread
from eventspace.sampling.draw_indicators import draw_indicators, times_precision
from eventspace.sampling.draw_pmfs import draw_pmfs, draw_precisions, one_each
from eventspace.sampling.joint_law import Joint, Weighed
from eventspace.sampling.priors import Laws, Priors
from eventspace.sampling.priors.bits import log_likelihood_of_bits
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.noise import SHAPE, NoisePrior
from eventspace.sampling.priors.pmfs import Around, pseudo_counts
from eventspace.sampling.sampler import Sampler

PRIOR_STEPS = 10  # of the regressions of the bits, from zero: few are left to go
SWEEPS = 40  # over the new users, then over the new items
START_SOLVER = Pairwise()  # new users begin near the most likely PMF
LEAST_VARIANCE = 1e-9  # of an event's mass beforehand

Group = tuple[Weighed, Floats]  # new users over its events, and the prior of new items


@dataclass
class Newcomers:
    """What is new, and what is known of everyone else."""

    new: News
    sampler: Sampler
    laws: Laws
    precision: Floats  # of the known users' noise

    def draw(self, pmf: Floats, indicators: Bits, rng: np.random.Generator) -> Chain:
        """In a draw of one chain: drawn as in the chain, with the same priors."""
        chain = self.chain(pmf, indicators, rng)
        self.draw_users(chain)
        self.draw_items(chain, self.expected_bits(chain))
        return chain

    def draw_weighed(
        self, group: Group, pmf: Floats, indicators: Bits, rng: np.random.Generator
    ) -> Chain:
        """In a draw of several chains: the users are known already."""
        chain, (weighed, log_odds) = self.chain(pmf, indicators, rng), group
        chain.pmf[len(pmf) :], chain.precision[len(pmf) :] = weighed.pmf, weighed.precision
        self.draw_items(chain, log_odds)
        return chain

    def weigh(self, groups: Iterable[Part], covariances: Floats, seed: int) -> list[Group]:
        """Over the events of each group of chains, with the chance of each bit there."""
        first, found = self.new.n_users, []
        by_user = self.new.entries.by_user.rows(first)
        for (pmf, chances, _), covariance in zip(groups, covariances, strict=True):
            chain = self.chain(pmf, chances, np.random.default_rng(seed))
            centres = chain.priors.pmfs.centres(chain)[first:]
            joint = Joint(by_user, chain.indicators, self.sampler.engine, self.sampler.show)
            weighed = joint.settle(covariance, centres, chain.priors.noise)
            chain.pmf[first:] = weighed.pmf
            found.append((weighed, self.expected_bits(chain)))
        return found

    def chain(
        self, pmf: Floats, indicators: NDArray[np.float64 | np.bool_], rng: np.random.Generator
    ) -> Chain:
        """A draw with room for what is new, from which priors learn nothing."""
        new, laws = self.new, self.laws
        beforehand = self.sampler.beforehand._replace(concentration=laws.concentration)
        priors = Priors.of(beforehand, new.merged, pmf.shape[1])
        priors.pmfs.inclinations.variance = laws.user_variance
        priors.bits.inclinations.variance = laws.item_variance
        chain = Chain(
            new.merged,
            self.sampler.engine.with_threads(1),  # the steps share the generator
            priors,
            np.pad(pmf, ((0, new.merged.n_users - len(pmf)), (0, 0))),
            np.pad(indicators * 1.0, ((0, new.merged.n_items - len(indicators)), (0, 0))),
            rng,
        )
        chain.known_users[new.n_users :] = False
        chain.known_items[new.items] = False
        # nothing is known of a new item yet: like the mean, it speaks for no event
        chain.indicators[new.items] = chain.indicators[chain.known_items].mean(axis=0)
        chain.precision[: new.n_users] = self.precision
        typical = NoisePrior.around(chain.precision[chain.known_users])
        chain.priors = priors._replace(noise=typical)
        return chain

    def draw_users(self, chain: Chain) -> None:
        """The new users, who have rated known items."""
        first = self.new.n_users
        if first == len(chain.pmf):
            return
        by_user, pmf, prior = self.new.entries.by_user.rows(first), chain.pmf[first:], chain.priors
        around = prior.pmfs.expected(chain)
        centres = around.centres[first:]
        pmf[:] = centres / centres.sum(axis=1, keepdims=True)
        # a normal law as wide as the Dirichlet laws are on average
        variance = float(np.mean(pmf * (1 - pmf))) / (prior.pmfs.concentration + 1)
        strict = 1.0 / max(variance, LEAST_VARIANCE)
        step = DrawNewUsers(prior, around.towards, strict, chain.rng)
        rows = (chain.n_ratings, chain.precision, chain.user_seeds)
        rated = (array[first:] for array in rows)
        chain.engine.run(step, by_user, chain.indicators, centres, pmf, *rated)

    def expected_bits(self, chain: Chain) -> Floats:
        """The log-odds of the new items' bits, if they are inclined to nothing."""
        if not self.new.items.size:
            return np.empty((0, chain.pmf.shape[1]))
        return chain.priors.bits.learn(chain, chain.rng, PRIOR_STEPS)[self.new.items]

    def draw_items(self, chain: Chain, log_odds: Floats) -> None:
        """The new items, which known users have rated, given what is expected of their bits."""
        items = self.new.items
        if not items.size:
            return
        by_item = times_precision(self.new.entries.by_item.taken(items), chain.precision)
        bits = (log_odds > 0).astype(np.float64)
        step = DrawNewItems(chain.priors.bits.inclinations.variance, chain.rng)
        chain.engine.run(step, by_item, chain.pmf, log_odds, bits, chain.item_seeds[items])
        chain.indicators[items] = bits


@dataclass(frozen=True)
class DrawNewUsers:
    """A step of an engine: sweeps over some new users, from near the most likely PMFs."""

    priors: Priors
    towards: Floats  # where the inclined lean to
    strict: float  # the precision of PMFs around their centres, as if their law were normal
    rng: np.random.Generator

    def __call__(
        self, Q: Any, r: Any, e: Any, centres: Any, pmf: Any, n_ratings: Any, tau: Any, seeds: Any
    ) -> None:
        """Draw precisions tau, and PMFs, which come in at their centres."""
        prior, law = self.priors.pmfs, self.priors.noise
        Q, around = one_each(Q, len(pmf)), Around(centres, self.towards)
        A, b = self.strict * np.eye(pmf.shape[1]), self.strict * pmf
        START_SOLVER(law.mean * Q + A, law.mean * r + b, pmf)
        pmf[:] = spread(pmf)
        inclined = Inclinations.none(len(pmf), pmf.shape[1], prior.inclinations.variance)
        for _ in range(SWEEPS):
            tau[:] = draw_precisions(Q, r, e, n_ratings, pmf, SHAPE, law.rate, seeds)
            prior.draw_inclinations(inclined, around, pmf, self.rng)
            counts = pseudo_counts(prior.concentration, around.tilted(inclined.of_each))
            draw_pmfs(tau[:, None, None] * Q, tau[:, None] * r, counts, pmf, seeds)


@dataclass(frozen=True)
class DrawNewItems:
    """A step of an engine: sweeps over some new items, from their likelier bits."""

    variance: float  # of inclinations
    rng: np.random.Generator

    def __call__(self, S: Any, v: Any, e: Any, log_odds: Any, bits: Any, seeds: Any) -> None:
        """Draw the bits."""
        v += log_odds
        inclined = Inclinations.none(len(v), v.shape[1], self.variance)
        for _ in range(SWEEPS):
            draw_indicators(S, v + inclined.of_each[:, None], bits, seeds)
            inclined.draw(partial(log_likelihood_of_bits, bits, log_odds), self.rng)
