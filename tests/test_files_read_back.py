"""Text files of any kind give back what was written into them, wherever a table is read."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventspace import KolmogorovDescent, Observations, UserError
from eventspace.data.readers import encodings, first_rows, separators
from eventspace.data.readers.tables import read_table
from eventspace.data.readers.text_options import TextOptions
from tests.command import in_process, written
from tests.observing import entries

DATA = os.environ.get("EVENTSPACE_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="EVENTSPACE_DATA is not set")
SEPS = [",", ";", "\t", "|", "::", "^", "||", "§"]
ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "latin-1",
    "cp1252",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
]
texts = st.text(alphabet="abé1:;,| \"'", max_size=5).map(lambda t: f"x{t}")
values = st.integers(-99999, 99999).map(lambda k: k / 4)


def number(value: float, decimal: str, mark: str) -> str:
    """A number as people write it."""
    swap = {",": mark, ".": decimal}
    return "".join(swap.get(c, c) for c in f"{value:,.2f}")


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(texts, texts, values), min_size=2, max_size=6),
    st.sampled_from(SEPS),
    st.sampled_from([(".", ","), (",", "."), (",", ""), (".", ""), (".", "'"), (",", " ")]),
    st.sampled_from(ENCODINGS),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([7, 64, 1 << 20]),
    st.booleans(),
)
def test_round_trips(rows, sep, marks, encoding, end, size, header) -> None:
    stand_in = "\x1e"  # csv writes separators of one letter
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=stand_in, lineterminator=end, quoting=csv.QUOTE_ALL)
    named = [("user", "item", "value")] if header else []
    writer.writerows(
        [*named, *((f"{k}{u}", i, number(v, *marks)) for k, (u, i, v) in enumerate(rows))]
    )
    content = text.getvalue().replace(stand_in, sep).encode(encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separators, "_BLOCK", max(size, 16))
        patch.setattr(encodings, "_BLOCK", size)
        patch.setattr(first_rows, "HEAD", size)
        found = entries(
            content, sep=sep, decimal=marks[0], encoding=encoding, header=header, scale=(-1e5, 1e5)
        )
    expected = [(f"{k}{u}", i, v) for k, (u, i, v) in enumerate(rows)]
    assert [(u, i) for u, i, _ in found] == [(u, i) for u, i, _ in expected]
    np.testing.assert_allclose([v for *_, v in found], [v for *_, v in expected], atol=0.05)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 99), values), min_size=3, max_size=30),
    st.sampled_from(["\t", ",", ";", "|", "::"]),
    st.sampled_from([".", ","]),
    st.sampled_from(["utf-8", "utf-16"]),
    st.booleans(),
)
def test_what_is_recognised_is_right_or_refused(rows, sep, decimal, encoding, header) -> None:
    """Never a wrong value and never a row less, whatever the numbers are."""
    lines = ["user", *(f"{100 + k}" for k in range(len(rows)))]
    items = ["item", *(f"{1000 + i}" for i, _ in rows)]
    spelt = ["value", *(str(v).replace(".", decimal) for _, v in rows)]
    quote = '"' if sep == decimal else ""
    table = [
        sep.join([u, i, f"{quote}{v}{quote}"]) for u, i, v in zip(lines, items, spelt, strict=True)
    ]
    content = "\n".join(table[not header :]).encode(encoding)
    try:
        found = entries(content, scale=(-1e5, 1e5))
    except UserError:
        assert not header  # with names there is nothing to doubt
        return
    assert [(u, i) for u, i, _ in found] == [(100 + k, 1000 + i) for k, (i, _) in enumerate(rows)]
    np.testing.assert_allclose([v for *_, v in found], [v for _, v in rows], atol=0.05)


# --- pairs, titles and the command line -------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model of users and items that are numbers, and one of such that are text."""
    folder: Path = tmp_path_factory.mktemp("models")
    rows = [(u, i, (u * i) % 3) for u in range(1, 7) for i in (1, 2, 3)]
    users, items, numbers = zip(*rows, strict=True)
    numbered = KolmogorovDescent(2, random_state=0).fit((users, items, numbers))
    numbered.save(folder / "numbers")
    spelt = [f"u{u}" for u in users], [f"Film {i}" for i in items], numbers
    KolmogorovDescent(2, random_state=0).fit(spelt).save(folder / "texts")
    return folder


@pytest.mark.parametrize(
    ("kind", "content", "pairs"),
    [
        ("numbers", "5,1\n5,2\n", ["5,1", "5,2"]),
        ("numbers", "5,1\n", ["5,1"]),
        ("numbers", "5 1\n5 2\n", ["5,1", "5,2"]),
        ("numbers", "5::1\n5::2\n", ["5,1", "5,2"]),
        ("numbers", "user,item\n5,1\n", ["5,1"]),
        ("numbers", "a,b\n5,1\n", ["5,1"]),
        ("texts", "u5,Film 1\nu5,Film 2\n", ["u5,Film 1", "u5,Film 2"]),
        ("texts", "userId|film\nu5|Film 1\n", ["u5,Film 1"]),
    ],
)
def test_the_first_pair_is_not_lost(kind, content, pairs, model, tmp_path, capsys) -> None:
    done = in_process(["predict", model / kind, "-"], capsys, stdin=content.encode())
    assert [line.rsplit(",", 1)[0] for line in done.out.splitlines()[1:]] == pairs
    path = written(tmp_path / "pairs.csv", content)
    assert len(KolmogorovDescent.load(model / kind).predict(path)) == len(pairs)


