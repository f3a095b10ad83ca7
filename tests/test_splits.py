"""Entries held out of a table: nobody is left bare, and weights count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from eventspace import KolmogorovDescent, KolmogorovModel, Observations
from eventspace.fitting.folds import held_out
from eventspace.splits import EntryKFold, long_table
from tests.planted import chances


@pytest.fixture
def noisy() -> pd.DataFrame:
    """A long table of noisy stars, 60 users x 40 items, of four events."""
    rng = np.random.default_rng(0)
    stars = 1 + 4 * chances(rng, 60, 40, 4, concentration=0.5)
    seen = np.argwhere(rng.random(stars.shape) < 0.5)
    value = stars[tuple(seen.T)] + rng.normal(0, 0.6, len(seen))
    return pd.DataFrame({"user": seen[:, 0], "item": seen[:, 1], "rating": value.round(1)})


def test_weights_count_in_the_held_out_error(noisy) -> None:
    weight = np.random.default_rng(0).exponential(size=len(noisy))
    seen = Observations.of(noisy.assign(weight=weight))
    fold = held_out(seen, 0.3, np.random.RandomState(0))
    assert fold is not None
    model = KolmogorovDescent(3, n_init=1, random_state=0)
    p = model.fit(fold.train).fitted_.predict_positions(fold.users, fold.items)
    error = fold.error(p)
    held = pd.DataFrame({"user": seen.user_ids.values[fold.users],
                         "item": seen.item_ids.values[fold.items]})  # fmt: skip
    held = held.merge(noisy.assign(weight=weight), how="left")
    squares = (model.predict(held, unit="original") - held["rating"]) ** 2
    assert error == pytest.approx(np.sqrt(np.average(squares, weights=held["weight"])), rel=1e-5)
    rest = fold.train.total_weight
    assert rest + held["weight"].sum() == pytest.approx(weight.sum(), rel=1e-5)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_every_user_and_item_keeps_entries(part) -> None:
    rng = np.random.default_rng(0)
    seen = Observations.of(np.where(rng.random((12, 9)) < 0.3, rng.random((12, 9)), np.nan))
    fold = held_out(seen, part, np.random.RandomState(0))
    assert fold is not None
    for order in ("by_user", "by_item"):
        before, after = (np.diff(getattr(o, order).ptr) for o in (seen, fold.train))
        np.testing.assert_array_equal(before > 0, after > 0)
    assert 0 < fold.users.size <= part * seen.n_observed + 1
    assert fold.users.size + fold.train.n_observed == seen.n_observed


def test_nothing_is_held_out_where_everybody_has_one_entry() -> None:
    alone = Observations.of(np.where(np.eye(4) > 0, 0.5, np.nan))
    assert held_out(alone, 0.5, np.random.RandomState(0)) is None


def test_what_is_held_out_is_in_the_unit_of_the_table(noisy) -> None:
    seen = Observations.of(noisy)
    fold = held_out(seen, 0.2, np.random.RandomState(0))
    assert fold is not None
    pairs = pd.MultiIndex.from_arrays(
        [seen.user_ids.values[fold.users], seen.item_ids.values[fold.items]]
    )
    table = noisy.set_index(["user", "item"])["rating"]
    np.testing.assert_allclose(fold.truth, table.loc[pairs], atol=1e-6)
    rest = long_table(fold.train).set_index(["user", "item"])["value"]
    np.testing.assert_allclose(rest, table.drop(pairs).loc[rest.index], atol=1e-6)


def test_grid_search_takes_our_folds_on_long_tables(noisy) -> None:
    wide = noisy.pivot(index="user", columns="item", values="rating")
    search = GridSearchCV(
        KolmogorovDescent(n_init=1, random_state=0),
        {"pmf_penalty": [1e-3, 3.0, 1e3], "n_events": [4]},
        cv=EntryKFold(3, random_state=0),
        error_score="raise",
    ).fit(long_table(wide))
    assert search.n_splits_ == 3
    assert search.best_params_ == {"pmf_penalty": 3.0, "n_events": 4}
    search = GridSearchCV(
        KolmogorovModel(n_chains=2, n_warmup=4, n_draws=6, random_state=0),
        {"n_events": [1, 4]},
        cv=EntryKFold(3, random_state=0),
        error_score="raise",
    ).fit(long_table(wide))
    assert search.best_params_ == {"n_events": 4}
    with pytest.raises(ValueError, match="rows here are users"):
        next(EntryKFold().split(wide.to_numpy()))
    with pytest.raises(ValueError, match="n_splits=1"):
        EntryKFold(1)


def test_entry_folds_hold_out_each_row_once_and_bare_nobody() -> None:
    rng = np.random.default_rng(0)
    seen = np.argwhere(rng.random((30, 20)) < 0.12)
    table = pd.DataFrame({"user": seen[:, 0], "item": seen[:, 1], "rating": 1.0}, index=seen[:, 1])
    folds = list(EntryKFold(4, random_state=0).split(table))
    everyone = set(table["user"]), set(table["item"])
    for train, held in folds:
        assert sorted([*train, *held]) == list(range(len(table)))
        part = table.iloc[train]
        assert (set(part["user"]), set(part["item"])) == everyone
    out = np.concatenate([held for _, held in folds])
    assert len(np.unique(out)) == len(out) < len(table)  # some are never held out
    assert len(out) > 0.5 * len(table)


def test_a_long_table_says_the_same(ratings) -> None:
    table = long_table(ratings)
    assert list(table.columns) == ["user", "item", "value"]
    both = ratings.merge(table, on=["user", "item"])
    assert len(both) == len(ratings) == len(table)
    np.testing.assert_allclose(both["value"], both["rating"], atol=1e-6)
    weighted = long_table((["a", "b"], ["x", "y"], [0.1, 0.2], [3.0, 4.0]))
    assert weighted["weight"].tolist() == [3.0, 4.0]
