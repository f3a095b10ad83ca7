"""Observed entries as they came: numbered ids, values and weights that nobody has looked at yet."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.foreign import SPARSE, is_a
from eventspace._base.printable import shown
from eventspace._base.types import Bits
from eventspace.data.column import as_column, missing, value_array
from eventspace.data.entries import Int32Array
from eventspace.data.ids import Ids, Place, in_row, number
from eventspace.data.readers.roles import Roles, user_column
from eventspace.data.readers.tables import Table
from eventspace.data.readers.text_options import Decimal


class Known(NamedTuple):
    """Ids that keep their positions: those of a model that the entries are to be aligned to."""

    users: Ids | None = None
    items: Ids | None = None

    @classmethod
    def of(cls, users: Any, items: Any) -> Known:
        """Known ids, from whatever column holds them."""
        return cls(_distinct("users", users), _distinct("items", items))

    def numbered(
        self, users: Any, items: Any, place: Place = in_row, *, as_they_come: bool = False
    ) -> tuple[Ids, Ids, Int32Array, Int32Array]:
        """The ids in two columns, the known ones first, and the positions of each row's."""
        user_ids, user_at = number(users, "user", self.users, place, as_they_come=as_they_come)
        item_ids, item_at = number(items, "item", self.items, place, as_they_come=as_they_come)
        return user_ids, item_ids, user_at, item_at


def _distinct(name: str, ids: Any) -> Ids | None:
    if ids is None or isinstance(ids, Ids):
        return ids
    known = Ids(ids)
    if not known.unique:
        raise UserError("holds an id twice.", parameter=name)
    return known


@dataclass
class RawEntries:
    """One row per entry: positions of its user and item, its value and weight as they came.

    ``rows`` is where an entry stood in the caller's data, None if they stand there in this order,
    and ``table`` says where such a row is. With ``counts`` the values are successes and the weights
    trials. Without ``valued`` nobody has said them: every row is a yes. ``times`` are when the
    entries were made, where they are to fade. The weights of observations are ``weighed``: they
    were checked before they faded.
    """

    user_ids: Ids
    item_ids: Ids
    users: Int32Array
    items: Int32Array
    values: npt.NDArray[Any]
    weights: npt.NDArray[Any] | None = None
    rows: npt.NDArray[Any] | None = None
    counts: bool = False
    valued: bool = True
    library: str = "pandas"
    table: Table | None = None
    times: npt.NDArray[np.float64] | None = None
    weighed: bool = False

    @property
    def in_text(self) -> bool:
        """Whether they come from a text file."""
        return self.table is not None and self.table.lines is not None

    @property
    def decimal(self) -> Decimal | None:
        """The decimal mark of the text file, if that is known."""
        return None if self.table is None else self.table.decimal

    def row(self, k: int) -> str:
        """The row, or the line of a file, of entry k, for messages."""
        row = k if self.rows is None else int(self.rows[k])
        return in_row(row) if self.table is None else self.table.place(row)

    def place(self, k: int) -> str:
        """Where entry k is, for messages."""
        user, item = self.user_ids[self.users[k]], self.item_ids[self.items[k]]
        return f"{self.row(k)}, user {shown(user)}, item {shown(item)}"

    def kept(self, mask: Bits | npt.NDArray[np.int64]) -> RawEntries:
        """These entries only, or in this order."""
        return replace(
            self,
            users=self.users[mask],
            items=self.items[mask],
            values=self.values[mask],
            weights=None if self.weights is None else self.weights[mask],
            times=None if self.times is None else self.times[mask],
            rows=(np.arange(len(self.users)) if self.rows is None else self.rows)[mask],
        )


def from_columns(data: tuple[Any, ...], known: Known, *, valued: bool) -> RawEntries:
    """Entries of ``(users, items, values)``, or with weights as a fourth; values may be optional"""
    if len(data) not in (3, 4) and (valued or len(data) != 2):
        raise UserError(
            f"A tuple must be (users, items, values) or (users, items, values, weights), this has "
            f"{len(data)} elements."
            + ' With missing="no", (users, items) will do.'
            * (valued and len(data) == 2)
        )
    valued = len(data) > 2
    if not valued:
        data = (*data, np.ones(len(data[0]), dtype=np.float32))
    users, items, values, *weights = (as_column(column) for column in data)
    lengths = [len(column) for column in (users, items, values, *weights)]
    if len(set(lengths)) > 1:
        raise UserError(f"Users, items, values (and weights) differ in length: {lengths}.")
    weight = value_array(weights[0]) if weights else None
    numbered = known.numbered(users, items)
    return RawEntries(*numbered, value_array(values), weight, valued=valued)


