"""The first line of a table of text: the names of the columns, or a row already.

No row is taken for names in silence. Names stand above numbers, or are the words that people use.
Where the first line may be either, it is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from itertools import pairwise
from typing import NamedTuple

from eventspace._base.errors import UserError, warn
from eventspace._base.printable import shown
from eventspace.data.ids import Ids
from eventspace.data.readers.chunks import Text
from eventspace.data.readers.first_rows import (
    FirstRows,
    first_rows,
    recognised_decimal,
    recognised_sep,
)
from eventspace.data.readers.numerals import is_missing, kind
from eventspace.data.readers.roles import role
from eventspace.data.readers.separators import in_one_byte
from eventspace.data.readers.text_options import Decimal, TextOptions

BOM = b"\xef\xbb\xbf"
_TIMES = 1e8  # what is greater is a time in seconds, and hardly a name
# What people have instead of a table, by the first bytes
_OTHERS = {
    b"PK\x03\x04": "a zip archive, such as a spreadsheet or a model",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"%PDF": "a PDF",
    b"{": "JSON",
    b"[{": "JSON",
}


class Asked(NamedTuple):
    """What the caller knows of a table: names of columns, and ids that the first ones may hold."""

    names: frozenset[Hashable] = frozenset()
    ids: tuple[Ids, ...] = ()


class Header(NamedTuple):
    """How the rows are written that follow it.

    ``size`` is how many bytes the first line has.
    """

    delimiter: str
    decimal: Decimal | None
    names: list[str]
    size: int


def read_header(text: Text, options: TextOptions, asked: Asked) -> tuple[Text, Header]:
    """The header of a text, and the text from its first row on."""
    start = text.head(4)[0][:4].tobytes()
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise UserError(f"{text.name!r} is {what}: a table is a CSV, TSV or Parquet file.")
    if start.startswith(BOM):
        text.skip(len(BOM))
    head = text.head(1)[0]
    if not head.size or head[0] in b"\r\n":
        raise _empty(text)
    sep = options.sep or recognised_sep(text)
    text, delimiter = in_one_byte(text, sep)
    found = first_rows(text, delimiter)
    if not any(field.strip() for field in found.fields):
        raise _empty(text)
    if len(found.fields) == 1:
        line = shown(found.fields[0])
        reason = f"{sep!r} separates nothing in the first line of {text.name!r}: {line}."
        raise UserError(reason, parameter="sep")
    decimal = options.decimal or recognised_decimal(found, options.header is False)
    if options.header is None:
        is_row = _is_row(found, decimal, asked, text.name)
    else:
        is_row = not options.header
    if is_row:
        names = _names(found, decimal, text.name if options.header is None else None)
    else:
        text.skip(found.size)
        names = found.fields
    refuse_twice(names, text.name, in_text=True)
    return text, Header(delimiter, decimal, names, found.size)


def _empty(text: Text) -> UserError:
    what = "begins with an empty line" if text.head(1)[0].size else "is empty"
    return UserError(f"{text.name!r} {what}: its first line should name the columns.")


def refuse_twice(names: list[str], name: str, *, in_text: bool = False) -> None:
    """Refuse a table, of the file ``name``, with two columns of one name."""
    twice = next((column for column, times in Counter(names).items() if times > 1), None)
    if twice is None:
        return
    what = f"{name!r} has more than one column named {shown(twice)}"
    if not in_text:
        raise UserError(f"{what}.")
    raise UserError(
        f"{what}. If its first line is a row:",
        remedy="Observations.of(path, header=False).",
        shell="--no-header.",
    )


def _names(found: FirstRows, decimal: Decimal | None, name: str | None) -> list[str]:
    """Names for the columns if the first line is a row; said of the file ``name``, if any."""
    kinds = [kind(field, decimal) for field in found.fields]
    if len(kinds) != 3 or kinds[2] in ("text", "time") or kinds == ["number"] * 3:
        return [f"column {j}" for j in range(1, len(kinds) + 1)]
    if name is not None:
        warn(
            f"the first line of {name!r} is taken for a row: user, item, value.",
        )
    return ["user", "item", "value"]


def _is_row(found: FirstRows, decimal: Decimal | None, asked: Asked, name: str) -> bool:
    """Whether the first line is a row, and not the names of the columns; an error in doubt."""
    first = found.fields
    if {field.lower() for field in first} & {str(asked_).lower() for asked_ in asked.names}:
        return False
    kinds = [kind(field, decimal) for field in first]
    below = [_kind_below(found.column(j), decimal) for j in range(len(first))]
    # an empty field is the name of a row index, if it comes first
    named = sum(role(field) is not None for field in [first[0], *filter(str.strip, first[1:])])
    if asked.ids:
        known = [_is_known(field, ids) for field, ids in zip(first, asked.ids, strict=False)]
        if all(known):
            return True
        if named and not any(known):
            return False
        numbers = zip(kinds, below, asked.ids, strict=False)
        # ids have a column of some name, but not of a number
        if not named and (
            any(known) or any(k == "number" and b in (k, None) for k, b, _ in numbers)
        ):
            return True
    if len(first) in (3, 4) and set(kinds) == {"number"}:
        return True
    if len(first) == 3 and (kinds[2] == "number" or kinds[2] == below[2] not in ("text", None)):
        return True
    typed = [j for j in range(len(first)) if below[j] not in ("text", None) and first[j].strip()]
    alike = [first[j] for j in typed if kinds[j] == below[j] or is_missing(first[j])]
    names = [first[j] for j in typed if first[j] not in alike]
    no_names = any(_no_name(field, decimal) for field in alike)
    if not alike and (names or named > 1 or (named and len(first) > 2)):
        return False
    numbered = _named_by_numbers(found, alike)
    if alike and not no_names and (named or numbered or _mostly(names, alike)):
        return False
    if alike and no_names and not names and not named:
        return True
    refuse_twice(first, name, in_text=True)
    raise UserError(
        f"The first line of {name!r} may be a row or the names of the columns:",
        remedy="say which with Observations.of(path, header=False), or True, or pass a DataFrame.",
        shell="say --no-header or --header.",
    )


def _kind_below(column: list[str], decimal: Decimal | None) -> str | None:
    """What all fields of a column look like; None if there are none."""
    kinds = {kind(field, decimal) for field in column}
    return (kinds.pop() if len(kinds) == 1 else "text") if kinds else None


def _is_known(field: str, ids: Ids) -> bool:
    """Whether an id is spelt so."""
    spelt: list[Hashable] = [field]
    if re.fullmatch(r"-?\d{1,18}", field):
        spelt.append(int(field))
    return any(ids.positions([id_])[0] >= 0 for id_ in spelt)


def _no_name(field: str, decimal: Decimal | None) -> bool:
    """Whether a field, above such as it, is hardly a name: a fraction, a time, or a word."""
    if kind(field, decimal) != "number":
        return not is_missing(field)
    if re.fullmatch(r"\s*\d+(\.0+)?\s*", field):  # of an item, as floats are written, too
        return float(field) >= _TIMES
    return True


def _named_by_numbers(found: FirstRows, alike: list[str]) -> bool:
    """Whether numbers are the items of a wide table: they rise, and leave what is below them."""
    if not all(re.fullmatch(r"\s*\d+(\.0+)?\s*", field) for field in alike) or len(alike) < 3:
        return False
    numbers = [float(field) for field in alike]
    rising = all(a < b for a, b in pairwise(numbers))
    return rising and numbers[-1] > max(_greatest(found), 1.0)


def _greatest(found: FirstRows) -> float:
    """The greatest number below the first line, but for the first column, which may hold ids."""
    plain = [field.strip().replace(",", ".") for row in found.rows for field in row[1:]]
    return max((float(f) for f in plain if re.fullmatch(r"\d+(\.\d*)?", f)), default=0.0)


def _mostly(names: list[str], alike: list[str]) -> bool:
    """Whether most are names beyond doubt, and some numbers among them are names as well."""
    letters = all(re.search(r"[^\W\d_]", field) for field in names)
    return letters and len(set(names)) == len(names) > max(1, len(alike))
