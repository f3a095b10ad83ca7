"""Users and items whose ratings change after the fit: drawn anew, given all that a posterior says.

Priors learn from what was known before. New users come first, given the bits of the known items
that they have rated: their noise, inclinations and PMFs are drawn in turn. Then come the items,
given all their raters: bits and inclinations are drawn in turn. Then all users, given all that they
have rated. (If known users came first, they would speak for new items before these have bits.)

Samples that share their PMFs are one part, and whatever depends on PMFs alone is done once for it:
the chain, the priors, and the sums over an item's raters, from which each sample draws its bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.randomness import streams
from eventspace._base.types import Bits, Floats, Positions
from eventspace.data.entries import Entries
from eventspace.data.updates import Update
from eventspace.engines.workbench import Cores
from eventspace.pmf import Pairwise
from eventspace.sampling.chain import Chain, spread
from eventspace.sampling.draw_inclinations import draw_inclined_items, draw_inclined_users
from eventspace.sampling.draw_indicators import draw_indicators
from eventspace.sampling.draw_pmfs import draw_pmfs, draw_precisions, one_each
from eventspace.sampling.joint_law import Joint
from eventspace.sampling.priors import Laws, Priors
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.noise import SHAPE, NoisePrior
from eventspace.sampling.priors.pmfs import pseudo_counts
from eventspace.sampling.sampler import Sampler

PRIOR_STEPS = 5  # of the regressions of the bits, from zero: few are left to go
SWEEPS = 40  # over the users, and over the items
START_SOLVER = Pairwise()  # users begin near the most likely PMF
LEAST_VARIANCE = 1e-9  # of an event's mass beforehand


class Moved(NamedTuple):
    """What the users and items of an update have become in a part."""

    pmf: Floats  # users x events
    variance: Floats  # of each user's noise
    left_open: Floats  # of each user: variance of the chances that the ratings leave open
    bits: Bits  # items x samples x events


@dataclass
class Updating:
    """The change, and what is known of everyone else."""

    change: Update
    sampler: Sampler
    laws: Laws
    precision: Floats  # of the known users' noise

    def draw(self, pmf: Floats, bits: Floats, rng: np.random.Generator) -> Moved:
        """In a draw of one chain: drawn as in the chain, with the same priors."""
        chain, users = self.chain(pmf, bits, rng), self.change.users
        self.draw_users(chain, self.change.new_users, chain.known_items > 0)
        drawn = self.draw_items(chain, self.expected_bits(chain), 1)
        self.draw_users(chain, users)
        return Moved(chain.pmf[users], 1 / chain.precision[users], np.zeros(len(users)), drawn)

    def weigh(
        self,
        pmf: Floats,
        chances: Floats,
        covariance: Floats,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Moved:
        """Over the events of a group of chains, whose samples share the PMFs."""
        chain, users = self.chain(pmf, chances, rng), self.change.users

        def settle(users: Positions, items: Bits | None = None) -> Floats:
            centres = chain.priors.pmfs.centres(chain)[users]
            rated = self.rated(users, items)
            counts = rated.counts(self.change.now.fades)
            joint = Joint(rated, counts, chain.indicators, chain.engine, show=False)
            found = joint.settle(covariance, centres, chain.priors.noise)
            chain.pmf[users], chain.precision[users] = found.pmf, found.precision
            return found.variance

        settle(self.change.new_users, chain.known_items > 0)
        drawn = self.draw_items(chain, self.expected_bits(chain), n_samples)
        left_open = settle(users)
        return Moved(chain.pmf[users], 1 / chain.precision[users], left_open, drawn)

    def rated(self, users: Positions, items: Bits | None) -> Entries:
        """What users have rated, of all items or of these."""
        by_user = self.change.now.by_user.taken(users)
        if items is None:
            return by_user
        kept = by_user.kept(items[by_user.index])
        return kept._replace(missing=kept.missing * items) if kept.missing.size else kept

    def chain(
        self, pmf: Floats, indicators: NDArray[np.float64 | np.bool_], rng: np.random.Generator
    ) -> Chain:
        """A draw with room for what is new, from which priors learn nothing."""
        known, now, laws = self.change.known, self.change.now, self.laws
        beforehand = self.sampler.beforehand._replace(concentration=laws.concentration)
        bench = Cores()
        priors = Priors.of(beforehand, now, pmf.shape[1], bench)
        priors.pmfs.inclinations.variance = laws.user_variance
        priors.bits.inclinations.variance = laws.item_variance
        chain = Chain(
            now,
            self.sampler.engine.with_threads(1),
            bench,
            priors,
            np.pad(pmf, ((0, now.n_users - len(pmf)), (0, 0))),
            np.pad(indicators * 1.0, ((0, now.n_items - len(indicators)), (0, 0))),
            rng,
        )
        chain.known_users = np.pad(known.by_user.rated * 1.0, (0, now.n_users - known.n_users))
        chain.known_items = np.pad(known.by_item.rated * 1.0, (0, now.n_items - known.n_items))
        # nothing is known of a new item yet: like the mean, it speaks for no event
        mean = chain.indicators[chain.known_items > 0].mean(axis=0)
        chain.indicators[self.change.new_items] = mean
        chain.precision[: known.n_users] = self.precision
        typical = NoisePrior.around(chain.precision[chain.known_users > 0])
        chain.priors = priors._replace(noise=typical)
        return chain

    def draw_users(self, chain: Chain, users: Positions, items: Bits | None = None) -> None:
        """Some users, given the bits of what they have rated, of all items or of these."""
        if not users.size:
            return
        by_user, prior = self.rated(users, items), chain.priors
        centres, towards = prior.pmfs.expected(chain)
        centres = centres[users]
        pmf = centres / centres.sum(axis=1, keepdims=True)
        # a normal law as wide as the Dirichlet laws are on average
        variance = float(np.mean(pmf * (1 - pmf))) / (prior.pmfs.concentration + 1)
        strict = 1.0 / max(variance, LEAST_VARIANCE)
        step = DrawUsers(prior, towards, strict)
        n_ratings = by_user.counts(self.change.now.fades)
        precision, seeds = chain.precision[users], chain.user_seeds[users]
        rows = (centres, pmf, n_ratings, precision, seeds)
        chain.engine.run(step, by_user, chain.indicators, *rows)
        chain.pmf[users], chain.precision[users], chain.user_seeds[users] = pmf, precision, seeds

    def expected_bits(self, chain: Chain) -> Floats:
        """The log-odds of the items' bits, if they are inclined to nothing."""
        return np.asarray(chain.priors.bits.learn(chain, PRIOR_STEPS)[self.change.items])

    def draw_items(self, chain: Chain, log_odds: Floats, n_samples: int) -> Bits:
        """The items, given their raters, and what is expected of their bits: drawn n times.

        The chain has the chance of each bit afterwards.
        """
        items = self.change.items
        by_item = chain.observations.by_item.taken(items)
        likelier = (log_odds > 0).astype(np.float64)
        bits = np.repeat(likelier[:, None], n_samples, axis=1)
        seeds = streams(chain.rng, bits.shape[0] * n_samples).reshape(-1, n_samples)
        step = DrawItems(chain.priors.bits.inclinations.variance)
        weighted = by_item.times(chain.precision)
        chain.engine.run(step, weighted, chain.pmf, log_odds, bits, seeds)
        chain.indicators[items] = bits.mean(axis=1)
        return np.asarray(bits > 0.5)


