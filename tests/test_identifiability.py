"""Uniqueness against an exhaustive search for other explanations, stability against its meaning."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventspace import KolmogorovDescent, Observations
from eventspace.baselines import HypercubeModel
from eventspace.datasets import generators
from eventspace.identifiability import (
    identifiability,
    match_events,
    n_inclusions,
    stability,
)


def held(pmf: np.ndarray, bits: np.ndarray) -> KolmogorovDescent:
    """A fitted model with these parts."""
    table = Observations.of(np.clip(pmf @ bits.T, 0, 1), scale=(0, 1))
    return KolmogorovDescent.from_parts(pmf, bits, table)


def explanations(bits: np.ndarray) -> int:
    """In how many ways D vertices of the cube have an affine hull that contains these."""
    (n_items, n_events), bits = bits.shape, bits.astype(float)
    cube = np.array(list(product([0.0, 1.0], repeat=n_items)))
    differences = bits[:, 1:] - bits[:, :1]
    rank = np.linalg.matrix_rank(differences)
    found = 0
    for chosen in combinations(range(len(cube)), n_events):
        other = cube[list(chosen)].T
        spanned = other[:, 1:] - other[:, :1]
        if np.linalg.matrix_rank(spanned) != rank:
            continue
        both = np.hstack([spanned, bits - other[:, :1]])
        found += np.linalg.matrix_rank(both) == rank
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(2, 4))
def test_events_are_unique_when_no_others_have_their_hull(seed, n_events, n_items) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.random((n_items, n_events)) < 0.5
    pmf = rng.dirichlet(np.ones(n_events), 8)
    found = identifiability(held(pmf, bits))
    differences = bits[:, 1:] * 1.0 - bits[:, :1]
    independent = np.linalg.matrix_rank(differences) == n_events - 1
    assert found.independent == independent
    assert found.spanned
    if independent:
        assert found.alone == (explanations(bits) == 1)
        assert found.unique is (True if found.alone else None)
    else:
        assert found.unique is False


def test_a_separable_model_is_unique_whatever_the_other_items() -> None:
    rng = np.random.default_rng(0)
    bits = np.vstack([np.eye(25, dtype=bool), rng.random((40, 25)) < 0.5])
    found = identifiability(held(rng.dirichlet(np.ones(25), 60), bits))
    assert found.separable
    assert found.unique
    assert "unique up to order                yes" in str(found)


def test_users_who_are_mixtures_of_few_leave_events_open() -> None:
    rng = np.random.default_rng(0)
    bits = np.eye(4, dtype=bool)
    few = rng.dirichlet(np.ones(4), 3)
    found = identifiability(held(rng.dirichlet(np.ones(3), 50) @ few, bits))
    assert not found.spanned
    assert found.unique is None


def test_who_is_in_one_event_alone_shows_it() -> None:
    """The square's corners: another vertex lies in the hull, but each corner is seen as it is."""
    bits = np.array([[0, 0, 1], [0, 1, 0]], dtype=bool)
    seen = identifiability(held(np.eye(3), bits))
    assert (seen.alone, seen.pure, seen.unique) == (False, True, True)
    mixed = identifiability(held(np.full((3, 3), 0.2) + 0.4 * np.eye(3), bits))
    assert (mixed.alone, mixed.pure, mixed.unique) == (False, False, None)


def test_fewer_users_than_events_do_not_span() -> None:
    found = identifiability(
        held(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), np.eye(3, dtype=bool))
    )
    assert not found.spanned


def test_stability_of_two_models_by_hand() -> None:
    a = held(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[1, 0], [1, 1], [0, 1]], dtype=bool))
    b = held(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1, 0], [1, 1], [1, 1]], dtype=bool))
    found = stability(model for model in (a, b))
    assert found.bits == pytest.approx(5 / 6)
    assert found.pmf == pytest.approx(1 - 0.25 / 2)
    # inclusions: a has 0 in 1 and 2 in 1; b has 0 in 1, 0 in 2, 1 in 2, 2 in 1; both have two
    assert found.order == pytest.approx(2 / 4)


