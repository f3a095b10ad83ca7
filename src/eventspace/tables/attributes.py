"""What is known of users or items beside their ratings: a table with a row an id, as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace.ids import Ids
from eventspace.tables.frames import Table, table_of, value_array

Floats = NDArray[np.float64]


class Attributes(NamedTuple):
    """Some numbers of each user, or of each item; NaN where nothing is known."""

    names: NDArray[np.object_]
    values: Floats  # ids x names

    def standard(self) -> Floats:
        """Of mean zero and unit variance; what is not known is zero."""
        known = np.where(np.isnan(self.values), 0.0, self.values)
        n = np.maximum((~np.isnan(self.values)).sum(axis=0), 1)
        deviations = np.where(np.isnan(self.values), 0.0, self.values - known.sum(axis=0) / n)
        scale = np.sqrt(np.square(deviations).sum(axis=0) / n)
        return np.asarray(deviations / np.where(scale > 0, scale, 1.0))

    def extended(self, data: Any, ids: Ids, what: str) -> Attributes:
        """With rows for the ids that have come after those known, from a table like the first."""
        more = read_attributes(data, ids, what)
        n_known, n_names = self.values.shape
        if data is None:
            more = Attributes(self.names, np.full((len(ids), n_names), np.nan))
        elif more.names.tolist() != self.names.tolist():
            raise ValueError(
                f"{what} has the columns {', '.join(more.names)}: those of the fit were "
                f"{', '.join(self.names) or 'none'}."
            )
        return Attributes(self.names, np.vstack([self.values, more.values[n_known:]]))


def read_attributes(data: Any, ids: Ids, what: str) -> Attributes:
    """The rows of a table, or of an array, for these ids; ``what`` names it in errors.

    The ids stand in the index of a pandas DataFrame, or in the first column; the rows of an array
    are in the order of the ids.
    """
    if data is None:
        return Attributes(np.array([], dtype=object), np.empty((len(ids), 0)))
    table = table_of(data)
    if table is None:
        values = np.asarray(data, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(ids):
            raise ValueError(
                f"{what} has the shape {values.shape}: an array needs {len(ids)} rows, one an id; "
                "a DataFrame with the ids in its index may have any."
            )
        names = np.array([str(j) for j in range(values.shape[1])], dtype=object)
        return Attributes(names, values)
    column, first = (table.column(0), 1) if table.index is None else (table.index, 0)
    row_ids = Ids(column)
    rows = ids.positions(row_ids.values)
    if (rows < 0).all():
        raise ValueError(
            f"{what} has no row for any of the ids: they belong in the index or the first column; "
            f"its first is {row_ids[0] if len(row_ids) else None!r}, the table's {ids[0]!r}."
        )
    unique, counts = np.unique(rows[rows >= 0], return_counts=True)
    if counts.max() > 1:
        raise ValueError(
            f"{what} has {counts.max()} rows for {ids[int(unique[counts.argmax()])]!r}."
        )
    names = np.array([str(name) for name in table.names[first:]], dtype=object)
    values = np.full((len(ids), len(names)), np.nan)
    for j, name in enumerate(names):
        values[rows[rows >= 0], j] = _numbers(table, first + j, name, what)[rows >= 0]
    return Attributes(names, values)


def _numbers(table: Table, j: int, name: str, what: str) -> Floats:
    column = value_array(table.column(j))
    if column.dtype.kind not in "biuf":
        raise ValueError(
            f"Column {name!r} of {what} holds no numbers: make a column of zeros and ones for each "
            "of its values first, as pandas.get_dummies does."
        )
    numbers = column.astype(np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"Column {name!r} of {what} holds an infinite number.")
    return numbers
