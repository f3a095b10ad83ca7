"""Tables in files and streams: Parquet, or text with commas, tabs or semicolons between fields."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from eventspace.progress import bar
from eventspace.tables.words import role

_PARQUET = b"PAR1"
_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
# What people have instead of a table, by the first bytes
_OTHERS = {
    b"PK\x03\x04": "a zip archive, such as a spreadsheet or a model",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"%PDF": "a PDF",
    b"{": "JSON",
    b"[{": "JSON",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HEAD = 1 << 18
_MB = 20  # bits


def read_arrow(source: Path | BinaryIO) -> Any:
    """The table in a file or a stream, as pyarrow's; its content says in which format it is.

    Text and Parquet go through pyarrow alone: no field becomes an object of Python's.
    """
    import pyarrow as pa

    name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "the stream"))
    try:
        with _opened(source) as (file, update):
            table = _read(file, name, update)
    except (pa.ArrowException, csv.Error, OSError) as error:
        if isinstance(error, (IsADirectoryError, FileNotFoundError)):
            raise
        reason = str(error).splitlines()[0]
        raise ValueError(f"{name!r} cannot be read as a table: {reason}") from error
    names = table.column_names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{name!r} has more than one column named {twice!r}: does it lack a line of names?"
        )
    return table


@contextmanager
def _opened(source: Path | BinaryIO) -> Iterator[tuple[BinaryIO, Callable[[int], None]]]:
    """A file or stream with a function to tell how many of its bytes are read."""
    if isinstance(source, Path):
        if source.is_dir():
            raise IsADirectoryError(f"{str(source)!r} is a folder, not a file.")
        if not source.exists():
            raise FileNotFoundError(f"There is no file {str(source)!r}.")
        with source.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            with bar("read, MB", max(1, size >> _MB), None) as update:
                yield file, lambda done: update(done >> _MB, "")
    else:
        with bar("read, MB", None, None) as update:  # a pipe does not say how much will come
            yield source, lambda done: update(done >> _MB, "")


class Stream(io.RawIOBase):
    """Bytes that can be looked at before they are read, and are counted when they are."""

    def __init__(self, file: Any, update: Callable[[int], None]) -> None:
        self._file = file
        self._update = update
        self._head = b""
        self._done = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def peek(self, n: int) -> bytes:
        """The next n bytes, or as many as there are; they stay unread."""
        while len(self._head) < n and (more := self._file.read(n - len(self._head))):
            self._head += more
        return self._head[:n]

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as there are at hand, at most the buffer's size."""
        if self._head:
            n = min(len(buffer), len(self._head))
            buffer[:n], self._head = self._head[:n], self._head[n:]
        else:
            n = self._file.readinto(buffer)
        self._done += n
        self._update(self._done)
        return n


def _read(
    file: BinaryIO, name: str, update: Callable[[int], None], texts: frozenset[str] = frozenset()
) -> Any:
    """The table in a file; the columns ``texts`` of it are text, whatever they look like."""
    import pyarrow as pa

    stream = Stream(file, update)
    head = stream.peek(len(_PARQUET))
    if head == _PARQUET:
        whole = file if file.seekable() else pa.BufferReader(stream.readall())
        return _read_parquet(whole, update)
    for magic, codec in _CODECS.items():
        if head.startswith(magic):
            inner = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), codec)
            stream = Stream(inner, lambda done: None)
            break
    table = _read_text(stream, name, texts)
    long = _id_columns(table, _merged)
    if not long:
        return table
    if not file.seekable():
        raise ValueError(
            f"{name!r} has ids of more than 18 digits in the column {min(long)!r}, none of them at "
            "its beginning: save it as a file, which can be read twice."
        )
    file.seek(0)
    return _read(file, name, update, texts | long)


