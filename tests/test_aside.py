"""Tasks beside the others of a fit: they end, are stopped, or are waited for."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event as Signal
from typing import Any

import numpy as np
import pytest

from eventspace import KolmogorovPosterior
from eventspace.engines import cpu
from eventspace.engines.aside import Done, Meanwhile
from eventspace.fitted import drawing
from eventspace.fitting import settings

QUICK = {"n_chains": 2, "n_warmup": 1, "n_draws": 4, "random_state": 0, "n_jobs": 1}


@dataclass(frozen=True)
class Idle(cpu.CPU):
    """Cores that have nothing else to do meanwhile, as beside a GPU."""

    def aside(self, task: Any, show: Any) -> Any:
        return Meanwhile(task)


@pytest.fixture
def idle(monkeypatch) -> None:
    monkeypatch.setattr(settings, "engine", lambda name, n_threads, *_, **options: Idle(n_threads))


def ratings() -> Any:
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(3), 40) @ (rng.random((3, 15)) < 0.5)
    table[rng.random(table.shape) < 0.3] = np.nan
    return table


def test_a_task_is_told_to_stop_and_waited_for() -> None:
    begun, ended = Signal(), []

    def task(show: bool | None, stop: Signal) -> str:
        begun.set()
        assert stop.wait(60)
        ended.append(show)
        return "stopped"

    aside = Meanwhile(task)
    assert begun.wait(60)
    aside.close()
    assert ended == [False]  # no bar beside another
    assert aside.result() == "stopped"
    assert Done(3).result() == 3


def test_who_meets_what_is_the_same_if_it_is_learnt_meanwhile(idle) -> None:
    table = ratings()
    meanwhile = KolmogorovPosterior(2, **QUICK).fit(table)
    before = KolmogorovPosterior(2, engine="cpu", **QUICK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "engine", lambda name, n, *_, **options: cpu.CPU(n))
        before.fit(table)
    np.testing.assert_array_equal(meanwhile.met_weights_, before.met_weights_)
    np.testing.assert_array_equal(meanwhile.pmf_, before.pmf_)


def test_an_interrupt_while_it_is_waited_for_keeps_the_posterior(idle, monkeypatch) -> None:
    def interrupted(self: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Meanwhile, "result", interrupted)
    model = KolmogorovPosterior(2, **QUICK)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(ratings())
    assert model.interrupted_
    assert not model.met_mass_.size
    assert np.isfinite(model.predict()).all()


def test_an_error_in_the_chains_stops_it(idle, monkeypatch) -> None:
    stopped = []

    def learn(seen: Any, engine: Any, rng: Any, kept: Any, show: Any, stop: Signal) -> None:
        stopped.append(stop.wait(60))

    monkeypatch.setattr(drawing, "learn_meetings", learn)
    monkeypatch.setattr(drawing, "_run", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        KolmogorovPosterior(2, **QUICK).fit(ratings())
    assert stopped == [True]
