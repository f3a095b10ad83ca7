"""Files read as tables: no row is lost, damage gets one line, memory is bounded."""

from __future__ import annotations

import csv
import gzip
import io
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventspace import Observations
from eventspace._base.errors import UserError
from eventspace.data.readers import chunks, first_rows
from eventspace.data.readers.files import read_arrow
from eventspace.data.readers.tables import read_table
from tests.command import COMMAND, piped

MB = 1 << 20


@pytest.fixture
def small_chunks(monkeypatch) -> None:
    """Chunks so small that nearly every row lies across two of them."""
    cut(monkeypatch, 16)


def cut(monkeypatch: Any, size: int) -> None:
    monkeypatch.setattr(chunks, "CHUNK", size)
    monkeypatch.setattr(first_rows, "HEAD", size)


def fields(source: Any) -> list[list[Any]]:
    """The names and rows of a table, each field as it is spelt."""
    table = read_table(source)
    columns = [map(spelt, table.ids(j).to_pylist()) for j in range(len(table.names))]
    return [table.names, *(list(row) for row in zip(*columns, strict=True))]


def spelt(value: Any) -> str:
    return "" if value is None else str(value)


# --- against csv and pandas -------------------------------------------------------------------

words = st.text(alphabet='ab1,;\t"\n\r é€😀', max_size=6)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(words, words, words), min_size=1, max_size=8),
    st.sampled_from([16, 17, 23, 64, 1 << 20]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(",;\t"),
    st.booleans(),
    st.booleans(),
)
def test_what_is_read_is_what_csv_reads(rows, size, end, delimiter, mark, always) -> None:
    text = io.StringIO(newline="")
    # of line breaks, older writers put only their own into quotes unless told to
    quoting = csv.QUOTE_ALL if always or end != "\r\n" else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([("user\nname", "item", 'the "rest"'), *rows])
    content = ("\ufeff" * mark + text.getvalue()).encode()
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, size)
        found = fields(io.BytesIO(content))
    text.seek(0)
    expected = list(csv.reader(text, delimiter=delimiter))
    assert found[0] == expected[0]
    columns = (zip(*rows[1:], strict=True) for rows in (found, expected))
    for column, theirs in zip(*columns, strict=True):
        trimmed = tuple(t.strip(" \t") for t in theirs)
        integers = all(t == "" or (t.isdigit() and str(int(t)) == t) for t in trimmed)
        assert column == theirs or (integers and column == trimmed)


def large(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    names = np.array(["Alien", 'The "Thing"', "Up,\nand away", "Heat\r\n", "No. 7", "é"])
    return pd.DataFrame(
        {
            "user": rng.integers(0, 1000, rows),
            "item": names[rng.integers(0, len(names), rows)],
            "value": rng.integers(0, 3, rows) / 2,
        }
    )


def test_a_large_file_with_quoted_line_breaks_has_as_many_rows_as_for_pandas(
    tmp_path: Path, monkeypatch
) -> None:
    frame = large(300_000)
    path = tmp_path / "large.csv"
    frame.to_csv(path, index=False)
    assert path.stat().st_size > 4 * MB
    for size in (chunks.CHUNK, 100_003, 1_000_003):
        cut(monkeypatch, size)
        table = read_table(path)
        assert len(table) == len(pd.read_csv(path)) == len(frame)
        assert table.ids(0).to_pylist() == frame["user"].tolist()
        assert table.ids(1).to_pylist() == frame["item"].tolist()
        assert table.column(2).to_pylist() == frame["value"].tolist()


@pytest.mark.parametrize("rows", [20, 100_000])
@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_a_stray_quote_is_refused_with_its_line(rows: int, at: float, tmp_path: Path) -> None:
    lines = [f"u{k % 977},i{k % 1009},{k % 5}" for k in range(rows)]
    k = int(at * (rows - 1))
    path = tmp_path / "stray.csv"
    for field in range(3):
        parts = lines[k].split(",")
        parts[field] = '"' + parts[field]
        stray = [*lines[:k], ",".join(parts), *lines[k + 1 :]]
        path.write_text("\n".join(["user,item,value", *stray, ""]))
        with pytest.raises(ValueError, match=rf"stray\.csv' .*opens a field in line {k + 2} is"):
            Observations.of(path)


def test_two_stray_quotes_do_not_hide_the_rows_between_them(tmp_path: Path) -> None:
    path = tmp_path / "stray.csv"
    path.write_text('user,item,value\nann,Up,1\n"bob,Up,0\ncid,Up,1\n"dan,Up,0\n')
    assert len(pd.read_csv(path)) == 2  # with the user 'bob,Up,0\ncid,Up,1\ndan'
    with pytest.raises(ValueError, match="opens a field in line 3 is not closed"):
        Observations.of(path)


def test_a_quote_within_a_field_is_a_letter(tmp_path: Path) -> None:
    path = tmp_path / "inches.csv"
    path.write_text('user,item,value\nann,5" disk,1\nbob,the "Thing",0\n')
    assert list(Observations.of(path).item_ids) == ['5" disk', 'the "Thing"']


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_count_them(end: str, tmp_path: Path) -> None:
    path = tmp_path / "uneven.csv"
    lines = ["user,item,value", "ann,Up,1", "", '"a', 'b",Up,1', "", "bob,Up", "cid,Up,1"]
    path.write_text(end.join(lines), newline="")
    with pytest.raises(ValueError, match=r"line 7 has 2 fields and the first line 3: 'bob,Up'"):
        Observations.of(path)
    path.write_text(end.join([*lines[:6], "bob,\x1b[31mUp", ""]), newline="")
    with pytest.raises(ValueError, match=r"line 7 has 2 fields .*: 'bob,\\x1b\[31mUp'"):
        Observations.of(path)
    path.write_text(end.join([*lines[:6], 'bob,"Up', ""]), newline="")
    with pytest.raises(ValueError, match=r"opens a field in line 7 is not closed"):
        Observations.of(path)


@pytest.mark.usefixtures("small_chunks")
def test_types_of_values_do_not_depend_on_the_chunk(tmp_path: Path) -> None:
    path = tmp_path / "types.csv"
    for values, expected in (
        (["1", "0.5", "", "NA"], [1.0, 0.5, None, None]),
        (["", "1", "", "7"], [None, 1, None, 7]),
        (["1", "0", "", "true"], [True, False, None, True]),
        (["1", "2", "true"], ["1", "2", "true"]),
        (["1", "good"], ["1", "good"]),
        (["good", "1", "1.0", "1.10", ""], ["good", "1", "1.0", "1.10", None]),
    ):
        rows = "".join(f"u{k},{'i' * 20},{value}\n" for k, value in enumerate(values))
        path.write_text(f"user,item,value\n{rows}")
        assert read_table(path).column(2).to_pylist() == expected


def test_a_long_first_line_is_read(tmp_path: Path) -> None:
    names = [f"cg{k:08d} of the island" for k in range(30_000)]
    values = np.random.default_rng(0).integers(0, 2, (5, len(names)))
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "sample", [f"s{k}" for k in range(5)])
    path = tmp_path / "wide.csv"
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        frame.to_csv(path, index=False, quoting=quoting)
        assert path.read_bytes().index(b"\n") > 600_000
        observed = Observations.of(path)
        assert (observed.n_users, observed.n_items) == (5, 30_000)
        assert observed.by_user.value.reshape(values.shape).tolist() == values.tolist()


