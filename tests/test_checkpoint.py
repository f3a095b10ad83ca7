"""A fit that is killed goes on from its checkpoint, and ends as if nothing had happened."""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations
from eventspace._base import checkpoint as checkpoints
from eventspace._base.checkpoint import CheckpointFile, checkpoint_at
from eventspace.engines.cpu import CPU
from eventspace.fitting.half_steps import FreeIndicators
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.sweeps import Sweeps


class Killed(BaseException):
    """In place of a signal that cannot be caught."""


@pytest.fixture
def at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is written."""
    monkeypatch.setattr(checkpoints, "OFTEN", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Ends fits after so many writes, or just before the last of these is done."""
    n_left = [0]

    def dying(keep: Any) -> Any:
        def kept(*given: Any, **options: Any) -> Any:
            n_left[0] -= 1
            if n_left[0] == 0:
                raise Killed
            return keep(*given, **options)

        return kept

    for name in ("keep", "keep_soon"):
        monkeypatch.setattr(CheckpointFile, name, dying(getattr(CheckpointFile, name)))
    return lambda n: n_left.__setitem__(0, n)


def table(n_users: int = 60, n_items: int = 30) -> Any:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(4), n_users) @ (rng.random((4, n_items)) < 0.5)
    chances[rng.random(chances.shape) < 0.2] = np.nan
    return chances


SHORT: dict[str, Any] = {"n_chains": 4, "n_warmup": 3, "n_draws": 8, "random_state": 0}
FITS: dict[str, tuple[Any, Callable[[], Any], dict[str, Any]]] = {
    "descent": (KolmogorovDescent(4, n_init=3, random_state=0), table, {}),
    "descent, given sets": (
        KolmogorovDescent(4, random_state=0),
        table,
        {"indicators": np.random.default_rng(1).random((30, 4)) < 0.5},
    ),
    "posterior": (KolmogorovPosterior(4, n_samples=16, **SHORT), table, {}),
    "posterior, plain": (KolmogorovPosterior(4, n_samples=8, weigh=False, **SHORT), table, {}),
    "posterior, missing": (
        KolmogorovPosterior(4, **SHORT),
        lambda: Observations.of(np.nan_to_num(table()) > 0.5, missing="no"),
        {},
    ),
    "model": (KolmogorovModel(4, **SHORT), table, {}),
    "model, auto": (KolmogorovModel("auto", meets=False, **SHORT), table, {}),
    "model, attributes": (
        KolmogorovModel(4, **SHORT),
        table,
        {"user_attributes": np.random.default_rng(2).normal(size=(60, 2))},
    ),
    "descent, dask": (KolmogorovDescent(4, n_init=2, random_state=0, engine="dask"), table, {}),
}


def found(model: Any) -> dict[str, Any]:
    record = model.fitted_.record
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def assert_same(one: Any, other: Any) -> None:
    for name, value in found(one).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, found(other)[name], err_msg=name)
        elif isinstance(value, float):
            np.testing.assert_equal(value, found(other)[name], err_msg=name)


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize("kind", FITS)
def test_a_fit_killed_again_and_again_ends_as_if_nothing_had_happened(
    kind: str, tmp_path: Path, killed: Callable[[int], None]
) -> None:
    if "dask" in kind:
        pytest.importorskip("distributed")
    model, made, options = FITS[kind]
    path, seen = tmp_path / "checkpoint", made()
    undisturbed = clone(model).fit(seen, **options)
    n_kills = 0
    while True:
        killed(2 + 3 * n_kills)
        again = clone(model)
        try:
            again.fit(seen, **options, checkpoint=path)
            break
        except Killed:
            n_kills += 1
    assert n_kills >= 1
    assert_same(again, undisturbed)
    assert_same(clone(model).fit(seen, **options, checkpoint=path), undisturbed)  # it has ended


@pytest.mark.usefixtures("at_every_step")
def test_what_was_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eventspace.sampling.chain import Chain

    swept, sweep = [0], Chain.sweep

    def counted(self: Chain) -> None:
        swept[0] += 1
        if swept[0] == 20:
            raise Killed
        sweep(self)

    monkeypatch.setattr(Chain, "sweep", counted)
    model, path = KolmogorovPosterior(4, meets=False, n_jobs=1, **SHORT), tmp_path / "checkpoint"
    with pytest.raises(Killed):
        model.fit(table(), checkpoint=path)
    model.fit(table(), checkpoint=path)
    assert swept[0] == 4 * 11 + 1  # the one that was cut off came again


