"""Inclinations: one number for each item, or user, the same for all events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventspace.engines.workbench import Held

VARIANCE = 0.25  # where it starts
VARIANCE_SHAPE, VARIANCE_RATE = 1.0, 0.2  # of its inverse, a Gamma law


@dataclass
class Inclinations:
    """Numbers from a normal law around zero, whose variance is drawn along."""

    of_each: Held
    width: float  # of a step
    variance: float = VARIANCE

    @classmethod
    def none(cls, n: int, n_events: int, variance: float = VARIANCE) -> Inclinations:
        """All zero; the more events, the less each is left open."""
        return cls(np.zeros(n), 3.0 / np.sqrt(4.0 + n_events), variance)

    def draw_variance(self, known: Held, rng: np.random.Generator) -> None:
        """Draw the variance given the known ones: the inverse has a Gamma law.

        This ignores the bound on inclinations. If the bound matters, the variance comes out smaller
        and cannot run away.
        """
        squares, n = float((known * self.of_each**2).sum()), float(known.sum())
        self.variance = (VARIANCE_RATE + squares / 2) / rng.gamma(VARIANCE_SHAPE + n / 2)
