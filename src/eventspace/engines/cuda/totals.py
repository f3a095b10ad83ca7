"""Sums over all users, in a fixed order: of PMFs, of squared distances, of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64

from eventspace._base.types import Floats
from eventspace.engines.cuda.device import blocks_for, cuda, to_host

THREADS = 32
ROWS = 1024  # of a block


@cuda.jit
def _column_sums(x: Any, counted: Any, centre: Any, squared: bool, sums: Any) -> None:
    """Each block adds up ``x - centre``, or its squares, over those of its rows that count."""
    parts = cuda.shared.array(THREADS, float64)
    block, thread = cuda.blockIdx.x, cuda.threadIdx.x
    stop = min((block + 1) * ROWS, x.shape[0])
    for d in range(centre.size):
        total = 0.0
        for row in range(block * ROWS + thread, stop, THREADS):
            if counted[row]:
                here = x[row, d] - centre[d]
                total += here * here if squared else here
        parts[thread] = total
        cuda.syncthreads()
        if thread == 0:
            total = 0.0
            for k in range(THREADS):
                total += parts[k]
            sums[block, d] = total
        cuda.syncthreads()


def column_sums(x: Any, counted: Any, centre: Floats, squared: bool, stream: Any) -> Floats:
    """The sums of ``x - centre``, or of its squares, over the rows that are counted."""
    n_blocks = blocks_for(len(x), ROWS)
    sums = cuda.device_array((n_blocks, centre.size), np.float64, stream=stream)
    around = cuda.to_device(centre, stream=stream)
    _column_sums[n_blocks, THREADS, stream](x, counted, around, squared, sums)
    return np.asarray(to_host(sums, stream).sum(axis=0))
