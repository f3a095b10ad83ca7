"""Ids of any hashable kind, and their positions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.cached import cached_property
from eventspace._base.errors import UserError
from eventspace._base.jit import njit
from eventspace._base.printable import shown
from eventspace._base.types import Positions
from eventspace.data.column import as_column, is_arrow, plain_array
from eventspace.data.id_order import AS_IT_IS, Order, inverse, order_of

Place = Callable[[int], str]  # what a message calls a row
_SECRET = int.from_bytes(os.urandom(8)) | 1  # odd, so that a product with it can be undone

_NO_TEXT = np.array([object()], dtype=object)
_FEW = 64  # ids that are found without the import of pandas

# Rows numbered at a time: the copy of a block stays in the cache.
_BLOCK = 1 << 16


class Ids:
    """The distinct ids of the users or of the items; the position of an id is its place here.

    ``values`` is an array of numbers where the caller's ids were numbers, of objects otherwise.
    """

    def __init__(self, values: Any) -> None:
        self.values: npt.NDArray[Any] = plain_array(values)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ids) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, position: int) -> Hashable:
        value = self.values[position]
        return value.item() if isinstance(value, np.generic) else value  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.values.tolist())

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[k]) for k in range(min(3, len(self))))
        return f"Ids({len(self)}: {shown}{', ...' if len(self) > 3 else ''})"

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}  # the lookup is rebuilt sooner than it is read

    def positions(self, ids: Any) -> Positions:
        """The position of each of ``ids``, -1 for one that is not known."""
        column = as_column(ids)
        if is_arrow(column):
            row_distinct, distinct = _factorize(column)
            # a missing id is unknown: its -1 takes what is put last
            return np.append(self._found(plain_array(distinct)), -1)[row_distinct]
        return self._found(plain_array(column))

    def _found(self, asked: npt.NDArray[Any]) -> Positions:
        """A few of the ids' own kind, or of any, are found without pandas and its long import."""
        whole, alike = _is_whole(self.values), self.values.dtype == asked.dtype
        few = 0 < len(asked) <= _FEW and len(self) > 0
        if few and whole and alike:
            at = np.searchsorted(self.values, asked, sorter=self._order)
            nearest = self._order[np.minimum(at, len(self) - 1)]
            return np.where(self.values[nearest] == asked, nearest, -1)
        if few and (alike or asked.dtype == object):
            return np.array([self._place.get(id_, -1) for id_ in asked.tolist()], dtype=np.int64)
        scrambled = whole and _is_whole(asked)
        index = self._scrambled_index if scrambled else self._index
        wanted = _pandas_index(_scrambled(asked) if scrambled else asked)
        return np.asarray(index.get_indexer(wanted), dtype=np.int64)

    @cached_property
    def _place(self) -> dict[Any, int]:
        return {id_: k for k, id_ in enumerate(self)}

    @cached_property
    def _order(self) -> Positions:
        return np.argsort(self.values)

    @cached_property
    def _index(self) -> Any:
        return _pandas_index(self.values)

    @cached_property
    def _scrambled_index(self) -> Any:
        return _pandas_index(_scrambled(self.values))

    @cached_property
    def spelt(self) -> bool:
        """Whether they are such as a text file holds: whole numbers, or text, at least one."""
        if self.values.dtype == object:
            return any(isinstance(id_, (str, int)) for id_ in self.values)
        return self.values.dtype.kind in "iu"

    @cached_property
    def order(self) -> Order:
        """Where the ids are, one after the other in the order that does not depend on a table."""
        return order_of(self.values)

    @property
    def unique(self) -> bool:
        """Whether no id comes twice, as it must be."""
        if self.values.dtype == object:
            return len(set(self)) == len(self)
        ordered = np.sort(self.values)
        return not (ordered[1:] == ordered[:-1]).any()

    def joined(self, others: Ids) -> tuple[Ids, Positions]:
        """These ids, then the new ones of ``others``, sorted; and where each of others is."""
        positions = self.positions(others.values)
        new = np.flatnonzero(positions < 0)
        if not new.size:
            return self, positions
        new = new[order_of(others.values[new])]
        positions[new] = len(self) + np.arange(new.size)
        return Ids(_concatenated(self.values, others.values[new])), positions

    def spelt_otherwise(self, others: Ids) -> list[tuple[Hashable, Hashable]]:
        """Unknown ids of ``others`` that are known as another kind: "7" as 7, or 7 as "7"."""
        unknown = others.values[self.positions(others.values) < 0].tolist()
        pairs = [(id_, other) for id_ in unknown if (other := _of_other_kind(id_)) is not None]
        at = self.positions(np.array([*(other for _, other in pairs), None], dtype=object)[:-1])
        return [(id_, self[k]) for (id_, _), k in zip(pairs, at.tolist(), strict=True) if k >= 0]


