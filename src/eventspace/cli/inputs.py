"""Tables and models as the command line names them."""

from __future__ import annotations

import dataclasses
import io
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.types import Positions
from eventspace.data.forgetting import Forgetting
from eventspace.data.frames import COLUMNS
from eventspace.data.ids import Ids, distinct_of
from eventspace.data.observations import Observations
from eventspace.data.readers.clock import NO_TIMES
from eventspace.data.readers.roles import (
    ColumnsError,
    assign,
    long_roles,
    position,
    role,
    shown_names,
    with_role,
)
from eventspace.data.readers.tables import Table, read_table
from eventspace.data.readers.text_options import TextOptions
from eventspace.data.times import entry_times
from eventspace.fitted import FittedModel, load
from eventspace.logic.expressions import event_of

TITLES = ("title", "name")  # the usual names of such columns
TAGS = ("tags", "tag", "genres", "genre", "category", "categories")


class Columns(NamedTuple):
    """The names of columns, None where they are to be found."""

    user: str | None
    item: str | None
    value: str | None
    weight: str | None
    successes: str | None
    trials: str | None

    @property
    def named(self) -> dict[str, Any]:
        """Those that are not to be found."""
        return {role: name for role, name in self._asdict().items() if name is not None}


def written(
    sep: str | None, decimal: Any, encoding: str | None, header: bool | None
) -> TextOptions:
    """How the text files of a command are written, as its options say."""
    return TextOptions(sep and sep.replace("\\t", "\t"), decimal, encoding, header)


def source(path: Path) -> Path | BinaryIO:
    """The file, or the standard input for -."""
    if str(path) != "-":
        return path
    if sys.stdin.isatty():
        raise UserError("- is the standard input, and nothing is piped into it.")
    return sys.stdin.buffer


def await_input(*paths: Path | None) -> None:
    """Read the standard input to its end, if it is one of these: later nothing waits for it."""
    if Path("-") in paths and not sys.stdin.isatty():
        sys.stdin = io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()))


def observations(
    path: Path,
    text: TextOptions,
    columns: Columns,
    wide: bool,
    scale: Any,
    duplicates: Any,
    missing: Any = "unknown",
    time: str | None = None,
    half_life: Any = None,
) -> Observations:
    """The observations in a table, with the columns that are named."""
    named = columns.named
    options = {"scale": _scale(scale), "duplicates": duplicates, **dataclasses.asdict(text)}
    options["missing"] = _missing(missing)
    if wide:
        if half_life is not None:
            raise UserError(NO_TIMES)
        others = [f"--{role}" for role in named if role != "user"]
        if others:
            raise UserError(f"{' and '.join(others)}: this is for long tables, not with --wide.")
        return Observations.from_wide(source(path), user=named.get("user"), **options)
    options |= {"time": time, "half_life": half_life}
    if named:
        return Observations.from_long(source(path), **named, **options)
    return Observations.of(source(path), **options)


def changes(
    path: Path,
    text: TextOptions,
    columns: Columns,
    wide: bool,
    known: Observations,
    time: str | None = None,
    clock: Forgetting | None = None,
) -> Observations:
    """Ratings for what is known: on its scale, with ids as it has them, the last of a pair.

    With a clock they fade by their times.
    """
    if time is not None and clock is None:
        raise UserError(f"--time {time}: the ratings of this model do not fade. Leave it out.")
    options = known.scale, "last", known.missing, time, clock
    seen = observations(path, text, columns, wide, *options)
    users, items = (
        like(list(seen.user_ids), known.user_ids),
        like(list(seen.item_ids), known.item_ids),
    )
    return dataclasses.replace(seen, user_ids=Ids(users), item_ids=Ids(items))


def times(
    path: Path,
    text: TextOptions,
    columns: Columns,
    wide: bool,
    time: str | None,
    seen: Observations,
) -> Positions:
    """When the entries were made that were seen in a table, as ranks."""
    if str(path) == "-":
        raise UserError("--by time reads the table twice: name a file, not the standard input.")
    table = read_table(path, (columns.user, columns.item), text)
    roles = assign(table, columns.named) if columns.named else long_roles(table)
    if wide or roles is None:
        raise UserError(f"{path}: --by time needs a column of times, and this is a wide table.")
    return entry_times(seen, table, roles, time)


