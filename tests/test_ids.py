"""Ids: any hashable kind to positions and back."""

from __future__ import annotations

import copy
import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from eventspace.data.ids import Ids, _scrambled, _unscrambled, number

DAY = datetime.date(2020, 1, 1)
STAMPS = pd.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-01"])

# three rows, the first and the last the same, and what the two ids are to be
COLUMNS: list[tuple[Any, list[Any], str]] = [
    ([5, 3, 5], [5, 3], "int64"),
    (np.array([-5, 3, -5], np.int8), [-5, 3], "int8"),
    (np.array([2**63 + 1, 0, 2**63 + 1], np.uint64), [2**63 + 1, 0], "uint64"),
    (np.array([2**63 + 1, 2**63, 2**63 + 1], np.uint64), [2**63 + 1, 2**63], "uint64"),
    (np.array([10**15, -(10**15), 10**15]), [10**15, -(10**15)], "int64"),
    ([2**70, 1, 2**70], [2**70, 1], "object"),
    ([1.5, 2.0, 1.5], [1.5, 2.0], "float64"),
    ([True, False, True], [True, False], "bool"),
    (["b", "a", "b"], ["b", "a"], "object"),
    (np.array(["b", "a", "b"]), ["b", "a"], "object"),
    ([(1, 2), (3, 4), (1, 2)], [(1, 2), (3, 4)], "object"),
    ([1, "1", 1], [1, "1"], "object"),
    ([frozenset("a"), None.__class__, frozenset("a")], [frozenset("a"), type(None)], "object"),
    (STAMPS, [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")], "object"),
    (STAMPS.to_numpy(), [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")], "object"),
    (STAMPS.tz_localize("UTC"), [*STAMPS.tz_localize("UTC")[:2]], "object"),
    (pd.Categorical(["b", "a", "b"], categories=["a", "b", "z"]), ["b", "a"], "object"),
    (pd.array([5, 3, 5], dtype="Int64"), [5, 3], "int64"),
    (pd.Series(["b", "a", "b"], index=[7, 7, 7]), ["b", "a"], "object"),
    (pd.MultiIndex.from_tuples([(1, "a"), (2, "b"), (1, "a")]), [(1, "a"), (2, "b")], "object"),
    (pl.Series(["b", "a", "b"]), ["b", "a"], "object"),
    (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["b", "a"], "object"),
    (pl.Series([5, 3, 5], dtype=pl.Int16), [5, 3], "int16"),
    (pl.Series([DAY, DAY.replace(day=2), DAY]), [DAY, DAY.replace(day=2)], "object"),
    (pl.Series([(1, 2), (3, 4), (1, 2)], dtype=pl.Object), [(1, 2), (3, 4)], "object"),
    (pa.array(["b", "a", "b"]), ["b", "a"], "object"),
    (pa.chunked_array([["b"], ["a", "b"]]), ["b", "a"], "object"),
    (pa.chunked_array([[1.5], [2.5, 1.5]]), [1.5, 2.5], "float64"),
    (pa.chunked_array([["b"], ["a", "b"]]).dictionary_encode(), ["b", "a"], "object"),
]


@pytest.mark.parametrize(("column", "expected", "dtype"), COLUMNS)
def test_kept_and_given_back(column: Any, expected: list[Any], dtype: str) -> None:
    in_order, at = number(column, "user")
    assert [in_order[k] for k in at] == [expected[k] for k in (0, 1, 0)]
    ids, positions = number(column, "user", as_they_come=True)
    assert positions.tolist() == [0, 1, 0]
    assert positions.dtype == at.dtype == np.int32
    assert list(ids) == expected
    assert [ids[0], ids[1]] == expected
    assert [type(ids[k]) for k in range(2)] == [type(value) for value in expected]
    assert ids.values.dtype.name == dtype
    assert ids.positions(column).tolist() == [0, 1, 0]
    assert ids.positions(expected[::-1]).tolist() == [1, 0]
    assert ids.positions(["no such id"]).tolist() == [-1]


@pytest.mark.parametrize(
    ("known", "asked", "positions"),
    [
        ([1, 2, 3], [1.0, "2", None, 3, float("nan"), (1, 2)], [0, -1, -1, 2, -1, -1]),
        ([1, 2, 3], np.array([1.0, 2.5, np.nan]), [0, -1, -1]),
        (["a", "b"], pd.Series(["b", "z", None]), [1, -1, -1]),
        (["a", "b"], pl.Series(["b", "z", None, "b"]), [1, -1, -1, 1]),
        (["a", "b"], [], []),
        ([1, 2], pl.Series([2, None]), [1, -1]),
    ],
)
def test_unknown_and_missing_are_minus_one(known: Any, asked: Any, positions: list[int]) -> None:
    found = Ids(known).positions(asked)
    assert found.tolist() == positions
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "column",
    [
        [1, None],
        [1.0, float("nan")],
        np.array(["a", None], dtype=object),
        pd.array([1, None], dtype="Int64"),
        pl.Series(["a", None]),
        pl.Series(["a", None], dtype=pl.Categorical),
        pl.Series([1, None]),
        pl.Series([1.0, float("nan")]),
        STAMPS[:1].append(pd.DatetimeIndex(["NaT"])),
    ],
)
def test_missing(column: Any) -> None:
    with pytest.raises(ValueError, match="The item id of row 1 is missing; every row needs one"):
        number(column, "item")


def test_known_ids_keep_their_kind_and_positions() -> None:
    known = Ids([10, 20])
    ids, positions = number([30, 20, 40, 30], "user", known)
    assert positions.tolist() == [2, 1, 3, 2]
    assert ids.values.tolist() == [10, 20, 30, 40]
    assert ids.values.dtype == np.int64
    names = Ids(["x", "y"])
    same, positions = number(["y"], "user", names)
    assert same is names
    assert positions.tolist() == [1]
    mixed, _ = number(["x", 2.5], "user", known)
    assert [repr(value) for value in mixed] == ["10", "20", "2.5", "'x'"]
    halves, _ = number([2.5], "user", known)
    assert [repr(value) for value in halves] == ["10", "20", "2.5"]
    small, _ = number(np.array([300], np.int16), "user", Ids(np.array([1], np.int8)))
    assert small.values.tolist() == [1, 300]


def test_a_range_wider_than_the_table_of_places() -> None:
    rng = np.random.default_rng(0)
    for spread in (50, 10**12):
        column = rng.integers(-spread, spread, 200_000)
        ids, positions = number(column, "user")
        assert np.array_equal(ids.values[positions], column)
        assert ids.values.tolist() == sorted(set(column.tolist()))
        read_only = pd.Series(column.astype(np.int32) if spread == 50 else column)
        assert np.array_equal(number(read_only, "user")[1], positions)
        strided = np.column_stack([column, column])[:, 1]
        assert np.array_equal(number(strided, "user")[1], positions)


def test_copies_and_repr() -> None:
    ids = Ids(["a", "b", "c", "d"])
    ids.positions(["a"])
    for twin in (copy.deepcopy(ids), pickle.loads(pickle.dumps(ids))):
        assert list(twin) == ["a", "b", "c", "d"]
        assert twin.positions(["d"]).tolist() == [3]
    assert repr(ids) == "Ids(4: 'a', 'b', 'c', ...)"
    assert len(ids) == 4


def buckets(integers: np.ndarray) -> int:
    """How many places of a table of pandas' the integers are spread over, by its hash."""
    x = integers.view(np.uint64)
    hashed = (x >> np.uint64(33)) ^ x ^ (x << np.uint64(11))
    return len(np.unique(hashed & np.uint64(0xFFFFFFFF)))


def test_ids_that_were_chosen_to_collide_are_spread_out() -> None:
    """In one place of pandas' table, all of them would be searched each time."""
    high = np.arange(20_000, dtype=np.uint64)
    low = high.copy()
    for _ in range(3):  # so that low ^ (low << 11) is high, as far as the hash goes
        low = (high ^ (low << np.uint64(11))) & np.uint64(0xFFFFFFFF)
    ids = ((high << np.uint64(33)) | low).view(np.int64)
    assert buckets(ids) == 1
    assert buckets(_scrambled(ids)) > 19_000
    np.testing.assert_array_equal(_unscrambled(_scrambled(ids)), ids)


@pytest.mark.parametrize("kind", ["i1", "i8", "u4", "u8"])
def test_integers_of_a_wide_range_keep_their_values(kind) -> None:
    info = np.iinfo(kind)
    ids = np.array([info.max, info.min, 5, info.max, 3, info.min], kind)
    known, positions = number(ids, "user")
    assert known.values.tolist() == [info.min, 3, 5, info.max]
    assert known.values.dtype == kind
    assert positions.tolist() == [3, 0, 2, 3, 1, 0]
    assert known.positions(ids).tolist() == positions.tolist()
    assert known.positions(np.array([7, 5])).tolist() == [-1, 2]
    assert known.positions([5.0, 5.5]).tolist() == [2, -1]


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.timestamp("s"), pa.date64()])
def test_times_beyond_those_of_python_are_refused(kind) -> None:
    with pytest.raises(ValueError, match=r"An id of kind .* cannot be read"):
        number(pa.array([1, 2**62], pa.int64()).cast(kind), "user")


def test_what_is_known_as_another_kind_is_found() -> None:
    numbers, texts = Ids(np.array([1, 2, 76561198000000001])), Ids(np.array(["1", "x"], object))
    asked: list[Any] = ["1", "x", 2, "002", "2.0", "76561198000000001", (1,), "nan", 5]
    assert numbers.spelt_otherwise(Ids(np.array([*asked, None], object)[:-1])) == [
        ("1", 1),
        ("002", 2),
        ("2.0", 2),
        ("76561198000000001", 76561198000000001),
    ]
    assert texts.spelt_otherwise(Ids(np.array([1, 2]))) == [(1, "1")]
    assert texts.spelt_otherwise(Ids(np.array([1.0, 1.5]))) == [(1.0, "1")]
    assert texts.spelt_otherwise(texts) == []
