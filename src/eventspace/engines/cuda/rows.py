"""A step on the device, row by row: the quadratics of all rows, then a thread for each of them.

The step's own kernel of one row is compiled for the device. So the formulas stand in one place, and
the same stream of random numbers gives the same draw on any machine, up to rounding.
"""

from __future__ import annotations

from functools import cache
from threading import local
from typing import Any

import numpy as np
from numba import float64, int64

from eventspace.data.entries import Entries
from eventspace.engines.cuda.device import Room, blocks_for, cuda, to_host
from eventspace.engines.cuda.gram import as_fixed, expand, form_quadratics, form_sums, sums_for
from eventspace.engines.cuda.presence import SIMULATED
from eventspace.engines.cuda.tables import Segments, table_of
from eventspace.engines.protocol import ROOM, Factors, Sets

MOST_EVENTS = 64  # whose fixed-point numbers a warp fetches at once
THREADS = 64

_mine = local()


def room_of_thread() -> Room:
    """This thread's stream and arrays: tasks of several threads run side by side."""
    if not hasattr(_mine, "room"):
        _mine.room = Room(cuda.stream())
    room: Room = _mine.room
    return room


def _plain(arrays: Any) -> Any:
    """The arrays as a kernel of the CPU takes them, which is what the simulator calls."""
    return tuple(getattr(getattr(array, "_item", array), "_ary", array) for array in arrays)


if not SIMULATED:

    @cuda.jit(device=True)
    def _plain(arrays: Any) -> Any:
        return arrays


@cache
def make_each(function: Any, n_events: int) -> Any:
    """The kernel that calls a function for each row."""
    n_real = n_events * ROOM[0] + ROOM[1]

    @cuda.jit
    def each(quadratics: Any, rows: Any) -> None:
        """One thread per row, which gets its quadratic, and two arrays to write on."""
        whole = cuda.local.array(n_events, int64)
        real = cuda.local.array(n_real, float64)
        G, h, e = _plain(quadratics)
        k = cuda.grid(1)
        if k < e.size:
            function(k, G[k], h[k], e[k], whole, real, *_plain(rows))

    return each


def run_rows(step: Any, entries: Entries, factors: Factors, rows: tuple[Any, ...]) -> None:
    """Do a step that has a kernel of one row; factors lie between zero and one."""
    function, n_read, numbers = step.of_one_row
    n_events, room = factors.shape[1], room_of_thread()
    table, how = table_of(entries, room.stream), {}
    of_column = getattr(step, "of_column", None)
    if of_column is not None:
        how["of_column"] = room.copy("of_column", of_column.astype(np.float32))
    if isinstance(factors, Sets):
        fixed = expand(room.copy("codes", factors.codes), n_events, room)
    else:
        fixed = room.copy("factors", as_fixed(factors, n_events))
    kernel = make_each(function, n_events)
    for part in table.parts(room.stream, sums_for(n_events)):
        ptr = table.ptr[part.rows.start : part.rows.stop + 1]
        cut = Segments.of(ptr[:-1], ptr[1:])
        segments = Segments(*(room.copy(f"segments {k}", array) for k, array in enumerate(cut)))
        sums = form_sums(segments, part, fixed, n_events, room, weighted=table.weighted, **how)
        quadratics = form_quadratics(segments, sums, n_events, room)
        mine = [array[part.rows] for array in rows]
        there = tuple(room.copy(f"row {k}", array) for k, array in enumerate(mine))
        n_blocks = blocks_for(len(ptr) - 1, THREADS)
        kernel[n_blocks, THREADS, room.stream](quadratics, there + numbers)
        for here, array in zip(mine[n_read:], there[n_read:], strict=True):
            here[...] = to_host(array, room.stream)
