"""What a checkpoint holds: values as rows of its database, and arrays that are checked coming back.

A record is a dict of arrays and of what JSON holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Record: TypeAlias = dict[str, Any]

PIECE = 1 << 28  # bytes of an array in one row of the database, which holds less than 1 GB
ROUNDING = 1e-6  # that PMFs may add up to more or less than one
DTYPES = ("<f8", "<f4", "<u8", "<i8", "<i4", "|b1")


def rows_of(record: str, name: str, value: Any) -> Iterator[tuple[Any, ...]]:
    """The rows that hold a value of a record, each with its digest."""
    for row in _pieces(value):
        yield record, name, *row, digest(record, name, *row)


def _pieces(value: Any) -> Iterator[tuple[int, str, str, Any]]:
    if not isinstance(value, np.ndarray | np.generic):
        yield 0, "json", "", json.dumps(value).encode()
        return
    array = np.asarray(value)
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    shape = json.dumps(array.shape)
    for k in range(max(-(-len(flat) // PIECE), 1)):
        yield k, array.dtype.str, shape, flat[k * PIECE : (k + 1) * PIECE]


def digest(record: str, name: str, piece: int, dtype: str, shape: str, content: Any) -> bytes:
    """What tells a row from any other."""
    found = blake2b(json.dumps([record, name, piece, dtype, shape]).encode(), digest_size=16)
    found.update(content)
    return found.digest()


def value_of(dtype: str, shape: str, content: bytearray) -> Any:
    """The value of its rows; a ValueError if they are of none."""
    if dtype == "json":
        return json.loads(content)
    sizes = tuple(json.loads(shape))
    if dtype not in DTYPES or len(content) != np.dtype(dtype).itemsize * math.prod(sizes):
        raise ValueError
    return np.frombuffer(content, dtype).reshape(sizes)


def plain(array: NDArray[Any], like: Any) -> NDArray[Any]:
    """An array of a record, if it is one of the kind, and shape, of what it takes the place of."""
    wanted = np.asarray(like)
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        raise ValueError
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError
    return array


def plain_pmf(pmf: NDArray[Any], like: Any) -> NDArray[Any]:
    """PMFs of a record, if they are some."""
    found = plain(pmf, like)
    if (found < 0).any() or (np.abs(found.sum(axis=-1) - 1) > ROUNDING).any():
        raise ValueError
    return found


def plain_codes(codes: NDArray[Any], like: Any, n_events: int) -> NDArray[Any]:
    """Codes of a record, if they are sets of ``n_events`` events, or numbers from 0 to 1."""
    found = plain(codes, like)
    most = 2**n_events - 1 if found.dtype == np.uint64 else 1
    if found.size and not (found.min() >= 0 and int(found.max()) <= most):
        raise ValueError
    return found


def plain_whole(number: Any, most: int) -> int:
    """A whole number of a record, from 0 to ``most``."""
    if type(number) is not int or not 0 <= number <= most:
        raise ValueError
    return number
