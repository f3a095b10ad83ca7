"""Tasks on threads: all are run, an interrupt or an error ends them all."""

from __future__ import annotations

import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from eventspace import KolmogorovDescent, KolmogorovEnsemble, KolmogorovModel
from eventspace._base import threads as together
from eventspace._base.threads import one_blas_thread, run_together


def counting(done: list[int], k: int, steps: int = 3) -> Generator[int, None, None]:
    for step in range(steps):
        time.sleep(0.01)
        done[k] += 1
        yield step + 1


@pytest.mark.parametrize("n_threads", [1, 3])
def test_all_tasks_are_run_to_their_ends(n_threads: int) -> None:
    done = [0] * 7
    run_together("tasks", [counting(done, k) for k in range(7)], 3, n_threads, False)
    assert done == [3] * 7


def test_an_error_in_one_ends_the_others_soon() -> None:
    done = [0] * 20

    def failing() -> Generator[int, None, None]:
        yield 1
        raise ZeroDivisionError

    tasks = [failing(), *(counting(done, k, steps=200) for k in range(20))]
    with pytest.raises(ZeroDivisionError):
        run_together("tasks", tasks, 200, 2, False)
    assert sum(done) < 400  # of 4,000, however busy the machine is


def test_an_interrupt_leaves_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    done, calls = [0] * 20, []

    def interrupting(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return wait(*arguments)

    monkeypatch.setattr(together, "wait", interrupting)
    with pytest.raises(KeyboardInterrupt):
        run_together("tasks", [counting(done, k, 200) for k in range(20)], 200, 2, False)
    assert sum(count > 0 for count in done) == 2
    assert sum(done) < 200  # of the 400 of these two


def test_blas_has_one_thread_meanwhile_and_its_own_afterwards() -> None:
    def threads() -> set[int]:
        np.ones((2, 2)) @ np.ones((2, 2))
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    if not threads():
        pytest.skip("threadpoolctl knows nothing of this BLAS")
    seen: list[set[int]] = []

    def task() -> Generator[int, None, None]:
        seen.append(threads())
        yield 1

    with threadpool_limits(2, user_api="blas"):
        run_together("blas", [task(), task()], 1, 2, False)
        assert seen == [{1}, {1}]
        assert threads() == {2}


def test_the_limit_ends_with_the_last_who_asked_for_it() -> None:
    def threads() -> list[int]:
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        one, two = together.one_blas_thread(), together.one_blas_thread()
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        assert threads() == [1 for _ in before]
        two.__exit__(None, None, None)
        assert threads() == before


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_any_thread_gives_blas_one_thread_and_gives_back_what_it_had() -> None:
    """The first may end before the last: the limit is the whole process's."""
    np.linalg.norm(np.ones((2, 2)) @ np.ones((2, 2)))
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as other:
        before = blas_threads()
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        here, there = ExitStack(), ExitStack()
        here.enter_context(one_blas_thread())
        other.submit(there.enter_context, one_blas_thread()).result()
        here.close()
        assert set(blas_threads()) == {1}
        other.submit(there.close).result()
        assert blas_threads() == before


@pytest.mark.skipif(
    not hasattr(OpenBLASController, "clear_controlling_thread"),
    reason="before threadpoolctl 3.8 any thread may set the limit",
)
def test_no_other_thread_takes_the_limit_away() -> None:
    def limited() -> list[int]:
        with threadpool_limits(2, user_api="blas"):
            return blas_threads()

    np.linalg.norm(np.ones((2, 2)) @ np.ones((2, 2)))
    with one_blas_thread(), ThreadPoolExecutor(1) as other:
        assert set(other.submit(limited).result()) == {1}


def test_another_thread_learns_the_same_model() -> None:
    """Last bits of a matrix product depend on the number of threads that multiply."""
    rng = np.random.default_rng(0)
    table = np.where(rng.random((600, 200)) < 0.1, rng.random((600, 200)), np.nan)
    quick = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "meets": False, "random_state": 0}

    def learnt() -> bytes:
        return KolmogorovModel(6, **quick).fit(table).pmf_.tobytes()

    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as other:
        assert other.submit(learnt).result() == learnt()
        assert other.submit(learnt).result() == learnt()


def test_products_have_the_same_bits_whatever_the_threads_of_blas() -> None:
    """A server or joblib may give it one thread, a notebook all."""
    rng = np.random.default_rng(0)
    table = rng.random((301, 211))
    for kind in (KolmogorovDescent(7, n_iter=3), KolmogorovEnsemble(7, n_models=3, n_iter=2)):
        model = kind.set_params(random_state=0).fit(table)
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads, user_api="blas"):
                found.append((model.predict(), model.fitted_.all_chances(np.arange(301))))
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)
