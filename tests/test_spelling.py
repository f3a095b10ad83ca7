"""Ids keep their spelling, wherever they stand, and are integers only if that gives it back."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eventspace import KolmogorovDescent, Observations
from eventspace.cli.inputs import like
from eventspace.data.attributes import read_attributes
from eventspace.data.ids import Ids, number
from eventspace.data.pairs import read_pairs
from eventspace.data.readers.spelling import SpeltColumn, as_integers, values_of
from eventspace.data.readers.tables import read_table
from tests.command import in_process, written

PAIRS = [
    ("1.1", "1.10"),
    ("7", "007"),
    ("16", "0x10"),
    ("1000", "1e3"),
    ("1", "true"),
    ("1", "+1"),
    ("0", "-0"),
    ("7", " 7"),
    ("10000000000000000000", "10000000000000000001"),
    ("9007199254740993", "9007199254740993.0"),
    ("2020-01-01", "2020-01-01 00:00:00"),
    ("NA", "null"),
    ("1", "\N{ARABIC-INDIC DIGIT ONE}"),
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("rows", [2, 300_000])
def test_two_spellings_are_two_ids(pair: tuple[str, str], rows: int, tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    between = "".join(f"{k},5,0\n" for k in range(10_000, 10_000 + rows))
    path.write_text(f"user,item,value\n{pair[0]},5,1\n{between}{pair[1]},5,1\n")
    observed = Observations.of(path)
    # all are text then
    assert set(observed.user_ids) == {*pair, *map(str, range(10_000, 10_000 + rows))}
    assert observed.n_observed == rows + 2
    assert list(observed.item_ids) == [5]


texts = st.one_of(
    st.integers(-(2**64), 2**64).map(str),
    st.integers(-20, 20).map(str),
    st.text(alphabet="0123456789-+ .x", max_size=4),
)


@settings(deadline=None)
@given(st.lists(texts, max_size=6))
@example([str(2**63 - 1), str(-(2**63)), ""])
@example([str(2**63)])
@example([str(-(2**63) - 1)])
def test_integers_are_those_that_python_spells_so(column: list[str]) -> None:
    found = as_integers(pa.array(column, pa.string()))
    if all(
        text == "" or (re.fullmatch(r"-?\d+", text) and str(int(text)) == text) for text in column
    ) and all(text == "" or -(2**63) <= int(text) < 2**63 for text in column):
        assert found is not None
        assert found.to_pylist() == [int(text) if text else None for text in column]
    else:
        assert found is None


@settings(deadline=None)
@given(st.lists(st.lists(texts, max_size=4), min_size=1, max_size=4))
def test_a_column_in_parts_gives_back_its_spellings(parts: list[list[str]]) -> None:
    column = SpeltColumn()
    for part in parts:
        column.add(pa.chunked_array([part], pa.string()))
    found = column.column().to_pylist()
    given = [text for part in parts for text in part]
    spelt = ["" if id_ is None else str(id_) for id_ in found]
    assert spelt in (given, [text.strip() for text in given])
    assert len(set(spelt)) == len(set(given))


def test_texts_that_hardly_repeat_are_held_as_they_are() -> None:
    column = SpeltColumn()
    first = [str(k) for k in range(100)]
    many = [f"0.{k}" for k in range(100_000)]
    column.add(pa.chunked_array([first]))
    column.add(pa.chunked_array([many, ["", " 7"]]))
    found = column.column()
    assert pa.types.is_string(found.type)
    assert found.to_pylist() == [*first, *many, None, " 7"]
    values = values_of(found, None).to_pylist()
    assert values == [float(text) if text else None for text in [*first, *many, "", "7"]]
    blanks = SpeltColumn()
    blanks.add(pa.chunked_array([[f" {k}" for k in range(100_000)]]))
    assert blanks.column().to_pylist() == list(range(100_000))


def test_the_same_column_as_values(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("who,a,b\nann,0.50,1\nbob,NA,\ncid,0.5,1\n")
    table = read_table(path)
    assert table.ids(1).to_pylist() == ["0.50", "NA", "0.5"]
    assert table.column(1).to_pylist() == [0.5, None, 0.5]
    assert table.column(0).to_pylist() == ["ann", "bob", "cid"]
    assert table.column(2).to_pylist() == [1, None, 1]
    observed = Observations.from_wide(path)
    assert observed.by_user.value.tolist() == [0.5, 1.0, 0.5, 1.0]


def test_a_column_that_is_named_for_something_else_keeps_its_spelling_as_ids(
    tmp_path: Path,
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("score,date,p\n1.1,1,0\n1.10,01,1\n")
    observed = Observations.from_long(path, user="score", item="date", value="p")
    assert list(observed.user_ids) == ["1.1", "1.10"]
    assert list(observed.item_ids) == ["01", "1"]
    observed = Observations.from_wide(path, user="score")
    assert list(observed.user_ids) == ["1.1", "1.10"]


def test_titles_keep_their_spelling(tmp_path: Path, capsys) -> None:
    ratings = "".join(f"{u},{i},{(u + i) % 2}\n" for u in range(6) for i in range(1, 4))
    table = written(tmp_path / "r.csv", f"user,item,value\n{ratings}")
    titles = written(tmp_path / "t.csv", "item,title\n1,007\n2,7\n3,1984\n")
    model = tmp_path / "m.eventspace"
    in_process(["fit", table, "-o", model, "--events", "2"], capsys)
    done = in_process(["recommend", model, "0", "--seen", "--titles", titles], capsys)
    assert {line.split(",")[1] for line in done.out.splitlines()[1:]} == {"007", "7", "1984"}


# --- integers beyond 2^53 with some missing ---------------------------------------------------

BIG = [2**53, 2**53 + 1, None]


def test_large_integers_with_some_missing_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "big.parquet"
    column = pa.array(BIG, pa.int64())
    pq.write_table(pa.table({"user": column, "item": column, "value": [1.0, 0.0, 1.0]}), path)
    with pytest.raises(ValueError, match="user id of row 2 is missing"):
        Observations.of(path)
    table = read_table(path)
    pairs = read_pairs(path)
    assert pairs is not None
    for ids in (table.ids(0), pairs.users, pd.array(BIG, dtype="Int64")):
        assert Ids(ids).values[:2].tolist() == BIG[:2]
        assert Ids(BIG[:2]).positions(ids).tolist() == [0, 1, -1]
    known = Ids(BIG[:2])
    attributes = read_attributes(path, known, "user_attributes")
    assert attributes.values[:, 1].tolist() == [1.0, 0.0]
    assert like(table.ids(0), known).to_pylist() == BIG
    assert like(table.ids(0), Ids(["a"])).tolist() == [str(2**53), str(2**53 + 1), None]
    model = KolmogorovDescent(n_events=1, random_state=0).fit((BIG[:2], [1, 1], [0.0, 1.0]))
    with pytest.raises(ValueError, match=f"1 of these users: {2**53 + 3}"):
        model.predict((pa.array([2**53 + 3, 2**53 + 1]), [1, 1]))


# --- text that is no UTF-8 --------------------------------------------------------------------


def test_half_a_surrogate_pair_is_no_id() -> None:
    """No file, no Arrow column and no terminal can hold it, so none is let in."""
    users = ["ann", "\ud800", "\udfff"]
    frame = pd.DataFrame({"user": pd.Series(users, dtype=object), "item": 1, "value": [0, 0.5, 1]})
    for data in (
        (users, [1, 1, 1], [0.0, 0.5, 1.0]),
        (np.array(users, object), [1, 1, 1], [0.0, 0.5, 1.0]),
        frame,
        pd.DataFrame(np.ones((3, 5)), pd.Index(users, dtype=object), list("vwxyz")),
    ):
        with pytest.raises(ValueError, match=r"user id '\\ud800' is no text: it holds half of"):
            Observations.of(data)
    assert like(["\udcff", "7"], Ids([7])) == ["\udcff", 7]
    model = KolmogorovDescent(n_events=1, random_state=0).fit((["a", "b"], [1, 1], [0.0, 1.0]))
    with pytest.raises(ValueError, match=r"knows no user '\\udcff'"):
        model.recommend("\udcff")


# --- dictionaries -----------------------------------------------------------------------------


def test_dictionaries_with_missing_doubled_and_unused_words() -> None:
    for words, indices, expected in (
        (["b", "a", "never"], [1, 0, 1], ["a", "b"]),
        (["a", "b", "a"], [0, 2, 1], ["a", "b"]),
    ):
        column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.uint8()), words)
        ids, positions = number(column, "user")
        assert list(ids) == expected
        assert [ids[k] for k in positions] == column.to_pylist()
    for some, places in ((["a", None], [0, 1, 0]), (["z", "a"], [1, None, 1])):
        column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(some))
        with pytest.raises(ValueError, match="user id of row 1 is missing"):
            number(column, "user")
        assert Ids(["a"]).positions(column).tolist() == [0, -1, 0]


def test_ids_of_a_file_are_as_the_known_ones_are(tmp_path: Path) -> None:
    """A text file says neither fractions nor times of its own, but a DataFrame does."""
    path = tmp_path / "new.csv"
    fractions = pd.DataFrame({"user": [1.5, 2.5], "item": [1, 1], "value": [0.1, 0.9]})
    model = KolmogorovDescent(n_events=1, random_state=0).fit(fractions)
    path.write_text("user,item,value\n3.5,1,0.5\n")
    assert list(model.update(path).user_ids_) == [1.5, 2.5, 3.5]
    path.write_text("user,item\n1.50,1\n3.5,1\n")
    np.testing.assert_array_equal(model.predict(path), model.predict(([1.5, 3.5], [1, 1])))

    days = fractions.assign(user=[datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)])
    model = KolmogorovDescent(n_events=1, random_state=0).fit(days)
    path.write_text("user,item\n2020-01-02,1\n")
    assert model.predict(path) == model.predict(([days.user[1]], [1]))


def test_a_pair_needs_both_ids(tmp_path: Path) -> None:
    model = KolmogorovDescent(n_events=1, random_state=0).fit((["a", "b"], ["x", "x"], [0.1, 0.9]))
    path = tmp_path / "pairs.csv"
    path.write_text("user,item\na,x\n,x\n")
    for pairs in (path, (["a", None], ["x", "x"]), (np.array(["a", np.nan], object), ["x", "x"])):
        for unknown in ("error", "population"):
            place = "line 3" if pairs is path else "row 1"
            message = f"The user id of {place} is missing; every pair"
            with pytest.raises(ValueError, match=message):
                model.predict(pairs, unknown=unknown)
    with pytest.raises(ValueError, match="The item id of row 0 is missing"):
        model.predict((["a"], [None]))
