"""Tables of text: chunks of whole rows, each parsed by pyarrow, put together column by column."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

from eventspace._base.errors import UserError
from eventspace.data.readers.chunks import Chunk, Text, ahead
from eventspace.data.readers.encodings import in_utf8
from eventspace.data.readers.header import BOM, Asked, Header, read_header
from eventspace.data.readers.lines import Lines
from eventspace.data.readers.numerals import in_plain_words
from eventspace.data.readers.quotes import lines_in, uneven_row
from eventspace.data.readers.roles import FEW, role
from eventspace.data.readers.spelling import SpeltColumn, with_missing
from eventspace.data.readers.text_options import Decimal, TextOptions

_BLOCK = 1 << 22  # bytes that a thread of pyarrow's takes at a time
_SHOWN = 60  # letters of a row in a message


class Read(NamedTuple):
    """A table as pyarrow's; of one of text, also how it is written.

    ``spelt`` are the columns that are held as they are spelt, being others than integers.
    """

    table: Any
    spelt: frozenset[str] = frozenset()
    decimal: Decimal | None = None
    lines: Lines | None = None


def read_text(stream: Any, name: str, options: TextOptions, asked: Asked, waits: bool) -> Read:
    """The table in a stream of text.

    Columns are held as spelt if they may hold ids: those that are asked for, and those that may be
    meant by nobody naming any. ``waits`` says that a stream may make one wait: a thread that reads
    ahead of it could not be stopped.
    """
    import pyarrow as pa

    text, header = read_header(in_utf8(Text(stream, name), options.encoding), options, asked)
    spelt = {
        n: SpeltColumn() for n in header.names if n in asked.names or _may_be_ids(n, header.names)
    }
    lines = Lines()
    values: dict[str, list[Any]] = {n: [] for n in header.names if n not in spelt}
    types = dict.fromkeys(spelt, pa.string())
    rows = text.rows(header.delimiter)
    tasks: list[Future[None]] = []
    with (
        closing(rows if waits else ahead(rows)) as chunks,
        ThreadPoolExecutor(max(1, min(len(spelt), 4))) as pool,
    ):
        for chunk in chunks:
            parsed = _parsed(chunk, header, types, text)
            lines.add(chunk, parsed.num_rows, header.delimiter)
            for task in tasks:
                task.result()
            tasks = [pool.submit(column.add, parsed.column(n)) for n, column in spelt.items()]
            for n, parts in values.items():
                parts.append(parsed.column(n))
                if pa.types.is_string(parts[-1].type):
                    types[n] = pa.string()
            del parsed
        for task in tasks:
            task.result()
    columns = {
        n: spelt[n].column() if n in spelt else _joined(values[n], header.decimal)
        for n in header.names
    }
    texts = frozenset(n for n in spelt if not pa.types.is_integer(columns[n].type))
    return Read(pa.table(columns), texts, header.decimal, lines)


def _may_be_ids(name: str, names: list[str]) -> bool:
    """Whether a column may hold ids; in a wide table, that is one of users or the first."""
    taken_for, few = role(name), len(names) <= FEW
    if taken_for in ("user", "item", "index"):
        return True
    return taken_for is None if few else name == names[0]


def _parsed(chunk: Chunk, header: Header, types: dict[str, Any], text: Text) -> Any:
    """The rows of a chunk as a table of pyarrow's."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    # a row has to fit into a block, and in a wide table many should
    block = min(max(_BLOCK, 16 * header.size), chunk.data.size + 1)
    memory = chunk.memory
    if chunk.data[:3].tobytes() == BOM:  # of a field: at the very beginning, it would be a mark
        whole = pa.BufferOutputStream()
        whole.write(b"\n")
        whole.write(memory)
        memory = whole.getvalue()
    while True:
        try:
            table = arrow_csv.read_csv(
                # Arrow's threads see memory of its own: one that waited for Python, if only to
                # let go of a buffer, while the interpreter ends would abort the process
                pa.BufferReader(memory),
                arrow_csv.ReadOptions(column_names=header.names, block_size=block),
                arrow_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=chunk.broken),
                arrow_csv.ConvertOptions(column_types=types, decimal_point=header.decimal or "."),
            )
            break
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block <= chunk.data.size:
                block = chunk.data.size + 1
                continue
            if "UTF8" in str(error):
                raise text.not_utf8(chunk.data.tobytes(), chunk.line) from error
            raise _uneven(chunk, header, text) or error from error
    if any(pa.types.is_binary(column.type) for column in table.columns):
        raise text.not_utf8(chunk.data.tobytes(), chunk.line)
    return table


def _uneven(chunk: Chunk, header: Header, text: Text) -> UserError | None:
    """The error that a row with too few or too many fields gets, if there is one."""
    data, n = chunk.data, len(header.names)
    start, end, fields = uneven_row(data, data.size, ord(header.delimiter), n)
    if start < 0:
        return None
    written = text.as_written(data[start : min(end, start + 4 * _SHOWN)].tobytes())
    row = written.decode(errors="replace").rstrip("\r\n")
    shown = repr(row if len(row) <= _SHOWN else row[:_SHOWN] + "...")
    return text.unreadable(
        f"line {chunk.line + lines_in(data, start)} has {fields} field{'s' * (fields != 1)} and "
        f"the first line {n}: {shown}."
    )


def _joined(parts: list[Any], decimal: Decimal | None) -> Any:
    """The parts of a column of values as one, of the type that pyarrow gives to the whole."""
    import pyarrow as pa

    kinds = {part.type for part in parts} - {pa.null()}
    kind = kinds.pop() if len(kinds) == 1 else _common(parts, kinds) if kinds else pa.null()
    # integers may be rounded: these are values
    safe = kind != pa.float64()
    blocks = [block for part in parts for block in part.cast(kind, safe=safe).chunks]
    column = pa.chunked_array(blocks, kind)
    if not pa.types.is_string(kind):
        return column
    found = in_plain_words(column, decimal)
    return with_missing(column) if found is None else found


def _common(parts: list[Any], kinds: set[Any]) -> Any:
    """The first type in the order in which pyarrow tries them that takes the texts of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    if kinds == {pa.int64(), pa.bool_()}:
        integers = [part for part in parts if part.type == pa.int64()]
        if all(pc.all(pc.is_in(part.drop_null(), pa.array([0, 1]))).as_py() for part in integers):
            return pa.bool_()
    times = [pa.date32(), pa.timestamp("s")]
    if kinds <= set(times):
        return max(kinds, key=times.index)
    return pa.string()
