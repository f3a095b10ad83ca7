"""A table on the device: the entries of its rows, cut into segments, in parts that fit.

Entries that the memory has room for are copied once, and stay as long as the caller's arrays live.
Others pass through two buffers: while kernels work on one part, the next is copied.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace.data.entries import Entries
from eventspace.engines.cuda.device import cuda, free_bytes, to_device

SEGMENT = 2048  # entries that one warp adds up, at most
SUMS_BYTES = 1 << 28  # of segments, held at once
MOST_STREAMED = 1 << 26  # entries of a part that is copied while another is used
SHARE = 0.4  # of the free memory: more than that for one order of a table, and it is streamed


class Segments(NamedTuple):
    """Stretches of entries: row k has ``first[k]:first[k + 1]`` of them."""

    begin: Any
    end: Any
    first: Any

    @classmethod
    def of(cls, starts: Any, stops: Any) -> Segments:
        """Cut rows with these entries; one without entries has one segment without any."""
        n_each = np.maximum(-(-(stops - starts) // SEGMENT), 1)
        first = np.append(0, np.cumsum(n_each)).astype(np.int64)
        place = np.arange(first[-1]) - np.repeat(first[:-1], n_each)
        begin = np.repeat(starts, n_each) + place * SEGMENT
        return cls(begin, np.minimum(begin + SEGMENT, np.repeat(stops, n_each)), first)

    def to_device(self, stream: Any) -> Segments:
        """The same on the device."""
        return Segments(*(to_device(array, stream) for array in self))


class Part(NamedTuple):
    """Some rows, with their entries on the device, which lie ``offset`` before where ptr says."""

    rows: slice
    offset: int
    index: Any
    value: Any
    weight: Any


@dataclass
class DeviceTable:
    """One order of the entries. The pointers are on both sides, the rest is where there is room.

    What is streamed is pinned as long as the table lives: the device reads it where it is.
    """

    ptr: NDArray[np.int64]
    entries: tuple[Any, Any, Any]  # index, value, weight: here, or there
    weighted: bool
    resident: bool
    stream: Any
    on_device: Any = field(init=False)  # the pointers
    _cuts: dict[int, list[slice]] = field(init=False, default_factory=dict)
    _segments: dict[tuple[int, int], Segments] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.on_device = to_device(self.ptr, self.stream)
        if not self.resident:
            held = ExitStack()
            for array in self.entries:
                if array.size:
                    with suppress(Exception):  # it is only quicker
                        held.enter_context(cuda.pinned(array))
            weakref.finalize(self, held.close)

    @classmethod
    def of(cls, entries: Entries, stream: Any) -> DeviceTable:
        """The table of some entries, copied if there is room."""
        arrays, weighted = entries[1:4], entries.weight.size > 0
        resident = sum(array.nbytes for array in arrays) < SHARE * free_bytes()
        if resident:
            arrays = tuple(to_device(array, stream) for array in arrays)
        return cls(entries.ptr, arrays, weighted, resident, stream)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.ptr) - 1

    def segments(self, rows: slice, stream: Any) -> Segments:
        """Those of some rows, on the device."""
        key = rows.start, rows.stop
        if key not in self._segments:
            ptr = self.ptr[rows.start : rows.stop + 1]
            found = Segments.of(ptr[:-1], ptr[1:]).to_device(stream)
            stream.synchronize()  # others use other streams
            self._segments[key] = found
        return self._segments[key]

    def parts(self, stream: Any, n_sums: int) -> Iterator[Part]:
        """All rows, some at a time: so few that ``n_sums`` of each segment have room.

        Whoever asks for the next has given the work with this one to ``stream``.
        """
        if n_sums not in self._cuts:
            self._cuts[n_sums] = self._cut(n_sums)
        cuts = self._cuts[n_sums]
        if self.resident:
            yield from (Part(rows, 0, *self.entries) for rows in cuts)
            return
        most = max(int(self.ptr[rows.stop] - self.ptr[rows.start]) for rows in cuts)
        kinds = [array.dtype for array in self.entries]
        buffers = [[cuda.device_array(max(most, 1), kind) for kind in kinds] for _ in range(2)]
        copying, used = cuda.stream(), [cuda.event(), cuda.event()]

        def copy(k: int) -> Any:
            low, high = self.ptr[cuts[k].start], self.ptr[cuts[k].stop]
            for array, buffer in zip(self.entries, buffers[k % 2], strict=True):
                if array.size and high > low:
                    buffer[: high - low].copy_to_device(array[low:high], stream=copying)
            copied = cuda.event()
            copied.record(copying)
            return copied

        copied = copy(0)
        for k, rows in enumerate(cuts):
            copied.wait(stream)
            if k + 1 < len(cuts):
                if k > 0:
                    used[(k + 1) % 2].wait(copying)
                copied = copy(k + 1)
            yield Part(rows, int(self.ptr[rows.start]), *buffers[k % 2])
            used[k % 2].record(stream)
        stream.synchronize()

    def _cut(self, n_sums: int) -> list[slice]:
        """Rows whose segments and entries are not too many; at least one row."""
        n_segments = np.maximum(-(-np.diff(self.ptr) // SEGMENT), 1)
        load = np.append(0, np.cumsum(n_segments)) * (8.0 * n_sums / SUMS_BYTES)
        cuts, start = [], 0
        while start < self.n_rows:
            stop = np.searchsorted(load, load[start] + 1, "right") - 1
            if not self.resident:
                full = np.searchsorted(self.ptr, self.ptr[start] + MOST_STREAMED, "right") - 1
                stop = min(stop, full)
            stop = min(max(int(stop), start + 1), self.n_rows)
            cuts.append(slice(start, stop))
            start = stop
        return cuts


_tables: dict[tuple[int, ...], DeviceTable] = {}
_lock = Lock()


def table_of(entries: Entries, stream: Any) -> DeviceTable:
    """The table of these entries; the same arrays give the same table, as long as they live."""
    key = tuple(id(array) for array in entries[:4])
    with _lock:
        if key in _tables:
            return _tables[key]
        table = DeviceTable.of(entries, stream)
        stream.synchronize()  # others use other streams
        if table.resident:
            _tables[key] = table
            for array in entries[1:4]:
                weakref.finalize(array, _tables.pop, key, None)
        return table
