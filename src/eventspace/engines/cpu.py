"""The cores of this machine.

Rows are cut into chunks. A step that works row by row forms a quadratic, uses it, and forms the
next in its place. For any other, the quadratics of a chunk are formed, used and dropped, so at most
a few hundred exist at a time. Kernels release the GIL, and each chunk writes only its own rows: the
result does not depend on the number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from threading import Event as Signal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.threads import run_together
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.aside import Aside, Done
from eventspace.engines.gram import (
    linear_terms,
    n_parts,
    normal_equations,
    padded,
    unpack_equations,
)
from eventspace.engines.protocol import (
    Factors,
    Job,
    Observed,
    Product,
    Sets,
    Stage,
    Step,
    Sums,
    T,
    Table,
)
from eventspace.engines.workbench import Cores, Workbench

CHUNK_BYTES = 1 << 18  # of quadratics, at most: they stay in the cache until they are solved
CHUNK_WORK = 2_000_000  # multiply-adds, at least: much less is not worth a thread's attention
LIGHT = 4  # times as much where rows share a Gram matrix: what is left is bound by Python
MOST_WORK = 1 << 30  # a few hundredths of a second
CHUNKS_PER_THREAD = 16  # so that all threads end at about the same time
LARGE_CHUNKS = 4  # where factors are summed in parts, each of which serves all rows of a chunk
SOLVE_WORK = 8  # a solve counts as 8 D entries
BLOCKS = 64  # chunks of a table whose quadratics are held a few at a time

Form = Callable[[slice, Floats, Floats, Floats], None]  # writes G, h and e of some rows
Work = Callable[[slice], Any]  # does a step for the rows of a chunk


@dataclass(frozen=True)
class CPU:
    """The engine with ``n_threads`` threads."""

    n_threads: int = 1

    def with_threads(self, n_threads: int) -> CPU:
        """The same with another number of threads."""
        return CPU(n_threads)

    def run(
        self,
        step: Step,
        table: Table,
        factors: Factors,
        *rows: NDArray[Any],
        at_a_time: int | None = None,
    ) -> Any:
        """Do the step for every row of a table; gives the sum of what the step returns.

        Chunks are of about equal work or, with ``at_a_time``, of equal numbers of rows.
        """
        of_column = getattr(step, "of_column", None)
        if of_column is not None and isinstance(table, Entries):
            table = table.times(of_column)
        if _is_row_by_row(step, table, factors.shape[0]):
            cuts, begin = _row_by_row(step, table, factors, rows, self.n_threads)
            cuts = cuts if at_a_time is None else _blocks(table)
        else:
            plain = factors.numbers if isinstance(factors, Sets) else factors
            cuts, begin = _by_quadratics(step, table, plain, rows, at_a_time)
        chunks = deque(enumerate(cuts))
        sums: list[Any] = [0.0] * len(cuts)

        def work() -> None:
            do = begin()
            while chunks:
                try:
                    k, chunk = chunks.popleft()
                except IndexError:  # another thread was quicker
                    return
                sums[k] = do(chunk)

        others = [self._pool.submit(work) for _ in range(min(self.n_threads, len(chunks)) - 1)]
        try:
            work()
        finally:
            chunks.clear()  # an interrupt here ends the other threads, too
            for other in others:
                other.result()
        return sum(given for given in sums if given is not None)

    def stage(self, steps: Any, observed: Observed, pmf: Floats) -> Stage | None:
        """None: a descent takes place in this process."""
        return None

    def abreast(self, observed: Observed, n_events: int, n_attributes: int) -> int | None:
        """None: each chain has its own thread."""
        return None

    def workbench(self, observed: Observed, n_events: int) -> Workbench:
        """A chain's arrays are NumPy's."""
        return Cores()

    def together(
        self,
        title: str,
        jobs: Sequence[Job],
        length: int,
        show: bool | None,
        take: Callable[[int, Any], None] = lambda k, found: None,
        stop: Signal | None = None,
    ) -> None:
        """Run jobs to their ends, each in a thread."""

        def steps(k: int) -> Generator[int, None, None]:
            yield from jobs[k].steps()
            take(k, jobs[k].found)

        tasks = [steps(k) for k in range(len(jobs))]
        run_together(title, tasks, length, self.n_threads, show, stop)

    def aside(self, task: Callable[[bool | None, Signal], T], show: bool | None) -> Aside[T]:
        """Do a task at once."""
        return Done(task(show, Signal()))

    def close(self) -> None:
        """Nothing: threads end with the engine."""

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.n_threads - 1)


def _is_row_by_row(step: Step, table: Table, n_columns: int) -> bool:
    """Whether a step forms its own quadratics, and rows have one each."""
    if not isinstance(table, Entries) or table.missing.size:
        return False
    return getattr(step, "row_by_row", None) is not None and _full_table(table, n_columns) is None


def _row_by_row(
    step: Any, entries: Any, factors: Factors, rows: tuple[NDArray[Any], ...], n_threads: int
) -> tuple[list[slice], Callable[[], Work]]:
    """The chunks, and what does the step for one. How rows are cut makes no difference to it."""
    kernel, n_events = step.row_by_row, factors.shape[1]
    if not isinstance(factors, Sets):
        wide = padded(factors)
    else:  # which are counted, if no entry has a weight
        wide = padded(factors.numbers) if entries.weight.size else factors.codes

    def work(chunk: slice) -> Any:
        ptr = entries.ptr[chunk.start : chunk.stop + 1]
        return kernel(ptr, *entries[1:4], wide, n_events, *(array[chunk] for array in rows))

    spent = n_events**2 * (entries.ptr + _solves(entries, n_events))
    alone = spent[-1] // MOST_WORK  # so that Ctrl-C is heard
    each = LARGE_CHUNKS if wide.ndim > 1 and n_parts(wide) > 1 else CHUNKS_PER_THREAD
    n_chunks = max(alone, min(spent[-1] // CHUNK_WORK, n_threads * each), 1)
    return _slices(spent, n_chunks if n_threads > 1 else max(alone, 1)), lambda: work


def _by_quadratics(
    step: Step,
    table: Table,
    factors: NDArray[Any],
    rows: tuple[NDArray[Any], ...],
    at_a_time: int | None,
) -> tuple[list[slice], Callable[[], Work]]:
    """The chunks, and what makes each thread's own room for quadratics, and does the step there."""
    n_events = factors.shape[1]
    form, shared = _former(table, factors)
    cuts = _chunks(table, n_events, shared) if at_a_time is None else _blocks(table)
    most = at_a_time or max((chunk.stop - chunk.start for chunk in cuts), default=0)

    def begin() -> Work:
        gram = np.empty((1 if shared else most, n_events, n_events))
        linear, energy = np.empty((most, n_events)), np.empty(most)

        def work(chunk: slice) -> Any:
            total: Any = None
            for first in range(chunk.start, chunk.stop, most):
                part = slice(first, min(first + most, chunk.stop))
                n = part.stop - first
                G, h, e = gram[:n], linear[:n], energy[:n]
                form(part, G, h, e)
                given = step(G, h, e, *(array[part] for array in rows))
                total = given if total is None else total + given
            return total

        return work

    return cuts, begin


