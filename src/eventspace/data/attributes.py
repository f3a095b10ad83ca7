"""What is known of users or items beside their ratings: numbers, with one row per id."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError
from eventspace._base.foreign import is_a
from eventspace._base.printable import shown
from eventspace._base.types import Floats, Positions
from eventspace.data.column import value_array
from eventspace.data.id_order import Order
from eventspace.data.ids import Ids
from eventspace.data.readers.roles import with_role
from eventspace.data.readers.tables import Table, table_of

MOST = 1e100  # a file holds no greater number, and none has a square beyond float64


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

    def taken(self, rows: Order) -> Attributes:
        """Those of some ids."""
        return self._replace(values=self.values[rows])

    def extended(self, data: Any, ids: Ids, what: str) -> Attributes:
        """With what a table like the first says of ids of which nothing was known."""
        more = read_attributes(data, ids, what)
        n_known, n_names = self.values.shape
        if data is None:
            more = Attributes(self.names, np.full((len(ids), n_names), np.nan))
        elif more.names.tolist() != self.names.tolist():
            raise UserError(
                f"has the columns {', '.join(more.names)}: those of the fit were "
                f"{', '.join(self.names) or 'none'}.",
                parameter=what,
            )
        known = np.pad(self.values, ((0, len(ids) - n_known), (0, 0)), constant_values=np.nan)
        bare = np.isnan(known).all(axis=1, keepdims=True)
        return Attributes(self.names, np.where(bare, more.values, known))


def read_attributes(data: Any, ids: Ids, what: str) -> Attributes:
    """The rows of a table, or of an array, for these ids; ``what`` names it in errors.

    The ids stand in a column that is called user or item, or the like, in the index of a pandas
    DataFrame, or in the first column; the rows of an array are in the order of the ids.
    """
    if data is None:
        return Attributes(np.array([], dtype=object), np.empty((len(ids), 0)))
    if is_a(data, "pandas.Series"):
        data = data.to_frame()
    if isinstance(data, dict):
        remedy = "make it a DataFrame with the ids in its index."
        raise UserError("is a dict:", parameter=what, remedy=remedy)
    table = table_of(data, known=(ids,))
    if table is None:
        values = _finite(np.asarray(data, dtype=np.float64), what)
        if values.ndim != 2 or len(values) != len(ids):
            raise UserError(
                f"has the shape {values.shape}: an array needs {len(ids)} rows, one an id; "
                "a DataFrame with the ids in its index may have any.",
                parameter=what,
            )
        names = np.array([str(j) for j in range(values.shape[1])], dtype=object)
        return Attributes(names, values)
    j, row_ids, rows = _rows_of(table, ids)
    if (rows < 0).all():
        first = row_ids[0] if len(row_ids) else None
        firsts = f"its first is {first!r}, the table's {shown(ids[0])}."
        raise UserError(
            "has no row for any of the ids: they belong in",
            parameter=what,
            remedy=f"the index or the first column; {firsts}",
            shell=f"the first column; {firsts}",
        )
    unique, counts = np.unique(rows[rows >= 0], return_counts=True)
    if counts.max() > 1:
        twice = shown(ids[int(unique[counts.argmax()])])
        raise UserError(f"has {counts.max()} rows for {twice}.", parameter=what)
    columns = [k for k in range(len(table.names)) if k != j]
    names = np.array([str(table.names[k]) for k in columns], dtype=object)
    values = np.full((len(ids), len(names)), np.nan)
    for k, name, numbers in zip(columns, names, values.T, strict=True):
        numbers[rows[rows >= 0]] = _numbers(table, k, name, what)[rows >= 0]
    return Attributes(names, values)


def _rows_of(table: Table, ids: Ids) -> tuple[int | None, Ids, Positions]:
    """Where the ids stand, a column or the index (None); they, and the position of each.

    A column may have the name of an id and hold something else: where most ids are known is right.
    """
    named = with_role(table, "user") + with_role(table, "item")
    places: list[int | None] = [min(named)] if named else []
    places += [0] if table.index is None else [None]
    found = []
    for j in dict.fromkeys(places):
        row_ids = Ids(table.index if j is None else table.ids(j))
        found.append((j, row_ids, ids.positions(row_ids.values)))
    return max(found, key=lambda place: int((place[2] >= 0).sum()))


def _numbers(table: Table, j: int, name: str, what: str) -> Floats:
    column = value_array(table.column(j))
    if column.dtype.kind not in "biuf":
        raise UserError(
            f"Column {name!r} of {what} holds no numbers: make a column of zeros and ones for each "
            "of its values",
            remedy="first, as pandas.get_dummies does.",
            shell="first.",
        )
    return _finite(column.astype(np.float64), f"Column {name!r} of {what}")


def _finite(numbers: Floats, what: str) -> Floats:
    if np.isinf(numbers).any():
        raise UserError(f"{what} holds an infinite number: leave it out, or make it NaN.")
    if (np.abs(numbers) > MOST).any():
        most = np.nanmax(np.abs(numbers))
        raise UserError(f"{what} holds {most:g}, more than {MOST:g}: divide it by some number.")
    return numbers
