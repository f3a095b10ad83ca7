"""Ideal points of legislators: the logistic model of roll calls, by penalised likelihood.

The log-odds of a yea are b_i . x_u + a_i: a legislator has a point x_u, a roll call a direction b_i
and a constant. Normal priors, as in pscl's ``ideal``, are the penalties; the most likely values are
found instead of draws.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from examples.compare import Floats, Tool

WIDE = 0.1  # the penalty of constants, as a part of that of directions


class IdealPoints:
    """Points of users and cutting planes of items, in ``n_dims`` dimensions."""

    def __init__(self, n_dims: int, penalty: float) -> None:
        self.n_dims, self.penalty = n_dims, penalty

    def fit(self, table: pd.DataFrame) -> IdealPoints:
        """Learn from user, item and value, 0 or 1."""
        self.users, self.items = (pd.Index(table[side].unique()) for side in ("user", "item"))
        u, i = self._positions(table)
        y = table["value"].to_numpy(dtype=np.float64)
        n, m, k = len(self.users), len(self.items), self.n_dims
        ridge = np.full((m, k + 1), self.penalty)
        ridge[:, k] *= WIDE

        def parts(z: Floats) -> tuple[Floats, Floats]:
            return z[: n * k].reshape(n, k), z[n * k :].reshape(m, k + 1)

        def cost(z: Floats) -> tuple[float, Floats]:
            x, b = parts(z)
            odds = np.einsum("ek,ek->e", x[u], b[i, :k]) + b[i, k]
            rest = expit(odds) - y
            to_x = [np.bincount(u, rest * b[i, d], n) for d in range(k)]
            to_b = [np.bincount(i, rest * x[u, d], m) for d in range(k)]
            slopes = np.column_stack(to_x) + x
            slopes_b = np.column_stack([*to_b, np.bincount(i, rest, m)]) + ridge * b
            value = np.logaddexp(0, odds).sum() - y @ odds
            value += 0.5 * (x**2).sum() + 0.5 * (ridge * b**2).sum()
            return float(value), np.concatenate([slopes.ravel(), slopes_b.ravel()])

        start = np.concatenate([self._start(u, i, y).ravel(), np.zeros(m * (k + 1))])
        found = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
        self.points, self.planes = parts(found.x)
        return self

    def predict(self, pairs: pd.DataFrame) -> Floats:
        """The chance of a yea."""
        u, i = self._positions(pairs)
        odds = np.einsum("ek,ek->e", self.points[u], self.planes[i, :-1]) + self.planes[i, -1]
        return np.asarray(expit(odds))

    def _positions(self, pairs: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        users, items = pd.Index(pairs["user"]), pd.Index(pairs["item"])
        return self.users.get_indexer(users), self.items.get_indexer(items)

    def _start(self, u: NDArray[np.intp], i: NDArray[np.intp], y: Floats) -> Floats:
        """Principal components of what the roll calls' means leave over."""
        wide = np.zeros((len(self.users), len(self.items)))
        mean = np.bincount(i, y) / np.bincount(i)
        wide[u, i] = y - mean[i]
        x = np.linalg.svd(wide, full_matrices=False)[0][:, : self.n_dims]
        return np.asarray(x / x.std(axis=0))


def ideal_points(n_dims: int, penalty: float) -> Tool:
    """The model as a tool to compare."""

    def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
        return IdealPoints(n_dims, penalty).fit(train).predict(pairs)

    return predict
