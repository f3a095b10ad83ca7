"""Mutations of NumPy members: what their headers say, and the numbers themselves."""

from __future__ import annotations

import io
import struct
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.archive import Archive
from tests.fuzz.surgery import Mutation

DESCRS = (
    "'|O'", "'<f8'", "'>f8'", "'<f4'", "'>f4'", "'<f2'", "'<f16'", "'<i8'", "'>i8'", "'<i4'",
    "'>i4'", "'|i1'", "'|u1'", "'|b1'", "'<u8'", "'>u8'", "'<u4'", "'<c16'", "'<U0'", "'<U1'",
    "'<U5'", "'|S0'", "'|S3'", "'|V0'", "'|V8'", "'<M8[ns]'", "'<M8'", "'<m8[s]'",
    "[('a', '<f8')]", "[('a', '|O')]", "[('a', '<f8', (2,))]", "[]", "'<U1000000000'",
    "'|V4000000000'", "'nonsense'", "None", "8", "''", "('<f8', (3,))", "[('a', [('b', '<i4')])]",
    "'<f8' + ''", "'O8'", "'\\x1b[31m'",
)  # fmt: skip
SHAPES = (
    "()", "(0,)", "(1,)", "(-1,)", "(10000000000,)", "(1099511627776,)", "(0, 10000000000)",
    "(3, -2)", "(4611686018427387904, 4)", "(9223372036854775807,)", "(18446744073709551616,)",
    "None", "'x'", "(1.5,)", "(True,)", "(None,)", "[3]", "(2, 2, 2)", "(1,) * 3",
    "(" + "1, " * 40 + ")", "5", "(-9223372036854775808,)", "(10000000000, 0)",
    "(1000000, 1000000, 1000000)",
)  # fmt: skip
NUMBERS = (
    *(np.nan, np.inf, -np.inf, -1.0, -1e-3, -0.0, 1 + 1e-3, 2.0, 1e300, -1e300, 1e-320, 0.0, 1.0),
    *(0.5, 1e10, 3.4e38, 1e-9),
)
ARRANGEMENTS = (
    *("permuted", "reversed", "shorter", "longer", "cast", "scaled", "flat", "empty", "repeated"),
    *("transposed", "negated", "shifted"),
)
WHOLE = (-1, 0, 1, 2, 7, 63, 64, 100, 10**5, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1)


