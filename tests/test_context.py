"""The formal context of a model, as a table and as a file that tools of concept analysis read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from eventspace import KolmogorovDescent, UserError
from tests.fits import fitted


@pytest.fixture
def model(ratings):
    return fitted(KolmogorovDescent(3, random_state=0), ratings)


def read(path) -> pd.DataFrame:
    """Burmeister's format, by its description: B, a name, both sizes, a blank line, names, rows."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert (lines[0], lines[1], lines[4], lines[-1]) == ("B", "", "", "")
    n, m = int(lines[2]), int(lines[3])
    names, rows = lines[5 : 5 + n + m], lines[5 + n + m : -1]
    assert len(rows) == n
    assert {len(row) for row in rows} == {m}
    bits = np.array([[mark == "X" for mark in row] for row in rows])
    return pd.DataFrame(bits, index=pd.Index(names[:n], name="item"), columns=names[n:])


def test_items_are_objects_and_events_attributes(model) -> None:
    context = model.order().context()
    assert context.index.tolist() == model.item_ids_.tolist()
    assert context.columns.tolist() == model.get_feature_names_out().tolist()
    assert_array_equal(context.to_numpy(), model.indicators_)


def test_the_file_holds_the_same(model, tmp_path) -> None:
    context = model.order(min_evidence=20).context(tmp_path / "films.cxt")
    assert 0 < len(context) < len(model.item_ids_)
    assert_frame_equal(read(tmp_path / "films.cxt"), context)


def test_an_event_that_never_occurs_is_nobodys(ratings) -> None:
    pmf, sets = np.tile([0.5, 0.5, 0.0], (30, 1)), np.tile([True, False, True], (20, 1))
    model = KolmogorovDescent.from_parts(pmf, sets, ratings)
    assert model.order().context().any().tolist() == [True, False, False]


def test_in_polars_the_items_are_a_column(ratings) -> None:
    model = fitted(KolmogorovDescent(3, random_state=0), pl.from_pandas(ratings))
    context = model.order().context()
    assert isinstance(context, pl.DataFrame)
    assert context.columns == ["item", "event0", "event1", "event2"]
    assert_array_equal(context.drop("item").to_numpy(), model.indicators_)


def test_a_name_is_one_line(tmp_path) -> None:
    table = (["a", "a", "b", "b"], ["Up\nand away", "Käfer", "Up\nand away", "Käfer"], [1, 0, 0, 1])
    KolmogorovDescent(2, random_state=0).fit(table).order().context(tmp_path / "films.cxt")
    assert read(tmp_path / "films.cxt").index.tolist() == ["Käfer", r"Up\nand away"]


def test_two_items_with_one_name_are_refused(tmp_path) -> None:
    table = (["a", "a", "b", "b"], [1, "1", 1, "1"], [1, 0, 0, 1])
    order = KolmogorovDescent(2, random_state=0).fit(table).order()
    assert len(order.context()) == 2
    with pytest.raises(UserError, match=r"films\.cxt': 2 items are written '1'"):
        order.context(tmp_path / "films.cxt")
    assert not (tmp_path / "films.cxt").exists()
