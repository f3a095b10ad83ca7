"""Tables in files and streams: Parquet, or text, compressed or not."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any, BinaryIO

from eventspace._base.errors import UserError
from eventspace._base.printable import printable
from eventspace.data.readers.header import Asked, refuse_twice
from eventspace.data.readers.streams import Stream, Unpacked, opened, refuse_excess
from eventspace.data.readers.text import Read, read_text
from eventspace.data.readers.text_options import TextOptions

_STEP = 1 << 20
_NUMBER = 8  # bytes of a number in memory
# What the names and the statistics in a footer may take, and of how many parts it may be
_LIMITS = {"thrift_string_size_limit": 1 << 26, "thrift_container_size_limit": 1 << 23}
_PARQUET = b"PAR1"
_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}


def read_arrow(
    source: Path | BinaryIO, options: TextOptions | None = None, asked: Asked | None = None
) -> Read:
    """The table in a file or a stream, as pyarrow's; its content says in which format it is.

    Text and Parquet go through pyarrow alone: no field becomes an object of Python's. Columns of
    text that may hold ids, with those that are asked for, come as they are spelt.
    """
    import pyarrow as pa

    name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "the stream"))
    try:
        return _read(source, name, options or TextOptions(), asked or Asked())
    except (FileNotFoundError, IsADirectoryError):
        raise
    except (pa.ArrowException, csv.Error, OSError, MemoryError, UnicodeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{name!r} cannot be read as a table: {printable(reason)}") from error


def parquet_files(source: Any) -> list[Path]:
    """The Parquet files in a folder and those below it, by name; none if it is no folder.

    As Spark and Dask write them: names that begin with a dot or an underscore are not of the table.
    """
    if not isinstance(source, (str, os.PathLike)) or not Path(source).is_dir():
        return []
    folder = Path(source)
    found = [
        path
        for path in folder.rglob("*.parquet")
        if path.is_file() and not any(p[0] in "._" for p in path.relative_to(folder).parts)
    ]
    if not found:
        raise UserError(f"The folder {str(folder)!r} holds no Parquet file: name a file.")
    return sorted(found)


def _read(source: Path | BinaryIO, name: str, options: TextOptions, asked: Asked) -> Read:
    if isinstance(source, Path) and (files := parquet_files(source)):
        import pyarrow as pa

        parts = [_read(path, str(path), options, asked).table for path in files]
        return Read(pa.concat_tables(parts))
    with opened(source) as stream:
        head = stream.peek(len(_PARQUET))
        if head == _PARQUET:
            table = read_parquet(source, stream, name)
            refuse_twice(table.column_names, name)
            return Read(table)
        waits = not isinstance(source, Path) or not source.is_file()
        for magic, codec in _CODECS.items():
            if head.startswith(magic):
                return read_text(Unpacked(stream, codec, name), name, options, asked, waits)
        return read_text(stream, name, options, asked, waits)


def read_parquet(source: Path | Any, stream: Stream, name: str) -> Any:
    """The table in a Parquet file or in a stream of one, as pyarrow's."""
    import pyarrow as pa
    from pyarrow import parquet

    # Arrow's threads see files and memory of its own: one that waited for Python, if only to let
    # go of a buffer, while the interpreter ends would abort the process
    if isinstance(source, Path):
        held, size = pa.OSFile(os.fsencode(source)), source.stat().st_size
    else:
        whole = pa.BufferOutputStream()
        while some := stream.read(_STEP):
            whole.write(some)
        buffer = whole.getvalue()
        held, size = pa.BufferReader(buffer), buffer.size
    with parquet.ParquetFile(held, **_LIMITS) as file:
        metadata = file.metadata
    refuse_excess(metadata.num_rows * metadata.num_columns * _NUMBER, size, name)
    # a text that stands in a million rows is held once
    texts = [
        field.name
        for field in metadata.schema.to_arrow_schema()
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    done, groups = 0, []
    with parquet.ParquetFile(held, metadata=metadata, read_dictionary=texts, **_LIMITS) as file:
        for k in range(file.num_row_groups):
            groups.append(file.read_row_group(k))
            refuse_excess(sum(group.nbytes for group in groups), size, name)
            group = metadata.row_group(k)
            done += sum(group.column(j).total_compressed_size for j in range(group.num_columns))
            stream.tell_done(done)
        table = pa.concat_tables(groups) if groups else file.read()
    table.validate(full=True)  # what a damaged file says of offsets and texts is not yet looked at
    return table