@dataclass(frozen=True)
class DrawUsers:
    """A step of an engine: sweeps over some users, from near the most likely PMFs."""

    priors: Priors
    towards: Floats  # where the inclined lean to
    strict: float  # the precision of PMFs around their centres, as if their law were normal

    def __call__(
        self, Q: Any, r: Any, e: Any, centres: Any, pmf: Any, n_ratings: Any, tau: Any, seeds: Any
    ) -> None:
        """Draw precisions tau, and PMFs, which come in at their centres."""
        prior, law = self.priors.pmfs, self.priors.noise
        Q, tilted = one_each(Q, len(pmf)), np.empty_like(centres)
        A, b = self.strict * np.eye(pmf.shape[1]), self.strict * pmf
        START_SOLVER(law.mean * Q + A, law.mean * r + b, pmf)
        pmf[:] = spread(pmf)
        own = Inclinations.none(len(pmf), pmf.shape[1], prior.inclinations.variance)
        shared = self.towards[None], own.numbers(prior.concentration)[None]
        for _ in range(SWEEPS):
            tau[:] = draw_precisions(Q, r, e, n_ratings, pmf, SHAPE, law.rate, seeds)
            draw_inclined_users(centres, pmf, own.of_each, tilted, seeds, *shared)
            draw_pmfs(Q, r, tau, pseudo_counts(prior.concentration, tilted), pmf, seeds)


@dataclass(frozen=True)
class DrawItems:
    """A step of an engine: sweeps over some items, from their likelier bits."""

    variance: float  # of inclinations

    def __call__(self, S: Any, v: Any, e: Any, log_odds: Any, bits: Any, seeds: Any) -> None:
        """Draw the bits of each sample, all from the same sums."""
        n_items, n_samples, n_events = bits.shape
        drawn, states = bits.swapaxes(0, 1).copy(), seeds.T.copy()  # the samples one by one
        v += log_odds
        numbers = Inclinations.none(n_items, n_events, self.variance).numbers()[None]
        inclined = np.zeros((n_samples, n_items))
        for _ in range(SWEEPS):
            for k in range(n_samples):
                draw_indicators(S, v + inclined[k, :, None], drawn[k], states[k])
                rows = drawn[k], log_odds, inclined[k], states[k]
                draw_inclined_items(*rows, numbers)
        bits[:] = drawn.swapaxes(0, 1)