@pytest.mark.usefixtures("at_every_step")
def test_ctrl_c_keeps_all_sweeps_and_gives_the_posterior_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = KolmogorovPosterior(4, meets=False, **SHORT), tmp_path / "checkpoint"
    undisturbed, steps = clone(model).fit(table()), Sweeps.steps

    def interrupted(self: Sweeps) -> Iterator[int]:
        for done in steps(self):
            if done == 9 and self.name == "chain 3":
                raise KeyboardInterrupt
            yield done

    with monkeypatch.context() as patch:
        patch.setattr(Sweeps, "steps", interrupted)
        with pytest.warns(UserWarning, match="interrupted"):
            first = clone(model).fit(table(), checkpoint=path)
    assert first.interrupted_
    again = clone(model).fit(table(), checkpoint=path)
    assert not again.interrupted_
    assert_same(again, undisturbed)


@pytest.mark.usefixtures("at_every_step")
def test_without_a_seed_the_one_of_the_first_run_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first = KolmogorovDescent(3).fit(table(), checkpoint=path)
    assert_same(KolmogorovDescent(3).fit(table(), checkpoint=path), first)


@pytest.mark.usefixtures("at_every_step")
def test_settings_that_change_nothing_may_change(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    one = KolmogorovDescent(3, random_state=0, n_jobs=1).fit(table(), checkpoint=path)
    two = KolmogorovDescent(3, random_state=0, n_jobs=2, engine="cpu", verbose=False)
    assert_same(two.fit(table(), checkpoint=path), one)
    equal: dict[str, Any] = {"n_events": np.int64(3), "random_state": np.int32(0), "tol": 1e-4}
    three = KolmogorovDescent(**equal, pmf_penalty=np.float64(one.pmf_penalty))
    assert_same(three.fit(table(), checkpoint=path), one)


@pytest.mark.usefixtures("at_every_step")
def test_a_descent_that_is_stopped_as_soon_as_it_goes_on_is_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model = tmp_path / "checkpoint", KolmogorovDescent(3, tol=0.0, n_iter=6, random_state=0)
    undisturbed, step, n_steps = clone(model).fit(table()), FreeIndicators.__call__, [0]

    def interrupted(self: Any, *given: Any) -> Any:
        n_steps[0] -= 1
        if not n_steps[0]:
            raise KeyboardInterrupt
        return step(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(FreeIndicators, "__call__", interrupted)
        stopped = []
        for n_steps[0] in (4, 1):
            with pytest.warns(UserWarning, match="interrupted"):
                stopped.append(clone(model).fit(table(), checkpoint=path))
    assert stopped[0].n_iter_ == 3
    assert np.isfinite(stopped[1].gap_).all()
    assert_same(stopped[1], stopped[0])
    assert "learnt nothing" not in str(stopped[1].summary())
    assert_same(clone(model).fit(table(), checkpoint=path), undisturbed)


@pytest.mark.usefixtures("at_every_step")
def test_chains_that_wait_stay_as_they_are_when_another_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted with four threads, then with one while three chains wait for it."""
    from eventspace.sampling.chain import Chain

    model, path = KolmogorovPosterior(4, meets=False, **SHORT), tmp_path / "checkpoint"
    undisturbed, sweep, n_left = clone(model).fit(table()), Chain.sweep, [0]

    def interrupted(self: Chain) -> None:
        n_left[0] -= 1
        if n_left[0] == 0:
            raise KeyboardInterrupt
        sweep(self)

    with monkeypatch.context() as patch:
        patch.setattr(Chain, "sweep", interrupted)
        for n_jobs, n_left[0] in ((4, 30), (1, 2)):
            with suppress(KeyboardInterrupt), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(model).set_params(n_jobs=n_jobs).fit(table(), checkpoint=path)
    assert_same(clone(model).fit(table(), checkpoint=path), undisturbed)


def test_a_chain_that_is_stopped_writes_where_its_last_sweep_ended(tmp_path: Path) -> None:
    """In its own thread, between two sweeps, also if it was not yet time to write again."""
    from tests.chains import table as chances
    from tests.test_side_by_side import beforehand, generators

    seen, watched = chances(n_users=40, n_items=15), np.zeros(3, np.int32)
    sampler = Sampler(4, beforehand(seen, True, None), CPU(1), show=False)
    with checkpoint_at(tmp_path / "checkpoint", dict) as checkpoint:
        job = Sweeps(sampler, seen, generators(1), 2, 5, 1, watched, watched, "x", checkpoint)
        steps = job.steps()
        assert [next(steps), next(steps)] == [1, 2]
        assert job.chain is not None
        expected, before = job.chain.state(), checkpoint.read("x")
        steps.close()
        known = checkpoint.read("x")
    assert before is None
    assert known is not None
    assert known["done"] == 2
    np.testing.assert_array_equal(known["pmf"], expected["pmf"])
    np.testing.assert_array_equal(known["indicators"], expected["indicators"])
    assert known["generators"] == expected["generators"]


def test_chains_that_have_ended_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    from eventspace.sampling.chain import Chain

    alive: list[weakref.ref[Chain]] = []
    most, made = [0], Chain.__post_init__

    def counted(self: Chain) -> None:
        made(self)
        gc.collect()
        alive.append(weakref.ref(self))
        most[0] = max(most[0], sum(one() is not None for one in alive))

    monkeypatch.setattr(Chain, "__post_init__", counted)
    KolmogorovPosterior(4, meets=False, n_jobs=1, **SHORT).fit(table())
    assert len(alive) == 4
    assert most[0] == 1


def test_a_fit_that_is_refused_leaves_the_checkpoint_to_the_next(tmp_path: Path) -> None:
    path, seen = tmp_path / "checkpoint", Observations.of(table() > 0.5, missing="no")
    with pytest.raises(ValueError, match="indicators='shared' is for tables"):
        KolmogorovDescent(3, indicators="shared", random_state=0).fit(seen, checkpoint=path)
    model = KolmogorovDescent(3, random_state=0)
    assert_same(clone(model).fit(seen, checkpoint=path), model.fit(seen))


@pytest.mark.usefixtures("at_every_step")
def test_a_generator_goes_on_as_without_a_checkpoint(tmp_path: Path) -> None:
    path, nexts = tmp_path / "checkpoint", []
    for checkpoint in (None, path, path):
        generator = np.random.RandomState(3)
        KolmogorovDescent(3, random_state=generator).fit(table(), checkpoint=checkpoint)
        nexts.append(generator.randint(1000))
    assert len(set(nexts)) == 1
    other = KolmogorovDescent(3, random_state=np.random.RandomState(4))
    with pytest.raises(ValueError, match="random_state was a generator at"):
        other.fit(table(), checkpoint=path)


PROGRAM = """
import sys
import numpy as np
from eventspace import KolmogorovModel
from eventspace._base import checkpoint
from tests.test_checkpoint import SHORT, table
checkpoint.OFTEN = 0.0
checkpoint.SHARE = 1
options = {**SHORT, "n_draws": 60}
model = KolmogorovModel(4, **options).fit(table(), checkpoint=sys.argv[1])
np.savez(sys.argv[2], pmf=model.pmf_, codes=model.codes_)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_a_process_that_is_killed_loses_little(tmp_path: Path) -> None:
    path, model = tmp_path / "checkpoint", tmp_path / "model.npz"
    command = [sys.executable, "-c", PROGRAM, str(path), str(model)]
    first = subprocess.Popen(command)
    while first.poll() is None and _n_records(path) < 30:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    subprocess.run(command, check=True)
    undisturbed = KolmogorovModel(4, **{**SHORT, "n_draws": 60}).fit(table())
    again = np.load(model)
    np.testing.assert_array_equal(again["pmf"], undisturbed.pmf_)
    np.testing.assert_array_equal(again["codes"], undisturbed.codes_)


def _n_records(path: Path) -> int:
    """How large the file is, in pages: it is another process's until that has gone."""
    return os.path.getsize(path) // 4096 if path.exists() else 0
