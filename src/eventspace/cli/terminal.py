"""What a terminal gets: no character that it would obey, and every one that it cannot show."""

from __future__ import annotations

import io
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

# Control characters (C0, DEL, C1), and those that turn the direction of what follows
_HARMFUL = {
    number: ascii(chr(number))[1:-1]
    for numbers in ((0x00, 0x20), (0x7F, 0xA0), (0x202A, 0x202F), (0x2066, 0x206A))
    for number in range(*numbers)
}
_IN_JSON = {number: f"\\u{number:04x}" for number in _HARMFUL if number >= 0x20}


def harmless(text: str, own: str = "") -> str:
    r"""A text as a terminal may have it: an escape is shown, as ``\x1b``, and not obeyed.

    Half of a surrogate pair, which no encoding holds, is shown likewise. ``own`` are control
    characters that stay, such as the line breaks that are ours.
    """
    shown = text.translate({n: spelt for n, spelt in _HARMFUL.items() if chr(n) not in own})
    return encoded(shown).decode()


def harmless_json(text: str) -> str:
    """The same for a JSON text, where it stays the same document: json itself escapes the rest."""
    return encoded(text.translate(_IN_JSON)).decode()


def encoded(text: str) -> bytes:
    """A text in UTF-8; half of a surrogate pair as Python, and JSON, would write it."""
    return text.encode("utf-8", "backslashreplace")


def say(message: str) -> None:
    """One line on the standard error."""
    with suppress(OSError):  # nobody is there to hear it
        sys.stderr.write(f"eventspace: {harmless(message)}\n")
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
        sys.stdout.write(harmless(self._decoder.decode(content), own="\n\t"))
        return len(content)
