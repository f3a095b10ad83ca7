"""Inclinations and Dirichlet's densities, row by row: the laws, and whose numbers a row sees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import integrate, stats

from eventspace._base.randomness import streams
from eventspace.sampling.draw_inclinations import (
    INCLINED_ITEMS,
    INCLINED_USERS,
    MOST,
    draw_inclined_items,
    draw_inclined_users,
    tilt,
)
from eventspace.sampling.draw_pmfs import TINY
from eventspace.sampling.log_dirichlet import LEAST_COUNT, LOG_DENSITIES, write_log_densities
from tests import naive
from tests.kernels.instances import many

Floats = NDArray[np.float64]

UNLIKELY = 1e-5
SWEEPS = 40


def assert_law(x: Floats, log_density: Callable[[float], float]) -> None:
    """Independent draws against the density on a grid between the bounds."""
    assert np.abs(x).max() < MOST
    grid = np.linspace(-MOST, MOST, 2001)
    log = np.array([log_density(at) for at in grid])
    cdf = integrate.cumulative_trapezoid(np.exp(log - log.max()), grid, initial=0)
    assert stats.kstest(x, partial(np.interp, xp=grid, fp=cdf / cdf[-1])).pvalue > UNLIKELY


# --- users -------------------------------------------------------------------------------------

TOWARDS = np.array([1.5, -0.2, -1.3])
PMF = np.array([0.6, 0.3, 0.1])
CENTRE = np.array([0.2, 0.3, 0.5])
LAWS_OF_USERS = [  # concentration, variance, PMF, centre
    pytest.param(9.0, 1.7, PMF, CENTRE, id="both count"),
    pytest.param(400.0, 2.0, PMF, CENTRE, id="a strong centre"),
    pytest.param(9.0, 0.05, PMF, CENTRE, id="little variance"),
    pytest.param(0.3, 50.0, PMF, CENTRE, id="bounded, by the least count"),
    pytest.param(4.0, 1.0, np.array([0.9, 0.1, 0.0]), CENTRE, id="an event without mass"),
    pytest.param(4.0, 1.0, PMF, np.array([0.5, 0.5, 0.5]), id="a centre that sums to more"),
]


@pytest.mark.parametrize(("concentration", "variance", "pmf", "centre"), LAWS_OF_USERS)
def test_users_are_inclined_by_the_law_of_likelihood_and_prior(
    concentration: float, variance: float, pmf: Floats, centre: Floats
) -> None:
    n = many(4000, 80)
    centres, pmfs = np.tile(centre, (n, 1)), np.tile(pmf, (n, 1))
    inclined, tilted = np.zeros(n), np.full((n, 3), np.nan)
    seeds, width = streams(np.random.default_rng(1), n), 1.1
    shared = TOWARDS[None], np.array([[concentration, variance, width]])
    for _ in range(SWEEPS):
        draw_inclined_users(centres, pmfs, inclined, tilted, seeds, *shared)
    mass = np.maximum(pmf, TINY)
    numbers = mass, centre, TOWARDS, concentration, variance, LEAST_COUNT
    assert_law(inclined, lambda x: naive.log_law_of_inclined_user(x, *numbers))
    assert_allclose(tilted, naive.tilted(inclined, centres, TOWARDS), rtol=1e-12)
    assert_array_equal(centres, np.tile(centre, (n, 1)))
    assert_array_equal(pmfs, np.tile(pmf, (n, 1)))


def some_users(n_chains: int, n: int = 15, n_events: int = 5) -> tuple[Any, ...]:
    """Rows of all chains, one after the other, and what the rows of each share."""
    rng = np.random.default_rng(n_chains)
    rows = n * n_chains
    centres, pmf = (rng.dirichlet(np.ones(n_events), rows) for _ in range(2))
    state = rng.normal(size=rows), np.full((rows, n_events), np.nan), streams(rng, rows)
    numbers = np.column_stack([rng.uniform(1, 9, (n_chains, 2)), np.full(n_chains, 0.8)])
    return (centres, pmf, *state), (rng.normal(size=(n_chains, n_events)), numbers)


def some_items(n_chains: int, n: int = 15, n_events: int = 5) -> tuple[Any, ...]:
    rng = np.random.default_rng(n_chains)
    rows = n * n_chains
    psi = (rng.random((rows, n_events)) < 0.5) * 1.0
    state = rng.normal(size=(rows, n_events)), rng.normal(size=rows), streams(rng, rows)
    return (psi, *state), (rng.uniform(0.5, 2, (n_chains, 2)),)


def some_densities(n_chains: int, n: int = 15, n_events: int = 5) -> tuple[Any, ...]:
    rng = np.random.default_rng(n_chains)
    centres, pmf = (rng.dirichlet(np.ones(n_events), n * n_chains) for _ in range(2))
    found = np.full(n * n_chains, np.nan)
    return (centres, np.log(pmf), found), (rng.uniform(1, 9, (n_chains, 1)),)


KERNELS = [
    pytest.param(INCLINED_USERS, some_users, id="users"),
    pytest.param(INCLINED_ITEMS, some_items, id="items"),
    pytest.param(LOG_DENSITIES, some_densities, id="densities"),
]


def copies(arrays: tuple[Any, ...]) -> list[Any]:
    return [array.copy() for array in arrays]


@pytest.mark.parametrize(("kernel", "some"), KERNELS)
def test_rows_are_independent_of_each_other(kernel: Any, some: Any) -> None:
    """Each has a stream of its own, so that it does not matter which are drawn first."""
    rows, shared = some(1)
    whole, cut = copies(rows), copies(rows)
    kernel.of_all(*whole, *shared)
    for chunk in (slice(11, 15), slice(0, 1), slice(1, 11)):
        kernel.of_all(*(array[chunk] for array in cut), *shared)
    for one, two in zip(whole, cut, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize(("kernel", "some"), KERNELS[:2])
def test_each_row_advances_its_own_stream(kernel: Any, some: Any) -> None:
    rows, shared = some(1)
    now = copies(rows)
    kernel.of_all(*now, *shared)
    seeds, states = rows[-1], now[-1]
    assert (states != seeds).all()
    assert len(np.unique(states)) == len(states)
    # another stream for one of them, and no other draws anything else
    other = copies(rows)
    other[-1][4] += np.uint64(1)
    kernel.of_all(*other, *shared)
    differ = other[-1] != states
    assert_array_equal(np.flatnonzero(differ), [4])
    for one, two in zip(now, other, strict=True):
        assert_array_equal(np.delete(one, 4, axis=0), np.delete(two, 4, axis=0))


@pytest.mark.parametrize(("kernel", "some"), KERNELS)
def test_rows_of_several_chains_see_the_numbers_of_their_own(kernel: Any, some: Any) -> None:
    """As on a GPU, where the rows of all chains lie one after the other."""
    rows, shared = some(3)
    together, alone = copies(rows), copies(rows)
    room = np.empty(5)
    for k in reversed(range(45)):
        kernel.of_one(k // 15, k, room, *together, *shared)
    for c in range(3):
        mine = slice(15 * c, 15 * c + 15)
        kernel.of_all(*(array[mine] for array in alone), *(array[c : c + 1] for array in shared))
    for before, one, two in zip(rows, together, alone, strict=True):
        assert_allclose(one, two, rtol=1e-12)
        if before.dtype == np.uint64:
            assert_array_equal(one, two)


def test_centres_are_tilted_by_a_factor_for_each_event() -> None:
    rng = np.random.default_rng(2)
    centres, inclined = rng.dirichlet(np.ones(4), 6), rng.uniform(-MOST, MOST, 6)
    inclined[0], towards = 0.0, rng.normal(size=4)
    expected = naive.tilted(inclined, centres, towards)
    found = np.full(4, np.nan)
    for x, centre, exact in zip(inclined, centres, expected, strict=True):
        tilt(x, centre, towards, found)
        assert_allclose(found, exact, rtol=1e-12)
    assert_allclose(expected[0], centres[0])


# --- items -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "log_odds", "variance"),
    [
        pytest.param([1, 1, 0], [0.3, -1.0, 2.0], 1.7, id="both count"),
        pytest.param([1, 0, 0], [0.3, -1.0, 2.0], 0.05, id="little variance"),
        pytest.param([1, 1, 1], [0.0, 0.0, 0.0], 50.0, id="bounded above"),
        pytest.param([0, 0, 0], [6.0, 6.0, -6.0], 50.0, id="bounded below"),
    ],
)
def test_items_are_inclined_by_the_law_of_likelihood_and_prior(
    bits: list[int], log_odds: list[float], variance: float
) -> None:
    n = many(4000, 80)
    psi, odds = np.tile(np.array(bits) * 1.0, (n, 1)), np.tile(log_odds, (n, 1))
    inclined, seeds = np.zeros(n), streams(np.random.default_rng(3), n)
    for _ in range(SWEEPS):
        draw_inclined_items(psi, odds, inclined, seeds, np.array([[variance, 1.1]]))
    numbers = psi[0], odds[0], variance
    assert_law(inclined, lambda x: naive.log_law_of_inclined_item(x, *numbers))
    assert_array_equal(psi, np.tile(bits, (n, 1)))
    assert_array_equal(odds, np.tile(log_odds, (n, 1)))


# --- densities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("concentration", [1e-100, 0.3, 4.0, 60.0, 1e4])
@pytest.mark.parametrize("n_events", [1, 2, 5, 24])
def test_the_density_of_pmfs_is_that_of_dirichlet(n_events: int, concentration: float) -> None:
    rng = np.random.default_rng(n_events)
    centres = rng.dirichlet(np.full(n_events, 0.5), 20)
    pmf = np.maximum(rng.dirichlet(np.ones(n_events), 20), 1e-12)
    pmf /= pmf.sum(axis=1, keepdims=True)
    found = np.full(20, np.nan)
    write_log_densities(centres, np.log(pmf), found, np.array([[concentration]]))
    counts = np.maximum(concentration * centres, LEAST_COUNT)
    if n_events > 2:
        assert (counts == LEAST_COUNT).any()
    exact = [stats.dirichlet(a).logpdf(x) for a, x in zip(counts, pmf, strict=True)]
    assert_allclose(found, exact, rtol=1e-9, atol=1e-8)
    assert_allclose([*map(naive.log_dirichlet, pmf, counts)], exact, rtol=1e-9, atol=1e-8)
