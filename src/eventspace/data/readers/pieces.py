"""A folder of Parquet files, read piece by piece: it may be larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from eventspace._base.errors import UserError
from eventspace._base.printable import printable
from eventspace.data.readers.header import refuse_twice
from eventspace.data.readers.raw_entries import Known, RawEntries, from_long
from eventspace.data.readers.roles import long_roles, position
from eventspace.data.readers.tables import Table

ROWS = 2_000_000  # of a piece, unless a row group is larger
FIRST = 10_000  # rows that show which column is what

Names = dict[str, str]  # of the columns that have a role


class Piece(NamedTuple):
    """Some row groups of a file."""

    path: str
    groups: list[int]


def pieces_of(files: list[Path]) -> list[Piece]:
    """The pieces of all files, in order; only what the files say of themselves is read."""
    from pyarrow import parquet

    pieces = []
    for path in files:
        with said_of(str(path)), parquet.ParquetFile(path) as file:
            metadata = file.metadata
        groups: list[int] = []
        rows = 0
        for k in range(metadata.num_row_groups):
            more = metadata.row_group(k).num_rows
            if groups and rows + more > ROWS:
                pieces.append(Piece(str(path), groups))
                groups, rows = [], 0
            groups, rows = [*groups, k], rows + more
        if groups:
            pieces.append(Piece(str(path), groups))
    return pieces


def names_of(path: Path) -> Names:
    """Which column is what, by the first rows of a file."""
    from pyarrow import Table as ArrowTable
    from pyarrow import parquet

    with said_of(str(path)), parquet.ParquetFile(path) as file:
        refuse_twice(file.schema_arrow.names, str(path))
        batches = list(zip(file.iter_batches(FIRST), range(1), strict=False))
        first = ArrowTable.from_batches([batch for batch, _ in batches], file.schema_arrow)
        table = Table(first.column_names, first, "pandas")
        roles = long_roles(table)
        if roles is None:
            raise UserError("In a folder of files a table is long: one row per rating.")
        return {role: str(table.names[j]) for role, j in roles.items()}


def read_piece(piece: Piece, names: Names) -> RawEntries:
    """The entries of a piece, whose ids are numbered for themselves."""
    from pyarrow import parquet, types

    with said_of(piece.path):
        with parquet.ParquetFile(piece.path) as file:
            schema = file.schema_arrow
        texts = [field.name for field in schema if types.is_string(field.type)]
        with parquet.ParquetFile(piece.path, read_dictionary=texts) as file:
            columns = sorted(set(names.values()) & set(schema.names))
            rows = file.read_row_groups(piece.groups, columns=columns, use_threads=False)
        rows.validate(full=True)
        table = Table(rows.column_names, rows, "pandas")
        roles = {role: position(table, name) for role, name in names.items()}
        return from_long(table, roles, Known())


@contextmanager
def said_of(path: str) -> Iterator[None]:
    """An error names the file."""
    from pyarrow import ArrowException

    try:
        yield
    except UserError as error:
        error.where = repr(path)
        raise
    except (ArrowException, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path!r} cannot be read as a table: {printable(reason)}") from None
