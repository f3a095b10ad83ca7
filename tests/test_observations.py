"""Observations: every form of input, scale, weights, duplicates, ids to align to."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from eventspace import Observations
from eventspace.data.frames import data_frame
from eventspace.data.readers.files import read_parquet
from eventspace.data.readers.streams import Stream
from tests.observing import (
    ITEMS,
    LONG,
    TRIPLES,
    UNIT,
    USERS,
    VALUES,
    content,
    probabilities,
    wide_frame,
)

# --- every form of input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "library"),
    [
        (pd.DataFrame, "pandas"),
        (pl.DataFrame, "polars"),
        (lambda columns: pl.DataFrame(columns).lazy(), "polars"),
        (pa.table, "pyarrow"),
        (lambda columns: (USERS, ITEMS, VALUES), "pandas"),
        (lambda columns: (pl.Series(USERS), pa.array(ITEMS), np.array(VALUES)), "pandas"),
        (lambda columns: pd.DataFrame(columns).astype({"user": "category"}), "pandas"),
        (
            lambda columns: pl.DataFrame(columns, schema_overrides={"item": pl.Categorical}),
            "polars",
        ),
        (lambda columns: pd.DataFrame(columns).astype({"value": "Float64"}), "pandas"),
        (lambda columns: pd.DataFrame(columns).astype({"value": object}), "pandas"),
    ],
)
def test_long(make: Callable[[Any], Any], library: str) -> None:
    observed = Observations.of(make(LONG))
    assert probabilities(observed) == pytest.approx(UNIT)
    assert list(observed.user_ids) == ["ann", "bob", "cid"]  # sorted
    assert list(observed.item_ids) == ["Alien", "Heat", "Up"]
    assert observed.scale == (1.0, 5.0)
    assert observed.library == library
    assert not observed.weighted
    assert (observed.n_users, observed.n_items, observed.n_observed) == (3, 3, 5)


def test_wide_of_each_library() -> None:
    frame = wide_frame()
    by_column = frame.rename_axis("user").reset_index()
    for data in (
        frame,
        by_column,
        by_column.rename(columns={"user": "senator"}),
        by_column.rename(columns={"user": "whoever"}),  # the first, and text
        by_column.rename(columns={"user": ""}),
        pl.from_pandas(by_column),
        pa.Table.from_pandas(by_column, preserve_index=False),
    ):
        observed = Observations.from_wide(data)
        assert probabilities(observed) == pytest.approx(UNIT)
        assert list(observed.user_ids) == ["bob", "ann", "cid"]
        assert list(observed.item_ids) == ["Heat", "Alien", "Up"]


def test_wide_keeps_rows_and_columns_without_an_entry() -> None:
    frame = wide_frame()
    frame["Solaris"] = np.nan
    frame["Dune"] = [None, True, None]
    frame.loc["dan"] = np.nan
    observed = Observations.of(frame)
    assert observed.user_ids[3] == "dan"
    assert observed.item_ids[3] == "Solaris"
    assert observed.n_observed == 6


def test_wide_of_many_columns_needs_no_word() -> None:
    p = np.random.default_rng(0).random((4, 6))
    observed = Observations.of(pl.DataFrame(p, schema=list("abcdef"), orient="row"))
    assert list(observed.user_ids) == [0, 1, 2, 3]
    assert observed.by_user.value.reshape(4, 6) == pytest.approx(p)
    labelled = Observations.of(pd.DataFrame(p, index=[7, 5, 3, 1]))
    assert list(labelled.user_ids) == [7, 5, 3, 1]
    pivoted = pd.DataFrame(LONG).pivot_table(index="user", columns="item", values="value")
    assert probabilities(Observations.of(pivoted)) == pytest.approx(UNIT)


def test_dense() -> None:
    nan = float("nan")
    expected = {(0, 0): 0.0, (0, 2): 1.0, (1, 1): 0.5}
    rows = [[0, nan, 1], [nan, 0.5, nan]]
    array = np.array(rows)
    for data in (
        array,
        array.astype(object),
        array.astype(np.float32),
        rows,
        [[0, None, True], [None, 0.5, None]],
        np.ma.masked_array(np.nan_to_num(array, nan=0.7), np.isnan(array)),
        np.asfortranarray(array),
    ):
        observed = Observations.of(data)
        assert probabilities(observed) == expected
        assert observed.item_ids.values.dtype.kind == "i"


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix", "lil_array"])
def test_sparse(kind: str) -> None:
    rows, columns, values = [1, 0, 2], [0, 1, 1], [0.25, 1.0, 0.5]
    coo = sparse.coo_array((values, (rows, columns)), shape=(3, 4))
    observed = Observations.of(getattr(sparse, kind)(coo))
    assert probabilities(observed) == {(0, 1): 1.0, (1, 0): 0.25, (2, 1): 0.5}
    assert (observed.n_users, observed.n_items) == (3, 4)


def test_sparse_zeros_that_are_stored_are_observed() -> None:
    data = sparse.csr_array((np.array([0.0, 1.0]), np.array([2, 0]), np.array([0, 1, 2])), (2, 3))
    assert probabilities(Observations.of(data)) == {(0, 2): 0.0, (1, 0): 1.0}
    twice = sparse.coo_array(([0.2, 0.4], ([0, 0], [1, 1])), shape=(1, 2))
    with pytest.raises(ValueError, match="User 0 has item 1 2 times"):
        Observations.of(twice)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet"])
def test_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pd.DataFrame(LONG).assign(timestamp=964982703)
    if name == "a.parquet":
        pq.write_table(pa.Table.from_pandas(frame), path)
    else:
        frame.to_csv(path, index=False, sep="\t" if name == "a.tsv" else ",")
    for data in (path, str(path)):
        observed = Observations.of(data)
        assert probabilities(observed) == pytest.approx(UNIT)
        assert observed.library == "pandas"


def test_files_without_names_or_users(tmp_path: Path) -> None:
    path = tmp_path / "u.data"
    for mark in ("", "\ufeff"):
        path.write_text(mark + "196\t242\t3\t881250949\n186\t302\t1\t891717742\n", "utf-8")
        observed = Observations.of(path)
        assert probabilities(observed) == {(196, 242): 1.0, (186, 302): 0.0}
        assert not observed.weighted
    path.write_text("ann,Alien,0.5\nbob,Heat,0.7\n")
    with pytest.warns(UserWarning, match=r"first line of .* is taken for a row: user, item, value"):
        observed = Observations.of(path)
    assert probabilities(observed) == pytest.approx({("ann", "Alien"): 0.5, ("bob", "Heat"): 0.7})
    path.write_text("ann,Alien,5,7\nbob,Heat,7,8\n")
    with pytest.raises(ValueError, match=r"first line .* may be a row or the names.*header=False"):
        Observations.of(path)
    path.write_text(",A,B,C,D,E\nann,1,,0,1,0\nNA,,1,0,,1\n")  # NA is somebody's name
    assert list(Observations.of(path).user_ids) == ["ann", "NA"]
    path.write_text("user,item,value\nann,Alien,0.5\n,Heat,0.7\n")
    with pytest.raises(ValueError, match="user id of line 3 is missing"):
        Observations.of(path)


def test_ids_that_numbers_would_merge_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("user,item,value\n007,9223372036854775808,05\n7,9223372036854775809,1\n")
    observed = Observations.of(path)
    assert list(observed.user_ids) == ["007", "7"]
    assert list(observed.item_ids) == ["9223372036854775808", "9223372036854775809"]
    path.write_text("user,item,value\n 7,-1,0.5\n0,12345678901234567,1\n")
    observed = Observations.of(path)
    assert list(observed.user_ids) == [0, 7]
    assert list(observed.item_ids) == [-1, 12345678901234567]


class Pipe(io.BytesIO):
    """Bytes that come once."""

    def seekable(self) -> bool:
        return False


def test_ids_beyond_64_bits_late_in_a_file_stay_text(tmp_path: Path) -> None:
    rows = "".join(f"{u},1{u:06d},1\n" for u in range(30_000))
    last = [f"1,{2**63 + k},0\n" for k in range(2)]
    content = f"user,item,value\n{rows}{''.join(last)}".encode()
    path = tmp_path / "late.csv.gz"
    path.write_bytes(gzip.compress(content))
    observed = Observations.of(path)
    assert list(observed.item_ids)[-2:] == [str(2**63), str(2**63 + 1)]
    assert Observations.of(Pipe(content)).item_ids == observed.item_ids


def test_files_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    for text, encoding in (
        ("user,item,value\nann,Amélie,1\nbob,Up,0\n", "latin-1"),
        ("user,item,évaluation\nann,Up,1\nbob,Up,0\n", "latin-1"),
        ("user,item,value\nann,Up,1\nbob,Up,0\n", "utf-16-le"),
    ):
        path.write_text(text, encoding)
        with pytest.raises(ValueError, match=r"ids\.csv' is not text in UTF-8: see line [12]\."):
            Observations.of(path)


def test_the_bar_of_a_parquet_file_ends_at_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    same = pa.table({"user": [1] * 50_000, "item": [2] * 50_000})
    pq.write_table(same, path, row_group_size=10_000, use_dictionary=False)
    told: list[int] = []
    with path.open("rb") as file:
        stream = Stream(file, lambda done, note: told.append(stream.done))
        read_parquet(path, stream, "a.parquet")
    assert len(told) == 5
    assert path.stat().st_size / 2 < told[-1] <= path.stat().st_size


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere\.csv"):
        Observations.of(tmp_path / "nowhere.csv")
    path = tmp_path / "a.csv"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="not separated by tabs, commas"):
        Observations.of(path)
    path.write_text("user,item,value\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.csv' cannot be read as a table: "):
        Observations.of(path)
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(ValueError, match="cannot be read as a table"):
        Observations.of(path)
    path.write_bytes(gzip.compress(b"user,item\n")[:-9])
    with pytest.raises(ValueError, match=r"a\.csv"):
        Observations.of(path)
    path.write_text("y,n,y,y,n\n")
    with pytest.raises(ValueError, match="more than one column named 'y'"):
        Observations.of(path)


# --- scale, weights, duplicates --------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "option", "scale", "p"),
    [
        ([0.0, 0.3, 1.0], "auto", (0, 1), [0, 0.3, 1]),
        ([0.2, 0.3, 0.4], "auto", (0, 1), [0.2, 0.3, 0.4]),
        ([True, False, True], "auto", (0, 1), [1, 0, 1]),
        ([-1e-9, 0.5, 1 + 1e-9], "auto", (0, 1), [0, 0.5, 1]),
        ([2, 3, 5], "auto", (2, 5), [0, 1 / 3, 1]),
        ([-1, 0, 1], "auto", (-1, 1), [0, 0.5, 1]),
        ([3, 3, 3], "auto", (0, 3), [1, 1, 1]),
        ([-3, -3, -3], "auto", (-3, 0), [0, 0, 0]),
        ([2, 3, 5], "max", (0, 5), [0.4, 0.6, 1]),
        ([0, 0, 0], "max", (0, 1), [0, 0, 0]),
        ([2, 3, 5], (1, 5), (1, 5), [0.25, 0.5, 1]),
        (np.array([2, 3, 5], np.uint8), (1, 5), (1, 5), [0.25, 0.5, 1]),
    ],
)
def test_scale(values: Any, option: Any, scale: tuple[float, float], p: list[float]) -> None:
    observed = Observations.of(([1, 2, 3], [1, 1, 1], values), scale=option)
    assert observed.scale == scale
    assert observed.by_user.value == pytest.approx(p)
    assert observed.by_user.value.min() >= 0
    assert observed.by_user.value.max() <= 1
    assert observed.from_unit(observed.by_user.value) == pytest.approx(
        np.asarray(values, float), abs=1e-6
    )
    assert observed.to_unit(values) == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize("option", ["min", (1, 1), (5, 1), (0, np.inf), (0, 1, 2), 7, ("a", "b")])
def test_scale_that_is_none(option: Any) -> None:
    with pytest.raises(ValueError, match=r"is not a scale; allowed are 'auto', 'max' and a pair"):
        Observations.of(np.eye(2), scale=option)


def test_weights() -> None:
    frame = pd.DataFrame({**LONG, "weight": [1, 2, 0.5, 0, 4]})
    observed = Observations.of(frame)
    assert observed.weighted
    assert content(observed) == {
        ("bob", "Heat"): (0.75, 1.0),
        ("ann", "Alien"): (1.0, 2.0),
        ("bob", "Alien"): (0.0, 0.5),
        ("ann", "Heat"): (0.5, 4.0),
    }
    assert "cid" in list(observed.user_ids)  # known, though its only entry has no weight
    assert observed.total_weight == 7.5
    same = Observations.of((USERS, ITEMS, VALUES, frame["weight"]))
    assert content(same) == content(observed)


def test_a_weight_of_zero_hides_any_value() -> None:
    with pytest.raises(ValueError, match=r"value 7.0 \(row 2, user 'c'"):
        Observations.of((["a", "b", "c"], [1, 1, 1], [0.5, np.inf, 7.0], [1, 0, 1]), scale=(0, 1))


def test_successes_and_trials() -> None:
    columns = {
        "user": ["a", "b", "c"],
        "item": [1, 1, 1],
        "Successes": [3, 0, 0],
        "trials": [4, 2, 0],
    }
    for data in (pd.DataFrame(columns), pl.DataFrame(columns)):
        observed = Observations.of(data)
        assert content(observed) == {("a", 1): (0.75, 4.0), ("b", 1): (0.0, 2.0)}
        assert observed.scale == (0.0, 1.0)
    frame = pd.DataFrame(
        {"user": ["a"], "item": [1], "n_sent": [300], "n_received": [30], "prr": [9]}
    )
    observed = Observations.from_long(frame, successes="n_received", trials="n_sent")
    assert content(observed)["a", 1] == pytest.approx((0.1, 300.0))


def test_duplicates() -> None:
    users, items = ["b", "a", "b", "b", "a"], ["x", "x", "x", "y", "x"]
    values, weights = [0.2, 0.4, 0.6, 0.5, 0.9], [1, 1, 3, 1, 1]
    with pytest.raises(
        ValueError, match=r"User 'a' has item 'x' 2 times; 2 pairs in all .*\"mean\""
    ):
        Observations.of((users, items, values))
    mean = Observations.of((users, items, values), duplicates="mean")
    assert probabilities(mean) == pytest.approx(
        {("b", "x"): 0.4, ("b", "y"): 0.5, ("a", "x"): 0.65}
    )
    last = Observations.of((users, items, values), duplicates="last")
    assert probabilities(last) == pytest.approx({("b", "x"): 0.6, ("b", "y"): 0.5, ("a", "x"): 0.9})
    weighted = Observations.of((users, items, values, weights), duplicates="mean")
    assert content(weighted)["b", "x"] == pytest.approx((0.5, 4.0))
    labels = pd.DataFrame([[0.5, 1.0], [0.25, None]], index=["a", "a"])
    assert probabilities(Observations.of(labels, duplicates="mean")) == {
        ("a", 0): 0.375,
        ("a", 1): 1.0,
    }
    with pytest.raises(
        ValueError, match="duplicates='first'; allowed are 'error', 'mean' and 'last'"
    ):
        Observations.of((users, items, values), duplicates="first")


# --- ids to align to, and what is given back --------------------------------------------------


def test_of_gives_back_observations() -> None:
    observed = Observations.of((USERS, ITEMS, VALUES))
    assert Observations.of(observed) is observed
    assert Observations.of(observed, scale=(1, 5)) is observed
    rescaled = Observations.of(observed, scale=(0, 10))
    assert probabilities(rescaled) == pytest.approx({pair: v / 10 for pair, v in TRIPLES.items()})
    with pytest.raises(ValueError, match="outside the scale"):
        Observations.of(observed, scale=(2, 3))


@pytest.mark.parametrize("as_observations", [False, True])
def test_known_ids_keep_their_positions(as_observations: bool) -> None:
    known = Observations.of((USERS, ITEMS, VALUES))
    data: Any = (["zoe", "ann", "zoe"], ["Heat", "Dune", "Up"], [1, 2, 5])
    if as_observations:
        data = Observations.of(data)
    new = Observations.of(data, scale=known.scale, users=known.user_ids, items=known.item_ids)
    assert list(new.user_ids) == [*known.user_ids, "zoe"]
    assert list(new.item_ids) == [*known.item_ids, "Dune"]
    expected = {("zoe", "Heat"): 0.0, ("ann", "Dune"): 0.25, ("zoe", "Up"): 1.0}
    assert probabilities(new) == expected
    again = Observations.of(data, users=new.user_ids, items=new.item_ids)
    assert again.user_ids is new.user_ids


def test_known_ids_come_once() -> None:
    with pytest.raises(ValueError, match="users holds an id twice"):
        Observations.of(np.eye(2), users=[0, 0])


def test_known_ids_in_wide_and_sparse_data() -> None:
    known = Observations.of(np.eye(2))
    for data in (np.ones((1, 3)), sparse.csr_array(np.ones((1, 3)))):
        new = Observations.of(data, users=known.user_ids, items=known.item_ids)
        assert (new.n_users, new.n_items) == (2, 3)
        assert probabilities(new) == {(0, 0): 1.0, (0, 1): 1.0, (0, 2): 1.0}


def test_coo_rows_and_repr() -> None:
    observed = Observations.of((USERS, ITEMS, VALUES))
    users, items, p = observed.coo()
    pairs = [
        (observed.user_ids[u], observed.item_ids[i]) for u, i in zip(users, items, strict=True)
    ]
    assert dict(zip(pairs, p.tolist(), strict=True)) == pytest.approx(UNIT)
    tail = observed.by_user.kept(np.arange(5) >= 2)
    assert tail.ptr.tolist() == [0, 0, 2, 3]
    assert tail.value.tolist() == observed.by_user.value[2:].tolist()
    assert repr(observed) == "Observations(3 users x 3 items, 5 observed, scale 1..5)"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_results_in_the_callers_library(library: str) -> None:
    frame = data_frame({"item": ["a", "b"], "p": np.array([0.5, 1.0])}, library)
    assert type(frame).__module__.startswith(library)
    observed = Observations.from_long(frame, user="item", item="item", value="p")
    assert probabilities(observed) == {("a", "a"): 0.5, ("b", "b"): 1.0}


def test_the_memory_held() -> None:
    rng = np.random.default_rng(0)
    observed = Observations.of(rng.random((100, 500)))
    held = sum(
        array.nbytes for entries in (observed.by_user, observed.by_item) for array in entries
    )
    assert held <= 16.1 * observed.n_observed


def test_a_range_that_does_not_count_from_zero_labels_the_rows() -> None:
    wide = pd.DataFrame(np.arange(12.0).reshape(2, 6))
    assert Observations.of(wide.set_axis(pd.RangeIndex(5, 7))).user_ids.values.tolist() == [5, 6]
    assert Observations.of(wide).user_ids.values.tolist() == [0, 1]
    named = wide.rename_axis("who")
    assert Observations.of(named).user_ids.values.tolist() == [0, 1]


def test_five_columns_of_which_two_can_only_be_ids_are_not_taken_for_items() -> None:
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "Kunde": np.arange(n) // 3,
            "Artikel": rng.integers(0, 90, n),
            "Note": rng.integers(1, 6, n),
            "Tag": rng.integers(1, 29, n),
            "Filiale": rng.integers(1, 9, n),
        }
    )
    with pytest.raises(ValueError, match=r"could be long .* or wide .*: say which"):
        Observations.of(table)
    assert Observations.from_wide(table).n_items == 5
    stars = pd.DataFrame(rng.integers(1, 6, (n, 5)), columns=list("abcde"))
    assert Observations.of(stars).n_items == 5