def test_rows_longer_than_a_block_of_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    long = "x" * (10 * MB)
    path.write_text(f"user,item,value\nann,{long},1\nbob,Up,0\n")
    assert list(Observations.of(path).item_ids) == ["Up", long]


# --- refused in one line ----------------------------------------------------------------------


def test_a_large_file_is_refused_without_an_abort(tmp_path: Path) -> None:
    rows = "".join(f"{k},{k},1\n" for k in range(400_000))
    path = tmp_path / "large.csv"
    path.write_text(f"user,item,value\n1,2,3,4\n{rows}")
    command = [*COMMAND, "fit", str(path), "-o", str(tmp_path / "m")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        _, err = process.communicate()
        assert process.returncode == 2
        assert err.count("\n") == 1
        assert "line 2 has 4 fields" in err


class Watched(io.BytesIO):
    """Bytes that note who reads them."""

    readers: set[threading.Thread]

    def readinto(self, buffer: Any) -> int:
        self.readers.add(threading.current_thread())
        return super().readinto(buffer)

    def read(self, size: int | None = -1) -> bytes:
        self.readers.add(threading.current_thread())
        return super().read(size)


def test_no_thread_of_arrow_waits_for_python() -> None:
    """One that did while the interpreter ends aborted the process, or hung."""
    rows = b"user,item,value\n" + b"".join(b"%d,1,1\n" % k for k in range(200_000))
    for content in (rows, gzip.compress(rows, 1), parquet_bytes(LONG)):
        stream = Watched(content)
        stream.readers = set()
        read_arrow(stream)
        assert stream.readers == {threading.current_thread()}


def parquet_bytes(table: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


LONG = pa.table({"user": ["ann", "bob"], "item": ["Up", "Up"], "value": [1.0, 0.0]})


def test_a_damaged_name_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    path.write_bytes(parquet_bytes(LONG, store_schema=False).replace(b"user", b"\xff\xfe\xfd\xfc"))
    with pytest.raises(
        ValueError, match=r"damaged\.parquet' cannot be read as a table: "
    ) as raised:
        Observations.of(path)
    assert type(raised.value) is UserError
    assert "\n" not in str(raised.value)


def refusal(content: bytes) -> ValueError | None:
    try:
        read_arrow(io.BytesIO(content))
    except ValueError as error:
        return error
    return None


def test_damaged_parquet_files_get_one_answer() -> None:
    whole = parquet_bytes(LONG)
    rng = np.random.default_rng(0)
    for k in range(300):
        damaged = bytearray(whole[: rng.integers(5, len(whole))] if k % 5 == 0 else whole)
        for place in rng.integers(4, len(damaged), 3):
            damaged[place] = rng.integers(0, 256)
        refused = refusal(bytes(damaged))
        assert refused is None or type(refused) is UserError
        assert str(refused).isprintable()


def test_parquet_from_a_stream() -> None:
    assert Observations.of(io.BytesIO(parquet_bytes(LONG))).n_observed == 2


@pytest.mark.parametrize("codec", ["gzip", "bz2", "zstd", "lz4"])
def test_compressed_tables(codec: str, tmp_path: Path) -> None:
    frame = large(2_000)
    packed = compressed(frame.to_csv(index=False).encode(), codec)
    path = tmp_path / "packed"
    path.write_bytes(packed)
    assert fields(path) == fields(io.BytesIO(frame.to_csv(index=False).encode()))
    for damaged in (packed[: len(packed) // 2], packed[:-3], packed + b"garbage"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"packed' cannot be read as a table: "):
            Observations.of(path)


def compressed(content: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(content)
    return bytes(sink.getvalue())


PEAK = """
import resource, sys
from eventspace import Observations
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    Observations.of(sys.argv[1])
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def peak(path: Path) -> tuple[str, int]:
    """What a process says that reads a file, and how many MB it takes to do so."""
    command = [sys.executable, "-X", "faulthandler", "-c", PEAK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *said, kilobytes = done.stdout.splitlines()
    return "\n".join(said), int(kilobytes) >> 10


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("row", [b"1,1,1\n", b"a,b,0\n", b"\n", b"0" * 100])
def test_a_small_file_does_not_unpack_without_bound(codec: str, row: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv"
    content = b"user,item,value\n" + row * (10 * MB // len(row))
    if codec == "gzip":
        once = gzip.compress(content[16:])
        path.write_bytes(gzip.compress(content) + once * 60)
    else:
        once = compressed(content[16:], codec)
        path.write_bytes(compressed(content, codec) + once * 60)
    assert path.stat().st_size < 8 * MB
    said, megabytes = peak(path)
    assert "bomb.csv' unpacks to more than 50 times its size" in said
    assert megabytes < 250


def test_a_parquet_file_of_more_rows_than_it_can_mean_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    zeros = np.zeros(20_000_000, np.int64)
    pq.write_table(pa.table({"user": zeros, "item": zeros, "value": zeros}), path)
    assert path.stat().st_size < MB
    said, megabytes = peak(path)
    assert "bomb.parquet' unpacks to more than 50 times its size" in said
    assert megabytes < 200


def test_a_long_text_in_many_rows_of_a_parquet_file_is_held_once(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int32)), ["x" * MB])
    table = pa.table({"user": range(2000), "item": long, "value": np.zeros(2000)})
    pq.write_table(table, path, store_schema=False)
    said, megabytes = peak(path)
    assert said == ""
    assert megabytes < 200


def test_names_of_files_are_shown_and_not_sent_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m\nb.csv"
    path.write_text("user,item,value\n1,2\n")
    done = piped("fit", path, "-o", tmp_path / "m")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "\\x1b[31m\\nb.csv' cannot be read" in done.err


def test_whatever_is_wrong_with_a_file_is_said_of_it(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    for text, message in (
        ("user,item,value\na,x,good\n", "value 'good'"),
        ("user,item,value\n,x,1\n", "The user id of line 2 is missing"),
        ("user,item,value\n", "Nothing is observed"),
        ("user,item,value\na,x,1\na,x,2\n", "User 'a' has item 'x' 2 times"),
        ("user,item,value\na,x,1,2\n", "line 2 has 4 fields"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            Observations.of(path)
        assert str(caught.value).startswith(repr(str(path)))
        assert str(caught.value).count(repr(str(path))) == 1
    path.write_text("who,what,how\na,x,1\n")
    with pytest.raises(ValueError, match="no column 'nobody'") as caught:
        Observations.from_long(path, user="nobody")
    assert str(caught.value).startswith(repr(str(path)))


def test_a_mark_of_byte_order_within_a_text_stays(tmp_path: Path) -> None:
    path = tmp_path / "mark.csv"
    path.write_bytes(b"user,item,value\n\xef\xbb\xbfa,x,1\na,x,2\n")
    assert list(Observations.of(path).user_ids) == ["a", "\ufeffa"]


@pytest.mark.parametrize("row", ['"ab"c,x,1', '1,"2,3\n4,5,6\n7,8,9\n1,2,3\n4,5",6'])
def test_a_legal_quote_that_merges_ids_or_hides_rows_is_refused(row: str, tmp_path: Path) -> None:
    path = tmp_path / "quotes.csv"
    path.write_text(f"user,item,value\nd,x,5\n{row}\nabc,y,2\n")
    with pytest.raises(ValueError, match="the quote that opens a field in line 3 is not closed"):
        Observations.of(path)
