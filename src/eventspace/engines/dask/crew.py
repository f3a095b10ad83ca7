"""Tasks on workers that may go at any time: what is lost is done again, and nothing hangs."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import current_process
from queue import Empty, Queue
from typing import Any, NamedTuple
from uuid import uuid4

import dask
from dask.delayed import delayed
from distributed import Client, Future, KilledWorker, LocalCluster, default_client

from eventspace._base.errors import UserError
from eventspace._base.types import Floats
from eventspace.data.blocks import map_array, save_array

PATIENCE = 30.0  # seconds without any worker after which there is no cluster
GLANCE = 1.0  # seconds between two looks at the cluster while nothing is heard
LATELY = 5.0  # seconds for which a list of workers is used: it only says how tasks are cut
TRIES = 10  # times that one task may be lost with its workers
FAN_IN = 4  # results that one task adds up, a power of two: few transfers, and few levels
UNEVEN = 4  # tasks for each that can run at once
SUSPICIONS = 100  # workers that a task may see die, of our own: Dask's three are soon used up

PRELOAD = "distributed.worker.preload"
# Ctrl-C in a terminal goes to all its processes: what workers of our own do then is ours to say
UNDISTURBED = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"

Task = Callable[..., Any]


class NoClusterError(UserError, RuntimeError):
    """The cluster has gone."""


class Refusal(NamedTuple):
    """The result of a task that found a mistake of the caller's: its worker has nothing to log."""

    error: UserError


class Stored(NamedTuple):
    """The result of a task that lies in the folder: there it is sooner than on its way by Dask."""

    path: str

    @classmethod
    def of(cls, path: str, array: Floats) -> Stored:
        """An array that is kept under this path."""
        save_array(path, array)
        return cls(path)


