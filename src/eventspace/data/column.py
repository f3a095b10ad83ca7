"""One column of any library: as it comes, as an array of ids, as an array of values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.foreign import is_a
from eventspace._base.types import Bits, Floats

_PANDAS = ("pandas.Series", "pandas.Index", "pandas.api.extensions.ExtensionArray")
_KINDS = {"b": "bool", "i": "number", "u": "number", "f": "number", "c": "complex", "M": "time"}
# pandas' word for what an array of objects holds, where these are numbers
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")


def is_arrow(column: Any) -> bool:
    """Whether a column is pyarrow's."""
    return is_a(column, "pyarrow.Array", "pyarrow.ChunkedArray")


def as_column(data: Any) -> Any:
    """One column as numpy, pandas or pyarrow can number it, without a copy where it is one."""
    if is_a(data, "pandas.MultiIndex"):
        return data.to_numpy()
    if is_a(data, *_PANDAS) or is_arrow(data):
        return data
    if isinstance(data, np.ndarray):
        if data.ndim != 1:
            raise UserError(f"A column of ids or values must be 1-D, this has {data.ndim} axes.")
        return _native(data)
    if not isinstance(data, (list, tuple, range)):
        import narwhals as nw

        series = nw.from_native(data, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return series_column(series)
        if isinstance(data, (str, bytes)) or not hasattr(data, "__len__"):
            raise UserError(f"Expected a column of ids or values, got {data!r}.")
    return _inferred(np.fromiter(data, dtype=object, count=len(data)))


def series_column(series: Any) -> Any:
    """A narwhals Series as a column: pyarrow's, whose strings are no Python objects."""
    import narwhals as nw

    if series.dtype == nw.Object:
        return np.fromiter(series.to_list(), dtype=object, count=len(series))
    return series.to_arrow()


def plain_array(data: Any) -> npt.NDArray[Any]:
    """A column as a numpy array: numbers as they are, everything else as Python objects."""
    column = as_column(data)
    if is_arrow(column):
        import pyarrow as pa

        # with some missing, numpy would round integers to floats, and merge the large ones
        whole = pa.types.is_integer(column.type) and not column.null_count
        if whole or pa.types.is_floating(column.type):
            return np.asarray(column.to_numpy(zero_copy_only=False))
        try:
            objects = column.to_pylist()
        except (OverflowError, ValueError) as error:  # a time that Python has no year for, say
            raise UserError(f"An id of kind {column.type} cannot be read: {error}.") from error
        return np.fromiter(objects, dtype=object, count=len(column))
    if not isinstance(column.dtype, np.dtype):
        return _inferred(np.asarray(column, dtype=object))
    array = np.asarray(column)
    if array.dtype.kind in "mM":  # numpy would make integers of them, pandas Timestamps
        import pandas as pd

        return pd.Series(array).astype(object).to_numpy()
    return _native(array) if array.dtype.kind in "biufO" else array.astype(object)


def value_array(data: Any) -> npt.NDArray[Any]:
    """A column as an array: numbers with NaN for what is missing, or objects if it holds others."""
    column = as_column(data)
    if isinstance(column, np.ndarray):
        return column
    numbers = column_kind(column) in ("number", "bool")
    if is_arrow(column):
        import pyarrow as pa

        if not numbers:
            return plain_array(column)
        if column.null_count or pa.types.is_decimal(column.type):
            column = column.cast(pa.float64(), safe=False)  # values may be rounded
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if isinstance(column.dtype, np.dtype) or is_a(column.dtype, "pandas.CategoricalDtype"):
        return np.asarray(column)
    if numbers:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=object)


def column_kind(column: Any) -> str:
    """What a column holds: "number", "bool", "complex", "time", or "other" (text and the like)."""
    if is_arrow(column):
        import pyarrow as pa

        kind = column.type
        if pa.types.is_boolean(kind):
            return "bool"
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
        if any(is_kind(kind) for is_kind in numbers):
            return "number"
        return "time" if pa.types.is_temporal(kind) else "other"
    import pandas as pd

    if column.dtype == object:
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        return "bool" if inferred == "boolean" else "number" if inferred in _NUMBERS else "other"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _KINDS.get(column.dtype.kind, "number")  # decimals of Arrow's are objects to pandas
    return _KINDS.get(column.dtype.kind, "other")


def missing(column: Any) -> Bits:
    """Which values of a column or an array are missing: None, NaN and the like."""
    if is_arrow(column):
        return np.asarray(column.is_null().to_numpy(zero_copy_only=False))
    if isinstance(column, np.ndarray):
        kind = column.dtype.kind
        if kind in "fc":
            return np.asarray(np.isnan(column))
        if kind in "biu" or (kind == "O" and set(map(type, column.flat)) <= {str, int}):
            return np.zeros(column.shape, dtype=np.bool_)
    import pandas as pd

    return np.asarray(pd.isna(column))


def first_missing(data: Any) -> int | None:
    """The first row of a column whose id is missing, if there is one."""
    rows = missing(as_column(data))
    return int(np.argmax(rows)) if rows.any() else None


def floats(numbers: npt.NDArray[Any]) -> Floats:
    """Numbers, which may come as objects, as floats; NaN for what is missing."""
    if numbers.dtype == object:
        numbers = np.where(missing(numbers), np.nan, numbers)
    return numbers.astype(np.float64, copy=False)


def value_range(numbers: npt.NDArray[Any]) -> tuple[float, float]:
    """The least and the greatest of the numbers that are there; NaN if none is."""
    if not numbers.size:
        return math.nan, math.nan
    return float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array as pandas can look it up: no half floats, and no foreign byte order."""
    kind = np.dtype(np.float32) if array.dtype == np.float16 else array.dtype
    return array.astype(kind.newbyteorder("="), copy=False)


def _inferred(objects: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects that are all of one kind of number as an array of that kind."""
    kinds = {_number_kind(kind) for kind in set(map(type, objects))}
    kind = kinds.pop() if len(kinds) == 1 else None
    try:
        return objects if kind is None else objects.astype(kind)
    except OverflowError:  # Python's integers know no bounds
        return objects


def _number_kind(kind: type) -> type | None:
    if issubclass(kind, (bool, np.bool_)):
        return np.bool_
    if issubclass(kind, (int, np.integer)) and not issubclass(kind, np.timedelta64):
        return np.int64
    return np.float64 if issubclass(kind, (float, np.floating)) else None
