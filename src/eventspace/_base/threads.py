"""How many threads there are, and several long tasks at a time on them, under one progress bar."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event as Signal
from threading import Lock

from threadpoolctl import OpenBLASController, threadpool_limits

from eventspace._base.progress import bar


def count_threads(n_jobs: int) -> int:
    """Threads for scikit-learn's ``n_jobs``: -1 is every core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return n_jobs if n_jobs > 0 else max(1, (cores or 1) + 1 + n_jobs)


class _OneThread:
    """BLAS with one thread as long as anybody asks for it: the limit is the whole process's."""

    def __init__(self) -> None:
        self.lock, self.n_users = Lock(), 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.lock.acquire,
                after_in_parent=self.lock.release,
                after_in_child=self._alone,
            )

    def _alone(self) -> None:
        """In a forked child nobody is left of those who asked for it."""
        if self.n_users > 0:
            self.n_users = 0
            self._restore()
        self.lock.release()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            if self.n_users == 0:
                _let_go()
                self.limit = threadpool_limits(1, user_api="blas")
            self.n_users += 1
        try:
            yield
        finally:
            with self.lock:
                self.n_users -= 1
                if self.n_users == 0:
                    self._restore()

    def _restore(self) -> None:
        _let_go()
        self.limit.restore_original_limits()
        _let_go()


def _let_go() -> None:
    """Let any thread set the limit: since threadpoolctl 3.8 the first that does so keeps it."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


one_blas_thread = _OneThread()


def blas_alike(n_rows: int) -> AbstractContextManager[None]:
    """For products with the same bits whatever the threads. One row would be slowed down by it."""
    return one_blas_thread() if n_rows > 1 else nullcontext()


def run_together(
    title: str,
    tasks: Sequence[Generator[int, None, None]],
    length: int,
    n_threads: int,
    show: bool | None,
    stop: Signal | None = None,
) -> None:
    """Run tasks to their ends, several at a time; Ctrl-C or an error in one stops them all.

    A task yields how many of its ``length`` steps are done. Each has to keep to itself, so that the
    result does not depend on the number of threads. All end early if ``stop`` is set. Meanwhile
    BLAS has one thread: on matrices as small as these its own would mostly wait for each other, and
    for the tasks'.
    """
    stop, done = stop or Signal(), [0] * len(tasks)

    def run(k: int) -> None:
        while not stop.is_set():
            try:
                done[k] = next(tasks[k])
            except StopIteration:
                return
        tasks[k].close()  # in its own thread, where it may keep what it has

    with (
        one_blas_thread(),
        bar(title, length * len(tasks), show) as update,
        ThreadPoolExecutor(min(n_threads, len(tasks))) as pool,
    ):
        try:
            running = [pool.submit(run, k) for k in range(len(tasks))]
            while wait(running, 0.02, FIRST_EXCEPTION).not_done:
                update(sum(done), "")
                for task in running:
                    if task.done():
                        task.result()
            for task in running:
                task.result()
        except BaseException:
            stop.set()
            raise
