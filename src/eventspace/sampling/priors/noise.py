"""The prior of a user's noise: precisions have a Gamma law, whose rate is drawn along."""

from __future__ import annotations

from dataclasses import dataclass

from eventspace._base.types import Floats
from eventspace.sampling.priors.interface import Numbers, Prior, Rng, State

SHAPE = 20.0  # users differ by a quarter or so
RATE = 0.8  # where it starts: a standard deviation of about 0.2


@dataclass
class NoisePrior(Prior):
    """Gamma(SHAPE, rate)."""

    rate: Numbers = RATE

    @classmethod
    def around(cls, precision: Floats) -> NoisePrior:
        """The law whose mean is that of these precisions."""
        return cls(SHAPE / float(precision.mean()))

    @property
    def mean(self) -> Numbers:
        """The typical precision."""
        return SHAPE / self.rate

    def draw(self, state: State, rng: Rng) -> None:
        """The rate, by its conjugate law, with a prior that is worth one user."""
        known = state.bench.fetch(state.precision @ state.known_users)
        n_known = float(state.known_users.sum())
        self.rate = rng.gamma(SHAPE * (n_known + 1)) / (known + SHAPE / RATE)