def from_long(table: Table, roles: Roles, known: Known) -> RawEntries:
    """Entries of a long table."""
    users, items = table.ids(roles["user"], known.users), table.ids(roles["item"], known.items)
    counts = "successes" in roles
    value, weight = ("successes", "trials") if counts else ("value", "weight")
    valued = value in roles
    return RawEntries(
        *known.numbered(users, items, table.place),
        value_array(table.column(roles[value])) if valued else np.ones(len(table), np.float32),
        value_array(table.column(roles[weight])) if weight in roles else None,
        counts=counts,
        valued=valued,
        library=table.library,
        table=table,
    )


def from_wide(table: Table, user: Hashable | None, weight: Any, known: Known) -> RawEntries:
    """Entries of a table with one row per user and one column per item."""
    at = user_column(table, user)
    positions = [j for j in range(len(table.names)) if j != at]
    labels = table.index if at is None else table.ids(at, known.users)
    if labels is None:
        labels = np.arange(len(table))
    names = [table.names[j] for j in positions]
    entries = _from_matrix(table.matrix(positions), weight, labels, names, known, table.place)
    return replace(entries, library=table.library, table=table)


def from_grid(data: Any, weight: Any, known: Known) -> RawEntries:
    """Entries of an array, nested lists or a sparse matrix, users x items.

    Missing are NaN and None; in a sparse one all that is stored is there, zeros too.
    """
    if is_a(data, *SPARSE):
        return _from_sparse(data, weight, known)
    if isinstance(data, list) and data and isinstance(data[0], tuple):
        raise UserError(
            "A list of tuples could be rows of (user, item, value) or of an array: pass "
            "tuple(zip(*data)) for the first, a numpy array for the second."
        )
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    array = np.asarray(data, dtype=object if isinstance(data, list) else None)
    if array.ndim != 2:
        raise UserError(
            f"Expected a 2-D array, users x items, got {array.ndim} dimension(s) (type "
            f"{type(data).__name__}). Reshape your data, or make all rows of the same length."
        )
    if array.shape[1] == 0:
        raise UserError(
            f"Nothing is observed: 0 feature(s) (shape={array.shape}) while a minimum of 1 is "
            "required."
        )
    n_rows, n_columns = array.shape
    return _from_matrix(array, weight, np.arange(n_rows), np.arange(n_columns), known)


def _from_matrix(
    matrix: npt.NDArray[Any],
    weight: Any,
    row_labels: Any,
    col_labels: Any,
    known: Known,
    place: Place = in_row,
) -> RawEntries:
    user_ids, item_ids, row_user, col_item = known.numbered(
        row_labels, col_labels, place, as_they_come=True
    )
    observed = ~missing(matrix)
    rows = np.repeat(np.arange(len(row_user), dtype=np.int32), observed.sum(axis=1))
    return RawEntries(
        user_ids,
        item_ids,
        row_user[rows],
        np.broadcast_to(col_item, matrix.shape)[observed],
        matrix[observed],
        None if weight is None else _same_shape(weight, matrix.shape)[observed],
        rows,
    )


def _from_sparse(data: Any, weight: Any, known: Known) -> RawEntries:
    if data.ndim != 2:
        raise UserError(f"Expected a 2-D sparse array, users x items, got {data.ndim} dimension.")
    coo = _checked_coo(data)
    rows, cols = (np.asarray(position) for position in coo.coords)
    user_ids, item_ids, row_user, col_item = known.numbered(
        np.arange(coo.shape[0]), np.arange(coo.shape[1])
    )
    return RawEntries(
        user_ids,
        item_ids,
        row_user[rows],
        col_item[cols],
        np.asarray(coo.data),
        None if weight is None else _same_shape(weight, coo.shape)[rows, cols],
        rows,
    )


def _checked_coo(data: Any) -> Any:
    """A sparse matrix as coordinates, all of them inside: SciPy's own loops check nothing."""
    from scipy import sparse

    try:
        if data.format in ("csr", "csc", "bsr"):
            data.check_format(full_check=True)
        coo = sparse.coo_array(data)
        lengths = {len(coo.data), *(len(position) for position in coo.coords)}
    except (ValueError, IndexError, TypeError) as error:
        raise UserError(f"The sparse matrix does not hold together: {error}.") from error
    inside = len(lengths) == 1 and all(
        not position.size or (position.min() >= 0 and position.max() < n)
        for position, n in zip(coo.coords, coo.shape, strict=True)
    )
    if not inside:
        raise UserError(
            f"The sparse matrix does not hold together: its indices leave the shape {coo.shape}, "
            "or are not as many as its values."
        )
    return coo


def _same_shape(weight: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    weights = np.asarray(weight)
    if weights.shape != shape:
        raise UserError(f"The weights' shape {weights.shape} is not that of the values, {shape}.")
    return weights
