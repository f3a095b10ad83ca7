"""Learning in the order of the ids: a model is the same whatever the order of rows and columns.

A long table is read in this order. A wide one keeps the order of its rows and columns, as the
caller counts in it: it is put in order to be learnt from, and what was learnt is put back.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from eventspace.data.entries import Entries, transpose
from eventspace.data.id_order import inverse
from eventspace.data.ids import Ids
from eventspace.data.invariants import ARRAYS
from eventspace.data.missing import that_speak
from eventspace.data.observations import Observations
from eventspace.fitted.fit import Fit

F = TypeVar("F", bound=Fit)


def in_order(seen: Observations) -> Observations:
    """The observations with the ids sorted, as those of a long table are."""
    users, items = seen.user_ids.order, seen.item_ids.order
    if isinstance(users, slice) and isinstance(items, slice):
        return seen
    by_item = Entries(*seen.by_item.taken(np.arange(seen.n_items)[items])[:4])
    places = np.arange(seen.n_users, dtype=np.int32)[inverse(users)]
    by_user = transpose(by_item._replace(index=places[by_item.index]), seen.n_users)
    by_user, by_item = that_speak(by_user, transpose(by_user, seen.n_items), seen.missing)
    user_ids, item_ids = Ids(seen.user_ids.values[users]), Ids(seen.item_ids.values[items])
    return replace(seen, user_ids=user_ids, item_ids=item_ids, by_user=by_user, by_item=by_item)


def as_in(observations: Observations, fit: F) -> F:
    """A fit to these observations, in whatever order, with the users and items in theirs."""
    seen = fit.observations
    if seen is observations:
        return fit
    at = {
        "users": seen.user_ids.positions(observations.user_ids.values),
        "items": seen.item_ids.positions(observations.item_ids.values),
    }
    rows = {
        field.name: getattr(fit, field.name)[at[ARRAYS[field.name].axes[0]]]
        for field in fields(fit)
        if field.name in ARRAYS and ARRAYS[field.name].axes[0] in at
    }
    return replace(fit, observations=observations, **rows)