def _of_other_kind(id_: Hashable) -> Hashable | None:
    """The number that a text spells, or the text that spells a number."""
    if isinstance(id_, str):
        for kind in (int, float):
            with suppress(ValueError):
                return kind(id_)
        return None
    if isinstance(id_, float) and id_.is_integer():
        return str(int(id_))
    return str(id_) if isinstance(id_, int | float) else None


def in_row(row: int) -> str:
    """Where a row is of which only the number is known."""
    return f"row {row}"


def number(
    column: Any,
    what: str,
    known: Ids | None = None,
    place: Place = in_row,
    *,
    as_they_come: bool = False,
) -> tuple[Ids, npt.NDArray[np.int32]]:
    """The distinct ids of a column in their order, and the position of each row's.

    With ``as_they_come`` the order is that of first appearance. Known ids keep their positions, and
    new ones follow in their order. ``what`` names the column in the error that a missing id gets,
    ``place`` its row.
    """
    try:
        positions, uniques = _factorize(as_column(column))
    except TypeError as error:
        raise UserError(f"Every {what} id must be hashable: {error}.") from error
    if positions.size and positions.min() < 0:
        row = int(np.argmax(positions < 0))
        raise UserError(f"The {what} id of {place(row)} is missing; every row needs one.")
    ids = Ids(uniques)
    _refuse_broken(ids, what)
    if known is not None:
        ids, places = known.joined(ids)
        return ids, _renumbered(positions, places)
    order = AS_IT_IS if as_they_come else ids.order
    if isinstance(order, slice):
        return ids, positions
    return Ids(ids.values[order]), _renumbered(positions, inverse(order))


