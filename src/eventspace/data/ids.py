"""Ids of any hashable kind, and their positions."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.foreign import is_a
from eventspace._base.jit import njit
from eventspace._base.printable import shown

PANDAS_COLUMN = ("pandas.Series", "pandas.Index", "pandas.api.extensions.ExtensionArray")
Positions = npt.NDArray[np.int64]

_SECRET = int.from_bytes(os.urandom(8)) | 1  # odd, so that a product with it can be undone

# Rows numbered at a time: the copy of a block stays in the cache.
_BLOCK = 1 << 16


class Ids:
    """The distinct ids of the users or of the items; the position of an id is its place here.

    ``values`` is an array of numbers where the caller's ids were numbers, of objects otherwise.
    """

    def __init__(self, values: Any) -> None:
        self.values: npt.NDArray[Any] = plain_array(as_column(values))

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
        import pandas as pd

        column = as_column(ids)
        if _is_arrow(column):
            row_unique, uniques = _factorize(column)
            # a missing id is unknown: its -1 takes what is put last
            return np.append(self.positions(plain_array(uniques)), -1)[row_unique]
        if isinstance(column, np.ndarray) and column.dtype == object:
            # of a kind that holds any text: pandas would take that of Arrow, which is UTF-8
            column = pd.Index(column, dtype=object)
        if _is_whole(self.values) and isinstance(column, np.ndarray) and _is_whole(column):
            found = self._scrambled_lookup.get_indexer(pd.Index(_scrambled(column)))
        else:
            found = self._lookup.get_indexer(column)
        return np.asarray(found, dtype=np.int64)

    @cached_property
    def _lookup(self) -> Any:
        import pandas as pd

        return pd.Index(self.values, dtype=self.values.dtype)

    @cached_property
    def _scrambled_lookup(self) -> Any:
        import pandas as pd

        return pd.Index(_scrambled(self.values))

    @cached_property
    def spelt(self) -> bool:
        """Whether they are such as a text file holds: whole numbers, or text, at least one."""
        if self.values.dtype == object:
            return any(isinstance(id_, (str, int)) for id_ in self.values)
        return self.values.dtype.kind in "iu"

    @property
    def unique(self) -> bool:
        """Whether no id comes twice, as it must be."""
        lookup = self._scrambled_lookup if _is_whole(self.values) else self._lookup
        return bool(lookup.is_unique)

    def joined(self, others: Ids) -> tuple[Ids, Positions]:
        """These ids, those of ``others`` that are new after them, and where each of others is."""
        positions = self.positions(others.values)
        new = np.flatnonzero(positions < 0)
        if not new.size:
            return self, positions
        positions[new] = len(self) + np.arange(new.size)
        return Ids(_concatenated(self.values, others.values[new])), positions


def number(column: Any, what: str, known: Ids | None = None) -> tuple[Ids, npt.NDArray[np.int32]]:
    """The distinct ids of a column in order of appearance, and the position of each row's.

    Known ids keep their positions, new ones follow. ``what`` names the column in the error that
    a missing id gets.
    """
    column = as_column(column)
    try:
        positions, uniques = _factorize(column)
    except TypeError as error:
        raise UserError(f"Every {what} id must be hashable: {error}.") from error
    if positions.size and positions.min() < 0:
        row = int(np.argmax(positions < 0))
        raise UserError(f"The {what} id of row {row} is missing; every row needs one.")
    ids = Ids(uniques)
    _refuse_broken(ids, what)
    if known is not None:
        ids, moved = known.joined(ids)
        positions = moved.astype(np.int32)[positions]
    return ids, positions


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
    return positions, plain_array(as_column(uniques)).tolist()


def first_missing(column: Any) -> int | None:
    """The first row of a column whose id is missing, if there is one."""
    column = as_column(column)
    if _is_arrow(column):
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else []
    else:
        import pandas as pd

        missing = np.asarray(pd.isna(column))
    return int(np.argmax(missing)) if np.any(missing) else None


def as_column(data: Any) -> Any:
    """One column as numpy, pandas or pyarrow can number it, without a copy where it is one."""
    if is_a(data, "pandas.MultiIndex"):
        return data.to_numpy()
    if is_a(data, *PANDAS_COLUMN) or _is_arrow(data):
        return data
    if isinstance(data, np.ndarray):
        if data.ndim != 1:
            raise UserError(f"A column of ids or values must be 1-D, this has {data.ndim} axes.")
        return _native(data)
    if isinstance(data, Ids):
        return data.values
    if not isinstance(data, (list, tuple, range)):
        import narwhals as nw

        series = nw.from_native(data, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return series_column(series)
        if isinstance(data, (str, bytes)) or not hasattr(data, "__len__"):
            raise UserError(f"Expected a column of ids or values, got {data!r}.")
    return _inferred(np.fromiter(data, dtype=object, count=len(data)))


def series_column(series: Any) -> Any:
    """A narwhals Series as a column: pyarrow's, whose strings are no Python objects."""
    import narwhals as nw

    if series.dtype == nw.Object:
        return np.fromiter(series.to_list(), dtype=object, count=len(series))
    return series.to_arrow()


