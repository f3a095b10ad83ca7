"""Bytes on their way in: looked at before they are read, counted, and unpacked within bounds."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from eventspace._base.errors import UserError
from eventspace._base.progress import bar

_MB = 20  # bits
_STEP = 1 << 22  # bytes unpacked between two looks at how much they have become

# What is unpacked may be large, or a large multiple of what is packed, but not both.
FREE = 20 << _MB
RATIO = 50


@contextmanager
def opened(source: Path | BinaryIO) -> Iterator[Stream]:
    """A file or stream, with a bar that says how much of it is read."""
    if not isinstance(source, Path):
        with bar("read, MB", None, None) as update:  # a pipe does not say how much will come
            yield Stream(source, update)
        return
    if source.is_dir():
        raise IsADirectoryError(f"{str(source)!r} is a folder, not a file.")
    if not source.exists():
        raise FileNotFoundError(f"There is no file {str(source)!r}.")
    with source.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        with bar("read, MB", max(1, size >> _MB), None) as update:
            yield Stream(file, update)


class Stream(io.RawIOBase):
    """Bytes that can be looked at before they are read, and are counted when they are."""

    def __init__(self, file: Any, update: Callable[[int, str], None]) -> None:
        self._file = file
        self._update = update
        self._head = b""
        self.done = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def peek(self, n: int) -> bytes:
        """The next n bytes, or as many as there are; they stay unread."""
        while len(self._head) < n and (more := self._file.read(n - len(self._head))):
            self._head += more
        return self._head[:n]

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as there are at hand, at most the buffer's size."""
        if self._head:
            n = min(len(buffer), len(self._head))
            buffer[:n], self._head = self._head[:n], self._head[n:]
        else:
            n = self._file.readinto(buffer) or 0
        self.tell_done(self.done + n)
        return n

    def tell_done(self, done: int) -> None:
        """Show on the bar how many bytes are read."""
        self.done = done
        self._update(done >> _MB, "")


class Unpacked:
    """What a stream of compressed bytes unpacks to, refused where it is out of all proportion."""

    def __init__(self, packed: Stream, codec: str, name: str) -> None:
        import pyarrow as pa

        self._packed = packed
        self._name = name
        # read by the thread that asks for it: none of Arrow's own ever waits for Python
        self._stream = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), codec)
        self._done = 0

    def readinto(self, buffer: Any) -> int:
        """Unpack as many bytes as there are at hand, at most the buffer's size."""
        n = int(self._stream.readinto(memoryview(buffer)[:_STEP]))
        self._done += n
        refuse_excess(self._done, self._packed.done, self._name)
        return n


def refuse_excess(size: int, packed: int, name: str) -> None:
    """Refuse a table that takes far more memory than its file can be meant to."""
    if size > FREE and size > RATIO * packed:
        raise UserError(
            f"{name!r} unpacks to more than {RATIO} times its size, {size >> _MB} MB or more: if "
            "this is meant, save it as plain text first."
        )