def _missing(text: Any) -> Any:
    try:
        return text if text in ("unknown", "no") else float(text)
    except ValueError:
        raise UserError(
            f"--missing {text} says nothing: write unknown, no, or the weight of a no, such as 0.5."
        ) from None


def _scale(text: Any) -> Any:
    """The scale that an option states, or one that is known."""
    if text in ("auto", "max") or isinstance(text, tuple):
        return text
    try:
        lo, hi = (float(bound) for bound in text.split(","))
    except ValueError:
        lo = hi = math.nan
    if not lo < hi or math.isinf(hi - lo):
        raise UserError(f"--scale {text} is no scale: write auto, max, or LO,HI such as 1,5.")
    return lo, hi


class Described(NamedTuple):
    """A model whose items are called by their titles, the tags of these, and the items' ids."""

    model: FittedModel
    tags: dict[Any, Any] | None
    ids: Ids

    def item(self, text: str) -> Any:
        """The item that a shell calls by its title or its id."""
        return self.named([text])[0]

    def named(self, texts: list[str]) -> list[Any]:
        """Several of them."""
        titles = self.model.observations.item_ids
        called, known = like(texts, titles), self.ids.positions(like(texts, self.ids)).tolist()
        at = titles.positions(called).tolist()
        return [
            title if here >= 0 or there < 0 else titles[there]
            for title, here, there in zip(called, at, known, strict=True)
        ]

    def items(self, path: Path | None, text: TextOptions) -> list[Any] | None:
        """The items in a file, one in each line, as the model calls them; a first name is none."""
        if path is None:
            return None
        file = source(path)
        content = file.read_bytes() if isinstance(file, Path) else file.read()
        try:
            lines = content.decode(text.encoding or "utf-8-sig").splitlines()
        except (UnicodeDecodeError, LookupError) as error:
            raise UserError(f"{str(path)!r} is no text: {error}. Say --encoding.") from error
        items = [line.strip() for line in lines if line.strip()]
        return self.named(items[items[:1] == ["item"] :])

    def query(self, expression: str) -> Any:
        """The event of an expression over titles and ids."""
        ids = {str(id_): k for k, id_ in enumerate(self.ids)}
        return event_of(self.model.space, expression, ids)

    def evidence(self, path: Path | None, text: TextOptions) -> Observations | None:
        """The ratings in a table, its ids as the model has them, its items called by titles."""
        if path is None:
            return None
        known = self.model.observations
        seen = _evidence(path, text, known.missing)
        items = like(list(seen.item_ids), self.ids)
        at = self.ids.positions(items).tolist()
        titles = [
            known.item_ids[k] if k >= 0 else _unlike(id_, known.item_ids)
            for id_, k in zip(items, at, strict=True)
        ]
        users = like(list(seen.user_ids), known.user_ids)
        return dataclasses.replace(seen, user_ids=Ids(users), item_ids=Ids(titles))


def _evidence(path: Path, text: TextOptions, missing: float) -> Observations:
    """The ratings in a table whose columns have to be named for it."""
    table = source(path)
    try:
        return Observations.of(table, missing=missing, **dataclasses.asdict(text))
    except ColumnsError as error:
        error.shell = "call the columns of --evidence user, item and value, and no others so."
        raise


def _unlike(id_: Any, titles: Ids) -> Any:
    """An item that the model does not know, by a name that is none of its titles."""
    return id_ if titles.positions([id_])[0] < 0 else f"{id_} #{id_}"


