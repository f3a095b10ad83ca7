"""Whose new ratings surprise? The errors of each user, or item, beside those of all others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Bits, Floats, Positions
from eventspace.rules.significance import q_values

MOVED = 0.05  # of those named, this part may be named wrongly
ROUNDS = 10  # of leaving out those who moved; two or three do
MOST_ROWS = 2000  # tell how far rows differ: more would tell no more
NORMAL, TRUST = 2.0, 10.0  # the dispersion of squared normal errors, and how many it counts as
LEAST_DISPERSION = 0.1  # of squared errors that are nearly all the same
LEAST_CENTRE = 1e-3  # of errors that are far smaller than expected, or none
HALVINGS = 20
APART, FEW = 0.1, 30.0  # how far users differ in MovieLens, and what that counts for, in rows
TIE = 1e-12  # of a sum of weights, is rounding
MEDIAN = math.pi / 2  # its variance, by that of a mean


class Surprise(NamedTuple):
    """How far the new ratings of each row, a user or an item, are from what was expected."""

    rows: Positions
    n_ratings: Floats
    weights: Floats  # the sums of their weights
    squares: Floats  # the sum of squared errors, by their weights
    expected: Floats  # the same, as expected
    p_values: Floats
    q_values: Floats

    @classmethod
    def of(cls, rows: NDArray[Any], error: Floats, variance: Floats, weight: Floats) -> Surprise:
        """Of entries with these rows, squared errors, expected squared errors and weights.

        The law of the rows that are as usual is learnt from them. Those who moved are left out, and
        all are judged anew, until nothing changes: many who moved would hide each other.
        """
        own, at = np.unique(rows, return_inverse=True)
        ratio = error / variance
        sums = np.ones(len(at)), weight, weight * error, weight * variance, ratio, ratio**2
        n, weights, squares, expected, total, square = (
            np.bincount(at, x, minlength=len(own)).astype(np.float64) for x in sums
        )
        p = q = np.ones(len(own))
        usual = np.ones(len(own), np.bool_)
        for _ in range(ROUNDS if own.size else 0):
            p = Usual.of(n[usual], total[usual], square[usual]).tail(n, total / n)
            q = q_values(p, np.ones(len(own), np.bool_))
            before, usual = usual, q >= MOVED
            if np.array_equal(usual, before) or 2 * usual.sum() < len(own):
                break
        return cls(own, n, weights, squares, expected, p, q)


class Usual(NamedTuple):
    """The law of the mean ratio, error / expected error, of a row that is as usual.

    The noise of a user, or of an item, is known only so well: it is that expected times ``centre``
    times an inverse Gamma number with mean one and variance ``apart``. Given it, n ratios add up to
    a Gamma number with the mean and variance that they have. So the mean ratio follows an F law.
    """

    dispersion: float  # the variance of a row's ratios, by the square of their mean
    apart: float
    centre: float  # the median of rows with many ratings

    @classmethod
    def of(cls, n: Floats, total: Floats, square: Floats) -> Usual:
        """Of rows with n ratios each, their sums and their sums of squares.

        ``centre`` puts the median row in the middle of its law. ``apart`` gives the rows below it
        the spread of their laws; each counts by its ratings. Who moved is mostly above.
        """
        from scipy.special import ndtri

        mean = total.sum() / n.sum()
        if mean < LEAST_CENTRE**2:  # there are hardly any errors
            return cls(NORMAL, 0.0, LEAST_CENTRE)
        # what ratios vary by within rows, of which those that are noisy vary more
        within = float(np.sum(square - total**2 / n)) / mean**2
        dispersion = (within + NORMAL * TRUST) / (float(np.sum(n - 1)) + TRUST)
        dispersion = max(dispersion, LEAST_DISPERSION)
        some = slice(None, None, -(-len(n) // MOST_ROWS))
        n, ratio = n[some], total[some] / n[some]

        def law(apart: float) -> Usual:
            return cls(dispersion / (1.0 + apart), apart, 1.0)._around(n, ratio)

        def too_near(apart: float) -> bool:
            z = ndtri(1.0 - np.clip(law(apart).tail(n, ratio), 1e-16, 1.0 - 1e-16))
            below: Bits = z < 0.0
            return bool(np.sum(n[below] * (z[below] ** 2 - 1.0)) > 0.0)

        low, high = 0.0, 1.0
        for _ in range(HALVINGS if too_near(0.0) else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if too_near(middle) else (low, middle)
        # a few rows tell little of how far rows differ, and of the middle
        found = law((len(n) * low + FEW * APART) / (len(n) + FEW))
        doubt = MEDIAN / float(np.sum(1.0 / found._variance(n)))
        return found._replace(apart=found.apart + doubt)

    def _around(self, n: Floats, ratio: Floats) -> Usual:
        """The same, where the median row is in the middle of its law; each counts by its law."""
        from scipy.special import fdtri

        middle, weight = ratio / fdtri(*self._degrees(n), 0.5), 1.0 / self._variance(n)
        order = np.argsort(middle, kind="stable")
        below = np.cumsum(weight[order])
        half = below[-1] / 2 * np.array([1 - TIE, 1 + TIE])  # of two in the middle: their mean
        centre = float(middle[order[np.searchsorted(below, half)]].mean())
        return self._replace(centre=max(centre, LEAST_CENTRE))

    def _variance(self, n: Floats) -> Floats:
        """Of the mean ratio of n, about."""
        return np.asarray(self.dispersion / n + self.apart)

    def tail(self, n: Floats, ratio: Floats) -> Floats:
        """The chance of so great a mean ratio, or a greater one, of n."""
        from scipy.special import fdtrc

        return np.asarray(fdtrc(*self._degrees(n), ratio / self.centre))

    def _degrees(self, n: Floats) -> tuple[Floats, float]:
        """Twice the shapes of the Gamma and of the inverse Gamma law."""
        return 2.0 * n / self.dispersion, 4.0 + 2.0 / max(self.apart, 1e-6)
