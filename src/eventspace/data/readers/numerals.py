"""Numbers and answers as people write them: 1,234.5 and 1.234,5 and 1 234; yes and no.

A number has one decimal mark, and at most one mark of thousands between groups of three digits.
``1,234`` alone may be either. Which one it is, other numbers of the file or the caller must say.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from eventspace.data.readers.text_options import Decimal

# Each a yes and a no; a column holds words of one pair, in any case
WORDS = (("yes", "no"), ("y", "n"), ("true", "false"), ("ja", "nein"), ("oui", "non"))
_PAIR = {word: pair for pair in WORDS for word in pair}
DECIMALS: tuple[Decimal, ...] = (".", ",")
_SPACES = ("'", "\u2019", " ", "\u00a0", "\u202f")  # marks of thousands and of nothing else
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?")
_BLANKS = " \t"
_FEW = 100  # texts by which a column is judged at first


@cache
def _missing() -> frozenset[str]:
    """What pyarrow takes for a missing value."""
    import pyarrow.csv as arrow_csv

    return frozenset(arrow_csv.ConvertOptions().null_values)


def is_missing(field: str) -> bool:
    """Whether a field has no value."""
    return field.strip(_BLANKS) in _missing()


def _thousands(decimal: Decimal) -> tuple[str, ...]:
    return ("," if decimal == "." else ".", *_SPACES)


def _plain(decimal: Decimal) -> str:
    """The pattern of a number without marks of thousands."""
    point = re.escape(decimal)
    return rf"[-+]?(\d+{point}?\d*|{point}\d+)([eE][-+]?\d+)?"


def _grouped(decimal: Decimal, mark: str) -> str:
    """The pattern of a number of four digits or more, in groups."""
    return rf"[-+]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+({re.escape(decimal)}\d+)?"


_FORMS = {
    decimal: re.compile(
        "|".join([_plain(decimal), *(_grouped(decimal, mark) for mark in _thousands(decimal))])
    )
    for decimal in DECIMALS
}


def is_number(field: str, decimal: Decimal) -> bool:
    """Whether a field is a number with this decimal mark."""
    return bool(_FORMS[decimal].fullmatch(field.strip(_BLANKS)))


def is_plain(field: str, decimal: Decimal) -> bool:
    """Whether a field is a number with this decimal mark and no mark of thousands."""
    return bool(re.fullmatch(_plain(decimal), field.strip(_BLANKS)))


def kind(field: str, decimal: Decimal | None) -> str:
    """What a field looks like: "number", "time", "text", or the words of which it is one."""
    field = field.strip(_BLANKS)
    if any(is_number(field, mark) for mark in (DECIMALS if decimal is None else (decimal,))):
        return "number"
    if _TIME.fullmatch(field):
        return "time"
    return "/".join(_PAIR.get(field.lower(), ("text",)))


def in_plain_words(texts: Any, decimal: Decimal | None) -> Any | None:
    """A column of texts as numbers or booleans, if all are written with marks, or are words.

    None if it holds others, or if it is not certain which mark is which.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # most columns of text are neither, which their first texts say
    some = (text for text in texts.slice(0, _FEW).to_pylist() if text is not None)
    first = next((kind(text, decimal) for text in some if not is_missing(text)), None)
    if first in ("text", "time"):
        return None
    texts = pc.utf8_trim(texts, _BLANKS)
    texts = pc.if_else(pc.is_in(texts, pa.array(sorted(_missing()))), None, texts)
    if first is None:
        present = texts.drop_null()
        first = kind(present[0].as_py(), decimal) if len(present) else "text"
    if first == "number":
        return _numbers(texts, decimal)
    if first in ("text", "time"):
        return None
    yes, no = first.split("/")
    lower = pc.utf8_lower(texts)
    known = pc.is_in(lower.drop_null(), pa.array([yes, no]))
    return pc.equal(lower, yes) if pc.all(known).as_py() else None


def _numbers(texts: Any, decimal: Decimal | None) -> Any | None:
    import pyarrow.compute as pc

    readings = [
        numbers
        for mark in (DECIMALS if decimal is None else (decimal,))
        if (numbers := _with_thousands(texts, mark)) is not None
    ]
    # that a comma is the decimal mark is known from the first rows, or not at all
    if not readings or (decimal is None and _with_thousands(texts, ".") is None):
        return None
    alike = all(pc.all(pc.equal(readings[0], other)).as_py() for other in readings[1:])
    return readings[0] if alike else None


def _with_thousands(texts: Any, decimal: Decimal) -> Any | None:
    """The numbers with this decimal mark, and one mark of thousands; None if some are no such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = texts.drop_null()
    for mark in _thousands(decimal):
        pattern = f"^({_plain(decimal)}|{_grouped(decimal, mark)})$"
        if pc.all(pc.match_substring_regex(present, pattern)).as_py():
            plain = pc.replace_substring(texts, mark, "")
            with_point = pc.replace_substring(plain, decimal, ".")
            bare = pc.replace_substring_regex(with_point, r"^\+", "")
            return bare.cast(pa.float64())
    return None
