"""Tables of any DataFrame library, and of files: names, and columns when asked for."""

from __future__ import annotations

import io
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.foreign import SPARSE, is_a
from eventspace.data.column import first_missing, series_column, value_array
from eventspace.data.ids import Ids, in_row
from eventspace.data.readers.files import read_arrow
from eventspace.data.readers.header import Asked
from eventspace.data.readers.lines import Lines
from eventspace.data.readers.spelling import values_of
from eventspace.data.readers.text_options import Decimal, TextOptions


@dataclass(frozen=True)
class Table:
    """A DataFrame, whosever it is: the names of its columns, and each column when asked for.

    Of a text file, the columns ``spelt`` are held as they are spelt, to be ids; as values they may
    be numbers, with this ``decimal`` mark. Its rows have ``lines``.
    """

    names: list[Hashable]
    frame: Any  # of pandas or pyarrow, otherwise narwhals'
    library: str
    spelt: frozenset[str] = frozenset()
    decimal: Decimal | None = None
    lines: Lines | None = None

    def __len__(self) -> int:
        return len(self.frame)

    def column(self, j: int) -> Any:
        """The j-th column as values, as `eventspace.data.column.as_column` gives it."""
        column = self.ids(j)
        return values_of(column, self.decimal) if self.names[j] in self.spelt else column

    def ids(self, j: int, known: Ids | None = None) -> Any:
        """The j-th column as ids: in these two spellings are never one.

        Beside ``known`` ids that are fractions or times, which no text file can say of its own, it
        is what they are, if it can be.
        """
        if known is not None and self.names[j] in self.spelt and not known.spelt:
            return self.column(j)
        if self._pandas:
            return self.frame.iloc[:, j]
        if is_a(self.frame, "pyarrow.Table"):
            return self.frame.column(j)
        return series_column(self.frame.get_column(self.names[j]))

    def pairs(self, user: int, item: int, known: tuple[Ids, Ids] | None) -> tuple[Any, Any]:
        """The columns of users and of items, none of them missing in a row of a text file."""
        columns = []
        for j, ids, what in zip((user, item), known or (None, None), ("user", "item"), strict=True):
            column = self.ids(j, ids)
            if self.lines is not None and (row := first_missing(column)) is not None:
                place = self.place(row)
                raise UserError(f"The {what} id of {place} is missing; every pair needs both.")
            columns.append(column)
        return columns[0], columns[1]

    def place(self, row: int) -> str:
        """Where a row stands: in a text file by its line, as editors count them."""
        return in_row(row) if self.lines is None else f"line {self.lines[row]}"

    @property
    def index(self) -> Any | None:
        """The row labels, if it has such, and they say more than the row's number."""
        if not self._pandas:
            return None
        index = self.frame.index
        numbers = is_a(index, "pandas.RangeIndex") and (index.start, index.step) == (0, 1)
        return None if numbers and index.name is None else index

    @property
    def pivoted(self) -> bool:
        """Whether it is the result of a pivot, whose columns as a whole carry a name."""
        return self._pandas and any(name is not None for name in self.frame.columns.names)

    @property
    def _pandas(self) -> bool:
        return is_a(self.frame, "pandas.DataFrame")

    def matrix(self, positions: list[int]) -> npt.NDArray[Any]:
        """These columns side by side: numbers if they all are, otherwise objects."""
        if self._pandas and len(positions) == len(self.names):
            dtypes = set(self.frame.dtypes)
            if len(dtypes) == 1 and isinstance(dtypes.pop(), np.dtype):
                return np.asarray(self.frame.to_numpy())
        columns = [value_array(self.column(j)) for j in positions]
        kinds = {column.dtype for column in columns}
        numbers = all(kind.kind in "biufc" for kind in kinds)
        dtype = np.result_type(*kinds) if numbers and kinds else np.dtype(object)
        matrix = np.empty((len(self), len(columns)), dtype=dtype, order="F")
        for j, column in enumerate(columns):
            matrix[:, j] = column
        return matrix


def table_of(
    data: Any,
    names: Iterable[Hashable | None] = (),
    options: TextOptions | None = None,
    known: tuple[Ids, ...] = (),
) -> Table | None:
    """The table that ``data`` is, or that the file or stream holds; None if it is no table.

    The others are those of `read_table`.
    """
    if isinstance(data, (str, os.PathLike)):
        return read_table(Path(data), names, options, known)
    if isinstance(data, io.IOBase):
        return read_table(cast("BinaryIO", data), names, options, known)
    if isinstance(data, Table):
        return data
    if is_a(data, "pandas.DataFrame"):
        return Table(list(data.columns), data, "pandas")
    if is_a(data, "pyarrow.Table"):
        return Table(data.column_names, data, "pyarrow")
    if isinstance(data, (np.ndarray, list, tuple)) or is_a(data, *SPARSE):
        return None
    import narwhals as nw

    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    return Table(list(frame.columns), frame, frame.implementation.value)


def read_table(
    source: Path | BinaryIO,
    names: Iterable[Hashable | None] = (),
    options: TextOptions | None = None,
    known: tuple[Ids, ...] = (),
) -> Table:
    """The table in a Parquet, CSV or TSV file, or in a stream of such bytes.

    ``names`` are columns that will be asked for as ids, beside those whose own names say so.
    ``known`` are ids that the first columns may hold.
    """
    asked = Asked(frozenset(name for name in names if name is not None), known)
    read = read_arrow(source, options, asked)
    table = read.table
    return Table(table.column_names, table, "pandas", read.spelt, read.decimal, read.lines)
