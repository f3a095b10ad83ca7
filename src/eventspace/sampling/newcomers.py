"""New users and items of a posterior, in each of its samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Floats
from eventspace.data.newcomers import News
from eventspace.sampling.chain import Laws
from eventspace.sampling.folding import Folding
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.weighing import Joint, Weighed

Group = tuple[Weighed, Floats]  # new users over its events, and what is expected of new items


@dataclass
class Newcomers:
    """What is new, and what is known of everyone else."""

    new: News
    sampler: Sampler
    laws: Laws
    precision: Floats  # of the known users' noise

    def draw(self, pmf: Floats, indicators: NDArray[np.bool_], rng: np.random.Generator) -> Folding:
        """In a draw of one chain: drawn as in the chain, with the same priors."""
        chain = self._chain(pmf, indicators, rng)
        chain.draw_users()
        chain.draw_items(chain.new_log_odds())
        return chain

    def draw_weighed(
        self, group: Group, pmf: Floats, indicators: NDArray[np.bool_], rng: np.random.Generator
    ) -> Folding:
        """In a draw of several chains: the users are known already."""
        chain, (weighed, log_odds) = self._chain(pmf, indicators, rng), group
        chain.pmf[len(pmf) :], chain.precision[len(pmf) :] = weighed.pmf, weighed.precision
        chain.draw_items(log_odds)
        return chain

    def weigh(
        self, groups: Iterable[tuple[Floats, Floats]], covariances: Floats, seed: int
    ) -> list[Group]:
        """Over the events of each group of chains, with the chance of each bit there."""
        first, found = self.new.n_users, []
        by_user = self.new.entries.by_user.rows(first)
        for (pmf, chances), covariance in zip(groups, covariances, strict=True):
            chain = self._chain(pmf, chances, np.random.default_rng(seed))
            joint = Joint(by_user, chain.indicators, self.sampler.engine, self.sampler.show)
            weighed = joint.settle(covariance, chain.centres()[first:], chain.noise_rate)
            chain.pmf[first:] = weighed.pmf
            found.append((weighed, chain.new_log_odds()))
        return found

    def _chain(
        self, pmf: Floats, indicators: NDArray[np.float64 | np.bool_], rng: np.random.Generator
    ) -> Folding:
        more_users = self.new.merged.n_users - len(pmf)
        more_items = self.new.merged.n_items - len(indicators)
        chain = Folding(
            self.new.merged,
            self.sampler.engine.with_threads(1),  # one: the steps share the generator
            np.pad(pmf, ((0, more_users), (0, 0))),
            np.pad(indicators.astype(np.float64), ((0, more_items), (0, 0))),
            self.laws.concentration,
            self.sampler.informed,
            rng,
            self.sampler.user_attributes,
            self.sampler.item_attributes,
            new=self.new,
        )
        chain.know(self.precision, self.laws)
        return chain
