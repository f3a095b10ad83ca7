"""Several chains on the device's workbench, against the cores' with each of them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace._base.randomness import streams
from eventspace.data.observations import Observations
from eventspace.engines.cuda import tables, workbench
from eventspace.engines.cuda.workbench import Device
from eventspace.engines.workbench import Cores
from eventspace.sampling.draw_inclinations import INCLINED_ITEMS, INCLINED_USERS
from eventspace.sampling.log_dirichlet import LOG_DENSITIES
from tests.cuda.test_descent import table

HERE = Cores()
CHAINS = [(), (1,), (3,)]  # one alone has no axis


@pytest.fixture
def there() -> Device:
    return Device()


def places(chains: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(np.ndindex(*chains))


def test_arrays_go_and_come_back(there) -> None:
    array = np.arange(6.0).reshape(2, 3)
    held = there.hold(array)
    assert_array_equal(there.fetch(held), array)
    held += 1
    assert_array_equal(array, np.arange(6.0).reshape(2, 3))  # what is held is a copy
    assert there.fetch(there.numbers(2.0)).shape == (1, 1)
    assert_array_equal(there.fetch(there.numbers(np.arange(3.0)))[:, 0, 0], [0, 1, 2])


@pytest.mark.parametrize("held", [8000, 400])
@pytest.mark.parametrize("chains", CHAINS)
def test_sums_of_rows_are_those_of_each_chain(chains, held, there, monkeypatch) -> None:
    """Rows are cut into segments of seven here, and those into parts; one has no entry."""
    monkeypatch.setattr(tables, "SUMS_BYTES", held)
    wide = table(3, (14, 19), seed=1)
    wide[4] = np.nan
    entries = Observations.from_wide(wide).by_user
    assert np.diff(entries.ptr).max() > 7
    factors = np.random.default_rng(0).normal(size=(*chains, 19, 5))
    found = there.fetch(there.sums_of_rows(entries, there.hold(factors)))
    assert found.shape == (*chains, 14, 5)
    for k in places(chains):
        assert_allclose(found[k], HERE.sums_of_rows(entries, factors[k]), rtol=1e-5, atol=1e-6)
        assert_array_equal(found[k][4], 0.0)


@pytest.mark.parametrize("held", [1 << 20, 1300, 1])
@pytest.mark.parametrize("chains", CHAINS)
def test_weighted_squares_are_those_of_each_chain(chains, held, there, monkeypatch) -> None:
    """All columns at once, two at a time, one by one."""
    monkeypatch.setattr(workbench, "SQUARES_BYTES", held)
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(*chains, 20, 4)), rng.random((*chains, 20, 3))
    found = there.weighted_squares(there.hold(rows), there.hold(weights))
    assert found.shape == (*chains, 3, 4, 4)
    for k in places(chains):
        assert_allclose(found[k], HERE.weighted_squares(rows[k], weights[k]), rtol=1e-4, atol=1e-5)


def given(kernel: Any, chains: tuple[int, ...], n: int = 11, D: int = 4) -> tuple[Any, Any]:
    """Arrays of rows, and arrays that the rows of a chain share."""
    rng = np.random.default_rng(len(chains))
    shape = (*chains, n)
    centres, pmf = (rng.dirichlet(np.ones(D), shape) for _ in range(2))
    seeds = streams(rng, int(np.prod(shape))).reshape(shape)
    inclined = rng.normal(size=shape)
    if kernel is LOG_DENSITIES:
        return (centres, np.log(pmf), np.zeros(shape)), (rng.uniform(1, 9, (*chains, 1)),)
    if kernel is INCLINED_ITEMS:
        psi, odds = (rng.random((*shape, D)) < 0.5) * 1.0, rng.normal(size=(*shape, D))
        return (psi, odds, inclined, seeds), (rng.uniform(0.5, 2, (*chains, 2)),)
    shared = rng.normal(size=(*chains, D)), rng.uniform(0.5, 9, (*chains, 3))
    return (centres, pmf, inclined, np.zeros_like(pmf), seeds), shared


@pytest.mark.parametrize("kernel", [INCLINED_USERS, INCLINED_ITEMS, LOG_DENSITIES])
@pytest.mark.parametrize("chains", CHAINS)
def test_rows_of_each_chain_are_done_with_its_own_numbers(kernel, chains, there) -> None:
    rows, shared = given(kernel, chains)
    held = tuple(map(there.hold, rows))
    there.each(kernel, held, tuple(map(there.hold, shared)))
    for k in places(chains):
        HERE.each(kernel, tuple(a[k] for a in rows), tuple(a[k] for a in shared))
    for found, expected in zip(map(there.fetch, held), rows, strict=True):
        if expected.dtype == np.uint64:
            assert_array_equal(found, expected)
        else:
            assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