def test_pairs_of_which_nobody_knows(model, tmp_path, capsys) -> None:
    path = written(tmp_path / "pairs.csv", "zoe,Zodiac\nu5,Film 1\n")
    arguments = ["predict", model / "texts", path, "--unknown", "population"]
    done = in_process(arguments, capsys, code=2)
    assert "may be a row or the names of the columns: say --no-header or --header." in done.err
    assert len(in_process([*arguments, "--no-header"], capsys).out.splitlines()) == 3
    assert len(in_process([*arguments, "--header"], capsys).out.splitlines()) == 2
    written(tmp_path / "pairs.csv", "u4,Film\nu5,Film 1\n")  # a known user, but a word for items
    assert "may be a row" in in_process(arguments, capsys, code=2).err
    path = written(tmp_path / "pairs.csv", "user,item\nu5,Film 1\n\nu5,\n")
    done = in_process(arguments, capsys, code=2)
    assert "The item id of line 4 is missing" in done.err


def test_options_hold_wherever_a_table_is_read(model, tmp_path, capsys) -> None:
    titles = tmp_path / "films.dat"
    titles.write_bytes("1||Amélie||a\n2||Up||b\n3||Heat||a\n".encode("latin-1"))
    how = ["--titles", titles, "--sep", "||", "--encoding", "latin-1"]
    names = {"Amélie", "Up", "Heat"}
    out = in_process(["recommend", model / "numbers", "5", "--seen", *how], capsys).out
    assert {line.split(",")[1] for line in out.splitlines()[1:]} == names
    assert "Amélie" in in_process(["explain", model / "numbers", "5", "Amélie", *how], capsys).out
    in_process(["query", model / "numbers", "Amélie & Up", *how], capsys)
    in_process(["info", model / "numbers", "--events", *how], capsys)
    in_process(["rules", model / "numbers", *how], capsys)
    in_process(["report", model / "numbers", "-o", tmp_path / "page.html", *how], capsys)
    done = in_process(["recommend", model / "numbers", "5", *how[:4]], capsys, code=2)
    assert "see line 1. In latin-1 it is '1||Amélie||a'." in done.err
    assert "name its encoding: --encoding latin-1, say." in done.err
    table = written(tmp_path / "r.txt", "7\\8\\1,5\n8\\8\\2,5\n8\\9\\4,5\n".replace("\\", "\t"))
    for options in ([], ["--sep", "\\t", "--decimal", ",", "--no-header"]):
        out = in_process(["convert", table, "-", *options], capsys).out
        assert out.splitlines()[1:] == ["7,8,1.5", "8,8,2.5", "8,9,4.5"]
    ages = written(tmp_path / "ages.csv", "user;age\n7;4,5\n8;1,5\n")
    fit = ["fit", table, "-o", tmp_path / "m", "--events", "1", "--user-attributes", ages]
    in_process(fit, capsys)
    done = in_process(["convert", model / "texts", "-", "--sep", ";"], capsys, code=2)
    assert "--sep is for a table, and" in done.err
    done = in_process(["convert", table, "-", "--encoding", "klingon"], capsys, code=2)
    assert "--encoding klingon is no encoding of text" in done.err


# --- files of others --------------------------------------------------------------------------


@needs_data
def test_movielens_as_it_comes(tmp_path: Path) -> None:
    assert DATA
    folder = Path(DATA)
    seen = Observations.of(folder / "movielens-100k" / "u.data")
    assert (seen.n_users, seen.n_items, seen.n_observed) == (943, 1682, 100_000)
    ratings = pd.read_parquet(folder / "movielens-1m" / "ratings.parquet")
    path = tmp_path / "ratings.dat"  # as GroupLens gives it away
    ratings.assign(time=978300760).to_csv(path, sep="|", header=False, index=False)
    path.write_text(path.read_text().replace("|", "::"))
    seen = Observations.of(path)
    assert (seen.n_users, seen.n_items, seen.n_observed) == (6040, 3706, 1_000_209)
    users, items, p = seen.coo()
    frame = pd.DataFrame({"u": seen.user_ids.values[users], "i": seen.item_ids.values[items]})
    merged = frame.assign(v=seen.from_unit(p)).merge(
        ratings.set_axis(["u", "i", "w"], axis=1), on=["u", "i"]
    )
    assert len(merged) == len(ratings)
    assert (merged["v"] == merged["w"]).all()


@needs_data
def test_tables_beside_movielens() -> None:
    assert DATA
    for file, rows, columns in (
        ("movielens-1m/movies.dat", 3883, 3),
        ("movielens-1m/users.dat", 6040, 5),
        ("movielens-100k/u.item", 1682, 24),
        ("movielens-100k/u.user", 943, 5),
    ):
        path = Path(DATA) / file
        lines = path.read_text(encoding="latin-1").splitlines()
        sep = "::" if path.suffix == ".dat" else "|"
        options = TextOptions(encoding="latin-1", header=False)
        table = read_table(path, (), options)
        assert (len(table), len(table.names)) == (rows, columns)
        first = [str(table.ids(j)[0].as_py() or "") for j in range(columns)]
        assert first[:2] == lines[0].split(sep)[:2]
        titles = table.ids(1).to_pylist()
        assert [str(title) for title in titles] == [s.split(sep)[1] for s in lines]
