"""Ctrl-C in a fit keeps what is there: draws, models, events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    evaluate,
    load,
)
from eventspace._base import threads
from eventspace.data.factors import squared_error
from eventspace.fitting import restarts
from eventspace.fitting.compression import Compression
from eventspace.fitting.stages import HostStage
from eventspace.sampling.chain import Chain
from eventspace.sampling.joint_law import Joint
from eventspace.sampling.sampler import evened
from eventspace.sampling.sweeps import Draws

SO_FAR = "interrupted: this is the model so far"
CHAINS = {"n_warmup": 2, "n_draws": 8, "n_jobs": 1, "random_state": 0}  # ten sweeps a chain


@pytest.fixture
def table() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random((20, 8))


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, int], None]:
    """Let Ctrl-C come while a thread is in the n-th call of a function."""

    def during(owner: Any, name: str, n: int) -> None:
        original, calls, inside, told = getattr(owner, name), [], Event(), Event()

        def called(*arguments: Any, **options: Any) -> Any:
            calls.append(0)
            if len(calls) == n:
                inside.set()
                assert told.wait(60)
            return original(*arguments, **options)

        @contextmanager
        def bar(*arguments: Any) -> Iterator[Callable[[int, str], None]]:
            def update(done: int, note: str) -> None:
                if inside.is_set() and not told.is_set():
                    told.set()
                    raise KeyboardInterrupt

            yield update

        monkeypatch.setattr(owner, name, called)
        monkeypatch.setattr(threads, "bar", bar)

    return during


def test_a_posterior_keeps_the_chains_that_have_drawn(table, interrupt, tmp_path) -> None:
    two = KolmogorovPosterior(3, n_chains=2, n_samples=16, **CHAINS).fit(table)
    interrupt(Chain, "sweep", 25)  # the third chain has drawn three times, too few to count
    with pytest.warns(UserWarning, match=f"{SO_FAR}, 16 draws of 2 chains") as caught:
        model = KolmogorovPosterior(3, n_chains=4, n_samples=32, **CHAINS).fit(table)
    assert caught[0].filename == __file__
    assert model.interrupted_
    assert not two.interrupted_
    assert_array_equal(model.pmf_, two.pmf_)
    assert_array_equal(model.codes_, two.codes_)
    assert_array_equal(model.cost_, two.cost_)
    assert "interrupted" in model.summary()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").interrupted
    model.update(([0], [0], [0.5]))
    assert model.interrupted_


def draws(n: int, n_sweeps: int) -> Draws:
    states: list[Any] = list(range(n))
    return Draws(states, states, states, states, [0.0] * n_sweeps, [np.zeros(1)] * n_sweeps)


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([], []),
        ([0, 0], []),
        ([8, 0, 0], [8]),
        ([8, 8, 2, 1], [8, 8]),
        ([8, 8, 6, 5], [5, 5, 5, 5]),
        ([8, 8, 6, 0], [8, 8]),  # twelve draws of two are fewer, and three are no pairs
        ([3, 5], [3, 3]),
        ([1, 5], [5]),
    ],
)
def test_as_many_draws_as_possible_are_kept(sizes: list[int], kept: list[int]) -> None:
    found = evened([draws(n, 3 * n) for n in sizes])
    assert [len(chain.pmf) for chain in found] == kept
    whole = [n for n in sizes if n >= max(kept, default=1)]
    assert [chain.pmf[-1] + 1 for chain in found] == whole[: len(found)]  # the last of each
    assert len({len(chain.cost) for chain in found}) <= 1


def test_a_chain_of_three_sweeps_says_nothing_of_itself() -> None:
    assert evened([draws(3, 3)]) == []


def test_before_the_first_draw_the_interrupt_goes_on(table, interrupt) -> None:
    for model in (KolmogorovPosterior(3, **CHAINS), KolmogorovModel(3, **CHAINS)):
        interrupt(Chain, "sweep", 5)
        with pytest.raises(KeyboardInterrupt):
            model.fit(table)
        assert not hasattr(model, "fitted_")


def test_an_interrupt_while_chains_are_weighed_keeps_them_apart(monkeypatch) -> None:
    table = np.random.default_rng(0).random((80, 25))
    options = {"n_chains": 2, "n_samples": 16, **CHAINS}
    apart = KolmogorovPosterior(3, weigh=False, **options).fit(table)

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Joint, "learn", interrupted)
    with pytest.warns(UserWarning, match=f"{SO_FAR}, 16 draws of 2 chains"):
        model = KolmogorovPosterior(3, **options).fit(table)
    assert model.interrupted_
    assert_array_equal(model.pmf_, apart.pmf_)


def test_a_model_is_compressed_from_the_draws_so_far(table, interrupt, tmp_path) -> None:
    interrupt(Chain, "sweep", 35)
    with pytest.warns(
        UserWarning, match=f"{SO_FAR}, compressed from 16 draws of 2 chains"
    ) as caught:
        model = KolmogorovModel(3, n_chains=6, **CHAINS).fit(table)
    assert caught[0].filename == __file__
    assert model.interrupted_
    assert model.pmf_.shape == (20, 3)
    assert_allclose(model.pmf_.sum(axis=1), 1)
    assert "interrupted" in model.summary()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").interrupted


@pytest.mark.parametrize("stage", ["growing", "halves"])
def test_a_compression_that_is_interrupted_has_the_events_so_far(table, monkeypatch, stage) -> None:
    whole = KolmogorovModel(4, n_chains=4, **CHAINS).fit(table)
    original, calls = Compression.settled, []
    last = {"growing": 3, "halves": 9}[stage]  # 2 events; 3 to 6, 5, 4 events; all; halves

    def settled(self: Any, *arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == last:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Compression, "settled", settled)
    model = KolmogorovModel(4, n_chains=4, **CHAINS)
    with pytest.warns(UserWarning, match=f"{SO_FAR}, compressed from 32 draws of 4 chains"):
        model.fit(table)
    assert model.interrupted_
    assert model.pmf_.shape[1] == {"growing": 3, "halves": 4}[stage]
    if stage == "halves":
        assert_array_equal(model.codes_, whole.codes_)
        assert np.isnan(model.same_bits_).all()
    assert model.proved_.all()


def test_an_average_whose_compression_is_interrupted_gives_no_model(table, monkeypatch) -> None:
    average = KolmogorovPosterior(3, n_chains=2, n_samples=16, **CHAINS).fit(table)
    original, calls = Compression.settled, []

    def settled(self: Any, *arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Compression, "settled", settled)
    with pytest.raises(KeyboardInterrupt):
        average.to_model(3)


def test_an_ensemble_keeps_the_models_that_have_begun(
    table, interrupt, monkeypatch, tmp_path
) -> None:
    monkeypatch.setattr("eventspace.estimators.ensemble.held_out", lambda *_: None)  # no trials
    penalties = {"pmf_penalty": 30.0, "indicator_penalty": 0.0}
    options = {"n_iter": 2, "n_jobs": 1, "random_state": 0, **penalties}
    with pytest.warns(UserWarning, match="no entry can be held out"):
        two = KolmogorovEnsemble(2, n_models=2, **options).fit(table)
    interrupt(restarts, "descend", 4)  # the last iteration of the second model
    with (
        pytest.warns(UserWarning, match="no entry can be held out"),
        pytest.warns(UserWarning, match=f"{SO_FAR}, 2 of 5"),
    ):
        model = KolmogorovEnsemble(2, n_models=5, **options).fit(table)
    assert model.interrupted_
    assert not two.interrupted_
    assert_array_equal(model.pmf_, two.pmf_)
    assert "interrupted" in model.summary()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").interrupted


def test_a_descent_that_is_interrupted_between_its_steps_knows_its_error(
    table, monkeypatch
) -> None:
    """The sets are new, and the PMFs are not."""
    solve, calls = HostStage.update_pmfs, []

    def interrupted(self: Any, *given: Any) -> float:
        calls.append(0)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve(self, *given)

    monkeypatch.setattr(HostStage, "update_pmfs", interrupted)
    with pytest.warns(UserWarning, match=SO_FAR):
        model = KolmogorovDescent(3, n_init=1, random_state=0).fit(table)
    fit = model.fitted_.record
    assert fit.error == squared_error(fit.observations, fit.pmf, fit.indicators)


def test_an_ensemble_that_is_still_choosing_has_nothing_to_keep(table, interrupt) -> None:
    interrupt(restarts, "descend", 3)
    with pytest.raises(KeyboardInterrupt):
        KolmogorovEnsemble(2, n_models=5, n_jobs=1, random_state=0).fit(table)


def test_a_comparison_ends_with_the_fit_that_is_interrupted(table, interrupt) -> None:
    interrupt(Chain, "sweep", 25)
    model = KolmogorovPosterior(3, n_chains=4, n_samples=32, **CHAINS)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match=SO_FAR):
        evaluate(table, {"posterior": model}, cv=2)
