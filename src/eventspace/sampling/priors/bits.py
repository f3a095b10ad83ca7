"""The prior of an item's bits: the users who rate an item say much about it.

The log-odds of its bits are logistic regressions on its raters' PMFs and on their number. The
item's inclination is added, the same for all its bits. The regressions take one step in each sweep,
given the PMFs and bits of that sweep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventspace.engines.workbench import Held, Workbench
from eventspace.sampling.draw_inclinations import INCLINED_ITEMS, MOST
from eventspace.sampling.priors.features import Features, ridge_of
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.interface import Prior, Rng, State

RIDGE = 20.0  # on features of unit variance: twenty rows that say nothing
FLAT = 1e-4  # log-odds around which the logistic curve is a line


@dataclass
class BitPrior(Prior):
    """Log-odds ``X_i w_d + x_i``, with the features X_i of item i and its inclination x_i."""

    features: Features  # of items, given PMFs
    regressions: Regressions
    inclinations: Inclinations

    def draw(self, state: State, rng: Rng) -> Held:
        """The log-odds, items x events."""
        expected = self.learn(state)
        self.inclinations.draw_variance(state, state.known_items, rng)
        return expected + self.inclinations.of_each[..., None]

    def learn(self, state: State, n_steps: int = 1) -> Held:
        """Draw inclinations, and let the regressions go a step; log-odds without inclinations."""
        bench, own = state.bench, self.inclinations
        X, psi = self.features(state.pmf), state.indicators
        for _ in range(n_steps):
            expected = self.regressions.expected(X, bench)
            rows = psi, expected, own.of_each, state.item_seeds
            bench.each(INCLINED_ITEMS, rows, (bench.hold(own.numbers()),))
            self.regressions.learn(X, psi, state.known_items, own.of_each, bench)
        return self.regressions.expected(X, bench)


class Regressions:
    """A logistic regression for each event, which share their features."""

    def __init__(self, n_features: int, n_events: int) -> None:
        self.weights = np.zeros((n_features, n_events))  # of each chain, once they have learnt

    def expected(self, X: Held, bench: Workbench) -> Held:
        """Log-odds of items that are inclined to nothing."""
        return np.clip(X @ bench.hold(self.weights), -MOST, MOST)

    def learn(self, X: Held, psi: Held, known: Held, inclined: Held, bench: Workbench) -> None:
        """A step of each, given the inclinations of all items; only the known count."""
        eta = X @ bench.hold(self.weights) + inclined[..., None]
        # the parabola that touches the log-likelihood here and lies below it everywhere (Jaakkola
        # and Jordan, 2000): its summit is never a step too far, as Newton's may be
        away = np.abs(eta) > FLAT
        bend = np.where(away, np.tanh(eta / 2) / np.where(away, 2 * eta, 1.0), 0.25)
        beyond = psi - 0.5 - bend * eta  # the bit, less its chance
        ridge = ridge_of(X.shape[-1], RIDGE)
        curvature = bench.weighted_squares(X, known[:, None] * bend) + np.diag(ridge)
        slope = bench.fetch(X.swapaxes(-1, -2) @ (known[:, None] * beyond))
        slope = (slope - ridge[:, None] * self.weights).swapaxes(-1, -2)
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        self.weights = self.weights + step.swapaxes(-1, -2)
