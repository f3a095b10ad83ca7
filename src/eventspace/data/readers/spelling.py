"""Columns of text that may hold ids: numbers only where that gives back every spelling.

As numbers, ``1.1`` and ``1.10`` are one id, and so are ``007`` and ``7``, ``1e3`` and ``1000``, or
two ids of 20 digits. So ids are whole numbers if each is spelt as Python spells it, else text.
What the same column holds if its fields are values, `values_of` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.jit import njit
from eventspace.data.readers.numerals import in_plain_words
from eventspace.data.readers.text_options import Decimal

_ZERO, _MINUS = ord("0"), ord("-")
_TENTH = -(2**63 // 10)  # -2^63 without its last digit, 8
_BLANKS = " \t"
_SAMPLE = 1 << 16  # texts by which it is judged whether a column repeats itself


class SpeltColumn:
    """A column of a text file, put together from its parts.

    It is held as integers as long as these give back every spelling, and as text from the first
    that they do not; what came before is then spelt again.
    """

    def __init__(self) -> None:
        self._integers: list[Any] = []
        self._texts: list[Any] | None = None
        self._repeats = True

    def add(self, texts: Any) -> None:
        """Append a chunked array of strings, empty where a field is."""
        blocks = texts.chunks
        if self._texts is None:
            integers = [as_integers(block) for block in blocks]
            if all(block is not None for block in integers):
                self._integers += integers
                return
            blocks = [block.cast("string") for block in self._integers] + blocks
            self._integers, self._texts = [], []
        self._texts += [self._held(block) for block in blocks]

    def _held(self, block: Any) -> Any:
        """Texts with each held once, unless they hardly repeat themselves."""
        if self._repeats and len(block) >= _SAMPLE:
            self._repeats = len(block.slice(0, _SAMPLE).unique()) < _SAMPLE // 2
        block = with_missing(block)
        return block.dictionary_encode() if self._repeats else block

    def column(self) -> Any:
        """The column: integers, or strings, as a dictionary where they repeat themselves."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._texts is None:
            return pa.chunked_array(self._integers, pa.int64())
        if not self._repeats:
            column = pa.chunked_array([block.cast("string") for block in self._texts])
            integers = _trimmed(pc.fill_null(column, ""))
            return column if integers is None else integers
        column = pa.chunked_array(self._texts).unify_dictionaries()
        words = [column.chunk(0).dictionary, *([[""]] if column.null_count else [])]
        integers = _trimmed(pa.chunked_array(words, pa.string()))
        return column if integers is None else _looked_up(column, integers)


def as_integers(texts: Any) -> Any | None:
    """An array of strings as integers, empty ones missing; None if another spelling is lost."""
    import pyarrow as pa

    n = len(texts)
    _, offsets, data = texts.buffers()
    if not n:
        return pa.array([], pa.int64())
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + n + 1]
    letters = np.frombuffer(data or b"", np.uint8)
    integers = np.empty(n, np.int64)
    missing = np.zeros(n, np.bool_)
    found = _parse(letters, places, integers, missing)
    if found < 0:
        return None
    return pa.array(integers, mask=missing if found else None)


@njit(cache=True, nogil=True)
def _parse(
    letters: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int32],
    integers: npt.NDArray[np.int64],
    missing: npt.NDArray[np.bool_],
) -> int:
    """Texts as integers: how many are missing, or -1 if one is not spelt as its integer is."""
    n_missing = 0
    for k in range(integers.size):
        start, stop = places[k], places[k + 1]
        if start == stop:
            missing[k] = True
            integers[k] = 0
            n_missing += 1
            continue
        negative = letters[start] == _MINUS
        first = start + 1 if negative else start
        digits = stop - first
        if digits < 1 or digits > 19 or (letters[first] == _ZERO and (digits > 1 or negative)):
            return -1
        number = 0  # negative as it grows: 64 bits hold one more of these
        for j in range(first, stop):
            digit = int(letters[j]) - _ZERO
            if digit < 0 or digit > 9:
                return -1
            if j - first == 18 and (
                number < _TENTH or (number == _TENTH and digit > (8 if negative else 7))
            ):
                return -1
            number = number * 10 - digit
        integers[k] = number if negative else -number
    return n_missing


def _trimmed(texts: Any) -> Any | None:
    """Texts as integers if they are so but for blanks around, and no two become one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim(texts, _BLANKS)
    integers = [as_integers(block) for block in trimmed.chunks]
    if any(block is None for block in integers):
        return None
    if pc.count_distinct(trimmed).as_py() < pc.count_distinct(texts).as_py():
        return None
    return pa.chunked_array(integers, pa.int64())


def with_missing(texts: Any) -> Any:
    """An empty field is missing; "NA" may well be someone's name."""
    import pyarrow.compute as pc

    empty = pc.equal(texts, "")
    return pc.if_else(empty, None, texts) if pc.any(empty).as_py() else texts


def _looked_up(column: Any, values: Any) -> Any:
    """What ``values`` holds at the places of a dictionary column."""
    import pyarrow as pa

    values = values.combine_chunks()
    return pa.chunked_array([values.take(block.indices) for block in column.chunks], values.type)


def values_of(column: Any, decimal: Decimal | None) -> Any:
    """A column of text as pyarrow reads it where nothing says that it is text."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    if not column.num_chunks:
        return column
    encoded = pa.types.is_dictionary(column.type)
    texts = column.chunk(0).dictionary if encoded else column
    file = pa.BufferOutputStream()
    arrow_csv.write_csv(
        pa.table({"text": texts}), file, arrow_csv.WriteOptions(include_header=False)
    )
    values = arrow_csv.read_csv(
        pa.BufferReader(file.getvalue()),
        arrow_csv.ReadOptions(column_names=["text"], block_size=1 << 24),
        arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(decimal_point=decimal or "."),
    ).column("text")
    if pa.types.is_string(values.type) and (found := in_plain_words(values, decimal)) is not None:
        values = found
    if pa.types.is_string(values.type):
        return column
    return _looked_up(column, values) if encoded else values
