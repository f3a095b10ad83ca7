"""When entries were made: a column of times as ranks, and the ranks of observed entries."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Positions
from eventspace.data.column import as_column, column_kind, first_missing, is_arrow
from eventspace.data.observations import Observations
from eventspace.data.readers.roles import Roles, position, shown_names, with_role
from eventspace.data.readers.tables import Table


def ranked_times(table: Table, time: Hashable | None) -> Positions:
    """The rank of each row's time; equal times are of the same rank.

    The column is ``time``, else the one that is named like a time.
    """
    at = with_role(table, "time") if time is None else [position(table, time)]
    if len(at) != 1:
        number = "No column is" if not at else "More than one column is"
        raise UserError(
            f"{number} named like the time; the columns are {shown_names(table.names)}.",
            remedy="Say which holds it: time=...",
            shell="Say which holds it: --time NAME.",
        )
    column, name = as_column(table.column(at[0])), shown(table.names[at[0]])
    if column_kind(column) not in ("number", "time"):
        raise UserError(f"Column {name} holds no times: make it numbers or dates first.")
    row = first_missing(column)
    if row is not None:
        raise UserError(f"The time of row {row} is missing in column {name}: drop such rows first.")
    import pandas as pd

    values = column.to_pandas() if is_arrow(column) else column
    return np.asarray(pd.factorize(values, sort=True)[0], dtype=np.int64)


def entry_times(seen: Observations, table: Table, roles: Roles, time: Hashable | None) -> Positions:
    """The ranks of the times of the entries, by user and then by item as ``seen.coo()`` has them.

    ``seen`` was read from the table. A pair that occurs more than once has its latest time.
    """
    rank = ranked_times(table, time)
    rows = [
        ids.positions(table.ids(roles[role], ids))
        for role, ids in (("user", seen.user_ids), ("item", seen.item_ids))
    ]
    users, items, _ = seen.coo()
    entries = users.astype(np.int64) * seen.n_items + items
    wanted = rows[0] * seen.n_items + rows[1]
    at = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
    found = entries[at] == wanted  # a row whose value is missing is no entry
    times = np.zeros(len(entries), dtype=np.int64)
    np.maximum.at(times, at[found], rank[found])
    return times