def described(
    path: Path, text: TextOptions, titles: Path | None, tags: Path | None = None
) -> Described:
    """The model in a file, of any kind, its items called by their titles."""
    known = load(path)
    ids, labels = known.observations.item_ids, None
    ids_shown = ids
    if tags is not None:
        labels = item_column(tags, text, ids, TAGS, -1, "tags")
    if titles is not None:
        names = _titles(item_column(titles, text, ids, TITLES, 1, "titles"), ids)
        if labels is not None:
            pairs = zip(ids, names, strict=True)
            labels = {name: labels[id_] for id_, name in pairs if id_ in labels}
        ids_shown = Ids(names)
    seen = dataclasses.replace(known.observations, item_ids=ids_shown, library=COLUMNS)
    shown = type(known)(dataclasses.replace(known.record, observations=seen), known.settings)
    return Described(shown, labels, ids)


def _titles(named: dict[Any, Any], ids: Ids) -> list[str]:
    """A title for each item; where two share one, the id tells them apart."""
    names = [str(named.get(id_, id_)) for id_ in ids]
    times = Counter(names)
    return [
        f"{name} #{id_}" if times[name] > 1 else name for name, id_ in zip(names, ids, strict=True)
    ]


def item_column(
    path: Path, text: TextOptions, ids: Ids, names: tuple[str, ...], place: int, what: str
) -> dict[Any, Any]:
    """What a column of a table says of items, whose ids are in its first one.

    It is the column with one of these names, else the one at this place.
    """
    table = read_table(source(path), (*TITLES, *TAGS), text, (ids,))
    if len(table.names) == 1:
        raise UserError(f"{str(path)!r} has one column: a column of {what} belongs beside the ids.")
    at = [j for j, name in enumerate(table.names) if str(name).lower() in names and j > 0]
    j = at[0] if at else range(len(table.names))[place]
    keys = like(table.ids(0).to_pylist(), ids)
    if not set(keys) & set(ids):
        raise UserError(
            f"{str(path)!r} has none of the model's items in its first column, {table.names[0]!r}: "
            f"the model knows {ids[0]!r}, say."
        )
    pairs = zip(keys, table.ids(j).to_pylist(), strict=True)
    return {key: value for key, value in pairs if value is not None}


def attributes(path: Path, text: TextOptions, ids: Ids) -> Table:
    """A table of attributes of these ids."""
    return read_table(source(path), (), text, (ids,))


def pairs(
    path: Path, text: TextOptions, user: str | None, item: str | None, seen: Observations
) -> tuple[Any, Any]:
    """The columns of users and of items in a table, as those that are seen already."""
    known = seen.user_ids, seen.item_ids
    table = read_table(source(path), (user, item), text, known)
    at = _named(table, path, "user", user, 0), _named(table, path, "item", item, 1)
    return table.pairs(*at, known)


def _named(table: Table, path: Path, what: str, name: str | None, place: int) -> int:
    """Which column holds the users, or the items."""
    if name is not None:
        return position(table, name)
    found = with_role(table, what)
    if len(found) == 1:
        return found[0]
    if not found and len(table.names) == 2 and role(table.names[place]) is None:
        return place
    number = "No column" if not found else "More than one column"
    raise UserError(
        f"{number} of {str(path)!r} is named like the {what}: say --{what} NAME. "
        f"The columns are {shown_names(table.names)}."
    )


def like(column: Any, ids: Ids) -> Any:
    """A list or column of ids as the model's are: no file and no shell says if 7 is a number.

    Text becomes the number that is spelt so, value by value: "007" and "x" stay what they are.
    """
    known = ids.values
    texts = known.dtype == object and all(isinstance(id_, str) for id_ in known)
    if isinstance(column, list):  # of any text, also such as pyarrow cannot hold
        if texts:
            return [id_ if id_ is None else str(id_) for id_ in column]
        spelt = {str(id_): id_ for id_ in ids if not isinstance(id_, str)}
        own = {id_ for id_ in ids if isinstance(id_, str)}
        return [id_ if id_ in own else spelt.get(id_, id_) for id_ in column]
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if is_text == texts:
        return column
    positions, words = distinct_of(column)
    alike = [*like(words, ids), None]  # a missing id is at -1, the last
    return np.fromiter(alike, dtype=object, count=len(alike))[positions]


def one_like(id_: str, ids: Ids) -> Any:
    """An id from the shell as the model's are."""
    return like([id_], ids)[0]
