"""One file: a zip of a JSON header and NumPy arrays, as docs/format.md says.

There is no pickle, so opening a file runs no code. A file may come from a stranger: its contents
are bounded before memory is taken, and any fault is one ValueError that names the file. Zip's
checksums find damage. A file is written under another name in the same folder and renamed at the
end, so a reader never sees half of one.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError
from eventspace._base.placing import placed
from eventspace._base.printable import printable
from eventspace._base.progress import bar
from eventspace.storage.text_arrays import Spelt, bounded, decoded, read_spelt, spelt, strict_json

FORMAT = "eventspace model"
VERSION = 5
HEADER = "header.json"

MOST_MEMBERS = 64
MOST_HEADER = 1 << 16  # bytes
MOST_DIRECTORY = (1 << 16) + 22  # bytes of zip's list of members, or of its end with a comment
SMALL = 1 << 25  # bytes of arrays: a file with at most this much is compressed

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8")
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?s:..)\{'descr': '([<|][biuf][1248])', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)
_NPY_HEAD = 1 << 12  # bytes, at most, before the numbers
_MB = 20  # bits
_CHUNK = 1 << 20  # bytes read at a time


class StorageError(UserError):
    """What is wrong with a file, as it goes on after the file's name."""


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a header and named arrays (of numbers, or of ids of any kind we know) to ``path``."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file in it.")
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is a device or a pipe: a model goes to a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target.parent}: there is no such folder to write {target.name} to."
        )
    members = _members(arrays)
    size = sum(array.nbytes for array in members.values())
    method = zipfile.ZIP_DEFLATED if size <= SMALL else zipfile.ZIP_STORED
    with placed(target) as file, zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        full = {"format": FORMAT, "version": VERSION, **header}
        # of a date that never changes, as the arrays are: the same model is the same bytes
        archive.writestr(zipfile.ZipInfo(HEADER), json.dumps(full, allow_nan=False), method)
        with _counting("write", size) as count:
            for name, array in members.items():
                with archive.open(name, "w", force_zip64=True) as member:
                    whole = np.ascontiguousarray(array)
                    np.lib.format.write_array(
                        _Counted(member, count), whole, version=(1, 0), allow_pickle=False
                    )