class Crew:
    """The workers of a client. All their tasks read and write one ``folder``."""

    def __init__(self, client: Client, folder: str, own: LocalCluster | None = None) -> None:
        self.client, self.folder, self.own = client, folder, own
        self.n_own = 0 if own is None else len(own.workers)
        self.homes: dict[int, list[Future]] = {}
        self.workers: dict[str, int] = {}
        self.looked = -LATELY
        self.asking = ThreadPoolExecutor(4)  # what may never be answered is asked there

    @classmethod
    def found(cls, n_workers: int, folder: str) -> Crew:
        """Those of the current client; without one, ``n_workers`` processes of this machine."""
        with suppress(ValueError):  # there is none
            return cls(default_client(), folder)
        if getattr(current_process(), "_inheriting", False):
            raise SystemExit(1)  # a worker that runs the script again, which the other end tells
        settings = {
            "distributed.scheduler.allowed-failures": SUSPICIONS,
            PRELOAD: [*dask.config.get(PRELOAD, []), UNDISTURBED],
        }
        try:
            with dask.config.set(settings):
                cluster = LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
                )
        except RuntimeError as error:
            raise NoClusterError(
                f"No Dask workers can be started ({error}). In a script, call fit below "
                'if __name__ == "__main__": for worker processes import the script.'
            ) from error
        client = Client(cluster, set_as_default=False, direct_to_workers=True)
        return cls(client, folder, cluster)

    def close(self) -> None:
        """Leave them alone; those of our own end."""
        if self.own is not None:
            self.client.close()
            self.own.close()
        self.asking.shutdown(wait=False, cancel_futures=True)

    def as_completed(self, task: Task, arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of a task and its result, as they come; each has a tuple of arguments."""
        for k, (value,) in self._results([partial(self._begin, task, [a]) for a in arguments]):
            yield k, value

    def results(self, task: Task, arguments: Sequence[Any]) -> list[Any]:
        """The results of all, in order."""
        found = dict(self.as_completed(task, arguments))
        return [found[k] for k in range(len(arguments))]

    def computed(self, collection: Any) -> Any:
        """The value of what Dask's own collections have made."""
        return next(self._results([lambda: [self.client.compute(collection)]]))[1][0]

    def sum(self, task: Task, n: int, *given: Any) -> Any:
        """The sum of n blocks, by a binary tree that depends on their number only.

        ``task(*given, first, last)`` gives that of some neighbours, by the same tree. How many a
        task has depends on the workers: the result does not.
        """
        spans = spans_of(n, self._n_slots())
        begin = partial(self._begin, task, [(*given, *span) for span in spans])
        parts = next(self._results([begin]))[1]
        total = tree_sum(parts)
        self.remove([part.path for part in parts if isinstance(part, Stored)])
        return total

    def remove(self, paths: list[str]) -> None:
        """Let files go, some time soon."""
        self.asking.submit(_removed, paths)

    def _begin(self, task: Task, arguments: Sequence[Any]) -> list[Future]:
        """Hand over tasks, and those that add up their results, in one message.

        A second message would wait for some milliseconds. So would a last task that adds up what
        is left: that is for the caller.
        """
        name = f"{task.__name__}-{uuid4().hex}"
        level = [
            delayed(_done, pure=False)(self.folder, task, a, home, dask_key_name=f"{name}-{k}")
            for k, (a, home) in enumerate(zip(arguments, self._homes(len(arguments)), strict=True))
        ]
        while len(level) > FAN_IN:
            depth = f"{name}-{len(level)}"
            level = [
                delayed(_added, pure=False)(*level[k : k + FAN_IN], dask_key_name=f"{depth}-{k}")
                for k in range(0, len(level), FAN_IN)
            ]
        futures: list[Future] = self.client.compute(level, optimize_graph=False)
        return futures

    def _homes(self, n: int) -> list[Future | None]:
        """For each of n tasks what lies on one worker, so that it goes there if it can, each time.

        So a worker finds its blocks in its machine's memory. These are results of tasks like any
        other: lost with a worker, they are made again elsewhere. A list of allowed workers would
        be a trap: once all of these have died, no other is ever asked, ``allow_other_workers`` or
        not.
        """
        if n == 1:
            return [None]
        if n not in self.homes:
            self.homes[n] = self.client.map(_home, range(n), pure=False)
        return list(self.homes[n])

    def _results(
        self, begin: Sequence[Callable[[], list[Future]]]
    ) -> Iterator[tuple[int, list[Any]]]:
        """The results as they come. What is lost is begun again."""
        heard: Queue[int] = Queue()  # what has ended, or is fetched
        running: dict[int, list[Future]] = {}
        fetched: dict[int, Any] = {}
        tries = [0] * len(begin)
        seen = time.monotonic()

        def start(k: int) -> None:
            try:
                running[k] = begin[k]()
            except Exception:
                self._there_since(seen)  # nothing can be sent to a cluster that has gone
                raise
            for future in running[k]:
                future.add_done_callback(lambda _: heard.put(k))

        try:
            for k in range(len(begin)):
                start(k)
            while running:
                with suppress(Empty):
                    heard.get(timeout=GLANCE)
                    seen = time.monotonic()
                seen = self._there_since(seen)
                for k, futures in list(running.items()):
                    if k not in fetched and all(future.done() for future in futures):
                        fetched[k] = self.asking.submit(self._outcome, futures)
                        fetched[k].add_done_callback(lambda _, k=k: heard.put(k))
                    if k not in fetched or not fetched[k].done():
                        continue
                    lost, values = fetched.pop(k).result()
                    if not lost:
                        del running[k]
                        yield k, values
                        continue
                    tries[k] += 1
                    if tries[k] > TRIES:
                        raise NoClusterError(
                            f"A task was lost {tries[k]} times, each with its worker."
                        )
                    self.homes.clear()
                    start(k)
        finally:
            for futures in running.values():
                with suppress(Exception):
                    self.client.cancel(futures, force=True)

    def _there_since(self, seen: float) -> float:
        """When there last was a worker; an error if that is too long ago."""
        now, closed = time.monotonic(), self.client.status in ("closed", "closing")
        if not closed and now - seen < GLANCE:
            return seen
        if not closed and self.own is not None and len(self.own.workers) < self.n_own:
            self.own.scale(self.n_own)  # it gives up those that die again and again
        if not closed and self._workers():
            return now
        if closed or now - seen > PATIENCE:
            since = "" if closed else f": no worker has been there for {now - seen:.0f} s"
            raise NoClusterError(
                f"The Dask cluster has gone{since}. Nothing is lost but this fit: run it again."
            )
        return seen

    def _n_slots(self) -> int:
        """How many tasks can run at once, as it was lately; where others have come, all move."""
        if time.monotonic() - self.looked > LATELY:
            known, self.workers = self.workers, self._workers()
            self.looked = time.monotonic()
            if known != self.workers:
                self.homes.clear()
        return sum(self.workers.values())

    def _workers(self) -> dict[str, int]:
        """How many threads each worker has; none if nobody answers."""
        with suppress(Exception):
            found: dict[str, int] = self.asking.submit(self.client.nthreads).result(2 * GLANCE)
            return found
        return {}

    def _outcome(self, futures: list[Future]) -> tuple[bool, list[Any]]:
        """Whether results were lost with a worker, and they; an error of a task's own is raised."""
        try:
            values: list[Any] = self.client.gather(futures)
        except KilledWorker:
            return True, []
        except Exception:
            if any(future.status == "error" for future in futures):
                raise
            return True, []
        for value in values:
            if isinstance(value, Refusal):
                raise value.error
        return False, values


def spans_of(n: int, n_slots: int) -> list[tuple[int, int]]:
    """The blocks from first to last of each task: a power of two, so that they are a branch.

    There are as many tasks as can run at once if these are a power of two, too. Otherwise some
    would have twice as much to do, so there are more and smaller ones.
    """
    most = n_slots if n_slots & (n_slots - 1) == 0 else UNEVEN * n_slots
    width = 1
    while -(-n // width) > max(most, 1):
        width *= 2
    return [(first, min(first + width, n)) for first in range(0, n, width)]


def tree_sum(parts: Sequence[Any]) -> Any:
    """The sum by a binary tree, whose left branches are powers of two; the parts stay as they are.

    So the sum of sums of branches has the same bits.
    """
    if len(parts) == 1:
        part = parts[0]
        return map_array(part.path) if isinstance(part, Stored) else part
    half = 1 << (len(parts) - 1).bit_length() - 1
    left, right = tree_sum(parts[:half]), tree_sum(parts[half:])
    refused = [part for part in (left, right) if isinstance(part, Refusal)]
    return refused[0] if refused else left + right


def _removed(paths: list[str]) -> None:
    for path in paths:
        with suppress(OSError):  # it was never written, or is gone with the folder
            os.remove(path)


def _added(*parts: Any) -> Any:
    """On a worker: the sum of some branches."""
    return tree_sum(parts)


def _home(k: int) -> int:
    """On a worker: something to lie there."""
    return k


def _done(folder: str, task: Task, given: tuple[Any, ...], home: int | None) -> Any:
    """On a worker: do a task, if the folder is there."""
    if not os.path.isdir(folder):
        return Refusal(
            UserError(
                f"A worker on {platform.node()} does not see the folder {folder!r}: name one that "
                "all workers share, by dask.config.set({'eventspace.scratch': ...})."
            )
        )
    try:
        return task(*given)
    except UserError as error:
        return Refusal(error)
