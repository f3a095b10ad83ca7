"""User and item biases: what any model of ratings has to beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_number
from eventspace._base.errors import UserError
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.data.learnable import to_learn_from
from eventspace.data.observations import Observations
from eventspace.estimators.base import Holder
from eventspace.fitted.prediction import Factors


class BiasModel(Holder):
    """p_ui = mean + b_i + b_u, cut off at zero and one, with damped means as biases.

    b_i is the sum of the item's p - mean, divided by (their weight + ``damping``). b_u is the same
    for the user's p - mean - b_i. Unknown or unrated users and items have a bias of zero.

    Parameters
    ----------
    damping : float, default 5.0
        How strongly a bias is pulled towards zero, in ratings.

    Attributes
    ----------
    mean_ : float
        The (weighted) mean of all entries.
    user_bias_, item_bias_ : arrays
        The biases, in probability.
    error_ : float
        The (weighted) squared error over the observed entries.
    observations_ : Observations
        What was learnt from.
    """

    def __init__(self, damping: float = 5.0) -> None:
        self.damping = damping

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table: anything that ``Observations.of`` reads. ``y`` is ignored."""
        check_number("damping", self.damping)
        observations = to_learn_from(X)
        if observations.missing:
            raise UserError(
                f"{type(self).__name__} learns from what is stored: where what is missing says no, "
                "it would say yes to everything."
            )
        by_user, by_item = observations.by_user, observations.by_item
        weight = by_user.weight if observations.weighted else None
        self.mean_ = float(np.average(by_user.value.astype(np.float64), weights=weight))
        self.item_bias_ = self._biases(by_item, np.zeros(observations.n_users))
        self.user_bias_ = self._user_biases(by_user)
        self.fitted_ = self._predictor(self, observations)
        u, i, p = observations.coo()
        self.error_ = float(
            np.average(np.square(self.fitted_.predict_positions(u, i) - p), weights=weight)
            * observations.total_weight
        )
        return self

    def _user_biases(self, by_user: Entries) -> Floats:
        return self._biases(by_user, self.item_bias_)

    def _biases(self, entries: Entries, others: Floats) -> Floats:
        """The damped mean of p - mean - (the bias of the other side) in each row."""
        n_rows = len(entries.ptr) - 1
        rows = np.repeat(np.arange(n_rows), entries.sizes)
        weight = entries.weight if entries.weight.size else np.ones(len(rows))
        rest = weight * (entries.value - self.mean_ - others[entries.index])
        total = np.bincount(rows, weight, n_rows) + self.damping
        sums = np.bincount(rows, rest, n_rows)
        return np.asarray(np.divide(sums, total, out=np.zeros(n_rows), where=total > 0))

    def _rows(self, user_bias: Floats) -> Floats:
        """(mean + b_u, 1), whose product with (1, b_i) is the prediction."""
        return np.column_stack([self.mean_ + user_bias, np.ones(len(user_bias))])

    def _solve(self, by_user: Entries) -> Floats:
        """The rows of new users."""
        return self._rows(self._user_biases(by_user))

    @property
    def _predictor(self) -> type[Biases]:
        return Biases


class Biases(Factors):
    """Predictions are cut off at zero and one; what is unknown has no bias."""

    def __init__(self, model: BiasModel, observations: Observations) -> None:
        psi = np.column_stack([np.ones(observations.n_items), model.item_bias_])
        rows = model._rows(model.user_bias_)
        super().__init__(type(model).__name__, observations, rows, psi, model._solve)
        self.pmf_mean, self.indicator_mean = np.array([model.mean_, 1.0]), np.array([1.0, 0.0])

    def inverse_transform(self, X: Any) -> Floats:
        """The predictions for every item under each row of ``X``, as ``transform`` gives it."""
        return np.clip(super().inverse_transform(X), 0.0, 1.0)

    def products(self, pmf: Floats, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        """The predictions for pairs of a row and an item."""
        return np.clip(super().products(pmf, users, items), 0.0, 1.0)
