"""The first rows of a text: what separates their fields, and how they write numbers.

Only what these rows leave no doubt about is recognised. It is then demanded of all rows.
"""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace.data.readers.chunks import UNIT, Text
from eventspace.data.readers.numerals import DECIMALS, is_missing, is_number
from eventspace.data.readers.quotes import Bytes, Row, lines_in, row_from
from eventspace.data.readers.separators import BLANK, one_blank, one_byte
from eventspace.data.readers.text_options import Decimal

HEAD = 1 << 18  # bytes that hold the first rows of nearly every table
_FAR = 1 << 22  # bytes within which the second row should begin
_ROWS = 100
_BLOCK = 1 << 12  # bytes looked at at a time
_CELLS = 20_000
_CERTAIN = ("\t", "::")  # hardly ever part of a text
_USUAL = ("\t", ",", ";", "|", "::")
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", "::": "double colons"}


class FirstRows(NamedTuple):
    """The fields of the first row, how many bytes it has, and the fields of some rows after it."""

    fields: list[str]
    size: int
    rows: list[list[str]]

    def column(self, j: int) -> list[str]:
        """What stands below the j-th field, where something does."""
        return [row[j] for row in self.rows if j < len(row) and not is_missing(row[j])]


def first_rows(text: Text, delimiter: str) -> FirstRows:
    """The first rows of a text at its beginning."""
    n = HEAD
    while True:
        data, final = text.head(n)
        row = Row(*row_from(data, 0, data.size, ord(delimiter), final))
        if row.amiss or (final and row.end < 0):
            raise text.unclosed(row.opened)
        rows = _rows(data, final, delimiter, row.fields) if row.end >= 0 else []
        if final or _enough(len(rows), data.size, row.fields):
            break
        n = 4 * data.size
    found = [_fields(text, row, 1 + lines_in(data, start), delimiter) for start, row in rows]
    parsed = [fields for fields in found[1:] if fields is not None]
    if found[0] is None:
        raise text.unreadable("a name in its first line is longer than 128 KB.")
    return FirstRows(found[0], row.end, parsed)


def _enough(n_rows: int, size: int, n_fields: int) -> bool:
    """Whether these are rows enough to judge by, or bytes enough to look at."""
    wanted = 2 if size >= HEAD or n_fields > _CELLS else _ROWS
    return n_rows >= wanted or (n_rows > 0 and size >= _FAR)


