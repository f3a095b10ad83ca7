"""A GPU, by numba-cuda and CuPy: data stay on it, and sums and solves are one.

A descent takes place there if its indicators are free, its PMFs are solved by pairwise steps, it
has at most 32 events, and what is missing says nothing. So do chains with at most 64 events, all of
them side by side. All else runs on the CPU's engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event as Signal
from typing import Any

from numpy.typing import NDArray

from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.aside import Aside, Meanwhile
from eventspace.engines.cpu import CPU
from eventspace.engines.cuda.presence import available, check_available
from eventspace.engines.protocol import Factors, Observed, Stage, Step, T, Table
from eventspace.engines.workbench import Workbench
from eventspace.pmf import Pairwise

__all__ = ["CUDA", "available"]

ARRAYS = 24  # of users x events, and of items x events, that a chain has at a time
SHARE = 0.5  # of the free memory: the rest is for the table and its quadratics
MOST_ABREAST = 256


@dataclass(frozen=True)
class CUDA(CPU):
    """The engine of the first CUDA device, with ``n_threads`` threads for what it leaves open."""

    def __post_init__(self) -> None:
        check_available()

    def with_threads(self, n_threads: int) -> CUDA:
        """The same with another number of threads."""
        return CUDA(n_threads)

    def run(
        self,
        step: Step,
        table: Table,
        factors: Factors,
        *rows: NDArray[Any],
        at_a_time: int | None = None,
    ) -> Any:
        """Do the step for every row of a table; gives the sum of what the step returns.

        A step with a kernel of one row runs on the device, with sums from fixed-point factors: it
        is for draws, which rounding changes little. Others run on the cores.
        """
        if (
            isinstance(table, Entries)
            and hasattr(step, "of_one_row")
            and _is_for_rows(table, factors.shape[1])
        ):
            from eventspace.engines.cuda.rows import run_rows

            return run_rows(step, table, factors, rows)
        return super().run(step, table, factors, *rows, at_a_time=at_a_time)

    def abreast(self, observed: Observed, n_events: int, n_attributes: int) -> int | None:
        """As many as its memory has room for, if their draws are made there."""
        if not _are_for_rows(observed, n_events):
            return None
        from eventspace.engines.cuda.device import free_bytes

        tables: Any = observed.by_user, observed.by_item
        n_rows = sum(len(table.ptr) - 1 for table in tables)
        of_chain = 8.0 * n_rows * (n_events + n_attributes) * ARRAYS
        return int(max(min(SHARE * free_bytes() / of_chain, MOST_ABREAST), 1))

    def workbench(self, observed: Observed, n_events: int) -> Workbench:
        """The device, for a chain whose draws are made there."""
        if _are_for_rows(observed, n_events):
            from eventspace.engines.cuda.workbench import Device

            return Device()
        return super().workbench(observed, n_events)

    def aside(self, task: Callable[[bool | None, Signal], T], show: bool | None) -> Aside[T]:
        """Do a task in another thread, while the device is busy."""
        return Meanwhile(task)

    def close(self) -> None:
        """Give back the device's memory, but for tables that are still in use."""
        from eventspace.engines.cuda.device import let_go

        let_go()

    def stage(self, steps: Any, observed: Observed, pmf: Floats) -> Stage | None:
        """The stage of a descent with these half-steps from these PMFs; None: in this process."""
        from eventspace.engines.cuda.device import cuda
        from eventspace.engines.cuda.stage import MOST_EVENTS, DeviceStage
        from eventspace.engines.cuda.tables import table_of

        indicators, pmfs = steps
        by_user, by_item = observed.by_user, observed.by_item
        if not (isinstance(by_user, Entries) and isinstance(by_item, Entries)):
            return None
        free = getattr(indicators, "free", False) and isinstance(pmfs.solver, Pairwise)
        if not free or by_user.missing.size or not 0 < pmf.size <= len(pmf) * MOST_EVENTS:
            return None
        stream = cuda.stream()
        return DeviceStage(
            table_of(by_user, stream),
            table_of(by_item, stream),
            indicators.solver,
            indicators.penalty,
            pmfs.solver,
            pmfs.penalty,
            pmf,
            self.n_threads,
            stream,
        )


def _are_for_rows(observed: Observed, n_events: int) -> bool:
    return all(_is_for_rows(table, n_events) for table in (observed.by_user, observed.by_item))


def _is_for_rows(table: Table, n_events: int) -> bool:
    """Whether a kernel of one row can do a step for this table on the device."""
    from eventspace.engines.cuda.rows import MOST_EVENTS

    entries = isinstance(table, Entries) and not table.missing.size and len(table.ptr) > 1
    return entries and 0 < n_events <= MOST_EVENTS
