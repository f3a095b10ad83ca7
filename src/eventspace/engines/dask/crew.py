"""Tasks on workers that may go at any time: what is lost is done again, and nothing hangs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, Queue
from typing import Any
from uuid import uuid4

import dask
from dask.delayed import delayed
from distributed import Client, Future, KilledWorker, LocalCluster, default_client

from eventspace._base.errors import UserError

PATIENCE = 30.0  # seconds without any worker after which there is no cluster
GLANCE = 1.0  # seconds between two looks at the cluster while nothing is heard
TRIES = 10  # times that one task may be lost with its workers
FAN_IN = 4  # results that one task adds up: few transfers, and few levels, each of some milliseconds
SUSPICIONS = 100  # workers that a task may see die, of our own: Dask's three are soon used up

Task = Callable[..., Any]


class NoCluster(UserError, RuntimeError):
    """The cluster has gone."""


class UnseenFolder(Exception):
    """A worker does not see the folder that all share."""


class Crew:
    """The workers of a client. All their tasks read and write one ``folder``."""

    def __init__(self, client: Client, folder: str, own: LocalCluster | None = None) -> None:
        self.client, self.folder, self.own = client, folder, own
        self.asking = ThreadPoolExecutor(4)  # what may never be answered is asked there

    @classmethod
    def found(cls, n_workers: int, folder: str) -> Crew:
        """Those of the current client; without one, so many processes of this machine."""
        try:
            return cls(default_client(), folder)
        except ValueError:
            with dask.config.set({"distributed.scheduler.allowed-failures": SUSPICIONS}):
                cluster = LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=None
                )
            return cls(Client(cluster, set_as_default=False), folder, cluster)

    def close(self) -> None:
        """Leave them alone; those of our own end."""
        if self.own is not None:
            self.client.close()
            self.own.close()
        self.asking.shutdown(wait=False, cancel_futures=True)

    def as_completed(self, task: Task, arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of a task and its result, as they come; each has a tuple of arguments."""
        begin = [partial(self._begin, [task], [given]) for given in arguments]
        yield from self._results(begin)

    def results(self, task: Task, arguments: Sequence[Any]) -> list[Any]:
        """The results of all, in order."""
        found = dict(self.as_completed(task, arguments))
        return [found[k] for k in range(len(arguments))]

    def sum(self, task: Task, arguments: Sequence[Any], add: Task) -> Any:
        """The results of all, added up by a tree of tasks: ``add`` takes some neighbours, in order.

        The tree depends on their number only.
        """
        begin = partial(self._begin, [task], arguments, add)
        return next(iter(self._results([begin])))[1]

    def _begin(self, task: list[Task], arguments: Sequence[Any], add: Task | None = None) -> Future:
        """Hand over a tree, or one task, in one message: a second one would wait."""
        places, name = self._places(len(arguments)), uuid4().hex
        level = []
        for k, given in enumerate(arguments):
            with dask.annotate(**places[k]):
                call = delayed(_done, pure=False)
                level.append(call(self.folder, task[0], given, dask_key_name=f"{name}-{k}"))
        while len(level) > 1:
            depth = f"{name}-{len(level)}"
            level = [
                delayed(add, pure=False)(*level[k : k + FAN_IN], dask_key_name=f"{depth}-{k}")
                for k in range(0, len(level), FAN_IN)
            ]
        future: Future = self.client.compute(level[0], optimize_graph=False)
        return future

    def _places(self, n: int) -> list[dict[str, Any]]:
        """Of n tasks, which worker is to have each if it can: neighbours the same, as last time.

        So a worker finds its blocks in its machine's memory, and adds up its own results.
        """
        workers = self._workers()
        slots = [address for address in sorted(workers) for _ in range(workers[address])]
        if n == 1 or not slots:
            return [{}] * n
        return [
            {"workers": [slots[k * len(slots) // n]], "allow_other_workers": True} for k in range(n)
        ]

    def _results(self, begin: Sequence[Callable[[], Future]]) -> Iterator[tuple[int, Any]]:
        """The results as they come. What is lost is begun again."""
        heard: Queue[int] = Queue()
        running: dict[int, Future] = {}
        asked: dict[int, Any] = {}
        tries = [0] * len(begin)

        def start(k: int) -> None:
            running[k] = begin[k]()
            running[k].add_done_callback(lambda _: heard.put(k))

        seen = time.monotonic()
        try:
            for k in range(len(begin)):
                start(k)
            while running:
                with suppress(Empty):
                    heard.get(timeout=GLANCE)
                    seen = time.monotonic()
                for k, future in list(running.items()):
                    if not future.done():
                        continue
                    if k not in asked:
                        asked[k] = self.asking.submit(_outcome, future)
                        asked[k].add_done_callback(lambda _: heard.put(-1))
                    if not asked[k].done():
                        continue
                    lost, value = asked.pop(k).result()
                    if not lost:
                        del running[k]
                        yield k, value
                        seen = time.monotonic()
                        continue
                    tries[k] += 1
                    self._still_there(seen)
                    if tries[k] > TRIES:
                        raise NoCluster(f"A task was lost {tries[k]} times, each with its worker.")
                    start(k)
                seen = self._still_there(seen) if heard.empty() else seen
        finally:
            if running:
                with suppress(Exception):
                    self.client.cancel(list(running.values()), force=True)

    def _still_there(self, seen: float) -> float:
        """When there last was a worker, which is not too long ago."""
        now = time.monotonic()
        if now - seen < GLANCE:
            return seen
        if self.client.status not in ("closed", "closing") and self._workers():
            return now
        if self.client.status in ("closed", "closing") or now - seen > PATIENCE:
            raise NoCluster(
                f"The Dask cluster has gone: no worker has been there for {now - seen:.0f} s. "
                "Nothing is lost but this fit: run it again."
            )
        return seen

    def _workers(self) -> dict[str, int]:
        """How many threads each worker has; none if nobody answers."""
        with suppress(Exception):
            found: dict[str, int] = self.asking.submit(self.client.nthreads).result(2 * GLANCE)
            return found
        return {}


def _outcome(future: Future) -> tuple[bool, Any]:
    """Whether the result was lost with a worker, and it; an error of the task's own is raised."""
    try:
        return False, future.result()
    except KilledWorker:
        return True, None
    except UnseenFolder as error:
        raise UserError(str(error)) from None
    except BaseException:
        if future.status == "error":
            raise
        return True, None


def _done(folder: str, task: Task, given: tuple[Any, ...]) -> Any:
    """On a worker: do a task, if the folder is there."""
    if not os.path.isdir(folder):
        raise UnseenFolder(
            f"A worker on {os.uname().nodename} does not see the folder {folder!r}: name one that "
            "all workers share, dask.config.set({'eventspace.scratch': ...})."
        )
    return task(*given)
