"""At which line of a text file each of its rows begins, as editors count them."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventspace._base.jit import njit
from eventspace.data.readers.chunks import Chunk
from eventspace.data.readers.quotes import Bytes, lines_in, row_from

_LF, _CR = 10, 13


class _Part(NamedTuple):
    line: int
    of_rows: npt.NDArray[np.int64] | None  # None: each row is one line


class Lines:
    """The line of each row. Only chunks with blank lines, or with rows of several, need memory."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._first: list[int] = []
        self._rows = 0

    def add(self, chunk: Chunk, n_rows: int, delimiter: str) -> None:
        """Append a chunk and its number of rows."""
        of_rows = None
        if chunk.lines != n_rows:
            of_rows = np.empty(n_rows, np.int64)
            row_lines(chunk.data, chunk.data.size, ord(delimiter), of_rows)
        self._parts.append(_Part(chunk.line, of_rows))
        self._first.append(self._rows)
        self._rows += n_rows

    def __getitem__(self, row: int) -> int:
        k = bisect_right(self._first, row) - 1
        part, within = self._parts[k], row - self._first[k]
        return part.line + (within if part.of_rows is None else int(part.of_rows[within]))


@njit(cache=True, nogil=True)
def row_lines(data: Bytes, size: int, delimiter: int, of_rows: Any) -> None:
    """How many lines come before each row that is not blank."""
    start, line, row = 0, 0, 0
    while start < size and row < of_rows.size:
        end = row_from(data, start, size, delimiter, True)[0]
        if end < 0:
            break
        if data[start] != _LF and data[start] != _CR:
            of_rows[row] = line
            row += 1
        line += lines_in(data[start:end], end - start)
        start = end
