"""Text cut into chunks of whole rows, so that no reader has to guess where a row ends."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace.data.readers.quotes import Bytes, Rows, last_line, lines_in, quotes_in, rows_in

UNIT = "\x1f"  # ASCII's own separator, which stands for one of several bytes
CHUNK = 1 << 25  # bytes
_SHOWN = 30  # bytes of a row on either side of what is wrong
LONGEST_ROW = 1 << 29  # pyarrow counts the bytes of a block in 32 bits


class Chunk(NamedTuple):
    """Whole rows, the line at which they begin, how many lines they have.

    ``broken``: a field holds a line break.
    """

    data: Bytes
    line: int
    lines: int
    broken: bool

    @property
    def memory(self) -> Any:
        """The same bytes as a buffer of pyarrow's."""
        array: Any = self.data.base
        return array.base.slice(self.data.ctypes.data - array.ctypes.data, self.data.size)


class Text:
    """The text of a stream, of which the first row can be taken apart from the others.

    ``sep`` is what its file has where the text has a `UNIT`.
    """

    def __init__(self, stream: Any, name: str, sep: str = UNIT) -> None:
        self.name = name
        self._sep = sep.encode()
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

    def readinto(self, buffer: Any) -> int:
        """Hand on what comes, the head first, to a stream that makes another text of it."""
        n = min(len(buffer), self._coming.size)
        if not n:
            return 0 if self._ended else int(self._stream.readinto(buffer))
        buffer[:n], self._coming = self._coming[:n].data, self._coming[n:]
        return n

    def rows(self, delimiter: str) -> Generator[Chunk, None, None]:
        """What comes, chunk after chunk."""
        size = CHUNK
        while (head := self.head(size))[0].size:
            found = _whole_rows(*head, ord(delimiter))
            if found.opened >= 0:
                raise self.unclosed(found.opened)
            if found.end:
                data = head[0][: found.end]
                lines = lines_in(data, found.end)
                last = data[-1] not in b"\r\n"  # the end of the file ends this line
                yield Chunk(data, self._line, lines + last, found.broken)
                self._line += lines
                self._coming = self._coming[found.end :]
            elif size >= LONGEST_ROW:
                raise self.unreadable(f"line {self._line} is longer than {LONGEST_ROW >> 20} MB.")
            else:
                size *= 2

    def as_written(self, row: bytes) -> bytes:
        """A row as it stands in the file."""
        return row.replace(UNIT.encode(), self._sep)

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

    def not_utf8(self, data: bytes, line: int) -> UserError:
        """The error that bytes in another encoding get, which begin at this line."""
        try:
            start = max(data.find(b"\0"), 0)
            data.decode()
        except UnicodeDecodeError as error:
            start = error.start
        before = re.split(rb"\r\n|\r|\n", data[:start])
        after = re.split(rb"[\r\n]", data[start : start + _SHOWN])[0]
        row = self.as_written(before[-1][-_SHOWN:] + after)
        likely = "utf-16" if b"\0" in row else "latin-1"
        read = "" if b"\0" in row else f" In latin-1 it is {shown(row.decode('latin-1'), 99)}."
        return UserError(
            f"{self.name!r} is not text in UTF-8: see line {line + len(before) - 1}.{read} If this "
            "is a table, name its encoding:",
            remedy=f'Observations.of(path, encoding="{likely}"), say.',
            shell=f"--encoding {likely}, say.",
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
