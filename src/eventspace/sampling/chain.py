"""One chain: a state of PMFs, indicators and noise; a sweep draws the next.

Sums of PMFs are of numbers with 32 bits: a law does not depend on the eighth digit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eventspace._base.codes import pack
from eventspace._base.errors import UserError
from eventspace._base.randomness import streams
from eventspace._base.types import Bits, Floats, Seeds
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine, Sets
from eventspace.sampling.draw_indicators import DrawIndicators
from eventspace.sampling.draw_pmfs import DrawPmfs
from eventspace.sampling.priors import Priors
from eventspace.sampling.priors.noise import SHAPE

MOST_WEIGHT = 1e20  # times any precision it is still a number in 32 bits
START_SHARE = 0.02  # of the mass, which is spread over all events: none is out of the question


def spread(pmf: Floats) -> Floats:
    """PMFs from which any other may be reached."""
    return np.asarray((1 - START_SHARE) * pmf + START_SHARE / pmf.shape[1])


@dataclass
class Chain:
    """The state of a chain. Users without ratings are drawn too, but priors ignore them."""

    observations: Observations
    engine: Engine
    priors: Priors
    pmf: Floats  # users x events
    indicators: Floats  # items x events, 0 or 1
    rng: np.random.Generator
    precision: Floats = field(init=False)  # of each user's noise
    error: Floats = field(init=False)  # of each user's ratings, squared, after a sweep
    n_ratings: Floats = field(init=False)  # of each user
    known_users: Bits = field(init=False)
    known_items: Bits = field(init=False)
    user_seeds: Seeds = field(init=False)
    item_seeds: Seeds = field(init=False)

    def __post_init__(self) -> None:
        seen = self.observations
        most = seen.by_user.weight.max(initial=0.0)
        if most > MOST_WEIGHT:
            raise UserError(
                f"A weight of {most:g} is more than a chain can add up ({MOST_WEIGHT:g}): scale "
                "the weights down."
            )
        self.pmf, self.indicators = self.pmf.copy(), self.indicators.copy()  # drawn in place
        self.precision = np.full(seen.n_users, self.priors.noise.mean)
        self.error = np.full(seen.n_users, np.nan)
        self.n_ratings = seen.by_user.counts
        self.known_users, self.known_items = seen.by_user.rated, seen.by_item.rated
        self.user_seeds = streams(self.rng, seen.n_users)
        self.item_seeds = streams(self.rng, seen.n_items)

    def sweep(self) -> None:
        """Draw indicators, noise and PMFs, each given the rest; before each, its prior."""
        self.draw_indicators()
        self.draw_pmfs()

    def draw_indicators(self) -> None:
        """Each item's, given the PMFs and the noise of its raters."""
        log_odds = self.priors.bits.draw(self, self.rng)
        rows = (log_odds, self.indicators, self.item_seeds)
        step, by_item = DrawIndicators(self.precision), self.observations.by_item
        self.engine.run(step, by_item, self.pmf.astype(np.float32), *rows)

    def draw_pmfs(self) -> None:
        """Each user's noise and PMF, given the indicators."""
        counts = self.priors.pmfs.draw(self, self.rng)
        rows = (self.n_ratings, counts, self.pmf, self.precision, self.error, self.user_seeds)
        step = DrawPmfs(SHAPE, self.priors.noise.rate)
        sets = Sets(pack(self.indicators > 0.5)[:, 0], self.pmf.shape[1])
        self.engine.run(step, self.observations.by_user, sets, *rows)
        self.priors.noise.draw(self, self.rng)
