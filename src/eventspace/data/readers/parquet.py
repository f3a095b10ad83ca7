"""Tables in Parquet files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from eventspace.data.readers.streams import Stream, refuse_excess

_STEP = 1 << 20
_NUMBER = 8  # bytes of a number in memory
# What the names and the statistics in a footer may take, and of how many parts it may be
_STRING_LIMIT, _CONTAINER_LIMIT = 1 << 26, 1 << 23


def read_parquet(source: Path | Any, stream: Stream, name: str) -> Any:
    """The table in a Parquet file or in a stream of one, as pyarrow's."""
    import pyarrow as pa
    from pyarrow import parquet

    # Arrow's threads see files and memory of its own: one that waited for Python, if only to let
    # go of a buffer, while the interpreter ends would abort the process
    if isinstance(source, Path):
        opened, size = pa.OSFile(os.fsencode(source)), source.stat().st_size
    else:
        whole = pa.BufferOutputStream()
        while some := stream.read(_STEP):
            whole.write(some)
        buffer = whole.getvalue()
        opened, size = pa.BufferReader(buffer), buffer.size
    limits = {
        "thrift_string_size_limit": _STRING_LIMIT,
        "thrift_container_size_limit": _CONTAINER_LIMIT,
    }
    with parquet.ParquetFile(opened, **limits) as file:
        metadata = file.metadata
    refuse_excess(metadata.num_rows * metadata.num_columns * _NUMBER, size, name)
    # a text that stands in a million rows is held once
    texts = [
        field.name
        for field in metadata.schema.to_arrow_schema()
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    done, groups = 0, []
    with parquet.ParquetFile(opened, metadata=metadata, read_dictionary=texts, **limits) as file:
        for k in range(file.num_row_groups):
            groups.append(file.read_row_group(k))
            refuse_excess(sum(group.nbytes for group in groups), size, name)
            group = metadata.row_group(k)
            done += sum(group.column(j).total_compressed_size for j in range(group.num_columns))
            stream.tell_done(done)
        table = pa.concat_tables(groups) if groups else file.read()
    table.validate(full=True)  # what a damaged file says of offsets and texts is not yet looked at
    return table
