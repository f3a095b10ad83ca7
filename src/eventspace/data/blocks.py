"""A table cut into blocks of users, in files that a task maps into memory and lets go.

A block holds the entries of its users in both orders. By item, an entry points to the place of its
user in the block. So the sums of an item are gathered from the PMFs of one block, which stay in the
cache, and are written once.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from eventspace.data.entries import Entries, Int64Array, transpose

FEW_RATINGS, SOME_BLOCKS = 250_000, 8  # a table of up to 8 such blocks has no larger ones
RATINGS = 4_000_000  # in a block of a larger table, at least,
PER_ITEM = 100  # or for each item, so that its sums are worth their way to those of other blocks
MOST_RATINGS = 16_000_000  # in any block: a worker with 2 GB can put them in order
COLUMNS = Entries._fields[:4]


class Blocks(NamedTuple):
    """Block k has the users from ``cuts[k]`` to ``cuts[k + 1]``, and lies in a folder."""

    folder: str
    cuts: list[int]
    n_items: int

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def slices(self) -> list[slice]:
        """The users of each block."""
        return [slice(first, last) for first, last in pairwise(self.cuts)]

    def write(self, k: int, by_user: Entries) -> None:
        """Keep the entries of a block, with their other order."""
        n_users = self.cuts[k + 1] - self.cuts[k]
        assert len(by_user.ptr) == n_users + 1
        for order, entries in (("user", by_user), ("item", transpose(by_user, self.n_items))):
            for name in COLUMNS:
                save_array(self._path(k, order, name), getattr(entries, name))

    def read(self, k: int) -> tuple[Entries, Entries]:
        """The entries of a block in both orders, mapped into memory."""
        by_user, by_item = (
            Entries(*(map_array(self._path(k, order, name)) for name in COLUMNS))
            for order in ("user", "item")
        )
        return by_user, by_item

    def rated(self) -> npt.NDArray[np.bool_]:
        """Which users have ratings."""
        return np.concatenate([self.read(k)[0].rated for k in range(len(self))])

    def item_sizes(self) -> Int64Array:
        """How many ratings each item has."""
        return np.asarray(np.sum([self.read(k)[1].sizes for k in range(len(self))], axis=0))

    def _path(self, k: int, order: str, name: str) -> str:
        return f"{self.folder}/block-{k}-{order}-{name}.npy"


def cut(n_ratings: Int64Array, n_items: int) -> list[int]:
    """Where to cut users, given their numbers of ratings, into blocks with about equally many.

    It depends on the table only: so do all sums over blocks, to the last bit. Their number is a
    power of two, so that halves of them are equal.
    """
    ptr = np.concatenate([[0], np.cumsum(n_ratings)])
    total = int(ptr[-1])
    n = max(min(total // FEW_RATINGS, SOME_BLOCKS), total // RATINGS)
    n = min(n, total // (PER_ITEM * max(n_items, 1)))
    n = max(1 << n.bit_length() >> 1, 1 << (total // MOST_RATINGS).bit_length())
    inner = np.searchsorted(ptr, np.linspace(0, total, n + 1)[1:-1])
    cuts: list[int] = np.unique([0, *inner.tolist(), len(n_ratings)]).tolist()
    return cuts


def blocks_of(by_user: Entries, n_items: int, folder: str) -> Blocks:
    """Cut a table that is in memory."""
    blocks = Blocks(folder, cut(by_user.sizes, n_items), n_items)
    for k, users in enumerate(blocks.slices()):
        blocks.write(k, by_user.taken(np.arange(users.start, users.stop)))
    return blocks


def save_array(path: str, array: npt.NDArray[Any]) -> None:
    """Write an array: the file is there as a whole, or not at all."""
    draft = Path(f"{path}.{uuid4().hex}")
    with draft.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    os.replace(draft, path)


def map_array(path: str) -> npt.NDArray[Any]:
    """An array in a file, mapped into memory; what is changed there stays out of the file."""
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
