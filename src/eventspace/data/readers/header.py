"""The first line of a table of text: what separates its fields, and the names of the columns."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from typing import NamedTuple

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace.data.readers.chunks import Chunks
from eventspace.data.readers.quotes import Row, row_from

_DELIMITERS = "\t,;"
_HEAD = 1 << 18  # bytes that hold the first line of nearly every table
BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# What people have instead of a table, by the first bytes
_OTHERS = {
    b"PK\x03\x04": "a zip archive, such as a spreadsheet or a model",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"%PDF": "a PDF",
    b"{": "JSON",
    b"[{": "JSON",
}


class Header(NamedTuple):
    """What separates fields, the names of the columns, and how many bytes the names take."""

    delimiter: str
    names: list[str]
    size: int


def read_header(text: Chunks, name: str) -> Header:
    """The header of a text, which is then at its first row; ``name`` is the file's."""
    data, _ = text.head(_HEAD)
    start = data[:_HEAD].tobytes()
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise UserError(f"{name!r} is {what}: a table is a CSV, TSV or Parquet file.")
    if start.startswith(_UTF16):
        raise not_utf8(name)
    if start.startswith(BOM):
        text.skip(len(BOM))
    delimiter, size = _first_row(text)
    line = text.head(size)[0][:size].tobytes()
    try:
        first = line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    if "\0" in first:
        raise not_utf8(name)
    if not first.strip():
        raise UserError(f"{name!r} is empty: its first line should name the columns.")
    fields = next(csv.reader([first], delimiter=delimiter))
    if len(fields) == 1:
        raise UserError(f"{name!r} is not separated by commas, tabs or semicolons.")
    names = _names(fields, name)
    if names is None:
        text.skip(size)
        names = fields
    refuse_twice(names, name)
    return Header(delimiter, names, size)


def refuse_twice(names: list[str], name: str) -> None:
    """Refuse a table, of the file ``name``, with two columns of one name."""
    if len(set(names)) < len(names):
        twice = next(column for column, times in Counter(names).items() if times > 1)
        raise UserError(
            f"{name!r} has more than one column named {shown(twice)}: does it lack a line of names?"
        )


def not_utf8(name: str) -> UserError:
    """The error that a file in another encoding gets."""
    return UserError(f"{name!r} is not text in UTF-8: a table is a CSV, TSV or Parquet file.")


def _first_row(text: Chunks) -> tuple[str, int]:
    """What separates the fields of the first row, and where it ends."""
    n = _HEAD
    while True:
        data, final = text.head(n)
        found = {d: Row(*row_from(data, 0, data.size, ord(d), final)) for d in _DELIMITERS}
        delimiter = max(_DELIMITERS, key=lambda d: found[d].fields)
        row = found[delimiter]
        if row.end >= 0 and not row.amiss:
            return delimiter, row.end
        if final or row.amiss:
            raise text.unclosed(row.opened)
        n = 4 * data.size


def _names(fields: list[str], name: str) -> list[str] | None:
    """Names for the columns if the first line is a row already, else None.

    It is one if it has three or four fields, and all of them are numbers, or if of three the last
    alone is. More whole numbers may well be the items of a wide table; fractions are hardly
    anyone's names.
    """
    number = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
    numbers = [bool(number.fullmatch(field)) for field in fields]
    long = len(fields) in (3, 4)
    if long and all(numbers):
        return [f"column {j}" for j in range(1, len(fields) + 1)]
    if len(fields) == 3 and numbers[2]:
        warnings.warn(
            f"the first line of {name!r} is taken for a row: user, item, value.",
            UserWarning,
            stacklevel=2,
        )
        return ["user", "item", "value"]
    if (long and numbers[2]) or (all(numbers) and any("." in field for field in fields)):
        raise UserError(
            f"The first line of {name!r} may be a row or the names of the columns:",
            remedy="begin it with a line such as 'user,item,value', or pass a DataFrame.",
            shell="begin it with a line such as 'user,item,value'.",
        )
    return None
