"""The prior of an item's bits: the users who rate an item say much about it.

The log-odds of its bits are logistic regressions on its raters' PMFs and on their number. The
item's inclination is added, the same for all its bits. The regressions take one step in each sweep,
given the PMFs and bits of that sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

from eventspace._base.types import Bits, Floats
from eventspace.engines.gram import weighted_squares
from eventspace.sampling.priors.features import Features, ridge_of
from eventspace.sampling.priors.inclinations import MOST, Inclinations
from eventspace.sampling.priors.interface import Prior, State

RIDGE = 20.0  # on features of unit variance: twenty rows that say nothing


@dataclass
class BitPrior(Prior):
    """Log-odds ``X_i w_d + x_i``, with the features X_i of item i and its inclination x_i."""

    features: Features  # of items, given PMFs
    regressions: Regressions
    inclinations: Inclinations

    def draw(self, state: State, rng: np.random.Generator) -> Floats:
        """The log-odds, items x events."""
        expected = self.learn(state, rng)
        self.inclinations.draw_variance(state.known_items, rng)
        return expected + self.inclinations.of_each[:, None]

    def learn(self, state: State, rng: np.random.Generator, n_steps: int = 1) -> Floats:
        """Draw inclinations, and let the regressions go a step; log-odds without inclinations."""
        X, psi = self.features(state.pmf), state.indicators
        for _ in range(n_steps):
            expected = self.regressions.expected(X)
            self.inclinations.draw(partial(log_likelihood_of_bits, psi, expected), rng)
            self.regressions.learn(X, psi, state.known_items, self.inclinations.of_each)
        return self.regressions.expected(X)


class Regressions:
    """A logistic regression for each event, which share their features."""

    def __init__(self, n_features: int, n_events: int) -> None:
        self.weights = np.zeros((n_features, n_events))

    def expected(self, X: Floats) -> Floats:
        """Log-odds of items that are inclined to nothing."""
        return np.clip(X @ self.weights, -MOST, MOST)

    def learn(self, X: Floats, indicators: Floats, known: Bits, inclined: Floats) -> None:
        """A step of each, given the inclinations of all items; only the known count."""
        rows, psi = X[known], indicators[known]
        eta = rows @ self.weights + inclined[known, None]
        p = expit(eta)
        # the parabola that touches the log-likelihood here and lies below it everywhere (Jaakkola
        # and Jordan, 2000): its summit is never a step too far, as Newton's may be
        bend = np.where(np.abs(eta) > 1e-4, (p - 0.5) / np.where(eta == 0, 1.0, eta), 0.25)
        ridge = ridge_of(X.shape[1], RIDGE)
        curvature = weighted_squares(rows, bend) + np.diag(ridge)
        slope = rows.T @ (psi - p) - ridge[:, None] * self.weights
        self.weights += np.linalg.solve(curvature, slope.T[:, :, None])[:, :, 0].T


def log_likelihood_of_bits(indicators: Floats, log_odds: Floats, inclined: Floats) -> Floats:
    """Of each item's bits, up to a constant, with its inclination added to their log-odds."""
    found: Floats = inclined * indicators.sum(axis=1)
    found -= np.log1p(np.exp(log_odds + inclined[:, None])).sum(axis=1)  # at most 2 MOST each
    return found
