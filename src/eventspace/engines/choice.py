"""Which engine learns, where that is left to us, and why."""

from __future__ import annotations

from typing import NamedTuple

MANY = 5_000_000  # ratings: below it the cores take less than a second an iteration


class Choice(NamedTuple):
    """An engine, and the reason for it."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def choose(asked: str, n_threads: int, n_observed: int = 0) -> Choice:
    """The engine that was asked for, or for "auto" the best to descend on ``n_observed`` ratings.

    Chains, which have no use for that number yet, leave it out: they run on the cores.
    """
    cores = f"{n_threads} thread{'s' if n_threads != 1 else ''} of this machine"
    if asked != "auto":
        return Choice(asked, cores if asked == "cpu" else "as asked for")
    if n_observed < MANY:
        few = f"a GPU pays for descents on {MANY:,} ratings or more"
        return Choice("cpu", f"{cores}; {few}")
    from eventspace.engines.cuda.presence import available

    why_not = available()
    if why_not:
        return Choice("cpu", f"{cores}; of GPUs {why_not}")
    return Choice("cuda", f"there is a GPU, and {n_observed:,} ratings are worth it")
