"""What is expected of an item before its ratings are read, and of a user: learnt from the others.

Who rates an item says much about it, and so do the items that a user chooses to rate. The log-odds
of an item's bits are a logistic regression on its raters' PMFs and on how many they are; the centre
of a user's PMF is a linear regression on the indicators of the items rated, and on their number.
Both are ridge regressions, fitted anew in each sweep to the PMFs and indicators of that sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from eventspace.entries import Entries

Floats = NDArray[np.float64]

RIDGE = 10.0  # on features of unit variance: ten rows that say nothing
RIDGE_OF_CONSTANT = 0.1
MOST = 6.0  # the greatest log-odds that a prior may have


def incidence(entries: Entries, n_columns: int) -> Any:
    """Who rated what, as a sparse matrix, each row over the square root of its number of ones."""
    sizes = np.diff(entries.ptr)
    ones = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return sparse.csr_array((ones, entries.index, entries.ptr), shape=(len(sizes), n_columns))


def features(rated: Any, of_other: Floats) -> Floats:
    """A constant, the log of the number of ratings, and the sum of the others' deviations."""
    sizes = np.log1p(np.diff(rated.indptr))
    columns = [sizes[:, None], rated @ (of_other - of_other.mean(axis=0))]
    standard = np.hstack(columns)
    standard -= [standard[:, 0].mean(), *np.zeros(of_other.shape[1])]
    scale = np.sqrt(np.mean(np.square(standard), axis=0))
    return np.hstack([np.ones((len(sizes), 1)), standard / np.where(scale > 0, scale, 1.0)])


def _ridge(n: int) -> Floats:
    return np.array([RIDGE_OF_CONSTANT, *np.full(n - 1, RIDGE)])


class ItemPrior:
    """The log-odds of the bits; one step of each logistic regression a sweep."""

    def __init__(self, n_events: int) -> None:
        self.weights = np.zeros((n_events + 2, n_events))

    def log_odds(self, X: Floats, indicators: Floats, known: NDArray[np.bool_]) -> Floats:
        """Log-odds of all items, learnt from the known ones."""
        rows, psi = X[known], indicators[known]
        eta = rows @ self.weights
        p = expit(eta)
        # the parabola that touches the log-likelihood here and lies below it everywhere (Jaakkola
        # and Jordan, 2000): its summit is never a step too far, as Newton's may be
        bend = np.where(np.abs(eta) > 1e-4, (p - 0.5) / np.where(eta == 0, 1.0, eta), 0.25)
        ridge = _ridge(X.shape[1])
        for d in range(psi.shape[1]):
            curvature = (rows * bend[:, d, None]).T @ rows
            slope = rows.T @ (psi[:, d] - p[:, d]) - ridge * self.weights[:, d]
            self.weights[:, d] += np.linalg.solve(curvature + np.diag(ridge), slope)
        return np.clip(X @ self.weights, -MOST, MOST)


def pmf_centres(Z: Floats, pmf: Floats, known: NDArray[np.bool_]) -> Floats:
    """The centres of all users' PMFs, learnt from the known ones."""
    rows = Z[known]
    return np.asarray(
        Z @ np.linalg.solve(rows.T @ rows + np.diag(_ridge(Z.shape[1])), rows.T @ pmf[known])
    )
