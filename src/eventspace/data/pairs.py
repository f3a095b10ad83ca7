"""Pairs of a user and an item, as the caller holds them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.foreign import SPARSE, is_a
from eventspace.data.observations import Observations
from eventspace.data.readers.roles import with_role
from eventspace.data.readers.tables import table_of


class Pairs(NamedTuple):
    """The ids of the users and of the items, in columns of the same length."""

    users: Any
    items: Any


def read_pairs(data: Any, known: Observations | None = None) -> Pairs | None:
    """The pairs in ``(users, items)``, Observations or a DataFrame; None if it is another table.

    Ids of a file are as the ``known`` ones are.
    """
    if isinstance(data, Observations):
        users, items, _ = data.coo()
        return Pairs(data.user_ids.values[users], data.item_ids.values[items])
    if isinstance(data, tuple):
        if len(data) < 2:
            raise UserError("Pairs are (users, items), two columns.")
        return _broadcast(*data[:2])
    if is_positional(data):
        return None
    ids = None if known is None else (known.user_ids, known.item_ids)
    table = table_of(data, known=ids or ())
    if table is None:
        raise UserError(
            f"A {type(data).__name__} holds no pairs: pass (users, items) or a DataFrame with a "
            "column of users and one of items."
        )
    of_users, of_items = with_role(table, "user"), with_role(table, "item")
    if len(of_users) == len(of_items) == 1:
        user, item = of_users[0], of_items[0]
    elif len(table.names) == 2:
        user, item = (1, 0) if 0 in of_items or 1 in of_users else (0, 1)
    else:
        return None
    return Pairs(*table.pairs(user, item, ids))


def _broadcast(users: Any, items: Any) -> Pairs:
    """Columns of the same length: one user stands with every item, one item with every user."""
    if not is_column(users):
        users = [users] * (len(items) if is_column(items) else 1)
    if not is_column(items):
        items = [items] * len(users)
    if len(users) != len(items):
        raise UserError(
            "Pairs are (users, items), two columns of the same length, not of "
            f"{len(users)} and {len(items)}."
        )
    return Pairs(users, items)


def is_column(ids: Any) -> bool:
    """Whether these are many ids; a string or a tuple is one."""
    return hasattr(ids, "__len__") and not isinstance(ids, (str, bytes, tuple))


def is_positional(data: Any) -> bool:
    """Whether the rows of a table have no ids but their number: an array or a sparse matrix."""
    return isinstance(data, (np.ndarray, list)) or is_a(data, *SPARSE)
