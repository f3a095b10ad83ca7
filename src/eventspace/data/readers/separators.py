"""What separates the fields of a text: recognised by its first rows, and made one byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.jit import njit
from eventspace.data.readers.chunks import UNIT, Text
from eventspace.data.readers.quotes import Bytes

_BLOCK = 1 << 20  # bytes rewritten at a time
BLANK = " "
_LF, _CR, _QUOTE, _SPACE = 10, 13, 34, 32


def in_one_byte(text: Text, sep: str) -> tuple[Text, str]:
    """The text with one byte for each separator, and that byte."""
    if sep == BLANK:
        return Text(Rewritten(text, sep), text.name), BLANK
    if len(sep.encode()) == 1:
        return text, sep
    return Text(Rewritten(text, sep), text.name, sep), UNIT


class Rewritten:
    """A stream of text in which each separator outside of quotes is replaced by one byte."""

    def __init__(self, text: Text, sep: str) -> None:
        self._text = text
        self._mark = np.frombuffer(sep.encode(), np.uint8)
        self._aligned = sep == BLANK
        self._state = np.array([True, False, False])
        self._raw = np.empty(_BLOCK, np.uint8)
        self._left = 0  # bytes at the beginning of raw that wait for those after them
        self._out = np.empty(_BLOCK + 1, np.uint8)  # a blank of the block before may come, too
        self._coming = self._out[:0]
        self._ended = False

    def readinto(self, buffer: Any) -> int:
        """Rewrite as many bytes as there are at hand, at most the buffer's size."""
        while not self._coming.size and not self._ended:
            read = self._text.readinto(self._raw[self._left :].data)
            self._ended = read == 0
            size = self._left + read
            used, made = self._rewrite(self._raw, size, self._ended, self._state, self._out)
            self._left = size - used
            self._raw[: self._left] = self._raw[used:size].copy()
            self._coming = self._out[:made]
        n = min(len(buffer), self._coming.size)
        buffer[:n] = self._coming[:n].data
        self._coming = self._coming[n:]
        return n

    def _rewrite(
        self, raw: Bytes, size: int, final: bool, state: npt.NDArray[np.bool_], out: Bytes
    ) -> tuple[int, int]:
        if self._aligned:
            used, made = one_blank(raw, size, final, state, out)
        else:
            used, made = one_byte(raw, size, final, self._mark, state, out)
        if made < 0:
            raise UserError(f"{self._text.name!r} holds the control character \\x1f: remove it.")
        return used, made


@njit(cache=True, nogil=True)
def one_byte(
    data: Bytes, size: int, final: bool, mark: Bytes, state: npt.NDArray[np.bool_], out: Bytes
) -> Any:
    """Replace each mark outside of quotes: how many bytes were read, how many written.

    ``state`` says whether a field begins here, and whether one in quotes goes on. Unless this is
    the end, the last bytes wait for the next block. Written are -1 if \\x1f is there already.
    """
    k, n, m = 0, 0, mark.size
    fresh, quoted = state[0], state[1]
    while k < size and (final or size - k >= m + 1):
        c = data[k]
        if quoted:
            if c == _QUOTE and k + 1 < size and data[k + 1] == _QUOTE:
                out[n] = c
                n, k = n + 1, k + 1
            elif c == _QUOTE:
                quoted = False
        elif fresh and c == _QUOTE:
            fresh, quoted = False, True
        elif c == 0x1F:
            return k, -1
        else:
            same = 0
            while same < m and k + same < size and data[k + same] == mark[same]:
                same += 1
            fresh = same == m or c in (_LF, _CR)
            if same == m:
                c = 0x1F
                k += m - 1
        out[n] = c
        n, k = n + 1, k + 1
    state[0], state[1] = fresh, quoted
    return k, n


@njit(cache=True, nogil=True)
def one_blank(data: Bytes, size: int, final: bool, state: npt.NDArray[np.bool_], out: Bytes) -> Any:
    """Leave one blank of those between two fields, and none at either end of a line.

    ``state`` says whether a line begins here, whether a field in quotes goes on, and whether blanks
    came before.
    """
    k, n = 0, 0
    first, quoted, blank = state[0], state[1], state[2]
    while k < size and (final or size - k >= 2):
        c = data[k]
        if quoted:
            if c == _QUOTE and k + 1 < size and data[k + 1] == _QUOTE:
                out[n] = c
                n, k = n + 1, k + 1
            elif c == _QUOTE:
                quoted = False
        elif c == _SPACE:
            blank = True
            k += 1
            continue
        elif c in (_LF, _CR):
            first, blank = True, False
        else:
            quoted = c == _QUOTE and (first or blank)
            if blank and not first:
                out[n] = _SPACE
                n += 1
            first, blank = False, False
        out[n] = c
        n, k = n + 1, k + 1
    state[0], state[1], state[2] = first, quoted, blank
    return k, n
