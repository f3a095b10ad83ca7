"""A descent on the device is the descent of the CPU: the same codes, PMFs to 1e-6."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace import KolmogorovDescent
from eventspace._base import checkpoint as checkpoints
from eventspace.data.observations import Observations
from eventspace.engines import engine
from eventspace.engines.cuda import CUDA, search, tables
from eventspace.engines.cuda.stage import DeviceStage
from eventspace.fitting.descent import Descent, descend, random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.indicators import Exact, Local
from eventspace.pmf import FrankWolfe, Pairwise


def table(D: int, shape: tuple[int, int], seed: int) -> Any:
    """A noisy table with holes; one user and one item have no ratings."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(D, 0.5), shape[0]) @ (rng.random((D, shape[1])) < 0.5)
    p = np.clip(p + 0.1 * rng.normal(size=p.shape), 0, 1)
    p[rng.random(p.shape) < 0.3] = np.nan
    p[1], p[:, 2] = np.nan, np.nan
    return p


def run(name: str, observations: Observations, D: int, solver: Any, n_iter: int = 2) -> Descent:
    rng = np.random.default_rng(5)
    steps = HalfSteps.on(engine(name, 2), solver, Pairwise(), 0.01, 0.5)
    start = random_start(observations, D, rng)
    return descend(start, observations, steps, prior="mean", n_iter=n_iter, tol=0.0, rng=rng)


@pytest.mark.parametrize(
    ("D", "shape", "solver", "how"),
    [
        (3, (15, 6), Exact(), ""),
        (8, (15, 5), Exact(), "streamed"),
        (11, (14, 3), Exact(), ""),
        (4, (12, 5), Exact(), "weighted"),
        (4, (10, 5), Local(3), "weighted, streamed"),
        (2, (8, 3), Exact(), "one item"),
    ],
    ids=str,
)
def test_a_descent_is_that_of_the_cpu(D, shape, solver, how, monkeypatch) -> None:
    if "streamed" in how:
        monkeypatch.setattr(tables, "SHARE", 0.0)
        monkeypatch.setattr(tables, "MOST_STREAMED", 30)
    wide = table(D, shape, seed=D)
    if how == "one item":
        wide = wide[:, :1]
    weight = np.random.default_rng(0).gamma(1.0, 1.0, wide.shape) if "weighted" in how else None
    observations = Observations.from_wide(wide, weight=weight)
    expected, found = (run(name, observations, D, solver) for name in ("cpu", "cuda"))
    assert_array_equal(found.codes, expected.codes)
    assert_allclose(found.pmf, expected.pmf, atol=1e-6)
    assert_allclose(found.history, expected.history, rtol=1e-7)
    assert_allclose(found.gap, expected.gap, atol=1e-6)
    assert_array_equal(found.proved, expected.proved)


def test_what_the_search_leaves_open_is_decided_as_on_the_cpu(monkeypatch) -> None:
    observations = Observations.from_wide(table(5, (12, 4), seed=9))
    monkeypatch.setattr(search, "HAIR", 1e9)  # rounding could decide everything
    search.make_search.cache_clear()
    found = run("cuda", observations, 5, Exact())
    search.make_search.cache_clear()
    assert_array_equal(found.codes, run("cpu", observations, 5, Exact()).codes)
    assert found.proved.all()


def test_a_stage_is_given_where_the_device_can_do_all() -> None:
    observations = Observations.from_wide(table(3, (8, 5), seed=0))
    pmf = np.full((8, 3), 1 / 3)
    machine = CUDA(1)
    steps = HalfSteps.on(machine, Exact(), Pairwise())
    assert isinstance(machine.stage(steps, observations, pmf), DeviceStage)
    other = HalfSteps.on(machine, Exact(), FrankWolfe())
    assert machine.stage(other, observations, pmf) is None
    assert machine.stage(steps, observations, np.full((8, 33), 1 / 33)) is None
    speaks = observations.by_user._replace(missing=np.ones(5))
    assert (
        machine.stage(steps, type("Table", (), {"by_user": speaks, "by_item": speaks}), pmf) is None
    )


def test_a_table_stays_on_the_device_as_long_as_it_lives_here() -> None:
    observations = Observations.from_wide(table(3, (8, 5), seed=0))
    machine, pmf = CUDA(1), np.full((8, 3), 1 / 3)
    steps, before = HalfSteps.on(machine, Exact(), Pairwise()), len(tables._tables)
    first: Any = machine.stage(steps, observations, pmf)
    second: Any = machine.stage(steps, observations, pmf)
    assert first.by_item is second.by_item
    assert len(tables._tables) == before + 2
    del first, second, observations
    assert len(tables._tables) == before


def test_a_descent_on_the_device_goes_on_from_a_checkpoint(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints, "OFTEN", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1)
    seen = Observations.from_wide(table(3, (12, 5), seed=4))

    def model() -> KolmogorovDescent:
        return KolmogorovDescent(3, n_iter=4, tol=0.0, n_init=1, engine="cuda", random_state=0)

    undisturbed, update, n = model().fit(seen), DeviceStage.update_pmfs, [0]

    def stopping(self, *arguments):
        n[0] += 1
        if n[0] == 3:
            raise StopAsyncIteration
        return update(self, *arguments)

    monkeypatch.setattr(DeviceStage, "update_pmfs", stopping)
    with pytest.raises(StopAsyncIteration):
        model().fit(seen, checkpoint=tmp_path / "checkpoint")
    again = model().fit(seen, checkpoint=tmp_path / "checkpoint")
    assert n[0] == 5
    assert_array_equal(again.pmf_, undisturbed.pmf_)
    assert_array_equal(again.codes_, undisturbed.codes_)
    assert_array_equal(again.history_, undisturbed.history_)
