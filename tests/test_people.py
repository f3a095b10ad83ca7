"""What a person at a terminal gets: a bar, and Ctrl-C that keeps the model so far."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from eventspace import KolmogorovDescent, KolmogorovModel
from eventspace._base import progress

LONG_FIT = """
import numpy as np, warnings
from eventspace import KolmogorovDescent
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
table = np.where(rng.random((300, 200)) < 0.5, rng.random((300, 200)), np.nan)
KolmogorovDescent(4, n_iter=1).fit(table)
print("started", flush=True)
model = KolmogorovDescent(20, n_init=100_000, random_state=0).fit(table)
print(model.interrupted_, model.n_iter_ > 0, model.predict().shape, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
def test_ctrl_c_returns_the_model_so_far() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT], stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out == "True True (300, 200)\n"


def test_a_bar_appears_for_long_work_if_somebody_watches(ratings, monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.bar("first step", 3, True):  # which is not done yet
        time.sleep(0.5)
    assert "first step" in capsys.readouterr().err
    monkeypatch.setattr(progress, "Timer", Impatient)
    KolmogorovDescent(3, n_iter=3, random_state=0, verbose=True).fit(ratings)
    assert "fit" in capsys.readouterr().err
    quick = {"n_chains": 2, "n_warmup": 1, "n_draws": 4, "random_state": 0}
    KolmogorovModel(3, **quick, verbose=True).fit(ratings)
    assert re.search("sweeps.*compress", capsys.readouterr().err, re.DOTALL)
    KolmogorovModel(3, **quick).fit(ratings)
    KolmogorovDescent(3, n_iter=3, random_state=0, verbose=False).fit(ratings)
    KolmogorovDescent(3, n_iter=3, random_state=0).fit(ratings)  # nobody watches a test
    assert capsys.readouterr().err == ""


class Impatient(threading.Timer):
    """A timer that does not wait."""

    def start(self) -> None:
        self.function()

    def join(self, timeout: float | None = None) -> None:
        pass