def _renumbered(positions: npt.NDArray[np.int32], places: Any) -> npt.NDArray[np.int32]:
    """The place of each position, written over it where that can be: there may be many."""
    found = positions if positions.flags.writeable else positions.copy()
    places = places.astype(np.int32)
    for start in range(0, found.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        found[block] = places[found[block]]
    return found


def _refuse_broken(ids: Ids, what: str) -> None:
    """Refuse text that nothing can write down: half of a pair of surrogates."""
    if ids.values.dtype != object:
        return
    texts = [id_ for id_ in ids.values if isinstance(id_, str)]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        broken = next(text for text in texts if re.search("[\ud800-\udfff]", text))
        raise UserError(
            f"The {what} id {shown(broken)} is no text: it holds half of a pair of surrogates, "
            "which no file can hold. Write it another way."
        ) from None


def distinct_of(column: Any) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """The place of each row's value among the distinct ones, -1 where it is missing, and these."""
    positions, uniques = _factorize(as_column(column))
    return positions, plain_array(uniques).tolist()


def _concatenated(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
    same = first.dtype == second.dtype or {first.dtype.kind, second.dtype.kind} == {"i"}
    if not same:  # 1 must not become 1.0 because 2.5 has come
        first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


def _factorize(column: Any) -> tuple[npt.NDArray[np.int32], Any]:
    """Number the distinct values of a column in order of appearance; missing ones are -1."""
    if is_arrow(column):
        return _factorize_arrow(column)
    import pandas as pd

    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu" and len(column):
        array = np.asarray(column)
        lowest, highest = int(array.min()), int(array.max())
        if highest - lowest < array.size + _BLOCK and highest < 2**63:
            return _factorize_compact(array, lowest, highest)
        if _is_whole(array):
            positions, uniques = pd.factorize(_scrambled(array))
            return positions.astype(np.int32), _unscrambled(uniques).astype(array.dtype)
    if column.dtype == object and _holds_nul(column):
        # beside what is no text, pandas compares objects
        column = np.append(np.asarray(column), _NO_TEXT)
        positions, uniques = pd.factorize(column)
        return positions[:-1].astype(np.int32), uniques[:-1]
    positions, uniques = pd.factorize(column)
    return positions.astype(np.int32), uniques


def _holds_nul(column: Any) -> bool:
    """Whether it is all text, some with the character NUL: pandas would look no further than it."""
    try:
        return "\0" in "".join(column)
    except TypeError:
        return False


def _is_whole(array: npt.NDArray[Any]) -> bool:
    """Whether an array holds integers that 64 bits with a sign can hold."""
    return array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8)


def _pandas_index(values: npt.NDArray[Any]) -> Any:
    """pandas' table of where each value is; of their own kind, as text may be what is no UTF-8."""
    import pandas as pd

    return pd.Index(values, dtype=values.dtype)


def _scrambled(integers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Other integers in place of these, one for each, that nobody can foresee.

    pandas keeps them in a table by some of their bits: ids chosen to share these would make it
    search all of them each time.
    """
    bits = integers.astype(np.int64).view(np.uint64) * np.uint64(_SECRET)
    return (bits ^ (bits >> np.uint64(32))).view(np.int64)


def _unscrambled(integers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bits = integers.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(pow(_SECRET, -1, 2**64))
    return bits.view(np.int64)


def _factorize_arrow(column: Any) -> tuple[npt.NDArray[np.int32], Any]:
    import pyarrow as pa

    kind = column.type
    whole = pa.types.is_integer(kind) and column.null_count == 0
    if whole or pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return _factorize(plain_array(column))
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    categorical = pa.types.is_dictionary(kind)
    encoded = column if categorical else column.dictionary_encode()
    words, places = encoded.dictionary, encoded.indices
    if not categorical:
        return places.fill_null(-1).to_numpy().astype(np.int32, copy=False), words
    if words.null_count or len(words.unique()) < len(words):
        return _factorize_arrow(encoded.dictionary_decode())
    # the words are not in order of appearance; a missing one comes after all of them
    filled = places.cast(pa.int64()).fill_null(len(words)).to_numpy()
    positions, used = _factorize(filled)
    if places.null_count:
        there = used < len(words)
        positions = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)[positions]
        used = used[there]
    return positions, words.take(pa.array(used))


def _factorize_compact(
    integers: npt.NDArray[Any], lowest: int, highest: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Number integers of a narrow range by a table, six times faster than by hashing."""
    place = np.full(highest - lowest + 1, -1, np.int32)
    uniques = np.empty(highest - lowest + 1, np.int64)
    positions = np.empty(integers.size, np.int32)
    n = 0
    for start in range(0, integers.size, _BLOCK):
        stop = start + _BLOCK
        # one kernel serves every dtype, stride and read-only column
        block = np.array(integers[start:stop], dtype=np.int64)
        n = _number_block(block, lowest, place, uniques, n, positions[start:stop])
    return positions, uniques[:n].astype(integers.dtype)


@njit(cache=True, nogil=True)
def _number_block(ids: Any, lowest: int, place: Any, uniques: Any, n: int, positions: Any) -> int:
    for k in range(ids.size):
        at = ids[k] - lowest
        if place[at] < 0:
            place[at] = n
            uniques[n] = ids[k]
            n += 1
        positions[k] = place[at]
    return n
