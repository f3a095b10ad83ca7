"""The two half-steps on the cores of this machine.

Users are independent given the indicators, items given the PMFs. Rows are cut into chunks of about
equal work; a chunk's quadratics are formed, solved and forgotten, so that at most a few hundred of
them exist at a time. Kernels release the GIL and each chunk writes its own rows only: the result
does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import numbers
from eventspace._base.types import Codes, Floats
from eventspace.data.entries import Entries
from eventspace.engines.gram import normal_equations

CHUNK_BYTES = 1 << 18  # of quadratics, at most: they stay in the cache until they are solved
CHUNK_WORK = 2_000_000  # multiply-adds, at least: much less is not worth a thread's attention
SOLVE_WORK = 8  # a solve counts as so many times D entries


class IndicatorSolver(Protocol):
    """One of ``eventspace.indicators``."""

    guarantee: ClassVar[str]

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Codes, seeds: NDArray[np.uint64]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Improve the codes in place; give costs, and which are proved least."""


class PmfSolver(Protocol):
    """One of ``eventspace.pmf``."""

    guarantee: ClassVar[str]

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Improve the PMFs in place; give costs and duality gaps."""


class Indicators(NamedTuple):
    """What an indicator step gives: codes, each item's cost, and which are proved least."""

    codes: Codes
    cost: Floats
    proved: NDArray[np.bool_]


class Pmfs(NamedTuple):
    """What a pmf step gives: PMFs, each user's squared error, and the duality gaps."""

    pmf: Floats
    error: Floats
    gap: Floats


@dataclass
class CPU:
    """Runs the steps with the given solvers and penalties on ``n_threads`` threads."""

    indicator_solver: IndicatorSolver
    pmf_solver: PmfSolver
    indicator_penalty: float = 0.0
    pmf_penalty: float = 0.0
    n_threads: int = 1

    def update_indicators(
        self, by_item: Entries, pmf: Floats, codes: Codes, seeds: NDArray[np.uint64]
    ) -> Indicators:
        """(Q2) for every item: the cost of item i is its squared error and mu |psi_i|."""
        codes = codes.copy()
        cost = np.empty(len(codes))
        proved = np.empty(len(codes), dtype=np.bool_)

        def step(rows: slice, S: Floats, v: Floats, energy: Floats) -> None:
            v -= 0.5 * self.indicator_penalty
            cost[rows], proved[rows] = self.indicator_solver(S, v, energy, codes[rows], seeds[rows])

        self.each_chunk(by_item, pmf, step)
        return Indicators(codes, cost, proved)

    def update_pmfs(self, by_user: Entries, pmf: Floats, codes: Codes, centre: Floats) -> Pmfs:
        """(Q1) for every user: the squared error and lambda |theta_u - centre|^2 is minimised."""
        pmf = pmf.copy()
        error, gap = np.empty(len(pmf)), np.empty(len(pmf))
        n_events = pmf.shape[1]
        indicators = numbers(codes, n_events)
        diagonal = np.arange(n_events)

        def step(rows: slice, Q: Floats, r: Floats, energy: Floats) -> None:
            Q[:, diagonal, diagonal] += self.pmf_penalty
            r += self.pmf_penalty * centre
            cost, gap[rows] = self.pmf_solver(Q, r, pmf[rows])
            ridge = pmf[rows] @ (-2.0 * centre) + np.einsum("ud,ud->u", pmf[rows], pmf[rows])
            # a sum of squares, which rounding may leave just below zero
            error[rows] = np.maximum(cost + energy - self.pmf_penalty * ridge, 0.0)

        self.each_chunk(by_user, indicators, step)
        return Pmfs(pmf, error, gap)

    def each_chunk(
        self,
        entries: Entries,
        factors: Floats,
        step: Callable[[slice, Floats, Floats, Floats], None],
    ) -> None:
        """Form the quadratics of each chunk of rows and hand them to ``step``."""
        n_events = factors.shape[1]
        chunks = deque(_chunks(entries.ptr, n_events))
        most = max((rows.stop - rows.start for rows in chunks), default=0)
        full = _full_table(entries, len(factors))
        shared = None if full is None else factors.T @ factors

        def work() -> None:
            gram = np.empty((most if full is None else 1, n_events, n_events))
            linear, energy = np.empty((most, n_events)), np.empty(most)
            while chunks:
                try:
                    rows = chunks.popleft()
                except IndexError:  # another thread was quicker
                    return
                n = rows.stop - rows.start
                S, v, e = gram[:n], linear[:n], energy[:n]
                if full is None:
                    ptr = entries.ptr[rows.start : rows.stop + 1]
                    normal_equations(
                        ptr, entries.index, entries.value, entries.weight, factors, S, v, e
                    )
                else:
                    values = full[rows].astype(np.float64)
                    S[:], v[:], e[:] = shared, values @ factors, np.square(values).sum(axis=1)
                step(rows, S, v, e)

        others = [self._pool.submit(work) for _ in range(min(self.n_threads, len(chunks)) - 1)]
        try:
            work()
        finally:
            chunks.clear()  # an interrupt here ends the other threads, too
            for other in others:
                other.result()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.n_threads - 1)


def _full_table(entries: Entries, n_columns: int) -> NDArray[np.float32] | None:
    """The values as a dense table if every cell is observed and unweighted, else None.

    Then all rows share one Gram matrix, and the linear terms are one matrix product.
    """
    n_rows = len(entries.ptr) - 1
    if entries.weight.size or entries.value.size != n_rows * n_columns:
        return None
    return entries.value.reshape(n_rows, n_columns)


def _chunks(ptr: NDArray[np.int64], n_events: int) -> list[slice]:
    """Cut the rows into slices of about equal work, whatever the number of threads."""
    n_rows = len(ptr) - 1
    work = (ptr + SOLVE_WORK * n_events * np.arange(n_rows + 1)) * n_events**2
    n_chunks = max(work[-1] // CHUNK_WORK, n_rows * n_events**2 * 8 // CHUNK_BYTES, 1)
    cuts = np.unique(np.searchsorted(work, np.linspace(0, work[-1], n_chunks + 1)))
    return [slice(int(first), int(last)) for first, last in pairwise(cuts)]


def count_threads(n_jobs: int) -> int:
    """Threads for scikit-learn's ``n_jobs``: -1 is every core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return n_jobs if n_jobs > 0 else max(1, (cores or 1) + 1 + n_jobs)
