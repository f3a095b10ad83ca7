"""A descent over blocks of users: workers solve PMFs and sum over them, the items are solved here.

An iteration is one pass over the blocks. A task maps a block, its PMFs and the codes into memory,
solves its users, writes their PMFs under the next number, and returns the sums S_i, v_i and e_i of
all items over its users, given the new PMFs. A tree adds these up in a fixed order.

Given codes and the centre, a user's PMF has the same bits as on any other engine. Sums over blocks
are rounded in another way than sums over all users. That could decide between codes which fit an
item with a few ratings equally well, so the sums of such items are formed here, in the usual order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Floats, Positions, Seeds
from eventspace.data.blocks import Blocks, map_array, save_array
from eventspace.data.entries import Entries
from eventspace.engines.cpu import CPU
from eventspace.engines.dask.crew import Crew, Stored
from eventspace.engines.gram import n_packed, packed_equations, padded
from eventspace.engines.protocol import Indicators, Sums
from eventspace.pmf.population import population_centre, population_spread

RARE = 16  # ratings of an item, at most, whose sums are formed here


class Passes(NamedTuple):
    """What solves the users of a block, and where their PMFs lie after each pass."""

    blocks: Blocks
    prefix: str
    update_pmfs: Any

    def users(self, n: int, k: int) -> tuple[str, str]:
        """Of block k after pass n: the PMFs; the squared errors and duality gaps."""
        return f"{self.prefix}-{n}-{k}.npy", f"{self.prefix}-{n}-{k}-ends.npy"

    def given(self, n: int) -> tuple[str, str]:
        """The codes and the centre that pass n is given."""
        return f"{self.prefix}-{n}-codes.npy", f"{self.prefix}-{n}-centre.npy"

    def solved(self, n: int, first: int, last: int) -> Stored:
        """On a worker: pass n over some blocks; gives their sums."""
        sums = self.summed(n, first, last)
        return Stored.of(f"{self.prefix}-{n}-{first}-{last}-sums.npy", sums)

    def summed(self, n: int, first: int, last: int) -> Floats:
        """The sums of pass n over some blocks, added up as by a tree. Pass 0 only sums."""
        if last - first > 1:
            middle = first + (1 << (last - first - 1).bit_length() - 1)
            sums = self.summed(n, first, middle)
            sums += self.summed(n, middle, last)
            return sums
        by_user, by_item = self.blocks.read(first)
        pmf: Floats = map_array(self.users(max(n - 1, 0), first)[0])
        if n > 0:
            found = self.update_pmfs(by_user, pmf, *(map_array(path) for path in self.given(n)))
            pmf, *ends = found
            for path, array in zip(self.users(n, first), (pmf, np.stack(ends)), strict=True):
                save_array(path, array)
        return _sums(by_item, pmf)

    def files(self, n: int) -> list[str]:
        """What a pass has left."""
        of_blocks = [path for k in range(len(self.blocks)) for path in self.users(n, k)]
        return [*of_blocks, *self.given(n)]


def _sums(by_item: Entries, pmf: Floats) -> Floats:
    sums = np.empty((len(by_item.ptr) - 1, n_packed(pmf.shape[1])))
    packed_equations(*by_item[:4], padded(pmf), pmf.shape[1], sums)
    return sums


class BlockStage:
    """The stage of a descent on the blocks of a table; the PMFs of all users are held here, too."""

    def __init__(self, crew: Crew, blocks: Blocks, steps: Any, pmf: Floats, here: CPU) -> None:
        prefix = f"{blocks.folder}/pmf-{uuid4().hex}"
        self.crew, self.n, self.pmf = crew, 0, pmf
        self.passes = Passes(blocks, prefix, replace(steps.update_pmfs, engine=CPU()))
        self.solve_items = replace(steps.update_indicators, engine=here)
        self.rare = RareItems.of(blocks)
        self.rated, self.gap = blocks.rated(), np.full(len(pmf), np.inf)
        for k, users in enumerate(blocks.slices()):
            save_array(self.passes.users(0, k)[0], pmf[users])
        self.sums = crew.sum(self.passes.solved, len(blocks), 0)

    def update_indicators(self, codes: NDArray[Any], seeds: Seeds) -> Indicators:
        """Improve every item's code, given its sums."""
        sums, none = self.rare.put_into(self.sums, self.pmf), np.empty((0, self.pmf.shape[1]))
        found: Indicators = self.solve_items(Sums(sums), none, codes, seeds)
        return found

    def update_pmfs(self, codes: NDArray[Any], centre: Floats) -> float:
        """Improve every user's PMF, by one pass over the blocks; gives the squared error."""
        n, n_blocks = self.n + 1, len(self.passes.blocks)
        for path, array in zip(self.passes.given(n), (codes, centre), strict=True):
            save_array(path, array)
        sums = self.crew.sum(self.passes.solved, n_blocks, n)
        paths = zip(*(self.passes.users(n, k) for k in range(n_blocks)), strict=True)
        pmfs, ends = ([map_array(path) for path in of_blocks] for of_blocks in paths)
        self.pmf = np.concatenate(pmfs)
        error, self.gap = np.concatenate(ends, axis=1)
        self.sums, self.n = sums, n
        self.crew.remove(
            self.passes.files(n - 2)
        )  # a task that was given up may still read those of pass n - 1
        return float(error.sum())

    def centre(self, prior: str) -> Floats:
        """The point towards which the penalty draws the PMFs."""
        return population_centre(self.pmf, self.rated, prior)

    def spread(self, centre: Floats) -> float:
        """The sum of ``|theta_u - centre|^2`` over the users with ratings."""
        return population_spread(self.pmf, self.rated, centre)

    def pmfs(self) -> tuple[Floats, Floats]:
        """The PMFs, users x events, and the duality gap of each user's last solve."""
        return self.pmf, self.gap


class RareItems(NamedTuple):
    """The items with a few ratings, and these."""

    at: Positions
    entries: Entries

    @classmethod
    def of(cls, blocks: Blocks) -> RareItems:
        """Those of all blocks."""
        sizes = blocks.item_sizes()
        at = np.flatnonzero(sizes <= RARE)
        parts = list(_taken(blocks, at))
        rows = np.concatenate([np.repeat(np.arange(len(at)), part.sizes) for part in parts])
        order = np.argsort(rows, kind="stable")
        columns = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        index, value, weight = (column[order] if column.size else column for column in columns)
        ptr = np.concatenate([[0], np.cumsum(sizes[at])])
        return cls(at, Entries(ptr, index, value, weight))

    def put_into(self, sums: Floats, pmf: Floats) -> Floats:
        """The sums, with theirs in the place of what they were."""
        sums[self.at] = _sums(self.entries, pmf)
        return sums


def _taken(blocks: Blocks, items: Positions) -> Iterator[Entries]:
    """The ratings of some items in each block, by all users."""
    for k, users in enumerate(blocks.slices()):
        part = blocks.read(k)[1].taken(items)
        yield part._replace(index=(part.index + users.start).astype(np.int32))
