"""The order of ids: the same whatever the order in which they come.

Numbers come first, by their value. Then comes text, by code points. Then come all other kinds, by
the name of the kind: tuples by their elements, sets by their sorted elements, times as ISO 8601
writes them, and what is none of these as ``repr`` writes it. Such ids need a ``repr`` that tells
them apart and says nothing of where they lie in memory, which is elsewhere in each process.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Positions

Order = Positions | slice  # an index for the rows of an array
AS_IT_IS = slice(None)
_NUMBER, _TEXT, _OTHER = range(3)


def order_of(ids: NDArray[Any]) -> Order:
    """Where the ids are, one after the other in their order."""
    if ids.dtype != object:
        return AS_IT_IS if (ids[1:] > ids[:-1]).all() else np.argsort(ids)
    keys = ids.tolist()
    if set(map(type, keys)) != {str}:
        keys = [_key(id_) for id_ in keys]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    found = np.array(order, dtype=np.int64)
    return AS_IT_IS if (found[1:] > found[:-1]).all() else found


def inverse(order: Order) -> Order:
    """The order that undoes this one: where each of the ids is after it."""
    if isinstance(order, slice):
        return order
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _key(id_: Any) -> tuple[Any, ...]:
    """What an id is compared by; ids that are equal have the same."""
    if isinstance(id_, (Real, Decimal, np.bool_)) and id_ == id_:
        return _NUMBER, id_
    if isinstance(id_, str):
        return _TEXT, id_
    if isinstance(id_, tuple):
        return _OTHER, "tuple", [_key(part) for part in id_]
    if isinstance(id_, frozenset):
        return _OTHER, "frozenset", sorted(_key(part) for part in id_)
    if isinstance(id_, datetime.datetime):
        alike = id_ if id_.tzinfo is None else id_.astimezone(datetime.UTC)
        return _OTHER, "datetime", alike.isoformat()
    return _OTHER, f"{type(id_).__module__}.{type(id_).__qualname__}", repr(id_)
