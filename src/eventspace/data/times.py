"""When entries were made: a column of times as ranks, and the ranks of observed entries."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from eventspace._base.types import Positions
from eventspace.data.observations import Observations
from eventspace.data.readers.clock import time_column
from eventspace.data.readers.roles import Roles
from eventspace.data.readers.tables import Table


def ranked_times(table: Table, time: Hashable | None) -> Positions:
    """The rank of each row's time; equal times are of the same rank.

    The column is ``time``, else the one that is named like a time.
    """
    import pandas as pd

    values, _ = time_column(table, time)
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
