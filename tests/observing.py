"""A small table, and what is observed in Observations, for their tests."""

from __future__ import annotations

import io
import warnings
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eventspace import Observations
from eventspace.data.entries import Entries
from eventspace.fitted import FittedModel

Content = dict[tuple[Hashable, Hashable], tuple[float, float]]

# users in an order that is not sorted, an item that ann never saw, a zero that is observed
TRIPLES: dict[tuple[str, str], float] = {
    ("bob", "Heat"): 4.0,
    ("ann", "Alien"): 5.0,
    ("bob", "Alien"): 1.0,
    ("cid", "Up"): 2.5,
    ("ann", "Heat"): 3.0,
}
USERS = [user for user, _ in TRIPLES]
ITEMS = [item for _, item in TRIPLES]
VALUES = list(TRIPLES.values())
LONG: dict[str, list[Any]] = {"user": USERS, "item": ITEMS, "value": VALUES}
UNIT = {pair: (value - 1) / 4 for pair, value in TRIPLES.items()}


def content(observed: Observations) -> Content:
    """(user, item) -> (p, weight), after a check that both orders are sorted and say the same."""
    by_user = _read(observed.by_user, observed.n_users, observed.n_items)
    by_item = _read(observed.by_item, observed.n_items, observed.n_users)
    assert {(i, u): entry for (u, i), entry in by_user.items()} == by_item
    return {
        (observed.user_ids[u], observed.item_ids[i]): entry for (u, i), entry in by_user.items()
    }


def _read(entries: Entries, n_rows: int, n_columns: int) -> dict[tuple[int, int], Any]:
    ptr, index, value, weight = entries[:4]
    assert [array.dtype.str[1:] for array in entries] == ["i8", "i4", "f4", "f4", "f8"]
    assert ptr.size == n_rows + 1
    assert ptr[0] == 0
    assert ptr[-1] == index.size == value.size
    assert weight.size in (0, index.size)
    found = {}
    for row in range(n_rows):
        columns = index[ptr[row] : ptr[row + 1]].tolist()
        assert columns == sorted(set(columns))
        for k in range(ptr[row], ptr[row + 1]):
            assert 0 <= index[k] < n_columns
            entry = float(value[k]), float(weight[k]) if weight.size else 1.0
            found[row, int(index[k])] = entry
    return found


def probabilities(observed: Observations) -> dict[tuple[Hashable, Hashable], float]:
    return {pair: p for pair, (p, _) in content(observed).items()}


def wide_frame() -> pd.DataFrame:
    users, items = ["bob", "ann", "cid"], ["Heat", "Alien", "Up"]
    rows = [[TRIPLES.get((user, item), np.nan) for item in items] for user in users]
    return pd.DataFrame(rows, index=users, columns=items)


def altered(model: FittedModel, **parts: Any) -> FittedModel:
    """A fitted model with other parts than it was fitted to."""
    return type(model)(replace(model.record, **parts), model.settings)


def entries(source: Any, **options: Any) -> list[tuple[Any, Any, float]]:
    """What is observed in a file or a text, in the unit of the table."""
    if isinstance(source, (str, bytes)):
        source = io.BytesIO(source.encode() if isinstance(source, str) else source)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the first line")
        seen = Observations.of(source, **options)
    users, items, p = seen.coo()
    values = seen.from_unit(p).round(5).tolist()
    return [
        (seen.user_ids[u], seen.item_ids[i], v)
        for u, i, v in zip(users.tolist(), items.tolist(), values, strict=True)
    ]