def _members(arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays by the names of their members; one of objects makes two."""
    members: dict[str, NDArray[Any]] = {}
    for key, given in arrays.items():
        array = np.asarray(given)
        if array.dtype == object:
            text = spelt(array)
            members[f"{key}.{'json' if text.json else 'text'}.npy"] = text.utf8
            members[f"{key}.ends.npy"] = text.ends
            continue
        kind, size = array.dtype.kind, min(array.dtype.itemsize, 8)
        members[f"{key}.npy"] = array.astype(f"<{kind}{size}", copy=False)
    return members


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Stored]:
    """What :func:`write` wrote, to be read; whatever goes wrong within is said of the file."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model.")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    if not Path(path).is_file():
        raise OSError(f"{path} is a device or a pipe: a model is a file.")
    with _Bounded(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            with zipfile.ZipFile(file) as archive:
                file.most = _CHUNK + _NPY_HEAD
                yield Stored(archive, size)
        except StorageError as error:
            raise UserError(f"{path} {_line(error)}.") from error
        except zipfile.BadZipFile as error:
            if _looks_like_zip(path):
                raise UserError(f"{path} is damaged or cut short: {_line(error)}.") from error
            raise UserError(f"{path} is not an eventspace model.") from error
        except MemoryError as error:
            raise UserError(f"{path} needs more memory than there is.") from error
        except Exception as error:  # zip, zlib, json and NumPy raise many kinds on hostile bytes
            raise UserError(f"{path} is damaged: {_line(error)}.") from error


def _line(error: Exception) -> str:
    """What an error says, in one line that no terminal obeys."""
    words = " ".join(printable(str(error)).split()).rstrip(".") or type(error).__name__
    return words if len(words) <= 200 else f"{words[:200]}..."


def _looks_like_zip(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


class _Bounded(io.FileIO):
    """A file of which nobody reads much at a time: a directory of zip's may say any length."""

    most = MOST_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.most:
            raise StorageError("has a list of members that is longer than any model's")
        return super().read(-1 if size is None else size) or b""


class Stored:
    """An open file: its header, and its arrays by name."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive, self._size = archive, size
        self._most = 2 * size + 4 * SMALL  # bytes of memory that the ids of a side may take
        self._members = self._listed()
        self.header = self._header()

    def _listed(self) -> dict[str, zipfile.ZipInfo]:
        """The members by name, of which there are few, none twice, and no more than is bounded."""
        members = self._archive.infolist()
        found = {member.filename: member for member in members}
        if HEADER not in found:
            raise StorageError("is not an eventspace model")
        if len(members) > MOST_MEMBERS or len(found) < len(members):
            raise StorageError("is damaged: it has too many members, or one of them twice")
        inflated = sum(member.file_size for member in members)
        if inflated > SMALL + self._size or found[HEADER].file_size > MOST_HEADER:
            raise StorageError(
                f"would inflate to {inflated:,} bytes, which no model of {self._size:,} bytes does"
            )
        for member in members:
            plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if not plain or member.flag_bits & ~0x800:  # but for names in UTF-8
                raise StorageError(f"is damaged: {member.filename!r} is not packed as ours are")
        return found

    def _header(self) -> dict[str, Any]:
        header = strict_json(self._content(self._members.pop(HEADER)))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise StorageError("is not an eventspace model")
        version = header.get("version")
        if type(version) is not int or version < 1:
            raise StorageError(f"is damaged: its version is {version!r:.40}")
        if version > VERSION:
            raise StorageError(
                f"was written by a newer eventspace (format {version}, this one reads up to "
                f"{VERSION}): upgrade eventspace to read it"
            )
        return header

    def numbers(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """The arrays of numbers with these names."""
        with _counting("open", sum(member.file_size for member in self._members.values())) as count:
            return {name: self._numbers(f"{name}.npy", count) for name in names}

    def objects(self, name: str, n: int) -> NDArray[Any]:
        """An array of n ids or texts; another number of them is refused before they are read."""
        if f"{name}.npy" in self._members:
            found = self._numbers(f"{name}.npy")
        elif f"{name}.json" in self._members and self.header["version"] == 1:
            found = self._list(self._members.pop(f"{name}.json"))
        else:
            kind = "json" if f"{name}.json.npy" in self._members else "text"
            ends = self._numbers(f"{name}.ends.npy")
            if ends.shape == (n,):
                utf8 = self._numbers(f"{name}.{kind}.npy")
                return read_spelt(Spelt(utf8, ends, kind == "json"), self._most)
            found = ends
        if found.shape != (n,):
            raise StorageError(f"is damaged: there are not {n:,} {name}, as there should be")
        return found

    def refuse_others(self) -> None:
        """Refuse members that nobody has asked for."""
        if self._members:
            raise StorageError(
                f"is damaged: it has a member {min(self._members)!r:.60}, which no model has"
            )

    def _taken(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise StorageError(f"is damaged: it has no member {name!r}")
        return self._members.pop(name)

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        with self._archive.open(member) as file:
            chunks = list(iter(lambda: file.read(_CHUNK), b""))
        return b"".join(chunks)

    def _list(self, member: zipfile.ZipInfo) -> NDArray[Any]:
        """Objects as version 1 has them, one JSON list; how much memory they take is bounded."""
        objects = strict_json(bounded(self._content(member), 0, self._most))
        if not isinstance(objects, list):
            raise StorageError(f"is damaged: {member.filename!r} is no list")
        return np.fromiter(map(decoded, objects), dtype=object, count=len(objects))

    def _numbers(self, name: str, count: Callable[[int], None] = lambda n: None) -> NDArray[Any]:
        """An array of numbers, whose head says just as many as its member holds."""
        member = self._taken(name)
        with self._archive.open(member) as file:
            start = file.read(_NPY_HEAD)
            head = _NPY.match(start)
            if head is None or head[1].decode() not in DTYPES:
                raise StorageError(
                    f"is damaged: {name!r} is no array of numbers, little-endian and in C order"
                )
            shape = tuple(int(n) for n in head[2].decode().replace(" ", "").split(",") if n)
            dtype = np.dtype(head[1].decode())
            n_bytes = math.prod(shape) * dtype.itemsize
            length = int.from_bytes(start[8:10], "little") + 10
            if length != head.end() or member.file_size != head.end() + n_bytes:
                raise StorageError(f"is damaged: {name!r} is longer or shorter than it says")
            array = np.empty(math.prod(shape), dtype)
            view = array.view(np.uint8)
            filled = len(start) - head.end()
            view[:filled] = np.frombuffer(start, np.uint8, offset=head.end())
            while chunk := file.read(_CHUNK):  # to its end, where zip compares the checksum
                view[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
                filled += len(chunk)
                count(len(chunk))
        if filled < n_bytes:
            raise StorageError(f"is damaged: {name!r} is cut short")
        if dtype == np.bool_ and n_bytes and array.view(np.uint8).max() > 1:
            raise StorageError(f"is damaged: {name!r} has truth values that are neither")
        return array.reshape(shape)


@contextmanager
def _counting(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function that adds to the number of bytes done."""
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