def _former(table: Table, factors: Floats) -> tuple[Form, bool]:
    """What forms the quadratics of some rows, and whether all rows share one Gram matrix.

    Where a full table has its weights by column they do, and the linear terms are products. So it
    is where what is missing says no, with the weight that a stored entry has in its column. With
    another weight, a row's stored entries add to the shared matrix what they have more.
    """
    if isinstance(table, Sums):

        def of_sums(rows: slice, G: Floats, h: Floats, e: Floats) -> None:
            unpack_equations(table.packed[rows], G, h, e)

        return of_sums, False
    if isinstance(table, Product):
        weighted = factors * table.weight[:, None]
        common, linear = weighted.T @ factors, table.left @ (table.right.T @ weighted)

        def of_product(rows: slice, G: Floats, h: Floats, e: Floats) -> None:
            G[:], h[:], e[:] = common, linear[rows], table.energy[rows]

        return of_product, True
    full = _full_table(table, len(factors))
    if full is not None:
        common = factors.T @ factors

        def of_full(rows: slice, G: Floats, h: Floats, e: Floats) -> None:
            values = full[rows].astype(np.float64)
            G[:], h[:], e[:] = common, values @ factors, np.square(values).sum(axis=1)

        return of_full, True
    ptr, index, value, weight, missing = table
    wide = padded(factors)
    if not missing.size:

        def of_entries(rows: slice, G: Floats, h: Floats, e: Floats) -> None:
            chunk = ptr[rows.start : rows.stop + 1]
            normal_equations(chunk, index, value, weight, wide, G, h, e)

        return of_entries, False
    common, more = (factors * missing[:, None]).T @ factors, _more(table)
    common = (common + common.T) / 2  # a product is so but for rounding, by which flips would cycle

    def of_all(rows: slice, G: Floats, h: Floats, e: Floats) -> None:
        chunk = ptr[rows.start : rows.stop + 1]
        G[:] = common
        for part in more:
            own = np.empty_like(G)
            normal_equations(chunk, index, value, part, wide, own, h, e)
            G += own
        linear_terms(chunk, index, value, weight, factors, h, e)

    return of_all, not more


