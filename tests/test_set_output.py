"""scikit-learn's set_output: the rows of a result are the users of the table, whatever its form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal, assert_index_equal
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eventspace import KolmogorovDescent, KolmogorovModel, Observations
from tests.fits import fitted


@pytest.fixture(params=["descent", "model"])
def model(request, ratings):
    kinds = {
        "descent": KolmogorovDescent(3, random_state=0),
        "model": KolmogorovModel(3, n_chains=2, n_warmup=5, n_draws=5, random_state=0),
    }
    return fitted(kinds[request.param], ratings)


def tables(ratings: pd.DataFrame, path) -> dict[str, object]:
    """The same ratings in every form that has ids."""
    ratings.to_csv(path / "ratings.csv", index=False)
    wide = ratings.pivot(index="user", columns="item", values="rating")
    return {
        "long": ratings,
        "long, with a gap in the index": ratings.set_axis(ratings.index + 7),
        "wide": wide,
        "wide, with a column of users": wide.reset_index(),
        "polars": pl.from_pandas(ratings),
        "triples": (ratings["user"], ratings["item"], ratings["rating"]),
        "observations": Observations.of(ratings),
        "file": path / "ratings.csv",
    }


def test_in_pandas_the_users_are_the_index(model, ratings, tmp_path) -> None:
    users = pd.Index(sorted(ratings["user"].unique()), name="user")
    for form, table in tables(ratings, tmp_path).items():
        plain = model.set_output(transform="default").transform(table)
        found = model.set_output(transform="pandas").transform(table)
        assert_array_equal(found.to_numpy(), plain, err_msg=form)
        assert_index_equal(found.index, users)
        assert found.columns.tolist() == ["event0", "event1", "event2"]


def test_a_fit_that_transforms_gives_the_same(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).set_output(transform="pandas")
    assert_frame_equal(model.fit_transform(ratings), model.transform(ratings))
    with config_context(transform_output="pandas"):
        other = KolmogorovDescent(3, random_state=0).fit_transform(ratings)
    assert_frame_equal(other, model.transform(ratings))


def test_the_index_of_a_wide_frame_stays_what_it_is(model, ratings) -> None:
    wide = ratings.pivot(index="user", columns="item", values="rating").rename_axis("who")
    assert model.set_output(transform="pandas").transform(wide).index is wide.index


def test_rows_without_ids_are_numbered(model, ratings) -> None:
    array = ratings.pivot(index="user", columns="item", values="rating")
    array = array[model.item_ids_].to_numpy()
    found = model.set_output(transform="pandas").transform(array)
    assert_index_equal(found.index, pd.RangeIndex(len(array)))


def test_in_polars_the_rows_are_in_the_order_of_the_users(model, ratings, tmp_path) -> None:
    for form, table in tables(ratings, tmp_path).items():
        plain = model.set_output(transform="default").transform(table)
        found = model.set_output(transform="polars").transform(table)
        assert isinstance(found, pl.DataFrame)
        assert found.columns == ["event0", "event1", "event2"]
        assert_array_equal(found.to_numpy(), plain, err_msg=form)


def test_a_pipeline_keeps_the_users(ratings) -> None:
    steps = make_pipeline(KolmogorovDescent(3, random_state=0), StandardScaler())
    found = steps.set_output(transform="pandas").fit_transform(ratings)
    assert found.index.tolist() == sorted(ratings["user"].unique())
    assert np.allclose(found.mean(), 0)
