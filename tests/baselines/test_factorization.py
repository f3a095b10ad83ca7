from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from eventspace import KolmogorovDescent, Observations
from eventspace.baselines import BiasModel, BinaryFactorization
from eventspace.baselines.vertices import affine_hull, nearest_vertices, select
from eventspace.pmf import Pairwise
from tests import naive


def as_sets(indicators) -> set[tuple[int, ...]]:
    """The events as sets of items, whatever their order."""
    return {tuple(column) for column in np.asarray(indicators, dtype=int).T.tolist()}


@example(6, 2**32 - 1, 5.0)  # elimination alone drops a vertex that twice as many do without
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0, 5.0]))
@settings(max_examples=40, deadline=None)
def test_a_planted_factorisation_is_recovered_exactly(n_events, seed, concentration) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(n_events, concentration), 30)
    psi = rng.random((60, n_events)) < 0.5
    model = BinaryFactorization(n_events, n_jobs=1).fit(
        Observations.of(theta @ psi.T, scale=(0, 1))
    )
    assume(np.linalg.svd(theta - theta.mean(axis=0))[1][: n_events - 1].min(initial=1) > 0.05)
    assert as_sets(model.indicators_) == as_sets(psi)
    sets = [tuple(column) for column in model.indicators_.T.tolist()]
    order = [sets.index(tuple(column)) for column in psi.T.tolist()]
    np.testing.assert_allclose(model.pmf_[:, order], theta, atol=2e-3)
    assert model.error_ < 1e-5
    assert model.distance_.max() < 1e-3


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_all_vertices_in_the_hull_are_found(n_events, seed) -> None:
    """Against every vertex of a small cube; there may well be more of them than events."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.ones(n_events), 20)
    psi = rng.random((8, n_events)) < 0.5
    table = theta @ psi.T
    sizes = np.linalg.svd(table - table.mean(axis=0))[1]
    assume(not ((sizes > 1e-7) & (sizes < 0.05)).any())
    found, distance = nearest_vertices(affine_hull(table, n_events), 2**n_events)
    inside = {tuple(row) for row in found[distance < 1e-8].astype(int).tolist()}
    assert inside == naive.hull_vertices(table)
    assert (np.diff(distance) >= 0).all()


def test_of_more_vertices_than_events_those_are_kept_that_explain_the_table() -> None:
    """A square has four vertices, and users in a triangle of three of them."""
    corners = np.array([[0, 0, 1, 0, 1], [0, 1, 1, 0, 1], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
    theta = np.random.default_rng(0).dirichlet(np.ones(3), 25)
    for left_out in range(4):
        planted = np.delete(corners, left_out, axis=0)
        table = theta @ planted
        found, distance = nearest_vertices(affine_hull(table, 3), 4)
        assert distance.max() < 1e-12
        assert as_sets(found[select(table, found, 3)].T) == as_sets(planted.T)
        assert BinaryFactorization(3, n_jobs=1).fit(table).error_ < 1e-5


@pytest.mark.parametrize("seed", range(8))
def test_selection_is_the_better_of_the_nearest_and_of_elimination(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices, table = rng.random((6, 12)) < 0.5, rng.random((15, 12))

    def cost(rows) -> float:
        T = vertices[rows].astype(float)
        theta = np.full((15, len(T)), 1 / len(T))
        return float(Pairwise(tol=1e-12)((T @ T.T)[None], table @ T.T, theta)[0].sum())

    left = list(range(6))
    while len(left) > 3:
        left = min(([k for k in left if k != out] for out in left), key=cost)
    assert select(table, vertices, 3).tolist() == min([0, 1, 2], left, key=cost)


def test_the_hull_is_the_nearest_of_its_dimension() -> None:
    table = np.random.default_rng(0).random((20, 12))
    hull = affine_hull(table, 5)
    assert hull.Z.shape == (12, 4)
    np.testing.assert_allclose(hull.Z[hull.chosen], np.eye(4), atol=1e-9)
    rest = (table - hull.origin).T
    rest -= hull.Z @ np.linalg.lstsq(hull.Z, rest, rcond=None)[0]
    sizes = np.linalg.svd(table - table.mean(axis=0))[1]
    assert np.square(rest).sum() == pytest.approx(np.square(sizes[4:]).sum())


def test_much_noise_is_met_by_a_choice_among_more_vertices() -> None:
    errors = {"nearest": 0.0, "chosen": 0.0}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        theta, psi = rng.dirichlet(np.ones(6), 20), rng.random((40, 6)) < 0.5
        noisy = np.clip(theta @ psi.T + 0.15 * rng.standard_normal((20, 40)), 0, 1)
        nearest, _ = nearest_vertices(affine_hull(noisy, 6), 6)
        T = nearest.astype(float)
        pmf = np.full((20, 6), 1 / 6)
        cost, _ = Pairwise()((T @ T.T)[None], noisy @ T.T, pmf)
        errors["nearest"] += cost.sum() + np.square(noisy).sum()
        errors["chosen"] += BinaryFactorization(6, n_jobs=1).fit(noisy).error_
    assert errors["chosen"] < 0.9 * errors["nearest"]


def test_noise_is_met_by_the_nearest_vertices() -> None:
    rng = np.random.default_rng(1)
    theta, psi = rng.dirichlet(np.ones(5), 80), rng.random((120, 5)) < 0.5
    noisy = np.clip(theta @ psi.T + 0.05 * rng.standard_normal((80, 120)), 0, 1)
    model = BinaryFactorization(5, n_jobs=1).fit(noisy)
    assert as_sets(model.indicators_) == as_sets(psi)
    assert 0.001 < model.distance_.max() < 0.3
    truth = KolmogorovDescent.from_parts(theta, psi, noisy)
    assert model.error_ <= truth.error_


def test_missing_entries_are_filled_by_biases_for_the_hull_alone() -> None:
    rng = np.random.default_rng(2)
    theta, psi = rng.dirichlet(np.ones(3), 40), rng.random((50, 3)) < 0.5
    table = theta @ psi.T
    table[rng.random(table.shape) < 0.03] = np.nan
    observations = Observations.of(table, scale=(0, 1))
    model = BinaryFactorization(3, n_jobs=1).fit(observations)
    missing = np.isnan(table)
    full = np.where(missing, BiasModel().fit(observations).predict(), table)
    by_hand = BinaryFactorization(3, n_jobs=1).fit(Observations.of(full, scale=(0, 1)))
    assert as_sets(model.indicators_) == as_sets(by_hand.indicators_) == as_sets(psi)
    truth = (theta @ psi.T)[missing]
    np.testing.assert_allclose(model.predict()[missing], truth, atol=5e-3)  # PMFs: observed only
    assert np.abs(by_hand.predict()[missing] - truth).max() > 2e-2


def test_tables_of_fewer_dimensions_than_events_leave_events_over() -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(2), 10)
    planted = np.array([[0, 1, 1, 0], [1, 1, 0, 0]])
    for n_events in (2, 3, 6):
        model = BinaryFactorization(n_events, n_jobs=1).fit(theta @ planted)
        assert model.error_ < 1e-5
        assert as_sets(planted.T) <= as_sets(model.indicators_)
        assert not model.indicators_[:, 2:].any()
    constant = BinaryFactorization(2, n_jobs=1).fit(np.full((4, 3), 1.0))
    np.testing.assert_allclose(constant.predict(), 1.0, atol=1e-6)


@pytest.mark.parametrize("n_users", [1, 2])
def test_fewer_users_than_events_are_no_error(n_users) -> None:
    table = np.random.default_rng(0).random((n_users, 7))
    model = BinaryFactorization(4, n_jobs=1).fit(table)
    assert model.pmf_.shape == (n_users, 4)
    assert np.isfinite(model.predict()).all()


@pytest.mark.parametrize("seed", [0, 24, 25])
def test_with_few_items_the_hull_has_more_vertices_than_events(seed) -> None:
    """Any of them may be needed: all that lie in the hull are looked at."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(5), 60) @ (rng.random((8, 5)) < 0.5).T
    model = BinaryFactorization(5, n_jobs=1).fit(Observations.of(table, scale=(0, 1)))
    assert model.error_ < 1e-8
