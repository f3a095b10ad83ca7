"""A chain: a state of PMFs, indicators and noise; a sweep draws the next.

Several may run side by side: then the first axis of each array says which.

Sums of PMFs are of numbers with 32 bits: a law does not depend on the eighth digit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.randomness import each_generator, streams
from eventspace._base.records import Record, plain, plain_pmf
from eventspace._base.types import Floats
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.engines.workbench import Held, Workbench
from eventspace.sampling.draw_indicators import DrawIndicators
from eventspace.sampling.draw_pmfs import DrawPmfs
from eventspace.sampling.priors import Priors
from eventspace.sampling.priors.noise import SHAPE

MOST_WEIGHT = 1e20  # times any precision it is still a number in 32 bits
ARRAYS = ("pmf", "precision", "user_seeds", "item_seeds")  # that the next sweep begins with
START_SHARE = 0.02  # of the mass, which is spread over all events: none is out of the question


def spread(pmf: Floats) -> Floats:
    """PMFs from which any other may be reached."""
    return np.asarray((1 - START_SHARE) * pmf + START_SHARE / pmf.shape[1])


@dataclass
class Chain:
    """The state of a chain. Users without ratings are drawn too, but priors ignore them."""

    observations: Observations
    engine: Engine
    bench: Workbench  # where its arrays lie
    priors: Priors
    pmf: Held  # users x events
    indicators: Held  # items x events, 0 or 1
    rng: Any  # a generator, or those of several chains
    precision: Held = field(init=False)  # of each user's noise
    error: Held = field(init=False)  # of each user's ratings, squared, after a sweep
    n_ratings: Held = field(init=False)  # of each user
    known_users: Held = field(init=False)  # 1 for the rated, from whom priors learn, else 0
    known_items: Held = field(init=False)
    user_seeds: Held = field(init=False)
    item_seeds: Held = field(init=False)

    def __post_init__(self) -> None:
        seen = self.observations
        most = seen.by_user.weight.max(initial=0.0)
        if most > MOST_WEIGHT:
            raise UserError(
                f"A weight of {most:g} is more than a chain can add up ({MOST_WEIGHT:g}): scale "
                "the weights down."
            )
        hold = self.bench.hold
        self.pmf, self.indicators = hold(self.pmf.copy()), hold(self.indicators.copy())
        typical = np.asarray(self.priors.noise.mean)[..., None]
        self.precision = hold(typical * np.ones(seen.n_users))
        self.error = hold(np.full(self.precision.shape, np.nan))
        self.n_ratings = hold(seen.by_user.counts(seen.fades))
        self.known_users = hold(seen.by_user.rated * 1.0)
        self.known_items = hold(seen.by_item.rated * 1.0)
        self.user_seeds = hold(streams(self.rng, seen.n_users))
        self.item_seeds = hold(streams(self.rng, seen.n_items))

    @property
    def each(self) -> list[tuple[int, ...]]:
        """The place of each chain in the arrays; of one alone, all of them."""
        return list(np.ndindex(*self.pmf.shape[:-2]))

    def state(self) -> Record:
        """All that it takes to go on after a sweep."""
        fetch = self.bench.fetch
        return {
            **{name: fetch(getattr(self, name)) for name in ARRAYS},
            "indicators": fetch(self.indicators) > 0.5,
            "generators": [rng.bit_generator.state for rng in each_generator(self.rng)],
            **self.priors.state(fetch),
        }

    def restore(self, state: Record) -> None:
        """Go back to where ``state`` was asked for."""
        hold, fetch = self.bench.hold, self.bench.fetch
        plain_pmf(state["pmf"], fetch(self.pmf))
        for name in ARRAYS:
            known = plain(state[name], fetch(getattr(self, name)))
            if not (known >= 0).all():
                raise ValueError
            setattr(self, name, hold(known))
        bits = plain(state["indicators"], fetch(self.indicators) > 0.5)
        self.indicators = hold(bits.astype(np.float64))
        self.priors.restore(state, self.bench)
        for rng, known in zip(each_generator(self.rng), state["generators"], strict=True):
            rng.bit_generator.state = known

    def sweep(self) -> None:
        """Draw indicators, noise and PMFs, each given the rest; before each, its prior."""
        self.draw_indicators()
        self.draw_pmfs()

    def draw_indicators(self) -> None:
        """Each item's, given the PMFs and the noise of its raters."""
        log_odds = self.priors.bits.draw(self, self.rng)
        single, by_item = self.pmf.astype(np.float32), self.observations.by_item
        for k in self.each:
            rows = log_odds[k], self.indicators[k], self.item_seeds[k]
            self.engine.run(DrawIndicators(self.precision[k]), by_item, single[k], *rows)

    def draw_pmfs(self) -> None:
        """Each user's noise and PMF, given the indicators."""
        counts = self.priors.pmfs.draw(self, self.rng)
        by_user, rate = self.observations.by_user, np.asarray(self.priors.noise.rate)
        for k in self.each:
            drawn = self.pmf[k], self.precision[k], self.error[k], self.user_seeds[k]
            sets = self.bench.sets(self.indicators[k])
            step = DrawPmfs(SHAPE, float(rate[k]))
            self.engine.run(step, by_user, sets, self.n_ratings, counts[k], *drawn)
        self.priors.noise.draw(self, self.rng)
