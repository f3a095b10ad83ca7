"""Rows of separated text as readers of CSV understand them: a quote may hide a line break.

A quote opens a field only where the field begins. Inside, two quotes are one. In a field that began
otherwise a quote is a character like others. pyarrow, pandas and Python's csv agree on this.

What is legal may still be a mistake that loses rows or merges ids: text behind the quote that
closes a field ("ab"c is abc to all of them), a field that holds line after line with as many fields
as the row has, or that goes on for very long. Such a quote is called amiss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventspace._base.jit import njit

Bytes = npt.NDArray[np.uint8]

_LF, _CR, _QUOTE = 10, 13, 34
LONGEST = 1 << 17  # bytes in quotes that may hold line breaks: the limit of Python's csv
HIDDEN = 3  # lines in quotes, at least, that look like rows all of them


class Row(NamedTuple):
    """One row: where it ends, its line break included, -1 if that is not to be seen."""

    end: int
    fields: int
    opened: int  # the last quote that opened a field with a line break in it, or of no end; or -1
    amiss: bool  # it is closed where no field ends, or hides rows, or is too long


class Rows(NamedTuple):
    """Many rows: where the last that is whole ends."""

    end: int
    broken: bool  # some field in quotes holds a line break
    opened: int  # the quote that opened a field which is not closed, or closed amiss; or -1
    amiss: bool


@njit(cache=True, nogil=True)
def row_from(data: Bytes, start: int, size: int, delimiter: int, final: bool) -> Any:
    """The row that begins at ``start``, as a `Row`; ``final`` if nothing comes after ``size``."""
    k, fields, opened = start, 1, -1
    fresh, hidden, hides = True, -1, -1
    while k < size:
        c = data[k]
        if c == _QUOTE and fresh:
            at, breaks, here, alike = k, 0, 0, -1
            k += 1
            while k < size:
                c = data[k]
                if c == _QUOTE:
                    if k + 1 < size and data[k + 1] == _QUOTE:
                        k += 1
                    elif k + 1 < size or final:
                        break
                elif c == delimiter:
                    here += 1
                elif c == _LF or (c == _CR and not (k + 1 < size and data[k + 1] == _LF)):
                    if breaks == 1:
                        alike = here
                    elif breaks > 1 and alike != here:
                        alike = -1
                    breaks += 1
                    here = 0
                k += 1
            if k >= size:
                return -1, fields, at, breaks > 0 and k - at > LONGEST
            k += 1
            fresh = False
            after = data[k] if k < size else _LF
            if after not in (delimiter, _LF, _CR) or (breaks and k - at > LONGEST):
                return -1, fields, at, True
            if breaks:
                opened = at
            if breaks > HIDDEN and alike > 0:
                hidden, hides = at, alike
            continue
        fresh = False
        if c == delimiter:
            fields += 1
            fresh = True
        elif c == _LF or (c == _CR and (k + 1 < size or final)):
            if hides == fields - 1:
                return -1, fields, hidden, True
            two = c == _CR and k + 1 < size and data[k + 1] == _LF
            return k + (2 if two else 1), fields, opened, False
        k += 1
    if final and hides == fields - 1:
        return -1, fields, hidden, True
    return size if final else -1, fields, opened, False


@njit(cache=True, nogil=True)
def rows_in(data: Bytes, size: int, delimiter: int, final: bool) -> Any:
    """The whole rows of a chunk that begins with a row, as `Rows`."""
    end, broken = 0, False
    while end < size:
        stop, _, opened, amiss = row_from(data, end, size, delimiter, final)
        if amiss or (stop < 0 and final):
            return end, broken, opened, amiss
        if stop < 0:
            break
        broken |= opened >= 0
        end = stop
    return end, broken, -1, False


@njit(cache=True, nogil=True)
def uneven_row(data: Bytes, size: int, delimiter: int, fields: int) -> Any:
    """Where the first row with another number of fields begins and ends, and how many it has."""
    start = 0
    while start < size:
        end, found, _, _ = row_from(data, start, size, delimiter, True)
        if end < 0:
            break
        blank = data[start] in (_LF, _CR)
        if found != fields and not blank:
            return start, end, found
        start = end
    return -1, -1, 0


@njit(cache=True, nogil=True)
def lines_in(data: Bytes, size: int) -> int:
    """How many lines end here, as editors count them."""
    n = 0
    for k in range(size - 1):
        n += (data[k] == _LF) | ((data[k] == _CR) & (data[k + 1] != _LF))
    if size and data[size - 1] in (_LF, _CR):
        n += 1
    return n


@njit(cache=True, nogil=True)
def quotes_in(data: Bytes, size: int) -> int:
    """How many quotes there are."""
    n = 0
    for k in range(size):
        n += data[k] == _QUOTE
    return n


@njit(cache=True, nogil=True)
def last_line(data: Bytes, size: int, final: bool) -> int:
    """Where the last whole line ends."""
    if final:
        return size
    for k in range(size - 1, -1, -1):
        # what a carriage return at the very end is, the next byte says
        if data[k] == _LF or (data[k] == _CR and k + 1 < size):
            return k + 1
    return 0
