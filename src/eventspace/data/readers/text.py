"""Tables of text: chunks of whole rows, each parsed by pyarrow, put together column by column."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

from eventspace._base.errors import UserError
from eventspace.data.readers.chunks import Chunk, Chunks, ahead
from eventspace.data.readers.header import BOM, Header, not_utf8, read_header
from eventspace.data.readers.quotes import lines_in, uneven_row
from eventspace.data.readers.roles import FEW, role
from eventspace.data.readers.spelling import SpeltColumn

_BLOCK = 1 << 22  # bytes that a thread of pyarrow's takes at a time
_SHOWN = 60  # letters of a row in a message


def read_text(
    stream: Any, name: str, ids: frozenset[str], waits: bool
) -> tuple[Any, frozenset[str]]:
    """The table in a stream of text, as pyarrow's, and the columns that are held as spelt.

    These are all that may hold ids: those named in ``ids``, and those that may be meant by nobody
    naming any. ``waits`` says that a stream may make one wait: a thread that reads ahead of it
    could not be stopped.
    """
    import pyarrow as pa

    text = Chunks(stream, name)
    header = read_header(text, name)
    spelt = {n: SpeltColumn() for n in _id_columns(header.names, ids)}
    values: dict[str, list[Any]] = {n: [] for n in header.names if n not in spelt}
    types = dict.fromkeys(spelt, pa.string())
    rows = text.rows(header.delimiter)
    tasks: list[Future[None]] = []
    with (
        closing(rows if waits else ahead(rows)) as chunks,
        ThreadPoolExecutor(max(1, min(len(spelt), 4))) as pool,
    ):
        for chunk in chunks:
            parsed = _parsed(chunk, header, types, name)
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
    columns = {n: spelt[n].column() if n in spelt else _joined(values[n]) for n in header.names}
    texts = frozenset(n for n in spelt if not pa.types.is_integer(columns[n].type))
    return pa.table(columns), texts


def _id_columns(names: list[str], ids: frozenset[str]) -> list[str]:
    """The columns that may hold ids; in a wide table, one of users or the first."""
    found = []
    for j, name in enumerate(names):
        taken_for = role(name)
        if len(names) <= FEW:
            wanted = taken_for in ("user", "item", "index", None)
        else:
            wanted = taken_for in ("user", "item", "index") or j == 0
        if wanted or name in ids:
            found.append(name)
    return found


def _parsed(chunk: Chunk, header: Header, types: dict[str, Any], name: str) -> Any:
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
                arrow_csv.ConvertOptions(column_types=types),
            )
            break
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block <= chunk.data.size:
                block = chunk.data.size + 1
                continue
            if "UTF8" in str(error):
                raise not_utf8(name) from error
            raise _uneven(chunk, header, name) or error from error
    if any(pa.types.is_binary(column.type) for column in table.columns):
        raise not_utf8(name)
    return table


def _uneven(chunk: Chunk, header: Header, name: str) -> UserError | None:
    """The error that a row with too few or too many fields gets, if there is one."""
    data, n = chunk.data, len(header.names)
    start, end, fields = uneven_row(data, data.size, ord(header.delimiter), n)
    if start < 0:
        return None
    row = data[start : min(end, start + 4 * _SHOWN)].tobytes().decode(errors="replace")
    row = row.rstrip("\r\n")
    shown = repr(row if len(row) <= _SHOWN else row[:_SHOWN] + "...")
    return UserError(
        f"{name!r} cannot be read as a table: line {chunk.line + lines_in(data, start)} has "
        f"{fields} field{'s' * (fields != 1)} and the first line {n}: {shown}."
    )


def _joined(parts: list[Any]) -> Any:
    """The parts of a column of values as one, of the type that pyarrow gives to the whole."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not parts:
        return pa.chunked_array([], pa.null())
    kinds = {part.type for part in parts} - {pa.null()}
    kind = kinds.pop() if len(kinds) == 1 else pa.null() if not kinds else _common(parts, kinds)
    # integers may be rounded: these are values
    safe = kind != pa.float64()
    blocks = [block for part in parts for block in part.cast(kind, safe=safe).chunks]
    column = pa.chunked_array(blocks, kind)
    # an empty field is missing; "NA" may well be someone's name
    if pa.types.is_string(kind) and pc.any(pc.equal(column, "")).as_py():
        column = pc.if_else(pc.equal(column, ""), None, column)
    return column


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
