"""Errors in time, and the splits on which side information is chosen and measured."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.data import Ratings
from benchmarks.ml1m_90_10 import published_split
from benchmarks.moments import FOLDS, Days, Moments, errors_of_others, expected_errors
from benchmarks.side_information import FIRST_VIEWERS, TESTED, Timed, like_u1


def timed(n: int, n_users: int, seed: int = 0) -> Timed:
    """Ratings of some users at some times; which rating is which is told by its value."""
    rng = np.random.default_rng(seed)
    users = rng.integers(n_users, size=n).astype(np.int32)
    values = np.arange(n, dtype=np.float32)
    return Timed(
        Ratings(users, np.arange(n, dtype=np.int32), values), rng.integers(500_000, size=n)
    )


@pytest.mark.parametrize("law", [Moments(0.3, 3_000), Days(0.3)])
def test_errors_are_expected_as_the_normal_law_of_all_of_them_says(law) -> None:
    (ratings, times), rng = timed(80, 5), np.random.default_rng(1)
    asked, errors = rng.random(80) < 0.3, rng.normal(size=80)
    covariance = np.zeros((80, 80))
    for a in range(80):
        for b in range(80):
            if ratings.users[a] != ratings.users[b]:
                continue
            if isinstance(law, Days):
                alike = float(times[a] // 86_400 == times[b] // 86_400)
            else:
                alike = np.exp(-np.sqrt(abs(times[a] - times[b]) / 3_000))
            covariance[a, b] = 0.3 * alike
    known = covariance[~asked][:, ~asked] + np.eye((~asked).sum())
    wanted = covariance[asked][:, ~asked] @ np.linalg.inv(known) @ errors[~asked]
    users = ratings.users
    given = (users[~asked], times[~asked], errors[~asked])
    found = expected_errors(law, given, (users[asked], times[asked]))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_of_a_user_without_known_ratings_no_error_is_expected() -> None:
    nobody = (np.array([1], np.int32), np.array([0]), np.array([2.0]))
    asked = (np.array([7], np.int32), np.array([0]))
    assert expected_errors(Moments(0.3, 60), nobody, asked) == [0.0]


def test_each_rating_is_predicted_by_a_model_that_has_not_seen_it() -> None:
    ratings, seen = timed(200, 5).ratings, []

    def predict_after(part):
        seen.append(set(part.values))

        def predict(asked):
            assert not seen[-1] & set(asked.values)
            assert len(seen[-1]) + len(asked.values) == 200
            return np.ones(len(asked.values))

        return predict

    np.testing.assert_array_equal(errors_of_others(predict_after, ratings), np.arange(200) - 1.0)
    assert len(seen) == FOLDS


def test_validation_tests_other_viewers_than_u1_by_the_same_share() -> None:
    ratings, times = timed(50_000, 944)
    train = Timed(ratings._replace(users=np.maximum(ratings.users, 1)), times)
    tested = []
    for part, held in like_u1(train):
        assert set(part.ratings.values) | set(held.ratings.values) == set(ratings.values)
        assert len(part.times) + len(held.times) == 50_000
        assert held.ratings.users.min() > FIRST_VIEWERS
        tested.append(set(held.ratings.users))
        share = len(held.times) / np.isin(train.ratings.users, list(tested[-1])).sum()
        assert share == pytest.approx(TESTED, abs=0.02)
    assert not tested[0] & tested[1]
    assert len(tested[0]) + len(tested[1]) == 943 - FIRST_VIEWERS


def test_the_published_split_of_1m_takes_the_first_tenth_of_a_shuffle() -> None:
    ratings = timed(1_009, 50).ratings
    train, test = published_split(ratings)
    np.random.seed(1234)  # noqa: NPY002, as in the code of SparseFC
    order = np.arange(1_009)
    np.random.shuffle(order)  # noqa: NPY002
    wanted = [k for place, k in enumerate(order) if place <= 0.1 * 1_009]
    np.testing.assert_array_equal(test.values, np.array(wanted))
    assert sorted([*train.values, *test.values]) == list(range(1_009))
