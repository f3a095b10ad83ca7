from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics as known
from sklearn.calibration import calibration_curve

from eventspace import metrics


@pytest.fixture
def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stars, predictions without ties, weights."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 400).astype(float)
    prediction = 3 + 0.4 * (truth - 3) + rng.normal(0, 0.4, 400)
    assert len(np.unique(prediction)) == 400
    return truth, prediction, rng.random(400)


@pytest.fixture
def users() -> np.ndarray:
    """The user of each of 400 entries: some have one entry only, most about ten."""
    ids = np.random.default_rng(1).integers(0, 40, 400)
    return np.array([f"u{u}" for u in np.append(ids[:-2], [100, 101])])


def test_errors_are_scikit_learns(numbers) -> None:
    truth, prediction, weight = numbers
    for w in (None, weight):
        squared = known.mean_squared_error(truth, prediction, sample_weight=w)
        assert metrics.rmse(truth, prediction, w) == pytest.approx(math.sqrt(squared))
        absolute = known.mean_absolute_error(truth, prediction, sample_weight=w)
        assert metrics.mae(truth, prediction, w) == pytest.approx(absolute)


def test_brier_score_is_scikit_learns(numbers) -> None:
    truth, prediction, weight = numbers
    came_true, p = truth >= 4, prediction / 6
    for w in (None, weight):
        expected = known.brier_score_loss(came_true, p, sample_weight=w)
        assert metrics.brier_score(came_true, p, w) == pytest.approx(expected)


def test_log_loss_is_scikit_learns(numbers) -> None:
    truth, prediction, weight = numbers
    came_true, p = truth >= 4, np.clip(prediction - 2, 0, 1)
    assert {0.0, 1.0} < set(p)
    for w in (None, weight):
        expected = known.log_loss(came_true, p, sample_weight=w)
        assert metrics.log_loss(came_true, p, w) == pytest.approx(expected)
    assert metrics.log_loss([0.25], [0.5]) == pytest.approx(math.log(2))
    assert metrics.log_loss([1.0, 0.0], [0.0, 1.0]) == pytest.approx(36.04, abs=0.01)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("n_bins", [1, 7, 30])
def test_reliability_curve_is_scikit_learns(numbers, strategy, n_bins) -> None:
    truth, prediction, _ = numbers
    came_true, p = truth >= 4, prediction / 12 + 0.3  # bins at both ends are empty
    curve = metrics.reliability_curve(came_true, p, n_bins=n_bins, strategy=strategy)
    expected = calibration_curve(came_true, p, n_bins=n_bins, strategy=strategy)
    np.testing.assert_allclose(curve["truth"], expected[0])
    np.testing.assert_allclose(curve["prediction"], expected[1])
    assert curve["count"].sum() == 400
    assert curve["count"].min() > 0


def test_reliability_keeps_equal_predictions_together() -> None:
    curve = metrics.reliability_curve([0, 1, 1, 0.5], [0.2, 0.2, 0.2, 0.9], n_bins=4)
    assert curve["count"].tolist() == [3, 1]
    np.testing.assert_allclose(curve["truth"], [2 / 3, 0.5])


@pytest.mark.parametrize("n", [1, 3, 50])
def test_ranking_is_that_of_each_user_averaged(numbers, users, n) -> None:
    truth, prediction, _ = numbers
    ndcg, precision, recall = [], [], []
    for user in np.unique(users):
        mine = users == user
        t, p = truth[mine], prediction[mine]
        top = np.argsort(-p)[:n]
        precision.append((t[top] >= 4).mean())
        if (t >= 4).any():
            chosen = np.isin(np.arange(len(t)), top)
            recall.append(known.recall_score(t >= 4, chosen))
        if len(t) > 1:  # scikit-learn refuses one entry, of which any order is the best
            ndcg.append(known.ndcg_score(t[None], p[None], k=n))
        else:
            ndcg.append(1.0)
    assert metrics.ndcg_at(truth, prediction, users, n=n) == pytest.approx(np.mean(ndcg))
    assert len(recall) < len(precision)
    found = metrics.precision_at(truth, prediction, users, n=n, like=4)
    assert found == pytest.approx(np.mean(precision))
    found = metrics.recall_at(truth, prediction, users, n=n, like=4)
    assert found == pytest.approx(np.mean(recall))


def test_equal_predictions_rank_as_they_come() -> None:
    truth, users = [5, 1, 3, 1, 5], ["a", "a", "a", "b", "b"]
    flat = [0.5] * 5
    assert metrics.precision_at(truth, flat, users, n=1, like=4) == 0.5  # a's first, not b's
    assert metrics.recall_at(truth, flat, users, n=1, like=4) == 0.5
    assert metrics.ndcg_at(truth, flat, users, n=1) == pytest.approx((5 / 5 + 1 / 5) / 2)


def test_users_may_come_in_any_order_and_library(numbers, users) -> None:
    truth, prediction, _ = numbers
    order = np.argsort(users, kind="stable")
    expected = metrics.ndcg_at(truth, prediction, users, n=3)
    frame = pd.DataFrame({"t": truth, "p": prediction, "u": users}).iloc[order]
    for table in (frame, pl.from_pandas(frame)):
        found = metrics.ndcg_at(table["t"], table["p"], table["u"], n=3)
        assert found == pytest.approx(expected)


def test_nobody_to_measure_is_nan() -> None:
    assert math.isnan(metrics.recall_at([1, 2], [1, 2], ["a", "b"], n=1, like=4))
    assert math.isnan(metrics.ndcg_at([0, 0], [1, 2], ["a", "b"], n=1))
    assert metrics.precision_at([1, 2], [1, 2], ["a", "b"], n=1, like=4) == 0


def test_coverage_counts_the_bounds_in() -> None:
    assert metrics.coverage([1, 2, 3, 4], [1, 0, 3.5, 0], [2, 2, 4, 3]) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.rmse([1, 2], [1]), r"same length.*truth: \(2,\), prediction: \(1,\)"),
        (lambda: metrics.mae([], []), "not empty"),
        (lambda: metrics.rmse([[1]], [[1]]), r"truth: \(1, 1\)"),
        (lambda: metrics.brier_score([0, 1], [0, 1.5]), "prediction must be from 0 to 1"),
        (lambda: metrics.log_loss([1], [2]), "prediction must be from 0 to 1"),
        (lambda: metrics.brier_score([3], [0.5]), "truth must be from 0 to 1"),
        (lambda: metrics.reliability_curve([1], [np.nan]), "prediction must be from 0 to 1"),
        (lambda: metrics.reliability_curve([1], [1], n_bins=0), "n_bins=0"),
        (lambda: metrics.reliability_curve([1], [1], strategy="odd"), "'quantile', 'uniform'"),
        (lambda: metrics.ndcg_at([-1.0], [1], ["a"], n=1), "must not be negative"),
        (lambda: metrics.ndcg_at([1.0], [1], ["a", "b"], n=1), r"users: \(2,\)"),
        (lambda: metrics.precision_at([1], [1], ["a"], n=0, like=1), "n=0"),
        (lambda: metrics.coverage([1, 2], [1, 2], [1]), r"high: \(1,\)"),
    ],
)
def test_bad_columns_are_refused(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_probabilities_may_be_beyond_one_by_rounding_only() -> None:
    assert metrics.brier_score([1, 0], [1 + 2e-16, -2e-16]) == 0.0
    assert metrics.reliability_curve([1], [1 + 2e-16], strategy="uniform")["prediction"][0] == 1.0
    with pytest.raises(ValueError, match="prediction must be from 0 to 1"):
        metrics.brier_score([1], [1.001])
