"""Text cut into chunks of whole rows, so that no reader has to guess where a row ends."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace.data.readers.quotes import Bytes, Rows, last_line, lines_in, quotes_in, rows_in

CHUNK = 1 << 25  # bytes
LONGEST_ROW = 1 << 29  # pyarrow counts the bytes of a block in 32 bits


class Chunk(NamedTuple):
    """Whole rows, the line at which they begin, and whether a field holds a line break."""

    data: Bytes
    line: int
    broken: bool

    @property
    def memory(self) -> Any:
        """The same bytes as a buffer of pyarrow's."""
        array: Any = self.data.base
        return array.base.slice(self.data.ctypes.data - array.ctypes.data, self.data.size)


class Text:
    """The text of a stream, of which the first row can be taken apart from the others."""

    def __init__(self, stream: Any, name: str) -> None:
        self.name = name
        self._stream = stream
        self._coming = _allocated(0)
        self._ended = False
        self._line = 1

    def head(self, n: int) -> tuple[Bytes, bool]:
        """The next bytes, at least n of them or else all, and whether they are all."""
        size = self._coming.size
        if size < n and not self._ended:
            buffer = _allocated(n)
            buffer[:size] = self._coming
            while size < n and not self._ended:
                read = self._stream.readinto(buffer[size:].data)
                size += read
                self._ended = read == 0
            self._coming = buffer[:size]
        return self._coming, self._ended

    def skip(self, n: int) -> None:
        """Pass over these bytes of the head."""
        self._line += lines_in(self._coming, n)
        self._coming = self._coming[n:]

    def rows(self, delimiter: str) -> Generator[Chunk, None, None]:
        """What comes, chunk after chunk."""
        size = CHUNK
        while (head := self.head(size))[0].size:
            found = _whole_rows(*head, ord(delimiter))
            if found.opened >= 0:
                raise self.unclosed(found.opened)
            if found.end:
                yield Chunk(head[0][: found.end], self._line, found.broken)
                self.skip(found.end)
            elif size >= LONGEST_ROW:
                raise self.unreadable(f"line {self._line} is longer than {LONGEST_ROW >> 20} MB.")
            else:
                size *= 2

    def unreadable(self, reason: str) -> UserError:
        """The error that a text gets which is no table."""
        return UserError(f"{self.name!r} cannot be read as a table: {reason}")

    def unclosed(self, opened: int) -> UserError:
        """The error that a quote at this place of the head gets, which no field ends with."""
        line = self._line + lines_in(self._coming, opened)
        return self.unreadable(
            f"the quote that opens a field in line {line} is not closed where a field ends, or "
            "only after what looks like other rows. Remove it or close it; within a field in "
            "quotes, a quote is written twice."
        )

    def not_utf8(self) -> UserError:
        """The error that another encoding gets."""
        return UserError(
            f"{self.name!r} is not text in UTF-8: a table is a CSV, TSV or Parquet file."
        )


def _whole_rows(data: Bytes, final: bool, delimiter: int) -> Rows:
    """Where the last whole row ends; without quotes, that is the last line."""
    if not quotes_in(data, data.size):
        return Rows(last_line(data, data.size, final), False, -1, False)
    return Rows(*rows_in(data, data.size, delimiter, final))


def _allocated(size: int) -> Bytes:
    """Bytes in memory of Arrow's, which its threads let go without asking Python."""
    import pyarrow as pa

    return np.frombuffer(pa.allocate_buffer(size), np.uint8)


def ahead(chunks: Iterator[Chunk]) -> Generator[Chunk, None, None]:
    """The same, the next one made by a thread of its own while one is at work."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = pool.submit(next, chunks, None)
            yield chunk
