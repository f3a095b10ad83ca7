"""Sums over all users, in a fixed order: of PMFs, of squared distances, of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64

from eventspace._base.types import Floats
from eventspace.engines.cuda.device import blocks_for, cuda, to_host

THREADS = 256  # at least as many as there are columns
ROWS = 1024  # of a block


@cuda.jit
def _column_sums(x: Any, counted: Any, centre: Any, squared: bool, sums: Any) -> None:
    """Each block adds up ``x - centre``, or its squares, over those of its rows that count."""
    parts = cuda.shared.array(THREADS, float64)
    block, thread, n_columns = cuda.blockIdx.x, cuda.threadIdx.x, centre.size
    stop, abreast = min((block + 1) * ROWS, x.shape[0]), THREADS // n_columns
    d, total = thread % n_columns, 0.0
    if thread < abreast * n_columns:
        for row in range(block * ROWS + thread // n_columns, stop, abreast):
            if counted[row]:
                here = x[row, d] - centre[d]
                total += here * here if squared else here
    parts[thread] = total
    cuda.syncthreads()
    if thread < n_columns:
        total = 0.0
        for k in range(abreast):
            total += parts[k * n_columns + thread]
        sums[block, thread] = total


def column_sums(x: Any, counted: Any, centre: Floats, squared: bool, stream: Any) -> Floats:
    """The sums of ``x - centre``, or of its squares, over the rows that are counted."""
    n_blocks = blocks_for(len(x), ROWS)
    sums = cuda.device_array((n_blocks, centre.size), np.float64, stream=stream)
    around = cuda.to_device(centre, stream=stream)
    _column_sums[n_blocks, THREADS, stream](x, counted, around, squared, sums)
    return np.asarray(to_host(sums, stream).sum(axis=0))
