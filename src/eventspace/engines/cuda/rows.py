"""A step on the device, row by row: the quadratics of all rows, then a thread for each of them.

The step's own kernel of one row is compiled for the device. So the formulas stand in one place, and
the same stream of random numbers gives the same draw on any machine, up to rounding.
"""

from __future__ import annotations

from functools import cache
from threading import local
from typing import Any

import numpy as np
from numba import float64, int64, uint64

from eventspace.data.entries import Entries
from eventspace.engines.cuda.device import Room, blocks_for, cuda, new_stream, to_host
from eventspace.engines.cuda.gram import (
    ONE,
    as_fixed,
    columns_for,
    expand,
    form_quadratics,
    form_sums,
    sums_for,
)
from eventspace.engines.cuda.presence import SIMULATED
from eventspace.engines.cuda.tables import table_of
from eventspace.engines.protocol import ROOM, Factors, Sets

MOST_EVENTS = 64  # whose fixed-point numbers a warp fetches at once
THREADS = 64
MOST_VIEWS = 1 << 14

_mine = local()
_views: dict[Any, Any] = {}


def room_of_thread() -> Room:
    """This thread's stream and arrays: tasks of several threads run side by side."""
    if not hasattr(_mine, "room"):
        _mine.room = Room(new_stream())
    room: Room = _mine.room
    return room


def n_real_for(n_events: int) -> int:
    """How many real numbers a kernel of one row may write on."""
    return n_events * ROOM[0] + ROOM[1]


class _There:
    """Memory of the device, described, and not kept from being used again."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = described


def as_numba(array: Any) -> Any:
    """An array of CuPy's as one of numba's, which it takes long to make: so they are kept.

    A view is an address, a shape and a type. CuPy gives the same memory out again and again.
    """
    if not hasattr(array, "__cuda_array_interface__") or isinstance(array, np.ndarray):
        return array
    if hasattr(array, "copy_to_host"):  # numba's own
        return array
    key = array.data.ptr, array.shape, array.dtype.char, array.strides
    view = _views.get(key)
    if view is None:
        if len(_views) >= MOST_VIEWS:
            _views.clear()
        described = dict(array.__cuda_array_interface__, stream=None)
        view = _views[key] = cuda.as_cuda_array(_There(described), sync=False)
    return view


def plain(arrays: Any) -> Any:
    """The arrays as a kernel of the CPU takes them, which is what the simulator calls."""
    return tuple(getattr(getattr(array, "_item", array), "_ary", array) for array in arrays)


if not SIMULATED:

    @cuda.jit(device=True)
    def plain(arrays: Any) -> Any:  # noqa: D103
        return arrays


@cache
def make_each(function: Any, n_events: int) -> Any:
    """The kernel that calls a function for each row."""
    n_real = n_real_for(n_events)

    @cuda.jit
    def each(quadratics: Any, rows: Any) -> None:
        """One thread per row, which gets its quadratic, and two arrays to write on."""
        whole = cuda.local.array(n_events, int64)
        real = cuda.local.array(n_real, float64)
        G, h, e = plain(quadratics)
        k = cuda.grid(1)
        if k < e.size:
            function(k, G[k], h[k], e[k], whole, real, *plain(rows))

    return each


@cuda.jit
def _to_fixed(factors: Any, fixed: Any) -> None:
    """Write factors as fixed-point numbers, two in a word."""
    row, word = cuda.grid(1) // fixed.shape[1], cuda.grid(1) % fixed.shape[1]
    if row < fixed.shape[0]:
        both = uint64(0)
        for half in range(2):
            d = 2 * word + half
            if d < factors.shape[1]:
                both |= uint64(float64(factors[row, d]) * ONE + 0.5) << uint64(32 * half)
        fixed[row, word] = both


def _fixed(factors: Factors, n_events: int, room: Room) -> Any:
    """Factors between zero and one in fixed point, on the device."""
    if isinstance(factors, Sets):
        return expand(room.copy("codes", factors.codes), n_events, room)
    if isinstance(factors, np.ndarray):
        return room.copy("factors", as_fixed(factors, n_events))
    fixed = room.array("factors", (len(factors), columns_for(n_events) // 2), np.uint64)
    n_blocks = blocks_for(fixed.size, THREADS)
    _to_fixed[n_blocks, THREADS, room.stream](as_numba(factors), fixed)
    return fixed


def run_rows(step: Any, entries: Entries, factors: Factors, rows: tuple[Any, ...]) -> None:
    """Do a step that has a kernel of one row; factors lie between zero and one.

    The rows are arrays of this process, which are copied there and back, or of the device.
    """
    function, n_read, numbers = step.of_one_row
    n_events, room = factors.shape[1], room_of_thread()
    table, how = table_of(entries, room.stream), {}
    of_column = getattr(step, "of_column", None)
    if of_column is not None:
        how["of_column"] = _there("of_column", of_column, room)
    fixed = _fixed(factors, n_events, room)
    kernel = make_each(function, n_events)
    for part in table.parts(room.stream, sums_for(n_events)):
        segments = table.segments(part.rows, room.stream)
        sums = form_sums(segments, part, fixed, n_events, room, weighted=table.weighted, **how)
        quadratics = form_quadratics(segments, sums, n_events, room)
        mine = [array[part.rows] for array in rows]
        there = tuple(_there(f"row {k}", array, room) for k, array in enumerate(mine))
        n_blocks = blocks_for(len(there[0]), THREADS)
        kernel[n_blocks, THREADS, room.stream](quadratics, there + numbers)
        for here, array in zip(mine[n_read:], there[n_read:], strict=True):
            if isinstance(here, np.ndarray):
                here[...] = to_host(array, room.stream)


def _there(name: str, array: Any, room: Room) -> Any:
    """An array on the device, as numba's kernels take it."""
    return room.copy(name, array) if isinstance(array, np.ndarray) else as_numba(array)
