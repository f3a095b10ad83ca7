"""A short text that tells a table from any other: the same ids and entries have the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from eventspace.data.ids import Ids
from eventspace.data.observations import Observations
from eventspace.data.shards import Shards


def digest_of(table: Observations | Shards) -> str:
    """Of a table."""
    return digest_of_arrays(_parts(table))


def digest_of_arrays(arrays: Iterable[Any]) -> str:
    """Of arrays, in their order; None stands for one that is not there."""
    found = blake2b(digest_size=16)
    for part in arrays:
        array = np.ascontiguousarray(() if part is None else part)
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _parts(table: Observations | Shards) -> Iterator[Any]:
    for ids in (table.user_ids, table.item_ids):
        yield _numbers(ids)
    yield np.array([*table.scale, table.missing])
    if isinstance(table, Observations):
        yield table.forgetting  # which says what the weights mean
        yield from table.by_user[:4]
    else:
        for k in range(len(table.blocks)):
            yield from table.blocks.read(k)[0][:4]


def _numbers(ids: Ids) -> Any:
    """Ids as numbers; of any other kind, their text as bytes."""
    if ids.values.dtype.kind in "biuf":
        return ids.values
    return np.frombuffer("\0".join(map(repr, ids)).encode("utf-8", "surrogatepass"), np.uint8)