def test_what_has_no_sets_is_refused() -> None:
    table = np.random.default_rng(0).random((8, 6))
    loose = HypercubeModel(2, random_state=0).fit(table)
    with pytest.raises(TypeError, match="A HypercubeModel proves nothing"):
        identifiability(loose)
    with pytest.raises(ValueError, match="The indicators of a HypercubeModel are no sets"):
        stability([loose, loose])


def test_over_many_events_without_items_of_their_own_nothing_is_said() -> None:
    rng = np.random.default_rng(0)
    bits = rng.random((90, 30)) < 0.5
    found = identifiability(held(rng.dirichlet(np.ones(30), 80), bits))
    assert found.independent
    assert found.unique is None
    assert "not looked at (over 21 events)" in str(found)
    dependent = identifiability(held(rng.dirichlet(np.ones(3), 9), np.ones((4, 3), dtype=bool)))
    assert "not looked at (events are mixtures)" in str(dependent)


def test_events_that_never_occur_are_left_aside() -> None:
    rng = np.random.default_rng(0)
    pmf = np.hstack([rng.dirichlet(np.ones(3), 20), np.zeros((20, 1))])
    bits = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]], dtype=bool)
    found = identifiability(held(pmf, bits))
    assert (found.n_events, found.unique) == (3, True)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_events_in_another_order_are_matched(seed, n_events) -> None:
    rng = np.random.default_rng(seed)
    bits = np.unique(rng.random((n_events, 30)) < 0.5, axis=0).T
    shuffled = rng.permutation(bits.shape[1])
    np.testing.assert_array_equal(bits[:, shuffled][:, match_events(bits, bits[:, shuffled])], bits)


def test_what_has_not_the_same_shape_is_not_matched() -> None:
    with pytest.raises(ValueError, match=r"shapes \(3, 2\) and \(3, 4\) cannot be matched"):
        match_events(np.ones((3, 2), dtype=bool), np.ones((3, 4), dtype=bool))


@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 70))
@settings(deadline=None)
def test_inclusions_are_counted_as_by_pairs(seed, n_items, n_events) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.random((n_items, n_events)) < rng.choice([0.1, 0.5, 0.9])
    pairs = sum(
        bool((~bits[i] | bits[j]).all()) for i in range(n_items) for j in range(n_items) if i != j
    )
    assert n_inclusions(bits) == pairs


def test_the_same_model_in_another_order_is_stable_and_another_is_less_so() -> None:
    rng = np.random.default_rng(0)
    bits, pmf = rng.random((40, 4)) < 0.5, rng.dirichlet(np.ones(4), 30)
    one = held(pmf, bits)
    turned = held(pmf[:, [2, 0, 3, 1]], bits[:, [2, 0, 3, 1]])
    same = stability([one, turned])
    assert (same.bits, same.order, same.n_models) == (1.0, 1.0, 2)
    assert same.pmf == pytest.approx(1.0)
    other = held(rng.dirichlet(np.ones(4), 30), rng.random((40, 4)) < 0.5)
    found = stability([one, turned, other])
    assert 0.5 < found.bits < 0.95
    assert found.pmf < 0.95
    assert found.order < 0.7
    assert found.n_models == 3


def test_restarts_on_a_clear_table_agree_on_the_order() -> None:
    made = generators.planted(300, 60, 4, noise=0.02, random_state=0)
    fits = [
        KolmogorovDescent(4, pmf_penalty=0, n_init=4, random_state=seed).fit(made.observations())
        for seed in range(3)
    ]
    found = stability(fits)
    assert found.bits == found.order == 1.0
    assert found.pmf > 0.99


def test_models_of_other_tables_are_not_compared() -> None:
    rng = np.random.default_rng(0)
    one, two = (held(rng.dirichlet(np.ones(2), n), rng.random((5, 2)) < 0.5) for n in (4, 6))
    with pytest.raises(ValueError, match="same users and items"):
        stability([one, two])
    with pytest.raises(ValueError, match="of several models, 1 were given"):
        stability([one])
