"""Text in other encodings than UTF-8, which all other readers are given."""

from __future__ import annotations

import codecs
from typing import Any

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace.data.readers.chunks import Text

_BLOCK = 1 << 20  # bytes decoded at a time
# The longer marks first: one of UTF-32 begins as one of UTF-16 does
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def in_utf8(text: Text, encoding: str | None) -> Text:
    """The text in UTF-8, from the stated encoding, else from what its mark of byte order says."""
    if encoding is None:
        start = text.head(4)[0][:4].tobytes()
        encoding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return text
    return Text(Decoded(text, encoding), text.name)


class Decoded:
    """A stream of text as UTF-8."""

    def __init__(self, text: Text, encoding: str) -> None:
        self._text = text
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._block = memoryview(bytearray(_BLOCK))
        self._coming = b""
        self._line = 1
        self._ended = False

    def readinto(self, buffer: Any) -> int:
        """Decode as many bytes as there are at hand, at most the buffer's size."""
        while not self._coming and not self._ended:
            read = self._text.readinto(self._block)
            self._ended = read == 0
            self._coming = self._decoded(bytes(self._block[:read]))
        n = min(len(buffer), len(self._coming))
        buffer[:n], self._coming = self._coming[:n], self._coming[n:]
        return n

    def _decoded(self, block: bytes) -> bytes:
        try:
            letters = self._decoder.decode(block, self._ended)
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            line = self._line + block[:start].count(b"\n")
            reason = f"line {line} or the next holds {shown(block[start : start + 4])}."
            raise UserError(
                f"{self._text.name!r} is not text in {self._encoding}: {reason} Name its encoding:",
                remedy='Observations.of(path, encoding="latin-1"), say.',
                shell="--encoding latin-1, say.",
            ) from error
        self._line += letters.count("\n")
        return letters.encode()
