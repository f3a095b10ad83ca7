"""Results on their way out: a table on a terminal, CSV in a pipe, files by their names."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from eventspace.cli.mistakes import say
from eventspace.storage import placed

Columns = Mapping[str, Any]  # of lists, or of arrays

SHOWN = 50  # rows on a terminal
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".parquet": "parquet", ".pq": "parquet"}


def check_output(path: Path | str) -> None:
    """Refuse a place that nothing can be written to, before any work is done."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder to write {path.name} to.")
    # a file is written beside its place and then put there, a device as it is
    beside = [] if path.exists() and not path.is_file() else [path.parent]
    touched = [*beside, path] if path.exists() else beside
    if not all(os.access(place, os.W_OK) for place in touched):
        raise PermissionError(f"{path} may not be written: name another place with --output.")


def form_of(output: str, given: str | None, as_json: bool) -> str:
    """The format to write: as said, by the file's name, or "screen" for a person."""
    if as_json and given is not None:
        raise ValueError(f"--json and --format {given}: choose one of them.")
    if as_json:
        return "json"
    if output != "-":
        check_output(output)
        ending = Path(output).suffix.lower()
        if given is None and ending not in ENDINGS:
            raise ValueError(
                f"{output}: there is no format of the name {ending!r}; name the file .csv, .tsv or "
                ".parquet, or say --format."
            )
        return given or ENDINGS[ending]
    if given == "parquet" and sys.stdout.isatty():
        raise ValueError("Parquet is nothing for a terminal: name a file with --output.")
    return given or ("screen" if sys.stdout.isatty() else "csv")


def write(
    blocks: Columns | Iterable[Columns],
    output: str,
    form: str,
    show: Callable[[Columns], Any] | None = None,
) -> None:
    """Write columns, or one block of them after another; ``show`` makes a screen's table."""
    stream = iter([blocks] if isinstance(blocks, Mapping) else blocks)
    first = next(stream)  # before anything is opened: a mistake found here leaves no file
    if form == "screen":
        _show(first, stream, show or screen_table)
        return
    if output == "-":
        _FORMS[form](_chain(first, stream), sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        with placed(output) as file:
            _FORMS[form](_chain(first, stream), file)
    except OSError as error:
        error.filename = error.filename or output
        raise
    say(f"written: {output}")


def records(columns: Columns) -> list[dict[str, Any]]:
    """Columns as rows that JSON can hold."""
    return [dict(zip(columns, row, strict=True)) for row in _rows(columns)]


def write_json(content: Any, output: str = "-") -> None:
    """One JSON document."""
    text = json.dumps(content, ensure_ascii=False, default=str, indent=2) + "\n"
    if output == "-":
        sys.stdout.write(text)
    else:
        with placed(output) as file:
            file.write(text.encode())


def columns_of(frame: Any) -> dict[str, Any]:
    """The columns of a DataFrame of any library."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    return {name: table.get_column(name).to_list() for name in table.columns}


def screen_table(columns: Columns) -> Any:
    """The first rows as rich shows them."""
    from rich.markup import escape
    from rich.table import Table

    shown = Table(*(escape(name) for name in columns))
    for row in _rows({name: column[:SHOWN] for name, column in columns.items()}):
        shown.add_row(*(escape(cell(value)) for value in row))
    return shown


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _show(first: Columns, rest: Iterator[Columns], show: Callable[[Columns], Any]) -> None:
    from rich.console import Console

    Console().print(show(first), markup=False, highlight=False)
    more = _length(first) - SHOWN + sum(map(_length, rest))
    if more > 0:
        say(f"{more:,} rows more: --output FILE takes them all.")


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _chain(first: Columns, rest: Iterator[Columns]) -> Iterator[Columns]:
    yield first
    yield from rest


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*(_plain(column) for column in columns.values()), strict=True)


def _plain(column: Any) -> list[Any]:
    """A column as Python's own values, None for what is missing."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in values]


def _write_separated(blocks: Iterator[Columns], file: BinaryIO, delimiter: str) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    sheet = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    for k, columns in enumerate(blocks):
        if k == 0:
            sheet.writerow(columns)
        sheet.writerows(
            ["|".join(map(str, v)) if isinstance(v, list) else v for v in row]
            for row in _rows(columns)
        )
    text.flush()
    text.detach()


def _write_parquet(blocks: Iterator[Columns], file: BinaryIO) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    sheet, table = None, None
    with ExitStack() as opened:  # a writer that is not closed complains
        for columns in blocks:
            arrays = {name: _arrow(column) for name, column in columns.items()}
            table = pa.table(arrays, schema=None if sheet is None else sheet.schema)
            if table.num_rows:  # a block without rows does not say what its columns hold
                sheet = sheet or opened.enter_context(parquet.ParquetWriter(file, table.schema))
                sheet.write_table(table)
        if sheet is None:
            parquet.write_table(table, file)


def _arrow(column: Any) -> Any:
    """A column as pyarrow's; ids of several kinds as text."""
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if v is None else str(v) for v in _plain(column)])


def _write_json_rows(blocks: Iterator[Columns], file: BinaryIO) -> None:
    before = b"[\n"
    for columns in blocks:
        for record in records(columns):
            file.write(before + json.dumps(record, ensure_ascii=False, default=str).encode())
            before = b",\n"
    file.write(b"\n]\n" if before == b",\n" else b"[]\n")


_FORMS: dict[str, Callable[[Iterator[Columns], BinaryIO], None]] = {
    "csv": lambda blocks, file: _write_separated(blocks, file, ","),
    "tsv": lambda blocks, file: _write_separated(blocks, file, "\t"),
    "parquet": _write_parquet,
    "json": _write_json_rows,
}