def _more(entries: Entries) -> list[NDArray[np.float32]]:
    """What the weight of each entry is more than that of a missing one in its column.

    The sum of up to two parts, for one is not as exact as sums that decide must be.
    """
    weight = entries.weight.astype(np.float64) if entries.weight.size else 1.0
    more = weight - entries.missing[entries.index]
    first = more.astype(np.float32)
    return [part for part in (first, (more - first).astype(np.float32)) if part.any()]


def _full_table(entries: Entries, n_columns: int) -> NDArray[np.float32] | None:
    """The values as a dense table if every cell is observed and unweighted, else None."""
    n_rows = len(entries.ptr) - 1
    if entries.weight.size or entries.value.size != n_rows * n_columns:
        return None  # where all is stored, nothing is missing
    return entries.value.reshape(n_rows, n_columns)


def _chunks(table: Table, n_events: int, shared: bool) -> list[slice]:
    """Cut the rows into slices of about equal work, whatever the number of threads."""
    n_entries = table.ptr if isinstance(table, Entries) else 0
    light = shared and isinstance(table, Entries) and table.missing.size > 0
    each = n_events if light else n_events**2  # multiply-adds
    work = (n_entries + _solves(table, n_events)) * each
    held = 0 if light else _n_rows(table) * n_events**2 * 8
    held //= LIGHT if isinstance(table, Sums) else 1
    worth = CHUNK_WORK * (LIGHT if light else 1)
    return _slices(work, max(work[-1] // worth, held // CHUNK_BYTES, 1))


def _blocks(table: Table) -> list[slice]:
    return _slices(np.arange(_n_rows(table) + 1), BLOCKS)


def _solves(table: Table, n_events: int) -> NDArray[np.int64]:
    """What the solves of the first rows are worth, in entries."""
    return np.asarray(SOLVE_WORK * n_events * np.arange(_n_rows(table) + 1))


def _slices(work: NDArray[np.int64], n: Any) -> list[slice]:
    """Up to n slices of rows with about equal work; ``work`` is that of the rows before each."""
    cuts = np.searchsorted(work, np.linspace(0, work[-1], n + 1))
    return [slice(first, last) for first, last in pairwise(np.unique(cuts).tolist())]


def _n_rows(table: Table) -> int:
    if isinstance(table, Sums):
        return len(table.packed)
    return len(table.left) if isinstance(table, Product) else len(table.ptr) - 1
