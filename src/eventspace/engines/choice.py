"""Which engine learns, where that is left to us, and why."""

from __future__ import annotations

from typing import NamedTuple

MANY = 5_000_000  # ratings: below it the cores take less than a second for an iteration
MANY_FOR_CHAINS = 1_000_000  # which have hundreds of iterations


class Choice(NamedTuple):
    """An engine, and the reason for it."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def choose(asked: str, n_threads: int, n_observed: int = 0, *, chains: bool = False) -> Choice:
    """The engine that was asked for, or for "auto" the best to learn from ``n_observed`` ratings.

    By a descent, or by chains. For what runs on cores only, the number is left out.
    """
    cores = f"{n_threads} thread{'s' if n_threads != 1 else ''} of this machine"
    if asked != "auto":
        return Choice(asked, cores if asked == "cpu" else "as asked for")
    many, what = (MANY_FOR_CHAINS, "chains") if chains else (MANY, "descents")
    if n_observed < many:
        return Choice("cpu", f"{cores}; a GPU pays for {what} on {many:,} ratings or more")
    from eventspace.engines.cuda.presence import available

    why_not = available()
    if why_not:
        return Choice("cpu", f"{cores}; of GPUs {why_not}")
    return Choice("cuda", f"there is a GPU, and {n_observed:,} ratings are worth it")
