"""Tables in files and streams: Parquet, or text with commas, tabs or semicolons between fields."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from eventspace._base.errors import UserError
from eventspace._base.printable import printable
from eventspace.data.readers.header import refuse_twice
from eventspace.data.readers.parquet import read_parquet
from eventspace.data.readers.streams import Unpacked, opened
from eventspace.data.readers.text import read_text

_PARQUET = b"PAR1"
_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}


def read_arrow(source: Path | BinaryIO, ids: Iterable[Any] = ()) -> tuple[Any, frozenset[str]]:
    """The table in a file or a stream, as pyarrow's; its content says in which format it is.

    Text and Parquet go through pyarrow alone: no field becomes an object of Python's. Columns of
    text that may hold ids, with those named in ``ids``, come as they are spelt; second are the
    names of those in which other than integers is spelt.
    """
    import pyarrow as pa

    name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "the stream"))
    try:
        return _read(source, name, frozenset(ids))
    except (FileNotFoundError, IsADirectoryError):
        raise
    except (pa.ArrowException, csv.Error, OSError, MemoryError, UnicodeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{name!r} cannot be read as a table: {printable(reason)}") from error


def _read(source: Path | BinaryIO, name: str, ids: frozenset[str]) -> tuple[Any, frozenset[str]]:
    with opened(source) as stream:
        head = stream.peek(len(_PARQUET))
        if head == _PARQUET:
            table = read_parquet(source, stream, name)
            refuse_twice(table.column_names, name)
            return table, frozenset()
        waits = not isinstance(source, Path) or not source.is_file()
        for magic, codec in _CODECS.items():
            if head.startswith(magic):
                return read_text(Unpacked(stream, codec, name), name, ids, waits)
        return read_text(stream, name, ids, waits)
