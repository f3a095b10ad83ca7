"""A process that forks while its threads learn or compile: children neither hang nor differ.

As servers do that load a model, then fork their workers. Each case is a process of its own. A child
that hangs is ended by its alarm, and its status says so.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from eventspace import KolmogorovDescent, KolmogorovPosterior
from eventspace._base.cached import cached_property
from tests.planted import chances, wide

SRC = Path(__file__).parents[1] / "src"
START = """
import os, signal, threading, warnings
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)

def child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)  # ends a child that hangs, however busy the machine is
        os._exit(0 if work() else 1)
    return os.waitpid(pid, 0)[1]
"""
COMPILING = """
from numba.core.compiler_lock import global_compiler_lock
from eventspace._base.jit import njit

begun, forking = threading.Event(), threading.Event()

def compile_slowly():
    with global_compiler_lock:
        begun.set()
        forking.wait(1)

thread = threading.Thread(target=compile_slowly)
thread.start()
begun.wait()
print(child(lambda: njit()(lambda x: x + 1)(1) == 2))
thread.join()
"""
COMPUTING = """
from eventspace._base.cached import cached_property

begun, leave = threading.Event(), threading.Event()

class Slow:
    def __init__(self, wait):
        self.wait = wait

    @cached_property
    def value(self):
        begun.set()
        return self.wait() or 1

thread = threading.Thread(target=lambda: Slow(leave.wait).value)
thread.start()
begun.wait()
print(child(lambda: Slow(int).value == 1))
leave.set()
thread.join()
"""
ASKING = """
from eventspace._base.threads import one_blas_thread

def threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

def is_free():
    free = threads() == before
    with one_blas_thread():
        limited = threads() == [1 for _ in before]
    return free and limited and threads() == before

np.ones((2, 2)) @ np.ones((2, 2))
with threadpool_limits(2, user_api="blas"):
    before = threads()
    entered, leave = threading.Event(), threading.Event()

    def learn():
        with one_blas_thread():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=learn)
    thread.start()
    entered.wait()
    print(child(is_free))
    leave.set()
    thread.join()
    print(threads() == before)
"""
SERVING = """
import pandas as pd
from eventspace import KolmogorovDescent

rng = np.random.default_rng(0)
table = np.where(rng.random((60, 30)) < 0.6, rng.random((60, 30)).round(2), np.nan)
frame = pd.DataFrame(table).stack().rename_axis(["user", "item"]).rename("value").reset_index()
frame.to_csv("table.csv", index=False)
model = KolmogorovDescent(4, n_iter=3, n_jobs=4, random_state=0).fit("table.csv")
pairs = (frame["user"].tolist(), frame["item"].tolist())
predicted, best = model.predict(pairs), model.recommend()

def serve():
    again = KolmogorovDescent(4, n_iter=3, n_jobs=4, random_state=0).fit("table.csv")
    model.update((["new"], [frame["item"][0]], [0.5]))
    return (
        np.array_equal(again.predict(pairs), predicted)
        and np.array_equal(model.predict(pairs), predicted)
        and model.recommend().equals(best) is False  # there is one user more
    )

stop = threading.Event()

def learn():
    while not stop.is_set():
        KolmogorovDescent(4, n_iter=3, n_jobs=2, random_state=1).fit(frame)

thread = threading.Thread(target=learn)
thread.start()
print([child(serve) for _ in range(4)])
stop.set()
thread.join()
print(np.array_equal(model.predict(pairs), predicted))
"""

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def run(code: str, folder: Path) -> str:
    """What a process prints."""
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@FORKS
def test_a_child_compiles_though_a_thread_was_compiling(tmp_path) -> None:
    assert run(COMPILING, tmp_path) == "0\n"


@FORKS
def test_a_child_computes_what_a_thread_was_computing(tmp_path) -> None:
    """Each property of a class had one lock for all objects, which the thread held."""
    assert run(COMPUTING, tmp_path) == "0\n"


def test_a_property_is_computed_once() -> None:
    asked = []

    class Asked:
        @cached_property
        def value(self) -> int:
            """What it says."""
            asked.append(self)
            return len(asked)

    one, other = Asked(), Asked()
    assert (one.value, other.value, one.value, other.value) == (1, 2, 1, 2)
    assert Asked.value.__doc__ == "What it says."


@FORKS
def test_a_child_has_all_threads_of_blas_though_a_thread_was_learning(tmp_path) -> None:
    assert run(ASKING, tmp_path) == "0\nTrue\n"


@FORKS
def test_children_of_a_server_read_learn_predict_and_update(tmp_path) -> None:
    assert run(SERVING, tmp_path) == "[0, 0, 0, 0]\nTrue\n"


DESCENT = KolmogorovDescent(6, n_iter=3, random_state=0)
POSTERIOR = KolmogorovPosterior(6, n_chains=2, n_warmup=4, n_draws=4, random_state=0)


@pytest.mark.parametrize("estimator", [DESCENT, POSTERIOR], ids=["descent", "posterior"])
def test_eight_threads_are_told_what_one_is_told(estimator) -> None:
    """By a model that was just read: what it keeps once it is asked, they all ask for at once."""
    rng = np.random.default_rng(0)
    stored = pickle.dumps(clone(estimator).fit(wide(chances(rng, 60, 40, 3))))
    u, i = np.divmod(rng.permutation(60 * 40).reshape(8, -1), 40)

    def told(model: Any, k: int) -> tuple[object, ...]:
        users, items = model.user_ids_[u[k]], model.item_ids_[i[k]]
        return (
            model.predict((users, items)).tobytes(),
            model.recommend(users[:5], n=3).to_csv(),
            model.explain(users[0], items[0]).probability,
            model.rules().to_csv(),
        )

    alone, shared = pickle.loads(stored), pickle.loads(stored)
    one = [told(alone, k) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(partial(told, shared), range(8))) == one
