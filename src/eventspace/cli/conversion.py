"""What `eventspace convert` makes of a model, or of a table: columns, block by block."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.progress import bar
from eventspace.data.observations import Observations
from eventspace.fitted import FittedAverage

Columns = dict[str, Any]
BLOCK = 1 << 18  # rows written at a time


def is_model(path: Path) -> bool:
    """Whether a file looks like a model; a table, or nothing, does not."""
    return path.is_file() and zipfile.is_zipfile(path)


def one_model(known: Any, path: Path, n_events: int | None) -> Any:
    """The one model that an average can be made into."""
    if not isinstance(known, FittedAverage):
        raise UserError(f"{path} holds one model already: only an average can be made into one.")
    return known.to_model(n_events)


def observations(seen: Observations) -> Iterator[Columns]:
    """One row per entry, in the unit of the table."""
    users, items, p = seen.coo()
    with bar("write", len(p), None) as update:
        for start in range(0, max(len(p), 1), BLOCK):
            block = slice(start, start + BLOCK)
            columns = {
                "user": seen.user_ids.values[users[block]],
                "item": seen.item_ids.values[items[block]],
                "value": np.round(seen.from_unit(p[block]), 6),
            }
            if seen.weighted:
                columns["weight"] = seen.by_user.weight[block]
            yield columns
            update(start + len(columns["user"]), "")


def _rows(name: str, ids: Any, rows: Any) -> Iterator[Columns]:
    """One row per id, one column per event."""
    n = max(1, BLOCK // rows.shape[1])
    for start in range(0, len(rows), n):
        block = rows[start : start + n]
        yield {
            name: ids[start : start + n],
            **{f"event{d}": block[:, d] for d in range(rows.shape[1])},
        }


PARTS: dict[str, Callable[[Any], Iterator[Columns]]] = {
    "observations": lambda model: observations(model.observations),
    "pmf": lambda model: _rows("user", model.user_ids, model.pmf),
    "indicators": lambda model: _rows("item", model.item_ids, model.indicators.astype(np.int8)),
}
