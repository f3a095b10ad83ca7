"""Answers as tables, in the library that the caller's own table came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

from eventspace.data.column import plain_array

# For type checkers: most callers use pandas. A fit of a polars table answers in polars.
DataFrame: TypeAlias = "pd.DataFrame"

LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")
COLUMNS = "columns"  # no library: a dict of the columns, which needs no import


def data_frame(columns: dict[str, Any], library: str) -> DataFrame:
    """A DataFrame of these columns, in the library of this name."""
    if library == COLUMNS:
        return cast("DataFrame", columns)
    arrays = {name: plain_array(column) for name, column in columns.items()}
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(arrays)
    import narwhals as nw

    plain = {name: _of_one_kind(a) if a.dtype == object else a for name, a in arrays.items()}
    return cast("DataFrame", nw.from_dict(plain, backend=cast("Any", library)).to_native())


def _of_one_kind(column: NDArray[np.object_]) -> list[Any]:
    """Python's objects, whose type other libraries find; of more than one type, as text."""
    values: list[Any] = column.tolist()
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 or kinds == {int, float}:
        return values
    return [value if value is None else str(value) for value in values]