def plain_array(column: Any) -> npt.NDArray[Any]:
    """A column as a numpy array: numbers as they are, everything else as Python objects."""
    if _is_arrow(column):
        import pyarrow as pa

        # with some missing, numpy would round integers to floats, and merge the large ones
        whole = pa.types.is_integer(column.type) and not column.null_count
        if whole or pa.types.is_floating(column.type):
            return np.asarray(column.to_numpy(zero_copy_only=False))
        try:
            objects = column.to_pylist()
        except (OverflowError, ValueError) as error:  # a time that Python has no year for, say
            raise UserError(f"An id of kind {column.type} cannot be read: {error}.") from error
        return np.fromiter(objects, dtype=object, count=len(column))
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "mM":  # numpy would make integers of them, pandas Timestamps
            import pandas as pd

            return pd.Series(column).astype(object).to_numpy()
        return _native(column) if column.dtype.kind in "biufO" else column.astype(object)
    if isinstance(column.dtype, np.dtype):
        return plain_array(column.to_numpy())
    return _inferred(np.asarray(column, dtype=object))


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array as pandas can look it up: no half floats, and no foreign byte order."""
    kind = np.dtype(np.float32) if array.dtype == np.float16 else array.dtype
    return array.astype(kind.newbyteorder("="), copy=False)


def _is_arrow(column: Any) -> bool:
    return type(column).__module__.partition(".")[0] == "pyarrow"


def _inferred(objects: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects that are all of one kind of number as an array of that kind."""
    import pandas as pd

    kind = {"integer": np.int64, "floating": np.float64, "boolean": np.bool_}.get(
        pd.api.types.infer_dtype(objects, skipna=False)
    )
    try:
        return objects if kind is None else objects.astype(kind)
    except OverflowError:  # Python's integers know no bounds
        return objects


def _concatenated(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
    same = first.dtype == second.dtype or {first.dtype.kind, second.dtype.kind} == {"i"}
    if not same:  # 1 must not become 1.0 because 2.5 has come
        first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


def _factorize(column: Any) -> tuple[npt.NDArray[np.int32], Any]:
    """Number the distinct values of a column in order of appearance; missing ones are -1."""
    if _is_arrow(column):
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
    positions, uniques = pd.factorize(column)
    return positions.astype(np.int32), uniques


def _is_whole(array: npt.NDArray[Any]) -> bool:
    """Whether an array holds integers that 64 bits with a sign can hold."""
    return array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8)


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
    if pa.types.is_dictionary(kind):  # a categorical: its own order is not that of appearance
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        words = column.dictionary
        if words.null_count or len(words.unique()) < len(words):
            return _factorize_arrow(column.dictionary_decode())
        places = column.indices.cast(pa.int64())
        positions, used = _factorize(places.fill_null(-1).to_numpy())
        if places.null_count:
            missing = int(np.flatnonzero(used < 0)[0])
            used = np.delete(used, missing)
            positions = np.where(positions == missing, -1, positions - (positions > missing))
        return positions.astype(np.int32, copy=False), words.take(pa.array(used))
    whole = pa.types.is_integer(kind) and column.null_count == 0
    if whole or pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return _factorize(plain_array(column))
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    positions = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return positions.astype(np.int32, copy=False), encoded.dictionary


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
