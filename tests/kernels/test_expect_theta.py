"""The normal laws of users when chains are weighed, against the formulas in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from eventspace.engines.gram import padded
from eventspace.sampling.expect_theta import expect, expect_all, invert, sum_and_expect
from tests import naive
from tests.kernels.instances import many

Floats = NDArray[np.float64]


def positive(rng: np.random.Generator, n: int) -> Floats:
    root = rng.normal(size=(n, n + 3))
    return np.asarray(root @ root.T)


@pytest.mark.parametrize("n", [1, 2, 5, 24, 48])
def test_the_inverse_is_written_in_place(n: int) -> None:
    M = positive(np.random.default_rng(n), n)
    found = M.copy()
    invert(found)
    assert_allclose(found, np.linalg.inv(M), rtol=1e-8, atol=1e-10)
    assert_allclose(found @ M, np.eye(n), atol=1e-9)


def test_the_inverse_of_a_diagonal_of_any_size_is_exact() -> None:
    """Noise from 1e-6 to 1e6, and variances that are next to nothing."""
    scale = 2.0 ** np.arange(-40, 41, 16)
    found = np.diag(scale)
    invert(found)
    assert_array_equal(found, np.diag(1 / scale))


@pytest.mark.parametrize("doubtful", [False, True])
@pytest.mark.parametrize("n_events", [1, 3, 8, 13])
def test_a_law_is_that_of_the_formulas_whatever_lies_behind_it(
    n_events: int, doubtful: bool
) -> None:
    """The quadratic may be padded: what is in the padding is not looked at."""
    rng = np.random.default_rng(n_events)
    n_columns, D = n_events + 5, slice(n_events)
    Q, r = np.full((n_columns, n_columns), np.nan), np.full(n_columns, np.nan)
    psi, p = (rng.random((6, n_events)) < 0.5) * 1.0, rng.random(6)
    Q[D, D], r[D], e = naive.sums(psi, np.arange(6), p, rng.gamma(2.0, 1.0, 6))
    A, square, b = positive(rng, n_events), positive(rng, n_events), rng.normal(size=n_events)
    doubt = rng.random(n_events) * doubtful
    theta, V = np.full(n_events, np.nan), np.full((n_events, n_events), np.nan)
    for tau in (1e-3, 2.5, 1e6):
        error, variance = expect(Q, r, e, A, square, doubt, tau, b, V, theta)
        expected = naive.law_of_theta(Q[D, D], r[D], e, A, b, tau, doubt, square)
        exact = 1e-7 if tau > 1e3 else 1e-10
        assert_allclose(theta, expected[0], rtol=exact, atol=exact)
        assert_allclose(V, expected[1], rtol=exact, atol=exact)
        assert error == pytest.approx(expected[2], rel=exact, abs=exact)
        assert variance == pytest.approx(expected[3], rel=exact, abs=exact)


class Users:
    """Some users and what is known beforehand; the third has rated nothing."""

    def __init__(self, n_events: int, weighted: bool) -> None:
        rng = np.random.default_rng(n_events)
        sizes = np.array([4, 1, 0, 9, many(300, 20), 2])
        self.n, self.n_events = len(sizes), n_events
        self.ptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self.index = rng.integers(0, 7, self.ptr[-1]).astype(np.int32)
        self.value = rng.random(self.ptr[-1]).astype(np.float32)
        self.weight = rng.gamma(1.0, 3.0, self.ptr[-1] * weighted).astype(np.float32)
        self.factors = rng.random((7, n_events))  # chances of bits, in doubt
        self.rated = sizes > 0
        self.A, self.square = positive(rng, n_events), positive(rng, n_events)
        self.doubt = rng.random((self.n, n_events)) * sizes[:, None]
        self.tau, self.b = rng.gamma(2.0, 3.0, self.n), rng.normal(size=(self.n, n_events))
        self.theta = np.full((self.n, n_events), np.nan)
        self.error, self.variance = np.full(self.n, np.nan), np.full(self.n, np.nan)

    @property
    def rows(self) -> tuple[Any, ...]:
        given = self.rated, self.doubt, self.tau, self.b
        return *given, self.theta, self.error, self.variance

    def quadratics(self) -> tuple[Floats, Floats, Floats]:
        found = []
        weight = self.weight if self.weight.size else np.ones(self.ptr[-1])
        for u in range(self.n):
            mine = slice(self.ptr[u], self.ptr[u + 1])
            values = (array[mine].astype(float) for array in (self.value, weight))
            found.append(naive.sums(self.factors, self.index[mine], *values))
        Q, r, e = zip(*found, strict=True)
        return np.array(Q), np.array(r), np.array(e)


def by_quadratics(users: Users) -> Floats:
    total = np.zeros((users.n_events, users.n_events))
    expect_all(*users.quadratics(), users.A, users.square, total, *users.rows)
    return total


def by_entries(users: Users) -> Floats:
    given = users.ptr, users.index, users.value, users.weight, padded(users.factors)
    prior = {"A": users.A, "square": users.square}
    return np.asarray(sum_and_expect(*given, users.n_events, *users.rows, **prior))


@pytest.mark.parametrize("way", [by_quadratics, by_entries])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_events", [1, 3, 8, 13])
def test_users_have_their_laws_and_the_rated_are_added_up(
    n_events: int, weighted: bool, way: Any
) -> None:
    users = Users(n_events, weighted)
    found, total = way(users), np.zeros((n_events, n_events))
    for u, (Q, r, e) in enumerate(zip(*users.quadratics(), strict=True)):
        numbers = users.A, users.b[u], users.tau[u], users.doubt[u], users.square
        mean, V, error, variance = naive.law_of_theta(Q, r, e, *numbers)
        assert_allclose(users.theta[u], mean, rtol=1e-9, atol=1e-10)
        assert users.error[u] == pytest.approx(error, rel=1e-9, abs=1e-9)
        assert users.variance[u] == pytest.approx(variance, rel=1e-9)
        total += V * users.rated[u]
    assert_allclose(found, total, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_entries_give_what_their_quadratics_give(weighted: bool) -> None:
    one, two = Users(5, weighted), Users(5, weighted)
    assert_allclose(by_entries(one), by_quadratics(two), rtol=1e-11)
    for here, there in zip(one.rows, two.rows, strict=True):
        assert_allclose(here, there, rtol=1e-11, atol=1e-12)


def test_those_without_ratings_are_expected_where_they_were() -> None:
    users = Users(5, False)
    assert not users.rated[2]
    by_entries(users)
    covariance = np.linalg.inv(users.A)
    assert_allclose(users.theta[2], covariance @ users.b[2], rtol=1e-9)
    assert users.error[2] == pytest.approx(0.0, abs=1e-12)
    assert users.variance[2] == pytest.approx(np.sum(covariance * users.square))