def npy(
    descr: str,
    fortran: str,
    shape: str,
    data: bytes,
    *,
    version: tuple[int, int] = (1, 0),
    more: str = "",
) -> bytes:
    """A file in NumPy's format with whatever its header says."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, {more}}}".encode()
    size = struct.calcsize("<H" if version[0] == 1 else "<I")
    text = text.ljust(-(-(len(text) + 9 + size) // 64) * 64 - 9 - size) + b"\n"
    length = struct.pack("<H", len(text) & 0xFFFF) if size == 2 else struct.pack("<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + data


def _chosen(rng: Random, archive: Archive) -> tuple[int, NDArray[Any]] | None:
    """One of the members that is an array yet, and the array."""
    at = [k for k, member in enumerate(archive.members) if member.content[:6] == b"\x93NUMPY"]
    if not at:
        return None
    k = rng.choice(at)
    array = _array(archive.members[k].content)
    return None if array is None else (k, array)


def _array(content: bytes) -> NDArray[Any] | None:
    """The array in a member; None if a mutation before has left none."""
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception:  # NumPy raises nearly anything
        return None
    return array if array.size <= len(content) else None


def _put(archive: Archive, k: int, array: NDArray[Any]) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    archive.members[k] = archive.members[k].with_content(file.getvalue())


def header(rng: Random, archive: Archive) -> str:
    """A header that says something else than the truth of the same data."""
    found = _chosen(rng, archive)
    if found is None:
        return ""
    k, array = found
    descr, fortran, shape, data = repr(array.dtype.str), "False", repr(array.shape), array.tobytes()
    version, more, what = (1, 0), "", rng.choice(["descr", "shape", "near", "order", "more", "raw"])
    if what == "descr":
        descr = rng.choice(DESCRS)
    elif what == "shape":
        shape = rng.choice(SHAPES)
    elif what == "near":
        near = [max(-1, n + rng.choice([-1, 0, 0, 1])) for n in array.shape]
        shape = repr(tuple(near))
        if rng.random() < 0.6:
            n = int(np.prod(np.maximum(near, 0))) * array.dtype.itemsize
            data = data[:n].ljust(n, rng.choice([b"\0", b"\xff", b"?"]))
    elif what == "order":
        fortran = rng.choice(["True", "1", "None", "'x'"])
    elif what == "more":
        more = rng.choice(["'x': 1, ", "'descr': '|O', ", "1: 2, ", "**{}, "])
        version = rng.choice([(1, 0), (2, 0), (3, 0), (4, 0), (0, 0), (255, 255)])
    content = npy(descr, fortran, shape, data, version=version, more=more)
    if what == "raw":
        content = _garbled(rng, content, 128)
    archive.members[k] = archive.members[k].with_content(content)
    return f"header of {archive.members[k].key}: {what} {descr} {shape[:40]} {fortran} {version}"


def content_bytes(rng: Random, archive: Archive) -> str:
    """Bytes of any member, with the checksum made right."""
    k = rng.randrange(len(archive.members))
    member = archive.members[k]
    archive.members[k] = member.with_content(_garbled(rng, member.content, len(member.content)))
    return f"bytes of {member.key}"


def _garbled(rng: Random, content: bytes, within: int) -> bytes:
    within = min(within, len(content))
    at = rng.randrange(within + 1)
    kind = rng.randrange(4)
    if kind == 0 and at < len(content):
        return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
    if kind == 1:
        return content[:at] + rng.randbytes(rng.randrange(1, 9)) + content[at:]
    if kind == 2:
        return content[:at] + content[at + rng.randrange(1, 9) :]
    return content[:at]


def values(rng: Random, archive: Archive) -> str:
    """One number, or some, that no model would have there."""
    found = _chosen(rng, archive)
    if found is None or not found[1].size:
        return ""
    k, array = found
    flat = array.ravel().copy()
    at = [rng.randrange(flat.size) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    new: Any
    with np.errstate(all="ignore"):
        if flat.dtype.kind == "f":
            new = rng.choice(NUMBERS)
            if rng.random() < 0.2:
                at = list(range(flat.size))
            flat[at] = new
        elif flat.dtype.kind == "b":
            new = not flat[at[0]]
            flat[at] = new
        elif flat.dtype.kind in "iu":
            near = int(flat[at[0]]) + rng.choice([-2, -1, 1, 2])
            new = near if rng.random() < 0.4 else rng.choice(WHOLE)
            if rng.random() < 0.2:
                new = 1 << rng.randrange(flat.dtype.itemsize * 8)
            bits = 8 * flat.dtype.itemsize
            flat[at] = np.array(new % 2**bits, f"u{flat.dtype.itemsize}").astype(flat.dtype)
        else:
            return ""
    _put(archive, k, flat.reshape(array.shape))
    return (
        f"{archive.members[k].key}[{at[0]}] = {new!r}{f' and {len(at) - 1} more' * (len(at) > 1)}"
    )


def arrangement(rng: Random, archive: Archive) -> str:
    """The same numbers in another order, repeated, fewer or more of them, another type, scaled."""
    found = _chosen(rng, archive)
    if found is None:
        return ""
    k, array = found
    kind = rng.choice(ARRANGEMENTS)
    rows = np.arange(len(array)) if array.ndim else np.arange(0)
    with np.errstate(all="ignore"):
        if kind == "permuted" and array.size > 1:
            array = array.ravel()[rng.sample(range(array.size), array.size)].reshape(array.shape)
        elif kind == "reversed":
            array = array[::-1] if array.ndim else array
        elif kind == "shorter":
            array = array[: rng.randrange(len(rows))] if len(rows) else array
        elif kind == "longer" and array.ndim and len(array):
            array = np.concatenate([array] + [array[-1:]] * rng.choice([1, 1, 3, 1000]))
        elif kind == "cast":
            to = rng.choice(
                ["f8", "f4", "f2", "i8", "i4", "i2", "u8", "u1", "?", ">f8", ">i8", "c8"]
            )
            array = array.astype(to) if array.dtype.kind in "fiub" else array
            kind += f" to {to}"
        elif kind == "scaled" and array.dtype.kind in "fiu":
            array = array * np.array(rng.choice([2, 0, -1, 1000])).astype(array.dtype)
        elif kind == "flat":
            array = rng.choice([array.ravel(), array[..., None], array[None]])
        elif kind == "empty":
            array = array[:0] if array.ndim else array
        elif kind == "repeated" and array.size:
            array = np.full_like(array, array.flat[rng.randrange(array.size)])
        elif kind == "transposed":
            array = array.T
        elif kind == "negated" and array.dtype.kind in "fi":
            array = -array
        elif kind == "shifted" and array.dtype.kind in "fiu":
            array = (array + np.array(rng.choice([1, -1])).astype(array.dtype)).astype(array.dtype)
    _put(archive, k, np.asarray(array))
    return f"{archive.members[k].key} {kind}"


def distribution(rng: Random, archive: Archive) -> str:
    """Rows of floats that look like distributions and are not quite, or are others."""
    found = _chosen(rng, archive)
    if found is None or found[1].ndim != 2 or found[1].dtype.kind != "f" or not found[1].size:
        return ""
    k, array = found
    array = array.copy()
    row, column = rng.randrange(array.shape[0]), rng.randrange(array.shape[1])
    kind = rng.choice(["moved", "corner", "uniform", "almost", "doubled"])
    if kind == "moved":  # the sum stays
        array[row, column] += 5
        array[row, column - 1] -= 5
    elif kind == "corner":
        total = array[row].sum()
        array[row] = 0
        array[row, column] = total
    elif kind == "uniform":
        array[row] = array[row].mean()
    elif kind == "almost":
        array[row, column] += rng.choice([1e-5, 1e-7, 1e-12, -1e-5, -1e-7, -1e-12])
    else:
        array[row] *= 2
    _put(archive, k, array)
    return f"row {row} of {archive.members[k].key} {kind}"


def two_lengths(rng: Random, archive: Archive) -> str:
    """Several arrays that have to fit change together, so that each seems to."""
    ratings = [k for k, m in enumerate(archive.members) if m.key.startswith("by_user")]
    if len(ratings) < 2:
        return ""
    n = rng.choice([0, 1, 16, 100, 5000])
    for k in rng.sample(ratings, rng.randrange(1, len(ratings))):
        array = _array(archive.members[k].content)
        if array is not None and array.ndim == 1 and array.size:
            _put(archive, k, np.resize(array, n))
    return f"some of the ratings have the length {n}"


MUTATIONS: tuple[Mutation, ...] = (
    *(header, header, values, values, values, values, arrangement, arrangement, distribution),
    *(content_bytes, two_lengths),
)
