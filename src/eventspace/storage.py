"""One file: a zip of a JSON header and NumPy arrays. No pickle, so opening one runs no code.

The header names the format and its version; zip's checksums find damage. A file is written under
another name in the same folder and put in place at the end, so a reader never sees half of one.
"""

from __future__ import annotations

import datetime
import decimal
import io
import json
import os
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace.placing import placed
from eventspace.progress import bar

FORMAT = "eventspace model"
VERSION = 1
_HEADER = "header.json"
_MB = 20  # bits
_CHUNK = 1 << 24  # bytes read at a time

# What zip, zlib, json and NumPy raise on bytes that they cannot make sense of.
_DAMAGE = (
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    UnicodeDecodeError,
    json.JSONDecodeError,
    zlib.error,
)


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a header and named arrays (of numbers, or of ids of any kind we know) to ``path``."""
    target = Path(path)
    header = {"format": FORMAT, "version": VERSION, **header}
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file in it.")
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is a device or a pipe: a model goes to a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target.parent}: there is no such folder to write {target.name} to."
        )
    with (
        placed(target) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(_HEADER, json.dumps(header))
        plain = {key: np.asarray(array) for key, array in arrays.items()}
        with _counting("write", sum(array.nbytes for array in plain.values())) as count:
            for key, array in plain.items():
                _write_array(archive, key, array, count)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write` wrote; a missing, damaged or foreign file is refused by name."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model.")
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if _HEADER not in names:
                raise ValueError(f"{path} is not an eventspace model.")
            header = json.loads(archive.read(_HEADER))
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise ValueError(f"{path} is not an eventspace model.")
            if header["version"] > VERSION:
                raise ValueError(
                    f"{path} was written by a newer eventspace (format {header['version']}, this "
                    f"one reads up to {VERSION}): upgrade eventspace to read it."
                )
            with _counting("open", sum(info.file_size for info in archive.infolist())) as count:
                arrays = dict(
                    _read_array(archive, name, count) for name in names if name != _HEADER
                )
    except zipfile.BadZipFile as error:
        if _looks_like_zip(path):
            raise ValueError(f"{path} is damaged or cut short: {error}.") from error
        raise ValueError(f"{path} is not an eventspace model.") from error
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged: {error}.") from error
    return header, arrays


def _looks_like_zip(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


@contextmanager
def _counting(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function that takes note of so many bytes more."""
    done = 0
    with bar(f"{title}, MB", max(1, total >> _MB), None) as update:

        def count(n: int) -> None:
            nonlocal done
            done += n
            update(done >> _MB, "")

        yield count


class _Counted:
    """A member of an archive, as far as NumPy writes to it."""

    def __init__(self, member: Any, count: Callable[[int], None]) -> None:
        self._member, self._count = member, count

    def write(self, data: bytes) -> None:
        self._member.write(data)
        self._count(len(data))


def _write_array(
    archive: zipfile.ZipFile, key: str, array: NDArray[Any], count: Callable[[int], None]
) -> None:
    if array.dtype == object:
        texts = json.dumps([_encoded(element) for element in array], ensure_ascii=False)
        archive.writestr(f"{key}.json", texts)
        return
    with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
        whole = np.ascontiguousarray(array)
        np.lib.format.write_array(_Counted(member, count), whole, allow_pickle=False)


def _read_array(
    archive: zipfile.ZipFile, name: str, count: Callable[[int], None]
) -> tuple[str, NDArray[Any]]:
    key, _, kind = name.rpartition(".")
    chunks = []
    with archive.open(name) as member:  # to its end, where zip compares the checksum
        while chunk := member.read(_CHUNK):
            chunks.append(chunk)
            count(len(chunk))
    content = b"".join(chunks)
    if kind == "json":
        elements = [_decoded(element) for element in json.loads(content)]
        return key, np.fromiter(elements, dtype=object, count=len(elements))
    return key, np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


# Ids that JSON does not know by itself are kept as [kind, text].
_KINDS: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    datetime.datetime: ("datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    decimal.Decimal: ("decimal", str, decimal.Decimal),
    uuid.UUID: ("uuid", str, uuid.UUID),
    tuple: (
        "tuple",
        lambda parts: [_encoded(part) for part in parts],
        lambda parts: tuple(_decoded(part) for part in parts),
    ),
    frozenset: (
        "frozenset",
        lambda parts: [_encoded(part) for part in parts],
        lambda parts: frozenset(_decoded(part) for part in parts),
    ),
}


def _encoded(element: Any) -> Any:
    if isinstance(element, np.generic):
        element = element.item()
    if type(element) in (str, int, float, bool) or element is None:
        return element
    if type(element).__name__ == "Timestamp":
        return ["timestamp", element.isoformat()]
    for kind, (name, encode, _) in _KINDS.items():
        if type(element) is kind:
            return [name, encode(element)]
    raise ValueError(
        f"The id {element!r} is of kind {type(element).__name__}, which a file cannot hold: save "
        "needs ids that are text, numbers, bytes, dates, Decimals, UUIDs, or tuples of these."
    )


def _decoded(element: Any) -> Any:
    if not isinstance(element, list):
        return element
    name, content = element
    if name == "timestamp":
        import pandas as pd

        return pd.Timestamp(content)
    return next(decode for kind, _, decode in _KINDS.values() if kind == name)(content)