def _rows(data: Bytes, final: bool, delimiter: str, n_fields: int) -> list[tuple[int, bytes]]:
    """The first whole rows that are not blank, the very first in any case, and where they begin."""
    most = max(2, min(_ROWS, _CELLS // n_fields))
    start = 0
    found: list[tuple[int, bytes]] = []
    while start < data.size and len(found) < most:
        row = Row(*row_from(data, start, data.size, ord(delimiter), final))
        if row.end < 0 or row.amiss:
            break
        found.append((start, data[start : row.end].tobytes()))
        start = _after_blanks(data, row.end)
    return found


def _after_blanks(data: Bytes, start: int) -> int:
    """Where the next row begins that is not blank."""
    while start < data.size:
        block = data[start : start + _BLOCK]
        other = np.flatnonzero((block != ord("\n")) & (block != ord("\r")))
        if other.size:
            return start + int(other[0])
        start += block.size
    return start


def _fields(text: Text, row: bytes, line: int, delimiter: str) -> list[str] | None:
    """The fields of a row; None if one of them is too long to look at."""
    try:
        whole = row.decode()
    except UnicodeDecodeError:
        raise text.not_utf8(row, line) from None
    if line == 1 and "\0" in whole:
        raise text.not_utf8(row, line)
    try:
        return next(csv.reader([whole.rstrip("\r\n")], delimiter=delimiter), [""])
    except csv.Error:
        return None


def recognised_sep(text: Text) -> str:
    """What separates the fields of a text, if its first rows leave no doubt."""
    n = HEAD
    while True:
        data, final = text.head(n)
        counts = {sep: _counts(data, final, sep) for sep in _USUAL}
        most = max(found[0] for found in counts.values())
        whole = min(len(found) for found in counts.values() if found[0] == most)
        if final or _enough(whole - 1, data.size, most):
            break
        n = 4 * data.size
    even = [sep for sep in _USUAL if counts[sep][0] > 1 and len(set(counts[sep])) == 1]
    # one comma and one other mark in each row may be either way round
    others = [sep for sep in even if not counts[sep][0] == counts[","][0] == 2]
    if any(_decimal_commas(data, final, sep) for sep in others):
        del counts[","]
        even = [sep for sep in even if sep != ","]
    best = max(counts, key=lambda sep: (counts[sep][0], sep in even))
    if counts[best][0] == 1:
        if _aligned_numbers(data, final):
            return BLANK
        raise _no_sep(text)
    if best not in even:  # else, some row has too few fields or too many, and will be refused
        return next((sep for sep in _CERTAIN if sep in even), best)
    if best == "\t" or even == [best]:
        return best
    readings = " or ".join(f"{_NAMES[sep]} ({counts[sep][0]} fields)" for sep in even)
    raise UserError(
        f"{text.name!r} may be separated by {readings}: say which with",
        remedy=f"Observations.of(path, sep={best!r}), say.",
        shell=f"--sep {best!r}, say.",
    )


def _no_sep(text: Text) -> UserError:
    *others, last = _NAMES.values()
    return UserError(
        f"{text.name!r} is not separated by {', '.join(others)} or {last}. A table has two columns "
        "or more; name what is between them:",
        remedy='Observations.of(path, sep=" "), say.',
        shell="--sep ' ', say.",
    )


def _counts(data: Bytes, final: bool, sep: str) -> list[int]:
    """How many fields each of the first rows has, 0 for one that does not end as a row does.

    The last is a row that is cut, unless this is all.
    """
    data, delimiter = _one_byte(data, final, sep)
    start, counts = 0, [1]
    while start < data.size and len(counts) <= _ROWS:
        row = Row(*row_from(data, start, data.size, ord(delimiter), final))
        counts.append(0 if row.amiss or (final and row.end < 0) else row.fields)
        if row.end < 0:
            break
        start = _after_blanks(data, row.end)
    cut = not final and len(counts) > 2
    return counts[1 : len(counts) - cut] or [1]


def _one_byte(data: Bytes, final: bool, sep: str) -> tuple[Bytes, str]:
    """The same bytes with one for each separator, and that one."""
    if len(sep) == 1 and sep != BLANK:
        return data, sep
    out, state = np.empty(data.size + 1, np.uint8), np.array([True, False, False])
    if sep == BLANK:
        _, made = one_blank(data, data.size, final, state, out)
        return out[:made], BLANK
    mark = np.frombuffer(sep.encode(), np.uint8)
    _, made = one_byte(data, data.size, final, mark, state, out)
    return out[: max(made, 0)], UNIT


def _looked_at(data: Bytes, final: bool, sep: str) -> list[list[str]]:
    """The fields of the first rows as text, whatever its encoding."""
    data, delimiter = _one_byte(data, final, sep)
    rows = [row.decode("latin-1") for _, row in _rows(data, final, delimiter, 1)]
    try:
        return [next(csv.reader([row.rstrip("\r\n")], delimiter=delimiter), []) for row in rows]
    except csv.Error:
        return []


def _decimal_commas(data: Bytes, final: bool, sep: str) -> bool:
    """Whether all commas below the first row stand in numbers, if this separates the fields."""
    first, *rows = _looked_at(data, final, sep) or [[]]
    commas = [field for row in rows or [first] for field in row if "," in field]
    return sep != "," and bool(commas) and all(is_number(field, ",") for field in commas)


def _aligned_numbers(data: Bytes, final: bool) -> bool:
    """Whether all rows are as many numbers with blanks between them, the first perhaps names."""
    counts = _counts(data, final, BLANK)
    first, *rows = _looked_at(data, final, BLANK) or [[]]
    if counts[0] < 2 or len(set(counts)) > 1:
        return False
    return all(is_number(field, ".") for row in rows or [first] for field in row)


def recognised_decimal(found: FirstRows, first_too: bool) -> Decimal | None:
    """The decimal mark of the first rows; a point if columns differ, None if there is none.

    It is that of a column in which all are numbers with this mark, and one is none with the other.
    ``first_too``: the first row counts as well.
    """
    marks = set()
    for j in range(len(found.fields)):
        column = found.column(j) + (found.fields[j : j + 1] if first_too else [])
        for mark, other in zip(DECIMALS, reversed(DECIMALS), strict=True):
            if all(is_number(field, mark) for field in column):
                marks |= {mark for field in column if not is_number(field, other)}
    return next((mark for mark in DECIMALS if mark in marks), None)
