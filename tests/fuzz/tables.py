"""The mutator of tables: good files of every form, changed by field, line or byte."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.fuzz.judge import Case
from tests.fuzz.mutations import garbled

LARGE = 1 / 500  # of the cases have many rows, so that they are read in several blocks
ROWS = 300_000
FIELDS = (
    "", " ", "NaN", "nan", "NA", "null", "None", "inf", "-inf", "Infinity", "1e3", "1E3", "1e999",
    "0x10", "007", "7", "7.0", "1.1", "1.10", "+5", "-5", "- 5", "5,5", "5.", ".5", "1_000",
    "1 000", "٣", "\uff11", "1d", "true", "True", "false", "1e-400", "9007199254740993",
    "9223372036854775808", "18446744073709551616", "1" * 400, "x" * 5000, "é", "e\u0301", "日本",
    "\u200b", "\ufeff", "\u2028", "\x1b[31m", "\0", "a\0b", "=1+1", "'", '"', '""', '"a', 'a"',
    'a"b', '"a"b', '"a""b"', '"a,b"', '"a\nb"', '"a\r\nb"', "a\tb", "a;b", "\\", '\\"', "#",
    "2020-01-01", "12:30", "1/2", "50%", "$5", "<b>", "{x}", "-0", "0", "00", "1", "5", "3",
)  # fmt: skip
ALIKE = (
    *(("1.1", "1.10"), ("007", "7"), ("0x10", "16"), ("1e3", "1000"), ("1", "true"), ("1", "1.0")),
    *(("+5", "5"), (" 7", "7"), ("7 ", "7"), ("9007199254740993", "9007199254740992"), ("-0", "0")),
    *(("1E3", "1e3"), ("nan", "NaN"), ("é", "e\u0301"), ("0.1", ".1"), ("a", "A"), ("a", "a\0")),
    *(("18446744073709551616", "18446744073709551617"), ("\ufeffa", "a"), ("1e400", "inf")),
)
NAMES = (
    "user", "item", "value", "rating", "weight", "successes", "trials", "timestamp", "userId",
    "movie_id", "", " ", "User", "1", "0.5", '"user"', '"us""er"', "user\0", "ü", "x" * 300,
    "column 1", "index", "nan",
)  # fmt: skip
SEPARATORS = (",", "\t", ";", "|", "::")
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "utf-7", "cp500")


def rows(n_users: int = 6, n_items: int = 5) -> list[tuple[int, int, int]]:
    rng = Random(0)
    return [(u, i, rng.randrange(1, 6)) for u in range(n_users) for i in range(n_items)]


@cache
def texts() -> dict[str, str]:
    """Tables as text, by what they are like."""
    long = rows()
    named = [(f"user {u}", f"Film {i}", v) for u, i, v in long]
    wide = [["user", *(f"Film {i}" for i in range(5))]]
    wide += [
        [f"u{u}", *(str((u * i) % 5) if (u + i) % 3 else "" for i in range(5))] for u in range(6)
    ]
    quoted = [(f'"{u}, ""jr"""', f'"a\nb {i}"', v) for u, i, v in named]
    return {
        "long": _joined([("user", "item", "value"), *named]),
        "numbers": _joined([("user", "item", "rating"), *((u + 5, i * 3, v) for u, i, v in long)]),
        "others": _joined(
            [("userId", "movieId", "Rating"), *((u + 5, i * 3, v) for u, i, v in long)]
        ),
        "no names": _joined([(u + 10, i + 100, v) for u, i, v in long], "\t"),
        "zeros": _joined(
            [("user", "item", "value"), *((f"{u:03}", f"{i:02}", v) for u, i, v in long)]
        ),
        "semicolons": _joined([("user", "item", "value"), *named], ";", "\r\n"),
        "bars": _joined([("user", "item", "value"), *named], "|"),
        "double colons": _joined([(u + 10, i + 100, v, 978300760 + u) for u, i, v in long], "::"),
        "decimal commas": _joined(
            [("user", "item", "value"), *((u, i, f"{v},5") for u, i, v in named)], ";"
        ),
        "thousands": _joined(
            [("user", "item", "value"), *((u, i, f'"{v},234.5"') for u, i, v in named)]
        ),
        "words": _joined(
            [("user", "item", "value"), *((u, i, ("no", "yes")[v % 2]) for u, i, v in named)]
        ),
        "tabs": _joined([("user", "item", "rating"), *named], "\t"),
        "weights": _joined([("user", "item", "value", "weight"), *((*r, r[2]) for r in named)]),
        "counts": _joined([("user", "item", "successes", "trials"), *((*r, 9) for r in named)]),
        "times": _joined([("user", "item", "value", "timestamp"), *((*r, 10**9) for r in named)]),
        "chances": _joined([("user", "item", "value"), *((u, i, v / 7) for u, i, v in named)]),
        "wide": _joined(wide),
        "quoted": _joined([("user", "item", "value"), *quoted]),
    }


