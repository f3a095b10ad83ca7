"""Attributes of users and items: read by id, standardised, and told to the priors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from eventspace.data.attributes import Attributes, read_attributes
from eventspace.data.ids import Ids

IDS = Ids(["a", "b", "c"])


def test_rows_are_found_by_their_id_in_the_index_or_the_first_column() -> None:
    columns = {"year": [1990, 2000, 2010, 1950], "long": [True, False, True, False]}
    rows = ["c", "other", "a", "missing"]
    expected = [[2010, 1], [np.nan, np.nan], [1990, 1]]
    for table in (
        pd.DataFrame(columns, index=rows),
        pd.DataFrame({"item": rows, **columns}),
        pl.DataFrame({"item": rows, **columns}),
    ):
        found = read_attributes(table, IDS, "item_attributes")
        assert found.names.tolist() == ["year", "long"]
        np.testing.assert_array_equal(found.values, expected)


def test_a_column_that_is_called_user_or_item_holds_the_ids_whatever_the_index() -> None:
    table = pd.DataFrame({"kind": [1.0, 2.0, 3.0], "item": [0, 1, 2]})
    found = read_attributes(table[table["kind"] != 1.0], Ids([0, 1, 2]), "item_attributes")
    assert found.names.tolist() == ["kind"]
    np.testing.assert_array_equal(found.values.ravel(), [np.nan, 2.0, 3.0])


def test_an_index_of_known_ids_wins_over_a_column_that_is_called_like_one() -> None:
    table = pd.DataFrame({"user": [70.0, 80.0, 90.0]}, index=["c", "a", "b"])
    found = read_attributes(table, IDS, "item_attributes")
    assert found.names.tolist() == ["user"]
    np.testing.assert_array_equal(found.values.ravel(), [80.0, 90.0, 70.0])


def test_what_was_told_stays_and_what_was_not_is_filled() -> None:
    first = read_attributes(pd.DataFrame({"x": [1.0, 3.0]}, index=["a", "c"]), IDS, "what")
    more = pd.DataFrame({"x": [7.0, 8.0, 9.0]}, index=["a", "b", "d"])
    ids = Ids(["a", "b", "c", "d", "e"])
    found = first.extended(more, ids, "what")
    np.testing.assert_array_equal(found.values.ravel(), [1.0, 8.0, 3.0, 9.0, np.nan])
    np.testing.assert_array_equal(
        first.extended(None, ids, "what").values.ravel(), [1.0, np.nan, 3.0, np.nan, np.nan]
    )


def test_an_array_has_its_rows_in_the_order_of_the_ids() -> None:
    values = np.arange(6.0).reshape(3, 2)
    found = read_attributes(values, IDS, "item_attributes")
    np.testing.assert_array_equal(found.values, values)
    assert found.names.tolist() == ["0", "1"]


def test_without_a_table_there_are_no_attributes() -> None:
    assert read_attributes(None, IDS, "item_attributes").values.shape == (3, 0)


def test_standard_attributes_have_mean_zero_and_unit_variance_and_zero_for_the_unknown() -> None:
    values = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
    standard = Attributes(np.array(["x", "same", "unknown"], dtype=object), values).standard()
    np.testing.assert_allclose(standard, [[-1, 0, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones((2, 2)), "item_attributes has the shape (2, 2): an array needs 3 rows"),
        (pd.DataFrame({"x": [1.0]}, index=["z"]), "has no row for any of the ids"),
        (pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "a"]), "item_attributes has 2 rows for 'a'"),
        (pd.DataFrame({"x": ["red"]}, index=["a"]), "Column 'x' of item_attributes holds no num"),
        (np.full((3, 1), np.inf), "item_attributes holds an infinite number"),
        (pd.DataFrame({"x": [np.inf]}, index=["a"]), "Column 'x' of item_attributes holds an inf"),
    ],
)
def test_a_wrong_table_is_refused_with_the_place_and_the_remedy(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_attributes(data, IDS, "item_attributes")
