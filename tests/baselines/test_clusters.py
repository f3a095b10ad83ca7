from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans

from eventspace import KolmogorovDescent, Observations
from eventspace.baselines import ItemKMeans
from eventspace.baselines.clusters import Means
from eventspace.indicators.one_hot import OneHot, event_of, one_hot
from tests import naive
from tests.kernels.instances import items


def test_codes_of_clusters_go_there_and_back() -> None:
    labels = np.array([0, 1, 5, 63, 31])
    np.testing.assert_array_equal(event_of(one_hot(labels)), labels)
    assert one_hot(labels).tolist() == [1, 2, 32, 1 << 63, 1 << 31]


@pytest.mark.parametrize("n_events", [1, 2, 5])
def test_the_one_hot_step_takes_the_best_cluster_and_keeps_the_old_one_of_equals(n_events) -> None:
    for name, (S, v, energy) in items(n_events, seed=n_events):
        costs = [naive.g(S, v, e) + energy for e in np.eye(n_events)]
        empty = np.zeros(1, dtype=np.uint64)
        OneHot()(S[None], v[None], np.array([energy]), empty, empty)
        assert costs[event_of(empty)[0]] == min(costs), name
        for label in range(n_events):
            codes = one_hot(np.array([label]))
            cost, proved = OneHot()(S[None], v[None], np.array([energy]), codes, codes)
            assert proved[0]
            assert cost[0] == pytest.approx(min(costs), rel=1e-9, abs=1e-12), name
            if costs[label] == min(costs):
                assert event_of(codes)[0] == label, name


def test_a_user_without_ratings_in_a_cluster_has_their_own_mean_there() -> None:
    Q = np.array([np.diag([2.0, 0.0, 3.0]), np.zeros((3, 3))])
    r = np.array([[1.0, 0.0, 2.4], [0.0, 0.0, 0.0]])
    pmf = np.full((2, 3), 0.25)
    cost, gap = Means()(Q, r, pmf)
    np.testing.assert_allclose(pmf, [[0.5, 3.4 / 5, 0.8], [0.25, 0.25, 0.25]])
    np.testing.assert_allclose(cost, [naive.f(Q[0], r[0], pmf[0]), 0.0])
    assert not gap.any()


@pytest.mark.parametrize("full", [True, False])
def test_iterations_are_lloyds(full: bool, monkeypatch) -> None:
    """Step by step against the plain formulas, from the same start."""
    rng = np.random.default_rng(4)
    table = rng.random((12, 4))[:, rng.integers(4, size=25)] + 0.2 * rng.random((12, 25))
    table = (table / 1.2).astype(np.float32).astype(float)
    if not full:
        table[rng.random(table.shape) < 0.4] = np.nan
    labels = rng.integers(3, size=25)
    monkeypatch.setattr("numpy.random.default_rng", lambda seed: Fixed(labels))
    for n_iter in (1, 2, 5):
        model = ItemKMeans(3, pmf_penalty=0.0, n_iter=n_iter, tol=0.0).fit(
            Observations.of(table, scale=(0, 1))
        )
        expected, centres = naive.lloyd(table, labels.copy(), 3, model.n_iter_)
        np.testing.assert_array_equal(model.labels_, expected)
        np.testing.assert_allclose(model.pmf_, centres, atol=1e-6)


class Fixed:
    """Labels that are not drawn, but given."""

    def __init__(self, labels) -> None:
        self.labels = labels

    def integers(self, *args, size, dtype=np.int64):
        return self.labels.astype(dtype)


def test_on_a_full_table_it_is_as_good_as_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((20, 3))[:, rng.integers(3, size=60)]
    table = np.clip(table + 0.05 * rng.standard_normal(table.shape), 0, 1)
    ours = ItemKMeans(3, pmf_penalty=0.0, n_init=10, tol=0.0, random_state=0).fit(table)
    theirs = KMeans(3, n_init=10, random_state=0).fit(table.T)
    assert ours.error_ == pytest.approx(theirs.inertia_, rel=1e-4)
    pairs = set(zip(ours.labels_.tolist(), theirs.labels_.tolist(), strict=True))
    assert len(pairs) == 3


def test_the_penalty_draws_centres_to_the_mean_over_users(ratings) -> None:
    model = ItemKMeans(3, pmf_penalty=4.0, n_iter=200, tol=0.0, random_state=0).fit(ratings)
    u, i, p = model.observations_.coo()
    mean = model.pmf_mean_
    for user in (0, 7):
        for d in range(3):
            mine = p[(u == user) & (model.labels_[i] == d)]
            expected = (mine.sum() + 4.0 * mean[d]) / (len(mine) + 4.0)
            assert model.pmf_[user, d] == pytest.approx(expected, abs=1e-3)


def test_one_hot_is_not_k_means_but_k_means_with_numbers_that_add_up_to_one() -> None:
    """The least cost over all partitions, with each user's solve by enumeration of supports."""
    rng = np.random.default_rng(2)
    table = rng.random((4, 5))
    best = np.inf
    for labels in itertools.product(range(2), repeat=5):
        psi, cost = np.eye(2)[list(labels)], 0.0
        for p in table:
            Q, r, e = naive.sums(psi, np.arange(5), p, np.ones(5))
            cost += naive.simplex_minimum(Q, r) + e
        best = min(best, cost)
    model = KolmogorovDescent(
        2, indicators="one-hot", pmf_penalty=0.0, n_init=30, tol=0.0, random_state=0
    ).fit(table)
    assert model.error_ == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(model.pmf_.sum(axis=1), 1)
    assert model.indicators_.sum(axis=1).tolist() == [1] * 5
    assert model.proved_.all()
    free = ItemKMeans(2, pmf_penalty=0.0, n_init=30, tol=0.0, random_state=0).fit(table)
    assert free.error_ < model.error_ - 0.1
