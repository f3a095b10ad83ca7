"""Sets of one event: the indicator step where items are told apart by one event each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Codes, Floats


@dataclass(frozen=True)
class OneHot:
    """The indicator step over sets of one event: D costs, and the least of them."""

    guarantee: ClassVar[str] = "exact"

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Codes, seeds: NDArray[np.uint64]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Improve codes in place; return the cost of each row, and that it is least.

        A code that is not one-hot, such as the empty set of a start, is not an incumbent.
        """
        costs = np.einsum("idd->id", S) - 2.0 * v
        rows = np.arange(len(codes))
        best, now = costs.argmin(axis=1), event_of(codes)
        now = np.where(np.bitwise_count(codes) == 1, now, best)
        best = np.where(costs[rows, best] < costs[rows, now], best, now)
        codes[:] = one_hot(best)
        return costs[rows, best] + energy, np.ones(len(codes), dtype=np.bool_)


def one_hot(events: NDArray[np.integer[Any]]) -> Codes:
    """The codes of sets of one event."""
    return np.left_shift(np.uint64(1), events.astype(np.uint64))


def event_of(codes: Codes) -> NDArray[np.int64]:
    """The event of each one-hot code."""
    return np.asarray(np.bitwise_count(codes - np.uint64(1)), dtype=np.int64)