def _joined(table: list[Any], comma: str = ",", end: str = "\n") -> str:
    return end.join(comma.join(map(str, row)) for row in table) + end


@cache
def large() -> str:
    return "user,item,value\n" + "".join(f"u{k // 40},i{k % 40},{k % 5}\n" for k in range(ROWS))


def separator(text: str) -> str:
    """What seems to separate fields."""
    return max(SEPARATORS, key=text.count)


# What a mutation did to the text of a table, in words.
Change = Callable[[Random, str], tuple[str, str]]


def _field(rng: Random, text: str) -> tuple[str, str]:
    """One field, or a whole column, is something else."""
    comma = separator(text)
    lines = text.split("\n")
    k = rng.randrange(len(lines))
    new = rng.choice(FIELDS)
    column = rng.randrange(max(1, lines[k].count(comma) + 1))
    which = range(1, len(lines)) if rng.random() < 0.1 else [k]
    for j in which:
        fields = lines[j].split(comma)
        if column < len(fields):
            fields[column] = new
            lines[j] = comma.join(fields)
    return "\n".join(lines), f"column {column} of line {k} is {new[:30]!r}"


def _count(rng: Random, text: str) -> tuple[str, str]:
    """Fields missing or too many."""
    comma = separator(text)
    lines = text.split("\n")
    k = rng.randrange(len(lines))
    if rng.random() < 0.5:
        lines[k] = lines[k].rpartition(comma)[0]
    else:
        lines[k] += comma * rng.choice([1, 2, 1000]) + rng.choice(["", "x"])
    return "\n".join(lines), f"line {k} has other fields"


def _names(rng: Random, text: str) -> tuple[str, str]:
    """Another first line, or none."""
    comma = separator(text)
    head, _, rest = text.partition("\n")
    names = head.split(comma)
    kind = rng.choice(["one", "one", "all", "none", "doubled", "many", "twice"])
    if kind == "none":
        return rest, "no line of names"
    if kind == "twice":
        return f"{head}\n{text}", "two lines of names"
    if kind == "many":
        n = rng.choice([*[50] * 19, 3000])
        wide = comma.join(f"c{j}" for j in range(n))
        return f"{wide}\n" + f"{comma.join(['1'] * n)}\n" * 3, f"{n} columns"
    if kind == "doubled":
        names[-1] = names[0]
    else:
        for j in range(len(names)) if kind == "all" else [rng.randrange(len(names))]:
            names[j] = rng.choice(NAMES)
    return f"{comma.join(names)}\n{rest}", f"names {names!r}"[:80]


def _lines(rng: Random, text: str) -> tuple[str, str]:
    """Lines doubled, dropped, blank, in another order, ended otherwise."""
    lines = text.split("\n")
    k = rng.randrange(len(lines))
    kind = rng.choice(["doubled", "dropped", "blank", "shuffled", "cr", "crlf", "one crlf", "cut"])
    if kind == "doubled":
        lines.insert(k, lines[k])
    elif kind == "dropped":
        lines.pop(k)
    elif kind == "blank":
        lines.insert(k, rng.choice(["", " ", "\r", "\t", ",", "#"]))
    elif kind == "shuffled":
        tail = lines[1:]
        rng.shuffle(tail)
        lines[1:] = tail
    elif kind == "cut":
        return text[: rng.randrange(len(text) + 1)], "cut"
    elif kind == "one crlf":
        lines[k] += "\r"
    else:
        return text.replace("\n", "\r" if kind == "cr" else "\r\n"), f"lines end in {kind}"
    return "\n".join(lines), f"lines {kind}"


def _characters(rng: Random, text: str) -> tuple[str, str]:
    """A character put in anywhere, or one exchanged for another throughout."""
    at = rng.randrange(len(text) + 1)
    new = rng.choice(
        ['"', "'", ",", ";", "\t", "\n", "\r", "\0", "\x1a", "\\", "\ufeff", '""', '"\n']
    )
    if rng.random() < 0.15:
        old = rng.choice([",", "\t", ";", "\n", " ", "1", "."])
        return text.replace(old, new), f"{old!r} becomes {new!r}"
    return text[:at] + new + text[at:], f"{new!r} at {at}"


def _alike(rng: Random, text: str) -> tuple[str, str]:
    """Two ids that are not the same, but would be as numbers or without what surrounds them."""
    comma = separator(text)
    lines, column = text.split("\n"), rng.randrange(2)
    pair = rng.choice(ALIKE)
    for new, k in zip(pair, rng.choices(range(len(lines)), k=2), strict=True):
        fields = lines[k].split(comma)
        if column < len(fields):
            fields[column] = new
            lines[k] = comma.join(fields)
    return "\n".join(lines), f"{pair} in column {column}"


def _stray_quote(rng: Random, text: str) -> tuple[str, str]:
    """A quote before a field, that nothing closes."""
    at = rng.randrange(len(text) + 1)
    at = max(text.rfind(mark, 0, at) for mark in rng.choice(["\n", ",\t;"])) + 1
    return text[:at] + '"' + text[at:], f"a quote at {at}"