def _read_parquet(source: Any, update: Callable[[int], None]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(source)
    metadata, done, groups = file.metadata, 0, []
    for k in range(file.num_row_groups):
        groups.append(file.read_row_group(k))
        group = metadata.row_group(k)
        done += sum(group.column(j).total_compressed_size for j in range(group.num_columns))
        update(done)
    return pa.concat_tables(groups) if groups else file.read()


def _read_text(stream: Stream, name: str, texts: frozenset[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as arrow_csv

    start = stream.peek(_HEAD)
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise ValueError(f"{name!r} is {what}: a table is a CSV, TSV or Parquet file.")
    delimiter, fields = _first_line(start, name)
    read = arrow_csv.ReadOptions(column_names=_names(fields, name), block_size=1 << 22)
    parse = arrow_csv.ParseOptions(delimiter=delimiter)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(texts | _texts(start, read, parse), pa.string())
    )
    table = arrow_csv.read_csv(stream, read, parse, convert)
    for j, column in enumerate(table.columns):
        if pa.types.is_binary(column.type):
            raise _not_utf8(name)
        # an empty field is missing; "NA" may well be someone's name
        if pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py():
            column = pc.if_else(pc.equal(column, ""), None, column)
            table = table.set_column(j, table.column_names[j], column)
    return table


def _first_line(start: bytes, name: str) -> tuple[str, list[str]]:
    """What is between the fields, and the fields of the first line."""
    line = start.partition(b"\n")[0]
    try:
        first_line = line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError:
        raise _not_utf8(name) from None
    if start.startswith(_UTF16) or "\0" in first_line:
        raise _not_utf8(name)
    if not first_line.strip():
        raise ValueError(f"{name!r} is empty: its first line should name the columns.")
    delimiter = max("\t,;", key=first_line.count)
    fields = next(csv.reader([first_line], delimiter=delimiter))
    if len(fields) == 1:
        raise ValueError(f"{name!r} is not separated by commas, tabs or semicolons.")
    return delimiter, fields


def _not_utf8(name: str) -> ValueError:
    return ValueError(f"{name!r} is not UTF-8: save it as UTF-8.")


def _texts(start: bytes, read: Any, parse: Any) -> frozenset[str]:
    """The columns that hold ids which as numbers would merge, by the beginning of a file."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    whole_lines = start if len(start) < _HEAD else start[: start.rfind(b"\n") + 1]
    try:
        names = arrow_csv.read_csv(io.BytesIO(whole_lines), read, parse).column_names
        convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        table = arrow_csv.read_csv(io.BytesIO(whole_lines), read, parse, convert)
    except pa.ArrowInvalid:  # whatever is wrong is said of the whole file
        return frozenset()
    return _id_columns(table, _would_merge)


def _id_columns(table: Any, wanted: Callable[[Any], bool]) -> frozenset[str]:
    """The columns of this kind that may hold ids: those not named for something else."""
    return frozenset(
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if role(name) in ("user", "item", None) and wanted(column)
    )


def _would_merge(column: Any) -> bool:
    """Whether texts are whole numbers of which some begin with 0 or need more than 64 bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = pc.ascii_trim_whitespace(column.filter(pc.not_equal(column, "")))
    if not pc.all(pc.match_substring_regex(written, r"^-?\d+$")).as_py():
        return False
    if pc.any(pc.match_substring_regex(written, r"^0\d")).as_py():
        return True
    try:
        written.cast(pa.int64())
    except pa.ArrowInvalid:
        return True
    return False


def _merged(column: Any) -> bool:
    """Whether numbers are whole and some beyond 64 bits: ids that were rounded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return False
    greatest = pc.max(column).as_py()
    if greatest is None or not 2.0**63 <= greatest < math.inf:
        return False
    return bool(pc.all(pc.equal(column, pc.floor(column))).as_py())


def _names(fields: list[str], name: str) -> list[str] | None:
    """Names for the columns if the first line is a row already, else None.

    It is one if it has three or four fields, and all of them are numbers, or if of three the last
    alone is. More whole numbers may well be the items of a wide table; fractions are hardly
    anyone's names.
    """
    number = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
    numbers = [bool(number.fullmatch(field)) for field in fields]
    long = len(fields) in (3, 4)
    if long and all(numbers):
        return [f"column {j}" for j in range(1, len(fields) + 1)]
    if len(fields) == 3 and numbers[2]:
        warnings.warn(
            f"the first line of {name!r} is taken for a row: user, item, value.",
            UserWarning,
            stacklevel=2,
        )
        return ["user", "item", "value"]
    if (long and numbers[2]) or (all(numbers) and any("." in field for field in fields)):
        raise ValueError(
            f"The first line of {name!r} may be a row or the names of the columns: "
            "begin it with a line such as 'user,item,value', or pass a DataFrame."
        )
    return None
