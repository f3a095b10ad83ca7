"""The workers of a Dask cluster, which may go at any time.

Tasks are stateless: they read the files of a folder that all workers share, write files there, and
return sums. What a lost worker was about is done again by another, and gives the same bits.

The cluster is that of the current ``distributed.Client``. If there is none, processes of this
machine are started, and end with the fit. The folder is a new one in the setting
``eventspace.scratch`` of Dask, else in its ``temporary-directory``, else in that of the system.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from threading import Event as Signal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.extras import extra
from eventspace._base.progress import bar
from eventspace._base.types import Floats
from eventspace.data.blocks import Blocks, blocks_of
from eventspace.data.entries import Entries
from eventspace.engines.aside import Aside
from eventspace.engines.cpu import CPU
from eventspace.engines.protocol import Engine, Factors, Job, Observed, Stage, Step, T, Table
from eventspace.engines.workbench import Workbench

with extra("dask", "The engine 'dask' needs", "distributed"):
    import distributed  # noqa: F401

import dask

from eventspace.engines.dask.crew import Crew
from eventspace.engines.dask.parcels import Parcels, finished
from eventspace.engines.dask.stage import BlockStage

SCRATCH = "eventspace.scratch"  # a setting of Dask's


class Dask:
    """The engine; what is small, or is no descent, runs on ``n_threads`` threads of this process.

    It has workers, and a folder, from the first time that it needs them until it is closed.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._cut: tuple[Observed, Blocks] | None = None

    def with_threads(self, n_threads: int) -> Engine:
        """The cores of this machine."""
        return CPU(n_threads)

    def run(
        self,
        step: Step,
        table: Table,
        factors: Factors,
        *rows: NDArray[Any],
        at_a_time: int | None = None,
    ) -> Any:
        """Do the step on the cores of this machine."""
        return self._here.run(step, table, factors, *rows, at_a_time=at_a_time)

    def stage(self, steps: Any, observed: Observed, pmf: Floats) -> Stage | None:
        """Blocks of users on the workers, where items need their own sums only.

        In this process remain tables in which what is missing says no, products, and indicators
        that are shared or given.
        """
        if not getattr(steps.update_indicators, "free", False):
            return None
        blocks = getattr(observed, "blocks", None) or self._blocks(observed)
        return None if blocks is None else BlockStage(self.crew, blocks, steps, pmf, self._here)

    def abreast(self, observed: Observed, n_events: int, n_attributes: int) -> int | None:
        """None: each chain is a task."""
        return None

    def workbench(self, observed: Observed, n_events: int) -> Workbench:
        """That of the cores of this machine."""
        return self._here.workbench(observed, n_events)

    def together(
        self,
        title: str,
        jobs: Sequence[Job],
        length: int,
        show: bool | None,
        take: Callable[[int, Any], None] = lambda k, found: None,
        stop: Signal | None = None,
    ) -> None:
        """Run jobs to their ends, one task each; arrays that they share are sent once."""
        parcels = Parcels(self.folder)
        packed = [(parcels.packed(job),) for job in jobs]
        with bar(title, length * len(jobs), show) as update:
            for done, (k, found) in enumerate(self.crew.as_completed(finished, packed)):
                jobs[k].found = found
                take(k, found)
                update(length * (done + 1), "")

    def aside(self, task: Callable[[bool | None, Signal], T], show: bool | None) -> Aside[T]:
        """Do a task at once: it may need the workers."""
        return self._here.aside(task, show)

    def close(self) -> None:
        """Give up the workers and remove the folder."""
        if "crew" in vars(self):
            self.crew.close()
        if "folder" in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def crew(self) -> Crew:
        """The workers."""
        return Crew.found(self.n_threads, self.folder)

    @cached_property
    def folder(self) -> str:
        """Where blocks, PMFs and codes lie as long as they are needed."""
        where = dask.config.get(SCRATCH, None) or dask.config.get("temporary-directory", None)
        return tempfile.mkdtemp(prefix="eventspace-", dir=where)

    @cached_property
    def _here(self) -> CPU:
        return CPU(self.n_threads)

    def _blocks(self, observed: Observed) -> Blocks | None:
        """The blocks of a table that is in memory, cut when it is first learnt from."""
        by_user = observed.by_user
        if not isinstance(by_user, Entries) or by_user.missing.size:
            return None
        if self._cut is None or self._cut[0] is not observed:
            n_items = len(np.asarray(observed.by_item.ptr)) - 1  # type: ignore[union-attr]
            self._cut = observed, blocks_of(by_user, n_items, tempfile.mkdtemp(dir=self.folder))
        return self._cut[1]