CHANGES: tuple[Change, ...] = (
    *(_field, _field, _field, _count, _names, _lines, _characters, _characters),
    *(_alike, _stray_quote),
)


def _encoded(rng: Random, text: str) -> tuple[bytes, str]:
    if rng.random() < 0.93:
        return text.encode("utf-8", "surrogatepass"), ""
    name = rng.choice(ENCODINGS)
    return text.encode(name, "replace"), f"; in {name}"


def _compressed(rng: Random, content: bytes) -> tuple[bytes, str]:
    chance = rng.random()
    if chance > 0.15:
        return content, ""
    codec = rng.choice(["gzip", "zstd", "bz2", "lz4"])
    if codec == "gzip":
        packed = gzip.compress(content, 1, mtime=0)
    elif codec == "bz2":
        packed = bz2.compress(content)
    else:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        packed = sink.getvalue().to_pybytes()
    if chance < 0.06:
        packed, what = garbled(rng, packed, packed[::-1])
        return packed, f"; in {codec}, {what}"
    return packed, f"; in {codec}"


@cache
def column_kinds() -> tuple[Any, ...]:
    """Columns of Parquet of kinds that a table may have, or should not."""
    n = 12
    return (
        pa.array(range(n)), pa.array([float(k) for k in range(n)]),
        pa.array([f"u{k}" for k in range(n)]), pa.array([k % 2 == 0 for k in range(n)]),
        pa.array([None] * n), pa.array([None, *range(1, n)]),
        pa.array([2**53 + k if k else None for k in range(n)]),
        pa.array([2**63 + k for k in range(n)], pa.uint64()),
        pa.array([f"u{k % 3}" for k in range(n)]).dictionary_encode(),
        pa.array([[k] for k in range(n)]), pa.array([{"a": k} for k in range(n)]),
        pa.array([bytes([255 - k]) for k in range(n)]), pa.array([np.nan] * n),
        pa.array([np.inf] * n), pa.array([None, "x"] * (n // 2)),
        pa.array(range(n), pa.timestamp("ns")), pa.array(range(n), pa.date32()),
        pa.array(range(n), pa.time32("s")), pa.array(range(n), pa.duration("s")),
        pa.array(range(n)).cast(pa.decimal128(24, 2)),
        pa.array([f"u{k}" for k in range(n)], pa.large_string()), pa.array(range(n), pa.uint8()),
        pa.array([{"a": [None]}] * n), pa.array(range(n)).cast(pa.float16()),
        pa.array([-1e300] * n),
        pa.array([[("k", k)] for k in range(n)], pa.map_(pa.string(), pa.int64())),
        pa.array([k // 3 for k in range(n)]), pa.array([k % 3 for k in range(n)]),
        pa.array([k % 5 for k in range(n)]), pa.array([f"i{k % 3}" for k in range(n)]),
        pa.array([f"u{k // 3}" for k in range(n)]),
    )  # fmt: skip


def _parquet(rng: Random) -> tuple[bytes, str]:
    """A Parquet file with columns of any kind, and some with bytes that are none."""
    kinds = column_kinds()
    names, columns = ["user", "item", "value"], [kinds[-1], kinds[-2], kinds[-3]]
    if rng.random() < 0.3:
        names.append(rng.choice(["weight", "timestamp", "x", "", "user"]))
        columns.append(rng.choice(kinds))
    done = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        k = rng.randrange(len(columns))
        columns[k] = rng.choice(kinds)
        done.append(f"{names[k]} is {columns[k].type}")
        if rng.random() < 0.2:
            names[k] = rng.choice(NAMES)
    if rng.random() < 0.1:
        columns = [column[:0] for column in columns]
    sink = io.BytesIO()
    codec = rng.choice(["none", "snappy", "gzip", "zstd"])
    table = pa.Table.from_arrays(columns, names=names)
    parquet.write_table(table, sink, compression=codec, row_group_size=rng.choice([5, 100]))
    content = sink.getvalue()
    if rng.random() < 0.5:
        for _ in range(rng.choice([1, 1, 3])):
            content, what = garbled(rng, content, content[::-1])
            done.append(what)
    return content, f"parquet: {'; '.join(done)}"


def case(seed: int, number: int) -> Case:
    """The table of a number."""
    rng = Random(f"table {seed} {number}")
    chance = rng.random()
    if chance < 0.15:
        return Case(*_parquet(rng))
    if chance < 0.15 + LARGE:
        text, what = rng.choice([_characters, _field, _lines, _alike, _stray_quote])(rng, large())
        return Case(text.encode(), f"large: {what}")
    name = rng.choice(list(texts()))
    text, done = texts()[name], []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text, what = rng.choice(CHANGES)(rng, text)
        done.append(what)
    content, encoding = _encoded(rng, text)
    if rng.random() < 0.1:
        content, what = garbled(rng, content, content[::-1])
        done.append(what)
    content, codec = _compressed(rng, content)
    return Case(content, f"{name}: {'; '.join(done)}{encoding}{codec}")
