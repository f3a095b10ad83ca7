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

from eventspace._base.errors import UserError
from eventspace._base.placing import placed
from eventspace._base.printable import encoded, printable
from eventspace.cli.terminal import printable_json, say, standard_output

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


def check_model_output(path: Path | str, table: Path | None = None) -> None:
    """The same for a model, which must not take the place of the table that it is learnt from."""
    if str(path) == "-":
        raise UserError("--output - is the standard output: a model goes to a file.")
    check_output(path)
    if table is not None and table.is_file() and same_file(Path(path), table):
        raise UserError(f"{path} is the table itself: name another place with --output.")


def same_file(one: Path, other: Path) -> bool:
    """Whether both are there, and are one."""
    return one.exists() and other.exists() and one.samefile(other)


def form_of(output: str, given: str | None, as_json: bool) -> str:
    """The format to write: as said, by the file's name, or "screen" for a person."""
    if as_json and given is not None:
        raise UserError(f"--json and --format {given}: choose one of them.")
    if as_json:
        return "json"
    if output != "-":
        check_output(output)
        ending = Path(output).suffix.lower()
        if given is None and ending not in ENDINGS:
            raise UserError(
                f"{output}: there is no format of the name {ending!r}; name the file .csv, .tsv or "
                ".parquet, or say --format."
            )
        return given or ENDINGS[ending]
    if given == "parquet" and sys.stdout.isatty():
        raise UserError("Parquet is nothing for a terminal: name a file with --output.")
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
        with standard_output() as file:
            _FORMS[form](_chain(first, stream), file)
        return
    with placed(output) as file:
        _FORMS[form](_chain(first, stream), file)
    say(f"written: {output}")


def records(columns: Any) -> list[dict[str, Any]]:
    """Columns as rows that JSON can hold."""
    return [dict(zip(columns, row, strict=True)) for row in _rows(columns)]


def write_json(content: Any, output: str = "-") -> None:
    """One JSON document."""
    text = _json(content, indent=2) + b"\n"
    if output == "-":
        print_bytes(text)
    else:
        with placed(output) as file:
            file.write(text)


def _json(content: Any, indent: int | None = None) -> bytes:
    """A JSON text in UTF-8; what is no finite number is null."""
    text = json.dumps(
        _plain(content), ensure_ascii=False, default=str, indent=indent, allow_nan=False
    )
    return printable_json(text).encode()


def print_bytes(content: bytes) -> None:
    """Write to the standard output."""
    with standard_output() as file:
        file.write(content)


def screen_table(columns: Columns) -> Any:
    """The first rows as rich shows them."""
    from rich.table import Table

    shown = Table(*map(cell, columns))
    for row in _rows({name: column[:SHOWN] for name, column in columns.items()}):
        shown.add_row(*map(cell, row))
    return shown


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def echo(text: Any) -> None:
    """Print a text, harmless to the terminal where there is one."""
    lines = f"{text}\n"
    with standard_output():
        sys.stdout.write(printable(lines, own="\n") if sys.stdout.isatty() else lines)


def _show(first: Columns, rest: Iterator[Columns], show: Callable[[Columns], Any]) -> None:
    from rich.console import Console

    shown = show(first)
    Console(markup=False, emoji=False, highlight=False).print(
        printable(shown) if isinstance(shown, str) else shown
    )
    more = _length(first) - SHOWN + sum(map(_length, rest))
    if more > 0:
        say(f"{more:,} rows more: --output FILE takes them all.")
    elif more == -SHOWN:
        say("there are none: ask for less, such as a lower --min-evidence.")


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _chain(first: Columns, rest: Iterator[Columns]) -> Iterator[Columns]:
    yield first
    yield from rest


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*(_plain(column) for column in columns.values()), strict=True)


def _plain(value: Any) -> Any:
    """What Python's own values hold the same, None for what is missing or infinite."""
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    return [part if isinstance(part, (str, int)) else _plain(part) for part in value]


def _write_separated(blocks: Iterator[Columns], file: BinaryIO, delimiter: str) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
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
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        values = [None if v is None else encoded(str(v)).decode() for v in _plain(column)]
        return pa.array(values, pa.string())


def _write_json_rows(blocks: Iterator[Columns], file: BinaryIO) -> None:
    before = b"[\n"
    for columns in blocks:
        for record in records(columns):
            file.write(before + _json(record))
            before = b",\n"
    file.write(b"\n]\n" if before == b",\n" else b"[]\n")


_FORMS: dict[str, Callable[[Iterator[Columns], BinaryIO], None]] = {
    "csv": lambda blocks, file: _write_separated(blocks, file, ","),
    "tsv": lambda blocks, file: _write_separated(blocks, file, "\t"),
    "parquet": _write_parquet,
    "json": _write_json_rows,
}
