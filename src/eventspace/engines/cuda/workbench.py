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

    def each(self, kernel: RowKernel, *given: Any) -> None:
        """Do it with a thread for each row."""
        n_rows, columns = len(given[0]), given[0].shape[-1]
        launch = make_each(kernel.of_one, n_real_for(columns))
        rows = tuple(as_numba(array) for array in given)
        launch[blocks_for(n_rows, THREADS), THREADS, self.room.stream](n_rows, rows)

    def sums_of_rows(self, entries: Entries, factors: Held) -> Held:
        """The sum of the factors that the entries of each row point to: rows x events."""
        table, stream = table_of(entries, self.room.stream), self.room.stream
        n_events = factors.shape[1]
        found = arrays.empty((table.n_rows, n_events))
        single = as_numba(factors.astype(np.float32))
        for part in table.parts(stream, n_events):
            cut = table.segments(part.rows, stream)
            sums = self.room.array("sums of rows", (len(cut.begin), n_events))
            _sum_segments[len(cut.begin), LANES, stream](
                cut.begin, cut.end, part.offset, part.index, single, sums
            )
            mine = as_numba(found[part.rows])
            _fold_segments[blocks_for(mine.size, FOLD_THREADS), FOLD_THREADS, stream](
                cut.first, sums, mine
            )
        return found

    def weighted_squares(self, rows: Held, weights: Held) -> Floats:
        """``sum_k weights[k, d] rows[k] rows[k]'`` for each column d, for NumPy."""
        return np.asarray(self.fetch((weights.T[:, None, :] * rows.T) @ rows))

    def sets(self, indicators: Held) -> Factors:
        """As they are."""
        return np.asarray(indicators) if SIMULATED else indicators


@cache
def make_each(function: Any, n_real: int) -> Any:
    """The kernel that calls a function for each row."""

    @cuda.jit
    def each(n_rows: int, rows: Any) -> None:
        """One thread per row, which gets an array to write on."""
        real = cuda.local.array(n_real, float64)
        k = cuda.grid(1)
        if k < n_rows:
            function(k, real, *plain(rows))

    return each


@cuda.jit
def _sum_segments(begin: Any, end: Any, offset: int, index: Any, factors: Any, sums: Any) -> None:
    """A block for each segment, a thread for each column."""
    segment = cuda.blockIdx.x
    for d in range(cuda.threadIdx.x, factors.shape[1], cuda.blockDim.x):
        total = 0.0
        for t in range(begin[segment] - offset, end[segment] - offset):
            total += factors[index[t], d]
        sums[segment, d] = total


@cuda.jit
def _fold_segments(first: Any, sums: Any, found: Any) -> None:
    """Add up the segments of each row."""
    k, d = cuda.grid(1) // found.shape[1], cuda.grid(1) % found.shape[1]
    if k < found.shape[0]:
        total = 0.0
        for segment in range(first[k] - first[0], first[k + 1] - first[0]):
            total += sums[segment, d]
        found[k, d] = total
