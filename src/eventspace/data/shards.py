"""A table that is never held as a whole while it is learnt from: blocks of users, in files.

It is made of a folder of Parquet files in three passes, piece by piece. The first finds ids, how
many ratings each user has, and the range of the values. The second puts every entry with its block.
The third puts the entries of a block in order. Ids, scale and entries are those that
``Observations.of`` would give of the whole.
"""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from eventspace._base.cached import cached_property
from eventspace._base.errors import UserError, warn
from eventspace._base.progress import bar
from eventspace.data import scale as units
from eventspace.data.blocks import Blocks, cut, map_array, save_array
from eventspace.data.column import value_range
from eventspace.data.entries import Entries, Int64Array, Repeats, find_repeats, group, transpose
from eventspace.data.ids import Ids
from eventspace.data.learnable import all_the_same
from eventspace.data.observations import Observations
from eventspace.data.ordering import repeated
from eventspace.data.readers.cleaning import (
    NOTHING,
    checked_scale,
    with_numbers,
    without_value,
)
from eventspace.data.readers.pieces import Names, Piece, names_of, pieces_of, read_piece, said_of
from eventspace.data.readers.raw_entries import RawEntries

COLUMNS = ("users", "items", "value", "weight")  # of a piece that is put with its blocks


class Workers(Protocol):
    """Who does the tasks: stateless functions, whose results may be asked for again."""

    def as_completed(self, task: Any, arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each task, and its result, as they come."""

    def sum(self, task: Any, n: int, *given: Any) -> Any:
        """The sum of the results of tasks, each from a first to a last of n, in order."""


@dataclass(frozen=True)
class Shards:
    """Observations that lie in blocks."""

    user_ids: Ids
    item_ids: Ids
    blocks: Blocks
    scale: units.Scale
    n_observed: int
    missing: ClassVar[float] = 0.0

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.item_ids)

    @property
    def by_user(self) -> Entries:
        """All entries, in memory."""
        return self.gathered.by_user

    @property
    def by_item(self) -> Entries:
        """All entries, in memory."""
        return self.gathered.by_item

    @cached_property
    def gathered(self) -> Observations:
        """The whole table, in memory."""
        parts = [self.blocks.read(k)[0] for k in range(len(self.blocks))]
        sizes = np.concatenate([part.sizes for part in parts])
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        columns = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        by_user = Entries(ptr, *columns)
        both = by_user, transpose(by_user, self.n_items)
        return Observations(self.user_ids, self.item_ids, *both, self.scale, "pandas")


@dataclass(frozen=True)
class Survey:
    """What some neighbouring pieces hold: ids, numbers, and a range."""

    users: Ids
    items: Ids
    sizes: Int64Array  # how many ratings each of the users has
    lowest: float
    highest: float
    n_missing: int  # entries without a value

    def __add__(self, other: Survey) -> Survey:
        users, at = self.users.joined(other.users)
        sizes = np.zeros(len(users), dtype=np.int64)
        sizes[: len(self.sizes)] = self.sizes
        sizes[at] += other.sizes
        return Survey(
            users,
            self.items.joined(other.items)[0],
            sizes,
            float(np.fmin(self.lowest, other.lowest)),
            float(np.fmax(self.highest, other.highest)),
            self.n_missing + other.n_missing,
        )

    def in_order(self) -> Survey:
        """The same with the ids in their order, which is not that of the pieces."""
        users, items = self.users.order, self.items.order
        return replace(
            self,
            users=Ids(self.users.values[users]),
            items=Ids(self.items.values[items]),
            sizes=self.sizes[users],
        )


def shards_of(files: list[Path], folder: str, workers: Workers, show: bool | None) -> Shards:
    """Read a folder of Parquet files into blocks."""
    pieces, names = pieces_of(files), names_of(files[0])
    if not pieces:
        raise UserError(NOTHING, where=repr(str(files[0].parent)))
    with bar("read", 3, show) as update:
        seen: Survey = workers.sum(surveyed, len(pieces), pieces, names).in_order()
        update(1, "")
        scale = _scale(seen)
        blocks = Blocks(folder, cut(seen.sizes, len(seen.items)), len(seen.items))
        ids = f"{folder}/ids.pickle"
        with open(ids, "wb") as file:
            pickle.dump((seen.users, seen.items), file, protocol=5)
        given = blocks, ids, scale, names
        for _ in workers.as_completed(dealt, [(k, p, *given) for k, p in enumerate(pieces)]):
            pass
        update(2, "")
        each = [(k, len(pieces), blocks) for k in range(len(blocks))]
        repeats = dict(workers.as_completed(put_in_order, each))
    found = [repeats[k] for k in range(len(blocks)) if repeats[k].pairs]
    if found:
        pairs = sum(some.pairs for some in found)
        raise repeated(found[0]._replace(pairs=pairs), seen.users, seen.items)
    for k in range(len(pieces)):
        for name in (*COLUMNS, "cuts"):
            os.remove(_path(blocks, k, name))
    return Shards(seen.users, seen.items, blocks, scale, int(seen.sizes.sum()))


def surveyed(pieces: list[Piece], names: Names, first: int, last: int) -> Survey:
    """On a worker: look at some pieces."""
    return reduce(Survey.__add__, (_survey(piece, names) for piece in pieces[first:last]))


def _survey(piece: Piece, names: Names) -> Survey:
    raw = _read(piece, names)
    lowest, highest = value_range(raw.values)
    if math.isinf(lowest) or math.isinf(highest):
        with said_of(piece.path):
            checked_scale(raw, "auto")  # refuses it
    there = ~np.isnan(raw.values) if raw.values.dtype.kind == "f" else slice(None)
    sizes = np.bincount(raw.users[there], minlength=len(raw.user_ids)).astype(np.int64)
    n_missing = len(raw.values) - int(sizes.sum())
    return Survey(raw.user_ids, raw.item_ids, sizes, lowest, highest, n_missing)


def _read(piece: Piece, names: Names) -> RawEntries:
    with said_of(piece.path):
        return with_numbers(read_piece(piece, names), "auto")


def _scale(seen: Survey) -> units.Scale:
    """The scale of all values, which must not be the same."""
    n = int(seen.sizes.sum())
    if not n:
        raise UserError(NOTHING)
    if n > 1 and seen.lowest == seen.highest:
        raise all_the_same(n, seen.lowest)
    if seen.n_missing:
        warn(without_value(seen.n_missing, n + seen.n_missing))
    lo, hi = units.choose("auto", seen.lowest, seen.highest)
    if math.isinf(hi - lo):
        raise UserError(f"The values span too much, from {lo:g} to {hi:g}; scale them down.")
    return lo, hi


def dealt(k: int, piece: Piece, blocks: Blocks, ids: str, scale: units.Scale, names: Names) -> None:
    """On a worker: put the entries of a piece with their blocks, in the order they came in."""
    with open(ids, "rb") as file:
        user_ids, item_ids = pickle.load(file)
    raw = _read(piece, names)
    if raw.values.dtype.kind == "f":
        raw = raw.kept(~np.isnan(raw.values))
    users = user_ids.positions(raw.user_ids.values).astype(np.int32)[raw.users]
    items = item_ids.positions(raw.item_ids.values).astype(np.int32)[raw.items]
    block = np.searchsorted(blocks.cuts, users, side="right") - 1
    order = np.argsort(block, kind="stable")
    weight = np.empty(0, np.float32) if raw.weights is None else raw.weights[order]
    columns = users[order], items[order], units.stored(raw.values, scale)[order], weight
    for name, column in zip(COLUMNS, columns, strict=True):
        save_array(_path(blocks, k, name), column)
    save_array(_path(blocks, k, "cuts"), np.searchsorted(block[order], np.arange(len(blocks) + 1)))


def put_in_order(k: int, n_pieces: int, blocks: Blocks) -> Repeats:
    """On a worker: write a block of what pieces have for it; gives the pairs that come twice."""
    cuts = [map_array(_path(blocks, j, "cuts"))[k : k + 2] for j in range(n_pieces)]
    users, items, value, weight = (
        np.concatenate(
            [map_array(_path(blocks, j, name))[slice(*cuts[j])] for j in range(n_pieces)]
        )
        for name in COLUMNS
    )
    first, last = blocks.cuts[k : k + 2]
    by_item = group(items, users - np.int32(first), value, weight, blocks.n_items)
    del users, items, value, weight
    by_user = transpose(by_item, last - first)
    del by_item
    repeats = find_repeats(by_user)
    blocks.write(k, by_user)
    user, item = repeats.first
    return repeats._replace(first=(user + first, item))


def _path(blocks: Blocks, k: int, name: str) -> str:
    return f"{blocks.folder}/piece-{k}-{name}.npy"
