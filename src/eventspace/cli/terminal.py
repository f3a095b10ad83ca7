"""What a terminal gets: no character that it would obey, and every one that it cannot show."""

from __future__ import annotations

import io
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from eventspace._base.printable import HARMFUL, encoded, printable

_IN_JSON = {number: f"\\u{number:04x}" for number in HARMFUL if number >= 0x20}


def printable_json(text: str) -> str:
    """The same for a JSON text, where it stays the same document: json itself escapes the rest."""
    return encoded(text.translate(_IN_JSON)).decode()


def say(message: str) -> None:
    """One line on the standard error."""
    with suppress(OSError):  # nobody is there to hear it
        sys.stderr.write(f"eventspace: {printable(message)}\n")
        sys.stderr.flush()


def open_streams() -> None:
    """Streams that take every character, whatever the terminal knows; and closed ones take all."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)
        known = stream.encoding.lower() == "utf-8"
        stream.reconfigure(errors="backslashreplace" if known else "replace")


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """The standard output for bytes, after what is printed already."""
    try:
        sys.stdout.flush()
        if sys.stdout.isatty():
            yield _Screen()  # type: ignore[misc]
        else:
            yield sys.stdout.buffer
        sys.stdout.flush()
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = "the standard output"
        raise


class _Screen(io.RawIOBase):
    """A terminal for what is written in UTF-8: the line breaks and tabs are ours."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        sys.stdout.write(printable(self._decoder.decode(content), own="\n\t"))
        return len(content)
