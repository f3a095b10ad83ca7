"""Which tables are long, which wide, and which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from eventspace import Observations
from tests.observing import (
    ITEMS,
    LONG,
    UNIT,
    USERS,
    VALUES,
    content,
    probabilities,
)


@pytest.mark.parametrize(
    "names",
    [
        ("userId", "movieId", "rating"),
        ("USER_ID", "Item Name", "Score"),
        ("uid", "title", "p"),
        ("u", "i", "p"),  # the first two are text
        ("a", "b", "c"),
        ("user", "b", "c"),
        ("a", "movie", "c"),
        ("a", "b", "rating"),
    ],
)
def test_long_by_name_or_position(names: tuple[str, str, str]) -> None:
    frame = pd.DataFrame(dict(zip(names, (USERS, ITEMS, VALUES), strict=True)))
    assert probabilities(Observations.of(frame)) == pytest.approx(UNIT)
    for column, name in ((964982703, "when"), (964982703, "timestamp"), (3, "date")):
        assert probabilities(Observations.of(frame.assign(**{name: column}))) == pytest.approx(UNIT)
    assert Observations.of(frame.assign(weight=2.0)).weighted
    dates = frame.assign(when=pd.Timestamp("2020-01-01"))
    assert not Observations.of(pl.from_pandas(dates)).weighted


@pytest.mark.parametrize(("user", "item"), [("visitor", "page"), ("customer_no", "sku")])
def test_names_matter_more_than_places(user: str, item: str) -> None:
    frame = pd.DataFrame({item: ITEMS, user: USERS, "score": VALUES})
    assert probabilities(Observations.of(frame)) == pytest.approx(UNIT)
    assert Observations.of(frame[[item, user]], missing="no").user_ids[0] == min(USERS)


def test_columns_beside_the_named_ones_are_left_aside() -> None:
    frame = pd.DataFrame(LONG).assign(a=1, b="x", year=1979, city=None)
    assert probabilities(Observations.of(frame)) == pytest.approx(UNIT)


def test_whole_numbers_outside_the_values_are_ids() -> None:
    frame = pd.DataFrame({"a": [7, 8], "b": [9, 10], "c": [1, 5]})
    assert probabilities(Observations.of(frame)) == {(7, 9): 0.0, (8, 10): 1.0}
    assert probabilities(Observations.of(frame.astype(float))) == {(7, 9): 0.0, (8, 10): 1.0}


EITHER = r"could be long .* or wide .*Observations\.from_long.*Observations\.from_wide"


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [0.1, 0.2], "b": [0.3, 0.4], "c": [0.5, 0.6]},
        {"a": [0, 1, 1], "b": [1, 0, 1], "c": [1, 1, 0]},
        {"a": [True, False], "b": [False, True], "c": [True, True]},
        {"a": [1, 2, 5], "b": [2, 4, 3], "c": [5, 4, 1]},
        {"a": [7.0, None], "b": [9.0, 10.0], "c": [1.0, 5.0]},
        {"a": ["x", "y"], "b": [0.5, 0.4], "c": [0.3, 0.2]},
        {"sample": ["x", "y"], "Liver": [0.5, 0.4], "Lung": [0.5, 0.6], "Brain": [0.0, 0.0]},
        {"a": ["x", "y"], "b": ["m", "n"], "c": [1.0, 5.0], "d": [2.0, 3.0]},
        {"a": [7, 8], "b": [9, 10], "c": [1, 5], "d": [20, 30]},
        {"time": [7, 8], "weight": [9, 10], "c": [1, 5]},
    ],
)
def test_what_could_be_either_is_refused(columns: dict[str, list[Any]]) -> None:
    for make in (pd.DataFrame, pl.DataFrame):
        with pytest.raises(ValueError, match=EITHER):
            Observations.of(make(columns))


def test_labelled_rows_of_numbers_could_be_either() -> None:
    frame = pd.DataFrame({"a": [7, 8], "b": [9, 10], "c": [1, 5]}, index=["ann", "bob"])
    with pytest.raises(ValueError, match=EITHER):
        Observations.of(frame)
    wide = Observations.from_wide(frame)
    assert list(wide.user_ids) == ["ann", "bob"]
    assert list(wide.item_ids) == ["a", "b", "c"]
    assert Observations.from_long(frame).n_observed == 2


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        (["user", "item"], "value"),
        (["user", "rating"], "item"),
        (["movie", "rating"], "user"),
        (["item", "x"], "user or the value"),
        (["user", "a", "b", "rating"], "item"),
        (["user", "item", "a", "b", "c"], "value"),
        (["user", "item", "successes"], "trials"),
        (["a", "b", "p", "timestamp", "weight"], "user or the item"),
    ],
)
def test_a_missing_column_is_named(columns: list[str], missing: str) -> None:
    with pytest.raises(ValueError, match=f"No column is named like the {missing}: the columns are"):
        Observations.of(pd.DataFrame({name: [0.5] for name in columns}))


def test_two_columns_for_one_role_are_refused() -> None:
    frame = pd.DataFrame({**LONG, "title": ITEMS})
    with pytest.raises(ValueError, match="'item' and 'title' could both be the item"):
        Observations.of(frame)
    assert probabilities(Observations.from_long(frame, item="title")) == pytest.approx(UNIT)
    with pytest.raises(ValueError, match="'value', 'trials' say twice what the value is"):
        Observations.of(pd.DataFrame(LONG).assign(trials=3))
    with pytest.raises(ValueError, match="more are named like the user"):
        Observations.from_wide(pd.DataFrame({"user": ["a"], "user_id": [1], "x": [0.5]}))


def test_from_long_with_names() -> None:
    frame = pd.DataFrame(
        {"who": USERS, "what": ITEMS, "how": VALUES, "user": 1, "n": [1, 2, 3, 4, 5]}
    )
    observed = Observations.from_long(frame, user="who", item="what", value="how", weight="n")
    assert probabilities(observed) == pytest.approx(UNIT)
    assert content(observed)["cid", "Up"] == pytest.approx((0.375, 4.0))
    with pytest.raises(ValueError, match="There is no column 'whom' among 'who', 'what', 'how'"):
        Observations.from_long(frame, user="whom")
    with pytest.raises(ValueError, match="DataFrame or the path of one, not a ndarray"):
        Observations.from_long(np.eye(3))


def test_from_wide_with_user_and_weight() -> None:
    frame = pd.DataFrame({"who": ["a", "b"], "x": [0.5, None], "y": [0.25, 1.0]})
    weight = np.array([[1.0, 2.0], [np.nan, 3.0]])  # where nothing is observed it does not matter
    for data in (frame, pl.from_pandas(frame)):
        observed = Observations.from_wide(data, user="who", weight=weight)
        assert content(observed) == {
            ("a", "x"): (0.5, 1.0),
            ("a", "y"): (0.25, 2.0),
            ("b", "y"): (1.0, 3.0),
        }
    dense = Observations.from_wide([[0.5, None]], weight=[[2, 7]])
    assert content(dense) == {(0, 0): (0.5, 2.0)}
    stored = sparse.coo_array(([0.5], ([0], [1])), shape=(1, 2))
    assert content(Observations.from_wide(stored, weight=[[5, 7]])) == {(0, 1): (0.5, 7.0)}
    with pytest.raises(
        ValueError, match=r"weights' shape \(1, 2\) is not that of the values, \(2, 2"
    ):
        Observations.from_wide(data, user="who", weight=weight[:1])
    with pytest.raises(ValueError, match="no column 'whom'"):
        Observations.from_wide(frame, user="whom")
    with pytest.raises(ValueError, match="user='who' names a column"):
        Observations.from_wide(weight, user="who")


def test_a_wide_table_of_items_in_rows_is_refused() -> None:
    frame = pd.DataFrame(np.eye(6), columns=list("abcdef"))
    frame.insert(0, "cpg", "x")
    with pytest.raises(ValueError, match=r"'cpg' is named like an item, .* transpose it"):
        Observations.of(frame)


def test_list_of_tuples_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tuple\(zip\(\*data\)\)"):
        Observations.of([(1, 2, 5), (1, 3, 4)])
