"""What is new in a table: users of known items, and items of known users."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace.data.observations import Observations


class News(NamedTuple):
    """New entries with the ids of all, those among the known ones, and which rows they speak of."""

    entries: Observations
    merged: Observations
    n_users: int  # known so far: the new users come after them
    items: NDArray[np.int64]  # the items rated for the first time, new or known by name only


def news(known: Observations, X: Any) -> News:
    """The entries of a table that can be folded into what is known.

    Each needs a new user and a known item, or a known user and a new item. A known item that nobody
    had rated counts as known where a new user rates it, and is listed among the items.
    """
    new = Observations.of(X, scale=known.scale, users=known.user_ids, items=known.item_ids)
    u, i, _ = new.coo()
    new_user, new_item = u >= known.n_users, i >= known.n_items
    if (new_user == new_item).any():
        k = int(np.argmax(new_user == new_item))
        both = "new" if new_user[k] else "known"
        raise UserError(
            f"fold_in needs one of user and item new and the other known, but user "
            f"{shown(new.user_ids[u[k]])} and item {shown(new.item_ids[i[k]])} are both {both}: "
            + ("fold in the users first." if new_user[k] else "fit again to change them.")
        )
    rated = np.zeros(new.n_items, dtype=np.bool_)
    rated[: known.n_items] = known.by_item.rated
    items = np.flatnonzero(~rated & (new.by_item.rated))
    return News(new, known.merged(new), known.n_users, items)
