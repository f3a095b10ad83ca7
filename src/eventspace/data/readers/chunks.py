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
        whole: Any = self.data.base
        return whole.base.slice(0, self.data.size)


class Chunks:
    """The text of a stream, of which the first row can be taken apart from the others."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self._buffer = _allocated(CHUNK)
        self._spare: Bytes | None = None
        self._size = 0
        self._ended = False
        self._line = 1

    def head(self, n: int) -> tuple[Bytes, bool]:
        """The next bytes, at least n of them or else all, and whether they are all."""
        while self._buffer.size < n:
            self._grow()
        while self._size < n and not self._ended:
            self._read()
        return self._buffer[: self._size], self._ended

    def skip(self, n: int) -> None:
        """Pass over these bytes of the head."""
        self._line += lines_in(self._buffer, n)
        rest = self._size - n
        self._buffer[:rest] = self._buffer[n : self._size]
        self._size = rest

    def rows(self, delimiter: str) -> Generator[Chunk, None, None]:
        """Chunk after chunk; each is void once the one after the next is asked for."""
        while True:
            while self._size < self._buffer.size and not self._ended:
                self._read()
            if not self._size:
                return
            found = self._cut(ord(delimiter))
            if found.opened >= 0:
                raise self.unclosed(found.opened)
            if not found.end:
                self._grow()
                continue
            yield Chunk(self._buffer[: found.end], self._line, found.broken)
            self._line += lines_in(self._buffer, found.end)
            self._turn(found.end)

    def _turn(self, n: int) -> None:
        """Go on after n bytes in another buffer: these bytes are still being read."""
        if self._spare is None or self._spare.size < self._buffer.size:
            self._spare = _allocated(self._buffer.size)
        self._size -= n
        self._spare[: self._size] = self._buffer[n : n + self._size]
        self._buffer, self._spare = self._spare, self._buffer

    def _read(self) -> None:
        n = self._stream.readinto(self._buffer[self._size :].data)
        self._size += n
        self._ended = n == 0

    def _cut(self, delimiter: int) -> Rows:
        """Where the last whole row ends; without quotes, that is the last line."""
        data, size = self._buffer, self._size
        if not quotes_in(data, size):
            return Rows(last_line(data, size, self._ended), False, -1, False)
        return Rows(*rows_in(data, size, delimiter, self._ended))

    def _grow(self) -> None:
        if self._buffer.size >= LONGEST_ROW:
            raise UserError(
                f"{self._name!r} cannot be read as a table: line {self._line} is longer than "
                f"{LONGEST_ROW >> 20} MB."
            )
        buffer = _allocated(2 * self._buffer.size)
        buffer[: self._size] = self._buffer[: self._size]
        self._buffer = buffer

    def unclosed(self, opened: int) -> UserError:
        """The error that a quote at this place of the head gets, which no field ends with."""
        line = self._line + lines_in(self._buffer, opened)
        return UserError(
            f"{self._name!r} cannot be read as a table: the quote that opens a field in line "
            f"{line} is not closed where a field ends, or only after what looks like other rows. "
            "Remove it or close it; within a field in quotes, a quote is written twice."
        )


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
