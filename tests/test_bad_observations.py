"""What bad input gets: an error that names the value, its row, user and item, and the remedy."""

from __future__ import annotations

import datetime
import re
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
    probabilities,
)

WHERE = r"\(row 1, user 'ann', item 'Alien'\)"


def with_value(value: Any) -> dict[str, list[Any]]:
    return {**LONG, "value": [VALUES[0], value, *VALUES[2:]]}


@pytest.mark.parametrize(
    ("value", "option", "message"),
    [
        (7.0, (1, 5), rf"value 7.0 {WHERE} is outside the scale; .* from 1 to 5"),
        (-2.0, (1, 5), rf"value -2.0 {WHERE} is outside the scale; .* from 1 to 5"),
        (-2.0, "max", rf"value -2.0 {WHERE} is outside the scale; .* from 0 up"),
        (np.inf, "auto", rf"value inf {WHERE} is infinite; allowed are finite numbers"),
        (-np.inf, (1, 5), rf"value -inf {WHERE} is infinite; .* from 1 to 5"),
        ("good", "auto", rf"value 'good' {WHERE} is text; allowed are finite numbers"),
        ("5", (1, 5), rf"value '5' {WHERE} is text .*to_numeric.* from 1 to 5"),
        (2j, "auto", "Complex data not supported"),
    ],
)
def test_bad_values(value: Any, option: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Observations.of(pd.DataFrame(with_value(value)), scale=option)
    frame = pd.DataFrame(0.5, index=["bob", "ann"], columns=["Heat", "Alien", "a", "b", "c"])
    frame = frame.astype(object)
    frame.loc["ann", "Alien"] = value
    with pytest.raises(ValueError, match=message):
        Observations.of(frame.map(lambda x: 3 if x == 0.5 else x), scale=option)


def test_bad_values_elsewhere() -> None:
    with pytest.raises(ValueError, match=r"value 'x' \(row 1, user 'b', item 'm'\) is text"):
        Observations.of(
            pl.DataFrame({"user": ["a", "b"], "item": ["k", "m"], "value": [None, "x"]})
        )
    with pytest.raises(ValueError, match=r"value 3.0 \(row 1, user 1, item 2\) is outside"):
        Observations.of(np.array([[1, 0, 1], [0.5, np.nan, 3]]), scale=(0, 1))
    with pytest.raises(ValueError, match=r"value 3.0 \(row 1, user 1, item 2\) is outside"):
        Observations.of(sparse.csr_array([[1.0, 0, 1], [0.5, 0, 3]]), scale=(0, 1))
    with pytest.raises(ValueError, match="Complex data not supported"):
        Observations.of(np.eye(2) * 1j)
    with pytest.raises(ValueError, match=r"value '1' \(row 0, user 0, item 0\) is text"):
        Observations.of(np.array([["1", "2"]]))
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        Observations.of(np.array([[{"a": 1}, 2.0]], dtype=object))
    with pytest.raises(TypeError, match=r"row 0, user 'a', item 'x'.*is no number"):
        Observations.of((["a"], ["x"], [datetime.date(2020, 1, 1)]))
    with pytest.raises(ValueError, match="span too much"):
        Observations.of((["a", "b"], ["x", "x"], [-1e308, 1e308]))


def test_nan_in_triples_is_dropped_and_counted() -> None:
    for data in (with_value(None), with_value(np.nan)):
        with pytest.warns(UserWarning, match="1 of 5 entries have no value") as caught:
            observed = Observations.of(pl.DataFrame(data, strict=False))
        assert caught[0].filename == __file__
        expected = {pair: p for pair, p in UNIT.items() if pair != ("ann", "Alien")}
        rescaled = {pair: p * 4 / 3 for pair, p in expected.items()}  # 4 is the greatest now
        assert probabilities(observed) == pytest.approx(rescaled)
        assert list(observed.item_ids) == ["Alien", "Heat", "Up"]


@pytest.mark.parametrize(
    ("weight", "flaw"),
    [(-1.0, "negative"), (np.inf, "infinite"), (np.nan, "missing")],
)
def test_bad_weights(weight: float, flaw: str) -> None:
    message = rf"weight {weight!r} {WHERE} is {flaw}; allowed are finite numbers from 0 up".replace(
        "+", r"\+"
    )
    with pytest.raises(ValueError, match=message):
        Observations.of((USERS, ITEMS, VALUES, [1, weight, 1, 1, 1]))
    with pytest.raises(ValueError, match=rf"weight 'x' {WHERE} is text"):
        Observations.of((USERS, ITEMS, VALUES, [1, "x", 1, 1, 1]))


@pytest.mark.parametrize(
    ("weight", "beyond"),
    [(1e39, "large"), (1.1e30, "large"), (9e-31, "small"), (1e-50, "small")],
)
def test_weights_that_float32_does_not_hold(weight: float, beyond: str) -> None:
    """They neither vanish nor become infinite."""
    message = (
        re.escape(f"weight {weight!r} (") + ".*" + f"is too {beyond} for sums in float32; multiply"
    )
    with pytest.raises(ValueError, match=message):
        Observations.of((USERS, ITEMS, VALUES, [1, weight, 1, 1, 1]))


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        (5, 4, rf"successes 5 {WHERE} are not between 0 and the trials, 4"),
        (-1, 4, rf"successes -1 {WHERE} are not between 0 and the trials, 4"),
        (0, -1, rf"trials -1.0 {WHERE} is negative"),
    ],
)
def test_bad_counts(successes: int, trials: int, message: str) -> None:
    frame = pd.DataFrame({"user": USERS, "item": ITEMS, "successes": 1, "trials": 2})
    frame.loc[1, ["successes", "trials"]] = successes, trials
    with pytest.raises(ValueError, match=message):
        Observations.of(frame)


