"""Observed entries in columns, whatever they came in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.foreign import is_a
from eventspace._base.printable import shown
from eventspace.data.ids import Ids, as_column, number
from eventspace.data.readers.column_names import role
from eventspace.data.readers.column_roles import Roles
from eventspace.data.readers.frames import Table, column_kind, value_array

Int32Array = npt.NDArray[np.int32]


class Known(NamedTuple):
    """Ids that keep their positions: those of a model that the entries are to be aligned to."""

    users: Ids | None = None
    items: Ids | None = None

    @classmethod
    def of(cls, users: Any, items: Any) -> Known:
        """Known ids, from whatever column holds them."""
        return cls(
            *(ids if ids is None or isinstance(ids, Ids) else Ids(ids) for ids in (users, items))
        )


@dataclass
class Columns:
    """One row an entry: positions of its user and item, its value and weight as they came.

    ``rows`` is where an entry stood in the caller's data, None if they stand there in this order.
    With ``counts`` the values are successes and the weights trials.
    """

    user_ids: Ids
    item_ids: Ids
    users: Int32Array
    items: Int32Array
    values: npt.NDArray[Any]
    weights: npt.NDArray[Any] | None = None
    rows: npt.NDArray[Any] | None = None
    counts: bool = False
    library: str = "pandas"

    def place(self, k: int) -> str:
        """Where entry k is, for messages."""
        row = k if self.rows is None else int(self.rows[k])
        user, item = self.user_ids[self.users[k]], self.item_ids[self.items[k]]
        return f"row {row}, user {shown(user)}, item {shown(item)}"

    def kept(self, mask: npt.NDArray[np.bool_]) -> Columns:
        """These entries only."""
        return replace(
            self,
            users=self.users[mask],
            items=self.items[mask],
            values=self.values[mask],
            weights=None if self.weights is None else self.weights[mask],
            rows=np.flatnonzero(mask) if self.rows is None else self.rows[mask],
        )


def from_triples(data: tuple[Any, ...], known: Known) -> Columns:
    """Entries of ``(users, items, values)``, or with weights as a fourth."""
    if len(data) not in (3, 4):
        raise UserError(
            f"A tuple must be (users, items, values) or (users, items, values, weights), this has "
            f"{len(data)} elements."
        )
    data = tuple(as_column(column) for column in data)
    lengths = [len(column) for column in data]
    if len(set(lengths)) > 1:
        raise UserError(f"Users, items, values (and weights) differ in length: {lengths}.")
    user_ids, users = number(data[0], "user", known.users)
    item_ids, items = number(data[1], "item", known.items)
    weights = value_array(data[3]) if len(data) == 4 else None
    return Columns(user_ids, item_ids, users, items, value_array(data[2]), weights)


def from_long(table: Table, roles: Roles, known: Known) -> Columns:
    """Entries of a long table."""
    user_ids, users = number(table.ids(roles["user"], known.users), "user", known.users)
    item_ids, items = number(table.ids(roles["item"], known.items), "item", known.items)
    counts = "successes" in roles
    value, weight = ("successes", "trials") if counts else ("value", "weight")
    return Columns(
        user_ids,
        item_ids,
        users,
        items,
        value_array(table.column(roles[value])),
        value_array(table.column(roles[weight])) if weight in roles else None,
        counts=counts,
        library=table.library,
    )


def from_wide(table: Table, user: Hashable | None, weight: Any, known: Known) -> Columns:
    """Entries of a table with a row a user and a column an item."""
    at = _user_column(table, user)
    positions = [j for j in range(len(table.names)) if j != at]
    if at is not None:
        labels = table.ids(at, known.users)
    elif is_a(table.frame, "pandas.DataFrame"):
        labels = table.frame.index
    else:
        labels = np.arange(len(table))
    columns = _from_matrix(
        table.matrix(positions), weight, labels, [table.names[j] for j in positions], known
    )
    return replace(columns, library=table.library)


def from_array(data: Any, weight: Any, known: Known) -> Columns:
    """Entries of a dense array or nested lists, users x items, NaN or None where missing."""
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
    return _from_matrix(array, weight, np.arange(array.shape[0]), np.arange(array.shape[1]), known)


def from_sparse(data: Any, weight: Any, known: Known) -> Columns:
    """Entries of a scipy.sparse array or matrix: all that is stored, zeros too."""
    if data.ndim != 2:
        raise UserError(f"Expected a 2-D sparse array, users x items, got {data.ndim} dimension.")
    coo = _checked_coo(data)
    rows, cols = (np.asarray(position) for position in coo.coords)
    weights = None if weight is None else _same_shape(weight, coo.shape)[rows, cols]
    user_ids, row_user = number(np.arange(coo.shape[0]), "user", known.users)
    item_ids, col_item = number(np.arange(coo.shape[1]), "item", known.items)
    return Columns(
        user_ids, item_ids, row_user[rows], col_item[cols], np.asarray(coo.data), weights, rows
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


def _from_matrix(
    matrix: npt.NDArray[Any], weight: Any, row_labels: Any, col_labels: Any, known: Known
) -> Columns:
    import pandas as pd

    user_ids, row_user = number(row_labels, "user", known.users)
    item_ids, col_item = number(col_labels, "item", known.items)
    observed = np.logical_not(pd.isna(matrix))
    rows = np.repeat(np.arange(len(row_user), dtype=np.int32), observed.sum(axis=1))
    return Columns(
        user_ids,
        item_ids,
        row_user[rows],
        np.broadcast_to(col_item, matrix.shape)[observed],
        matrix[observed],
        None if weight is None else _same_shape(weight, matrix.shape)[observed],
        rows,
    )


def _same_shape(weight: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    weights = np.asarray(weight)
    if weights.shape != shape:
        raise UserError(f"The weights' shape {weights.shape} is not that of the values, {shape}.")
    return weights


def _user_column(table: Table, user: Hashable | None) -> int | None:
    """The column of the users in a wide table: by name, else the first if it is text or times."""
    if user is not None:
        if user not in table.names:
            raise UserError(f"There is no column {shown(user)}.")
        return table.names.index(user)
    roles = [role(name) for name in table.names]
    for r in ("user", "index"):
        if roles.count(r) > 1:
            raise UserError(
                f"Columns {shown(table.names[roles.index(r)])} and more are named like the user:",
                remedy="say which with Observations.from_wide(data, user=...).",
                shell="say which with --user NAME.",
            )
        if r in roles:
            return roles.index(r)
    if table.index is not None or not table.names:
        return None
    if column_kind(table.column(0)) not in ("other", "time"):
        return None
    if roles[0] == "item":
        raise UserError(
            f"Column {shown(table.names[0])} is named like an item, but a wide table has a row for "
            "each user and a column for each item: transpose it."
        )
    return 0
