"""Draws on the device: the streams of random numbers are the CPU's, and so are the draws."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace import KolmogorovPosterior
from eventspace.data.observations import Observations
from eventspace.engines import cuda, engine
from eventspace.engines.cuda import rows
from eventspace.sampling.draw_indicators import DrawIndicators
from eventspace.sampling.draw_pmfs import DrawPmfs
from tests.cuda.test_descent import table


def draws(name: str, D: int, weighted: bool) -> list[Any]:
    """The state of a chain after a step of each kind."""
    rng = np.random.default_rng(0)
    wide = table(3, (14, 9), seed=1)
    weight = rng.gamma(1.0, 1.0, wide.shape) if weighted else None
    observations, machine = Observations.from_wide(wide, weight=weight), engine(name)
    pmf, psi = rng.dirichlet(np.ones(D), 14), (rng.random((9, D)) < 0.5).astype(float)
    tau, error = rng.gamma(2.0, 10.0, 14), np.full(14, np.nan)
    seeds = rng.integers(1, 2**64, 14, dtype=np.uint64)
    log_odds, n_ratings = rng.normal(size=(9, D)), observations.by_user.counts()
    step = DrawIndicators(tau.copy())
    machine.run(step, observations.by_item, pmf, log_odds, psi, seeds[:9])
    counts = rng.gamma(2.0, 1.0, (14, D))
    state = n_ratings, counts, pmf, tau, error, seeds
    machine.run(DrawPmfs(2.0, 0.05), observations.by_user, psi, *state)
    return [psi, pmf, tau, error, seeds]


@pytest.mark.parametrize(("D", "weighted"), [(3, False), (6, True), (17, False)])
def test_draws_are_those_of_the_cpu(D, weighted, monkeypatch) -> None:
    done: list[Any] = []
    run_rows = rows.run_rows
    monkeypatch.setattr(rows, "run_rows", lambda *given: done.append(run_rows(*given)))
    found = draws("cuda", D, weighted)
    assert len(done) == 2  # both took place on the device
    expected = draws("cpu", D, weighted)
    assert_array_equal(found[0], expected[0])
    for here, there in zip(found[1:4], expected[1:4], strict=True):
        assert_allclose(here, there, rtol=1e-5, atol=1e-6)
    assert_array_equal(found[4], expected[4])


def test_each_thread_has_a_stream_and_arrays_of_its_own() -> None:
    """One after the other: the simulator runs one kernel at a time."""
    alone, together = draws("cuda", 3, False), {}
    threads = [
        Thread(target=lambda k=k: together.update({k: draws("cuda", 3 + k, False)}))
        for k in range(2)
    ]
    for thread in threads:
        thread.start()
        thread.join()
    for here, there in zip(alone, together[0], strict=True):
        assert_array_equal(here, there)
    assert together[1][1].shape == (14, 4)


def test_as_many_chains_run_side_by_side_as_there_is_room_for(monkeypatch) -> None:
    from eventspace.engines.cuda import MOST_ABREAST, device

    seen = Observations.from_wide(table(2, (10, 5), seed=3))
    assert engine("cuda").abreast(seen, 2, 0) == MOST_ABREAST  # the simulator has room for ever
    monkeypatch.setattr(device, "free_bytes", lambda: 2 * 3.5 * 8 * 15 * 2 * cuda.ARRAYS)
    assert engine("cuda").abreast(seen, 2, 0) == 3
    assert engine("cuda").abreast(seen, 2, 2) == 1  # attributes take room, too
    monkeypatch.setattr(device, "free_bytes", lambda: 0.0)
    assert engine("cuda").abreast(seen, 2, 0) == 1
    options = {"n_chains": 2, "n_warmup": 0, "n_draws": 4, "random_state": 0, "meets": False}
    one_by_one = KolmogorovPosterior(2, engine="cuda", **options).fit(seen)
    monkeypatch.undo()
    at_once = KolmogorovPosterior(2, engine="cuda", **options).fit(seen)
    assert_allclose(one_by_one.predict(), at_once.predict(), atol=1e-9)


@pytest.mark.parametrize("informed", [False, True])
def test_a_posterior_is_that_of_the_cpu(informed) -> None:
    """Its chains run side by side on the device; on the cores each is by itself."""
    options = {"n_chains": 2, "n_warmup": 1, "n_draws": 4, "random_state": 0, "n_jobs": 1}
    options |= {"informed": informed, "meets": False, "weigh": False}
    fits = [
        KolmogorovPosterior(2, engine=name, **options).fit(table(2, (10, 5), seed=3))
        for name in ("cpu", "cuda")
    ]
    assert_allclose(fits[1].cost_, fits[0].cost_, rtol=1e-5)
    assert_allclose(fits[1].predict(), fits[0].predict(), atol=1e-4)
