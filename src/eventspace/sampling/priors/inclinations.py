"""Inclinations: one number for each item, or user, the same for all events.

An item's inclination is added to the log-odds of all its bits. A user's inclination shifts the
centre of the PMF towards the events in which much comes true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Floats

VARIANCE = 0.25  # where it starts
VARIANCE_SHAPE, VARIANCE_RATE = 1.0, 0.2  # of its inverse, a Gamma law
MOST = 6.0  # of an inclination, and of what else the log-odds of a prior are made of
STEPS = 2  # Metropolis's, in a sweep


@dataclass
class Inclinations:
    """Numbers from a normal law around zero, whose variance is drawn along."""

    of_each: Floats
    width: float  # of a step
    variance: float = VARIANCE

    @classmethod
    def none(cls, n: int, n_events: int, variance: float = VARIANCE) -> Inclinations:
        """All zero; the more events, the less each is left open."""
        return cls(np.zeros(n), 3.0 / np.sqrt(4.0 + n_events), variance)

    def draw(self, log_likelihood: Callable[[Floats], Floats], rng: np.random.Generator) -> None:
        """Draw each given the variance, by Metropolis's steps of all at a time."""

        def log_density(x: Floats) -> Floats:
            return np.where(
                np.abs(x) < MOST, log_likelihood(x) - x**2 / (2 * self.variance), -np.inf
            )

        x = self.of_each
        now = log_density(x)
        for _ in range(STEPS):
            other = x + self.width * rng.normal(size=len(x))
            there = log_density(other)
            better = np.log(rng.random(len(x))) < there - now
            x, now = np.where(better, other, x), np.where(better, there, now)
        self.of_each = x

    def draw_variance(self, known: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Draw the variance given the known ones: the inverse has a Gamma law.

        This ignores the bound on inclinations. If the bound matters, the variance comes out smaller
        and cannot run away.
        """
        x = self.of_each[known]
        self.variance = (VARIANCE_RATE + float(x @ x) / 2) / rng.gamma(VARIANCE_SHAPE + len(x) / 2)
