"""A task beside the others of a fit: it is done, or goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Signal
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
Given = TypeVar("Given", covariant=True)


class Aside(Protocol[Given]):
    """A task whose result is asked for later."""

    def result(self) -> Given:
        """What it gives, once it has ended."""

    def close(self) -> None:
        """Stop it, if nobody needs its result any more."""


class Done(Generic[T]):
    """A task that was done at once."""

    def __init__(self, given: T) -> None:
        self.given = given

    def result(self) -> T:
        """What it gave."""
        return self.given

    def close(self) -> None:
        """Nothing is left to stop."""


class Meanwhile(Generic[T]):
    """A task in a thread of its own, which shows no progress bar."""

    def __init__(self, task: Callable[[bool | None, Signal], T]) -> None:
        self._stop, self._pool = Signal(), ThreadPoolExecutor(1)
        self._running = self._pool.submit(task, False, self._stop)

    def result(self) -> T:
        """What it gives, once it has ended."""
        return self._running.result()

    def close(self) -> None:
        """Let it stop after its next step, and wait for that."""
        self._stop.set()
        self._pool.shutdown()
