"""Inclinations: one number for each item, or user, the same for all events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.types import Floats
from eventspace.engines.workbench import Held
from eventspace.sampling.priors.interface import Numbers, Rng, State

VARIANCE = 0.25  # where it starts
VARIANCE_SHAPE, VARIANCE_RATE = 1.0, 0.2  # of its inverse, a Gamma law


@dataclass
class Inclinations:
    """Numbers from a normal law around zero, whose variance is drawn along."""

    of_each: Held
    width: float  # of a step
    variance: Numbers = VARIANCE

    @classmethod
    def none(cls, n: Any, n_events: int, variance: float = VARIANCE) -> Inclinations:
        """All zero; the more events, the less each is left open."""
        of_each = np.zeros(n)
        of_chain = np.full(of_each.shape[:-1], variance)
        return cls(of_each, 3.0 / np.sqrt(4.0 + n_events), of_chain)

    def numbers(self, *more: Numbers) -> Floats:
        """Some numbers, then variance and width, of each chain."""
        return np.stack(np.broadcast_arrays(*more, self.variance, self.width), axis=-1)

    def draw_variance(self, state: State, known: Held, rng: Rng) -> None:
        """Draw the variance given the known ones: the inverse has a Gamma law.

        This ignores the bound on inclinations. If the bound matters, the variance comes out smaller
        and cannot run away.
        """
        squares, n = state.bench.fetch(self.of_each**2 @ known), float(known.sum())
        self.variance = (VARIANCE_RATE + squares / 2) / rng.gamma(VARIANCE_SHAPE + n / 2)
