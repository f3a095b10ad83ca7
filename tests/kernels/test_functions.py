"""Functions that loops run in vectors, against NumPy's and SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from eventspace._base import functions
from eventspace._base.jit import njit
from eventspace._base.randomness import fill_uniform
from tests.kernels.instances import many

LOOP = {**functions.QUICK, "cache": False}


def over(function: Any, x: Any) -> Any:
    @njit(**LOOP)
    def loop(x: Any, found: Any) -> None:
        for k in range(x.size):
            found[k] = function(x[k])

    found = np.empty_like(x)
    loop(x, found)
    return found


def turns(x: Any) -> Any:
    return np.cos(2 * np.pi * x)


@pytest.mark.parametrize(
    ("function", "reference", "low", "high"),
    [
        (functions.log, np.log, 1e-300, 1e-200),
        (functions.log, np.log, 1e-3, 1.0),
        (functions.log, np.log, 0.99, 1.01),
        (functions.log, np.log, 1.0, 1e300),
        (functions.exp, np.exp, -700.0, 700.0),
        (functions.exp, np.exp, -1e-3, 1e-3),
        (functions.wave, turns, 0.0, 1.0),
        (functions.log_gamma, special.gammaln, 1e-3, 2.0),
        (functions.log_gamma, special.gammaln, 2.0, 1e5),
    ],
)
def test_functions_are_those_of_numpy(
    function: Any, reference: Callable[[Any], Any], low: float, high: float
) -> None:
    x = np.random.default_rng(0).uniform(low, high, many(20_000, 200))
    x = np.append(x, [low, high * (1 - 1e-12)])
    np.testing.assert_allclose(over(function, x), reference(x), rtol=1e-11, atol=1e-11)


def test_an_exponential_stays_a_number_wherever_it_is_asked_for() -> None:
    found = over(functions.exp, np.array([-1e9, -701.0, 701.0, 1e9]))
    np.testing.assert_allclose(np.log(found), [-700, -700, 700, 700])


def test_uniform_numbers_are_uniform_and_apart() -> None:
    n = many(100_000, 2000)
    one, two = np.empty(n), np.empty(n)
    state = np.uint64(fill_uniform(np.uint64(1), one))
    assert fill_uniform(state, two) != state
    for x in (one, two):
        assert 0 <= x.min() < 5 / n
        assert 1 - 5 / n < x.max() < 1
        assert np.abs(np.histogram(x, 10, (0, 1))[0] - n / 10).max() < 5 * np.sqrt(n / 10)
    for x, y in [(one, two), (one[1:], one[:-1])]:
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(n)
