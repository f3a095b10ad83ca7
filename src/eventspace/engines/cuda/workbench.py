"""Chains on the device: their arrays are CuPy's, which take NumPy's functions.

Kernels are numba's, and run on the same stream. On numba's simulator the arrays are NumPy's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import float64
from numpy.typing import NDArray

from eventspace._base.extras import extra
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.cuda.device import blocks_for, cuda
from eventspace.engines.cuda.presence import SIMULATED
from eventspace.engines.cuda.rows import (
    THREADS,
    as_numba,
    n_real_for,
    plain,
    room_of_thread,
)
from eventspace.engines.cuda.tables import table_of
from eventspace.engines.protocol import Factors
from eventspace.engines.workbench import Held, RowKernel

arrays: Any = np
if not SIMULATED:
    with extra("cuda", "Chains on a GPU need", "cupy"):
        import cupy

    arrays = cupy

LANES = 32  # that add up the columns of a segment side by side
FOLD_THREADS = 256
SQUARES_BYTES = 1 << 27  # of products that are held at a time


class Device:
    """CuPy's arrays, on the stream of the thread that holds them."""

    def __init__(self) -> None:
        self.room = room_of_thread()

    def hold(self, array: NDArray[Any]) -> Held:
        """The array on the device."""
        return arrays.array(array)

    def fetch(self, array: Held) -> NDArray[Any]:
        """The array here."""
        return np.array(array) if SIMULATED else array.get()

    def numbers(self, of_chain: Any) -> Held:
        """A number, or one for each of several chains, to go with their rows x columns."""
        return self.hold(np.asarray(of_chain)[..., None, None])

    def each(self, kernel: RowKernel, rows: tuple[Held, ...], of_chain: tuple[Held, ...]) -> None:
        """Do it with a thread for each row of each chain."""
        n_chains, n_rows = (1, *rows[0].shape)[-3:-1]
        launch = make_each(kernel.of_one, n_real_for(rows[0].shape[-1]))
        flat = [array.reshape(-1, *array.shape[rows[0].ndim - 1 :]) for array in rows]
        shared = [array.reshape(n_chains, -1) for array in of_chain]
        given = tuple(as_numba(array) for array in flat + shared)
        n_blocks = blocks_for(n_chains * n_rows, THREADS)
        launch[n_blocks, THREADS, self.room.stream](n_chains, n_rows, given)

    def sums_of_rows(self, entries: Entries, factors: Held) -> Held:
        """The sum of the factors that the entries of each row point to: rows x events."""
        stream = self.room.stream
        table, (n_columns, n_events) = table_of(entries, stream), factors.shape[-2:]
        found = arrays.empty((*factors.shape[:-2], table.n_rows, n_events))
        single = factors.astype(np.float32).reshape(-1, n_columns, n_events)
        stacked = found.reshape(-1, table.n_rows, n_events)
        for part in table.parts(stream, n_events * len(single)):
            cut = table.segments(part.rows, stream)
            n_segments, n_rows = len(cut.begin), part.rows.stop - part.rows.start
            sums = self.room.array("sums of rows", (len(single) * n_segments, n_events))
            entries_there = cut.begin, cut.end, part.offset, part.index
            _sum_segments[(n_segments, len(single)), LANES, stream](
                *entries_there, as_numba(single), sums
            )
            n_blocks = blocks_for(len(single) * n_rows * n_events, FOLD_THREADS)
            _fold_segments[n_blocks, FOLD_THREADS, stream](
                cut.first, sums, part.rows.start, n_rows, as_numba(stacked)
            )
        return found

    def weighted_squares(self, rows: Held, weights: Held) -> Floats:
        """``sum_k weights[k, d] rows[k] rows[k]'`` for each column d, for NumPy."""
        (n_rows, n_features), n_columns = rows.shape[-2:], weights.shape[-1]
        found = arrays.empty((*weights.shape[:-2], n_columns, n_features, n_features))
        some = max(SQUARES_BYTES // (8 * n_rows * n_features), 1)  # columns at a time
        for k in np.ndindex(*rows.shape[:-2]):
            for first in range(0, n_columns, some):
                own = weights[k][:, first : first + some].T
                found[k][first : first + some] = (own[:, None, :] * rows[k].T) @ rows[k]
        return np.asarray(self.fetch(found))

    def sets(self, indicators: Held) -> Factors:
        """As they are."""
        return np.asarray(indicators) if SIMULATED else indicators


@cache
def make_each(function: Any, n_real: int) -> Any:
    """The kernel that calls a function for each row."""

    @cuda.jit
    def each(n_chains: int, n_rows: int, given: Any) -> None:
        """One thread per row, which gets an array to write on."""
        real = cuda.local.array(n_real, float64)
        k = cuda.grid(1)
        if k < n_chains * n_rows:
            function(k // n_rows, k, real, *plain(given))

    return each


@cuda.jit
def _sum_segments(begin: Any, end: Any, offset: int, index: Any, factors: Any, sums: Any) -> None:
    """A block for each segment and chain, a thread for each column."""
    segment, chain = cuda.blockIdx.x, cuda.blockIdx.y
    for d in range(cuda.threadIdx.x, factors.shape[2], cuda.blockDim.x):
        total = 0.0
        for t in range(begin[segment] - offset, end[segment] - offset):
            total += factors[chain, index[t], d]
        sums[chain * begin.size + segment, d] = total


@cuda.jit
def _fold_segments(first: Any, sums: Any, start: int, n_rows: int, found: Any) -> None:
    """Add up the segments of each row from ``start`` on, for all chains."""
    n_chains, _, n_events = found.shape
    row, d = cuda.grid(1) // n_events, cuda.grid(1) % n_events
    chain, k = row // n_rows, row % n_rows
    if chain < n_chains:
        n_segments, total = sums.shape[0] // n_chains, 0.0
        for segment in range(first[k] - first[0], first[k + 1] - first[0]):
            total += sums[chain * n_segments + segment, d]
        found[chain, start + k, d] = total
