"""Tables of any DataFrame library, and of files, as columns that numpy can take."""

from __future__ import annotations

import io
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from eventspace._base.foreign import is_a
from eventspace.data.ids import PANDAS_COLUMN, Ids, as_column, series_column
from eventspace.data.readers.files import read_arrow
from eventspace.data.readers.spelling import values_of

# pandas' word for what an array of objects holds, where these are numbers
NUMBER_KINDS = {"integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty"}


@dataclass(frozen=True)
class Table:
    """A DataFrame, whosever it is: the names of its columns, and each column when asked for.

    Of a text file, the columns ``spelt`` are held as they are spelt, to be ids; as values they may
    be numbers.
    """

    names: list[Hashable]
    frame: Any  # a pandas DataFrame, otherwise narwhals'
    library: str
    spelt: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.frame)

    def column(self, j: int) -> Any:
        """The j-th column as values, as `eventspace.data.ids.as_column` gives it."""
        column = self.ids(j)
        return values_of(column) if self.names[j] in self.spelt else column

    def ids(self, j: int, known: Ids | None = None) -> Any:
        """The j-th column as ids: in these two spellings are never one.

        Beside ``known`` ids that are fractions or times, which no text file can say of its own, it
        is what they are, if it can be.
        """
        if known is not None and self.names[j] in self.spelt and not known.spelt:
            return self.column(j)
        if is_a(self.frame, "pandas.DataFrame"):
            return self.frame.iloc[:, j]
        return series_column(self.frame.get_column(self.names[j]))

    @property
    def index(self) -> Any | None:
        """The row labels, if it has such, and they say more than the row's number."""
        if not is_a(self.frame, "pandas.DataFrame"):
            return None
        index = self.frame.index
        numbers = is_a(index, "pandas.RangeIndex") and (index.start, index.step) == (0, 1)
        return None if numbers and index.name is None else index

    @property
    def pivoted(self) -> bool:
        """Whether it is the result of a pivot, whose columns as a whole carry a name."""
        if not is_a(self.frame, "pandas.DataFrame"):
            return False
        return any(name is not None for name in self.frame.columns.names)

    def matrix(self, positions: list[int]) -> npt.NDArray[Any]:
        """These columns side by side: numbers if they all are, otherwise objects."""
        if is_a(self.frame, "pandas.DataFrame") and len(positions) == len(self.names):
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


def table_of(data: Any, ids: Iterable[Hashable | None] = ()) -> Table | None:
    """The table that ``data`` is, or that the file or stream holds; None if it is no table.

    ``ids`` names columns that will be asked for as ids, beside those whose own names say so.
    """
    if isinstance(data, (str, os.PathLike)):
        return read_table(Path(data), ids)
    if isinstance(data, io.IOBase):
        return read_table(cast("BinaryIO", data), ids)
    if is_a(data, "pandas.DataFrame"):
        return Table(list(data.columns), data, "pandas")
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    import narwhals as nw

    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    return Table(list(frame.columns), frame, frame.implementation.value)


def column_kind(column: Any) -> str:
    """What a column holds: "number", "bool", "complex", "time", or "other" (text and the like)."""
    import pandas as pd

    if isinstance(column, pd.Series):
        dtype = column.dtype
        if dtype == np.dtype(object):
            inferred = pd.api.types.infer_dtype(column, skipna=True)
            if inferred == "boolean":
                return "bool"
            return "number" if inferred in NUMBER_KINDS else "other"
        if isinstance(dtype, pd.CategoricalDtype):
            return "other"
        if pd.api.types.is_bool_dtype(dtype):
            return "bool"
        if pd.api.types.is_complex_dtype(dtype):
            return "complex"
        if pd.api.types.is_numeric_dtype(dtype):
            return "number"
        return "time" if pd.api.types.is_datetime64_any_dtype(dtype) else "other"
    if isinstance(column, np.ndarray):  # polars' objects
        return column_kind(pd.Series(column, dtype=object))
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        return "bool"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    if any(is_kind(kind) for is_kind in numbers):
        return "number"
    return "time" if pa.types.is_temporal(kind) else "other"


def value_array(column: Any) -> npt.NDArray[Any]:
    """A column as an array: numbers with NaN for what is missing, or objects if it holds others."""
    column = as_column(column)
    if isinstance(column, np.ndarray):
        return column
    if is_a(column, *PANDAS_COLUMN):
        import pandas as pd

        if isinstance(column.dtype, np.dtype):
            return np.asarray(column.to_numpy())
        if isinstance(column.dtype, pd.CategoricalDtype):
            return np.asarray(column)
        if column_kind(pd.Series(column)) in ("number", "bool"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column, dtype=object)
    import pyarrow as pa

    if column_kind(column) in ("number", "bool"):
        if column.null_count or pa.types.is_decimal(column.type):
            column = column.cast(pa.float64(), safe=False)  # values may be rounded
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_dictionary(column.type):  # pandas' categories hold nothing that is missing
        column = column.cast(column.type.value_type)
    return np.asarray(column.to_pandas(), dtype=object)


def read_table(source: Path | BinaryIO, ids: Iterable[Hashable | None] = ()) -> Table:
    """The table in a Parquet, CSV or TSV file, or in a stream of such bytes."""
    import narwhals as nw

    table, spelt = read_arrow(source, ids)
    return Table(table.column_names, nw.from_native(table, eager_only=True), "pandas", spelt)