def test_missing_ids() -> None:
    for users in (["a", None], [1.0, np.nan], pd.DatetimeIndex(["2020-01-01", "NaT"])):
        with pytest.raises(ValueError, match="The user id of row 1 is missing"):
            Observations.of((users, [1, 2], [0.5, 0.5]))
    with pytest.raises(ValueError, match="The item id of row 0 is missing"):
        Observations.of(pl.DataFrame({"user": [1, 2], "item": [None, "b"], "value": [0.5, 0.5]}))
    with pytest.raises(ValueError, match="Every user id must be hashable: unhashable type: 'list'"):
        Observations.of(([[1], [2]], [1, 2], [0.5, 0.5]))


@pytest.mark.parametrize(
    "data",
    [
        ([], [], []),
        pd.DataFrame({"user": [], "item": [], "value": []}),
        np.full((2, 3), np.nan),
        np.empty((0, 3)),
        sparse.csr_array((2, 2)),
        (["a"], ["b"], [0.5], [0.0]),
        (["a"], ["b"], [np.nan]),
    ],
)
def test_nothing_observed(data: Any) -> None:
    with pytest.raises(ValueError, match="Nothing is observed"):
        Observations.of(data)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"differ in length: \[2, 2, 1\]"):
        Observations.of(([1, 2], [1, 2], [0.5]))
    with pytest.raises(ValueError, match="this has 2 elements"):
        Observations.of(([1, 2], [1, 2]))
    with pytest.raises(
        ValueError, match=r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1"
    ):
        Observations.of(np.empty((12, 0)))
    for data in (np.zeros(3), [[1, 2], [3]], 5, None, np.zeros((2, 2, 2))):
        with pytest.raises(
            ValueError, match=r"Expected a 2-D array, users x items.*Reshape your data"
        ):
            Observations.of(data)
    with pytest.raises(ValueError, match="2-D sparse"):
        Observations.of(sparse.coo_array([0.5, 1.0]))
    with pytest.raises(ValueError, match="must be 1-D, this has 2 axes"):
        Observations.of((np.eye(2), [1, 2], [0.5, 0.5]))
    with pytest.raises(ValueError, match="Expected a column of ids or values, got 'ab'"):
        Observations.of(("ab", [1, 2], [0.5, 0.5]))


def test_the_one_text_in_a_column_of_text_is_named() -> None:
    ratings = ["1", "2", "good", "4"]
    with pytest.raises(ValueError, match=r"value 'good' \(row 2, user 'b', item 'x'\) is text"):
        Observations.of((list("aabb"), list("xyxy"), ratings))


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"])
def test_times_are_no_values(kind: str) -> None:
    with pytest.raises(ValueError, match="values are dates or times"):
        Observations.of((["a", "b"], ["x", "y"], np.array([1, 2], kind)))
