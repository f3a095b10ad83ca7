"""How good predictions are: errors, calibration, ranking, intervals.

Every function takes the truth first and the predictions next, as columns of the same length.

Ranking is by user. A user's best predictions are the greatest; among equal ones, the first.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_choice, check_whole
from eventspace._base.errors import UserError
from eventspace._base.types import Floats
from eventspace.data.frames import DataFrame
from eventspace.data.ids import number

ROUNDING = 1e-9  # by which a probability may be beyond 0 or 1


def rmse(truth: Any, prediction: Any, weight: Any = None) -> float:
    """The root of the (weighted) mean squared error, in the unit of both."""
    truth, prediction = _columns(truth=truth, prediction=prediction)
    return float(np.sqrt(np.average(np.square(truth - prediction), weights=weight)))


def mae(truth: Any, prediction: Any, weight: Any = None) -> float:
    """The (weighted) mean absolute error, in the unit of both."""
    truth, prediction = _columns(truth=truth, prediction=prediction)
    return float(np.average(np.abs(truth - prediction), weights=weight))


def brier_score(truth: Any, prediction: Any, weight: Any = None) -> float:
    """The (weighted) mean squared error of probabilities; the truth is 0 or 1, or a chance."""
    truth, prediction = _probabilities(truth=truth, prediction=prediction)
    return rmse(truth, prediction, weight) ** 2


def log_loss(truth: Any, prediction: Any, weight: Any = None) -> float:
    """The (weighted) mean of -log of the probability of what came true.

    The truth is 0 or 1, or a chance. A prediction of exactly 0 or 1 counts as one that is nearly
    so, by the rounding of a float: if it is wrong it costs 36.
    """
    truth, prediction = _probabilities(truth=truth, prediction=prediction)
    tiny = np.finfo(np.float64).eps
    p = np.clip(prediction, tiny, 1 - tiny)
    return float(np.average(-truth * np.log(p) - (1 - truth) * np.log(1 - p), weights=weight))


def reliability_curve(
    truth: Any,
    prediction: Any,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
) -> DataFrame:
    """How often predictions came true: one row per bin of predictions, the least likely first.

    The truth is 0 or 1, or a chance. Bins hold about the same number of predictions ("quantile";
    equal predictions stay together) or have the same width ("uniform", from 0 to 1). Columns: the
    mean ``prediction``, the mean ``truth`` and the ``count``. Empty bins are left out.
    """
    check_whole("n_bins", n_bins, 1)
    check_choice("strategy", strategy, ("quantile", "uniform"))
    truth, prediction = _probabilities(truth=truth, prediction=prediction)
    cuts = np.linspace(0, 1, n_bins + 1)[1:-1]
    if strategy == "quantile":
        cuts = np.quantile(prediction, cuts)
    binned = np.searchsorted(cuts, prediction)
    import pandas as pd

    table = pd.DataFrame({"prediction": prediction, "truth": truth, "count": 1}).groupby(binned)
    curve = table.agg({"prediction": "mean", "truth": "mean", "count": "size"})
    return curve.reset_index(drop=True)


def precision_at(truth: Any, prediction: Any, users: Any, *, n: int, like: float) -> float:
    """The share of each user's n best predictions with a truth of at least ``like``, averaged.

    A user with fewer than n entries counts with all of them.
    """
    truth, who, rank = _ranked(truth, prediction, users, n)
    best = rank < n
    return _mean(np.bincount(who, best & (truth >= like)), np.bincount(who, best))


def recall_at(truth: Any, prediction: Any, users: Any, *, n: int, like: float) -> float:
    """The share of each user's truths of at least ``like`` in the n best predictions, averaged.

    Users without such truths are left out. The result is NaN if no user has one.
    """
    truth, who, rank = _ranked(truth, prediction, users, n)
    liked = truth >= like
    return _mean(np.bincount(who, liked & (rank < n)), np.bincount(who, liked))


def ndcg_at(truth: Any, prediction: Any, users: Any, *, n: int) -> float:
    """The gain of each user's n best predictions over the gain of the best order, averaged.

    An entry gains its truth, which must not be negative, divided by log2(1 + its rank from 1 on).
    Users without any gain are left out. The result is NaN if no user is left.
    """
    truth, who, rank = _ranked(truth, prediction, users, n)
    if (truth < 0).any():
        raise UserError("truth must not be negative: it is what a recommendation gains.")

    def gain(rank: NDArray[np.int64]) -> NDArray[Any]:
        return np.bincount(who, np.where(rank < n, truth / np.log2(rank + 2), 0.0))

    return _mean(gain(rank), gain(_ranks(who, truth)))


def coverage(truth: Any, low: Any, high: Any) -> float:
    """The share of the truths that lie between low and high, bounds included."""
    truth, low, high = _columns(truth=truth, low=low, high=high)
    return float(((low <= truth) & (truth <= high)).mean())


def _columns(**columns: Any) -> list[Floats]:
    """Arrays of numbers, of the same length and not empty."""
    arrays = [np.asarray(column, dtype=np.float64) for column in columns.values()]
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1 or not arrays[0].size:
        shapes = ", ".join(f"{k}: {a.shape}" for k, a in zip(columns, arrays, strict=True))
        raise UserError(f"Columns of the same length are wanted, not empty; {shapes}.")
    return arrays


def _probabilities(**columns: Any) -> list[Floats]:
    """The same, for values from 0 to 1; a value beyond by rounding, as of a sum, is cut off."""
    arrays = _columns(**columns)
    for name, array in zip(columns, arrays, strict=True):
        if not ((array >= -ROUNDING) & (array <= 1 + ROUNDING)).all():
            raise UserError(f"{name} must be from 0 to 1: these are probabilities.")
    return [np.clip(array, 0, 1) for array in arrays]


def _ranked(
    truth: Any, prediction: Any, users: Any, n: int
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """The truth, the users numbered, and the rank of each prediction among its user's, from 0."""
    check_whole("n", n, 1)
    who = number(users, "user")[1].astype(np.int64)
    truth, prediction, _ = _columns(truth=truth, prediction=prediction, users=who)
    return truth, who, _ranks(who, prediction)


def _ranks(who: NDArray[np.int64], values: Floats) -> NDArray[np.int64]:
    """The rank of each value among its user's: the greatest has 0, equal ones as they come."""
    order = np.lexsort((-values, who))
    sizes = np.bincount(who)
    ranks = np.empty(len(who), dtype=np.int64)
    ranks[order] = np.arange(len(who)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranks


def _mean(part: NDArray[Any], whole: NDArray[Any]) -> float:
    """The mean of part / whole over the users with a whole."""
    some = whole > 0
    return float((part[some] / whole[some]).mean()) if some.any() else math.nan
