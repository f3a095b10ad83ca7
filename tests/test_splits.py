"""Entries held out of a table: nobody is left bare, and weights count."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

from eventspace import KolmogorovDescent, KolmogorovModel, Observations, UserError
from eventspace.fitting.folds import held_out
from eventspace.splits import EntryKFold, long_table, train_test_split
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


def pairs_of(table: Any) -> set[tuple[Any, Any]]:
    return set(zip(table["user"], table["item"], strict=True))


@settings(max_examples=200, deadline=None)
@given(
    cells=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 6)), min_size=1, max_size=40),
    test_size=st.floats(0.01, 0.99),
    by=st.sampled_from(["entries", "users", "time"]),
    seed=st.integers(0, 99),
)
def test_a_split_strands_nobody(cells, test_size, by, seed) -> None:
    random = np.random.default_rng(seed)
    users, items = np.array(sorted(cells)).T
    table = pd.DataFrame({"user": users, "item": items, "value": 1.0})
    table["time"] = random.integers(0, 5, len(table))
    table = table.sample(frac=1, random_state=seed)
    try:
        train, test = train_test_split(table, test_size=test_size, by=by, random_state=seed)
    except UserError:  # nothing can be held out, which another test looks at
        return
    assert len(test) > 0
    pd.testing.assert_frame_equal(pd.concat([train, test]).loc[table.index], table)
    assert set(train["item"]) == set(table["item"])
    if by == "users":
        assert not set(train["user"]) & set(test["user"])
        assert test["user"].nunique() <= test_size * table["user"].nunique() + 1
    else:
        assert set(train["user"]) == set(table["user"])
    if by == "entries":
        assert len(test) <= test_size * len(table) + 1


def test_a_split_holds_out_the_share_that_is_asked_for(noisy) -> None:
    train, test = train_test_split(noisy, test_size=0.3, random_state=1)
    assert len(test) == pytest.approx(0.3 * len(noisy), abs=1)
    assert pairs_of(train) | pairs_of(test) == pairs_of(noisy)
    again = train_test_split(noisy, test_size=0.3, random_state=1)[1]
    pd.testing.assert_frame_equal(again, test)
    other = train_test_split(noisy, test_size=0.3, random_state=2)[1]
    assert pairs_of(other) != pairs_of(test)
    train, test = train_test_split(noisy, test_size=0.3, by="users", random_state=1)
    assert test["user"].nunique() == pytest.approx(0.3 * noisy["user"].nunique(), abs=1)


def test_by_time_the_latest_entries_of_each_user_are_held_out(noisy) -> None:
    seconds = np.random.default_rng(3).permutation(len(noisy))
    for times in (
        seconds,
        pd.Timestamp("2020-01-01") + pd.to_timedelta(seconds, unit="s"),
        [date(2020, 1, 1) + timedelta(days=int(k)) for k in seconds],
    ):
        table: Any = noisy.assign(when=times)
        if isinstance(times, list):
            table = pa.Table.from_pandas(table)
        train, test = cast("Any", train_test_split(table, test_size=0.25, by="time", time="when"))
        if isinstance(times, list):
            train, test = train.to_pandas(), test.to_pandas()
        for user, own in test.groupby("user"):
            rest = train.loc[train["user"] == user, "when"]
            earlier = (rest < own["when"].min()).sum()
            assert earlier >= len(rest) - 1  # but for a row that an item needs
            assert len(own) <= round(0.25 * (len(own) + len(rest)) + 0.01)
    assert len(test) == pytest.approx(0.25 * len(noisy), rel=0.15)


def test_of_an_item_that_would_be_bare_the_earliest_row_stays() -> None:
    table = pd.DataFrame({
        "user": ["a", "a", "a", "b", "b", "b"], "item": ["x", "y", "z", "x", "y", "z"],
        "value": 1.0, "time": [1, 2, 3, 4, 5, 6]})  # fmt: skip
    train, test = train_test_split(table, test_size=0.3, by="time")
    assert pairs_of(test) == {("b", "z")}
    assert ("a", "z") in pairs_of(train)


def test_parts_are_in_the_library_of_the_table(noisy) -> None:
    expected = train_test_split(noisy, random_state=0)
    for table in (pl.from_pandas(noisy), pl.from_pandas(noisy).lazy(), pa.Table.from_pandas(noisy)):
        parts = train_test_split(table, random_state=0)
        kind = pa.Table if isinstance(table, pa.Table) else pl.DataFrame
        for part, wanted in zip(parts, expected, strict=True):
            assert isinstance(part, kind)
            pd.testing.assert_frame_equal(part.to_pandas(), wanted.reset_index(drop=True))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"by": "weeks"}, r"by='weeks' is unknown; .*'entries', 'users', 'time'"),
        ({}, {"by": "time"}, r"No column is named like the time; .*'rating'\. Say .*time="),
        ({}, {"by": "time", "time": "when"}, "no column 'when' among 'user'"),
        ({"date": 0, "ts": 1}, {"by": "time"}, "More than one column is named like the time"),
        ({"date": "x"}, {"by": "time"}, "time of row 0 in column 'date' is 'x': write"),
        ({"date": np.nan}, {"by": "time"}, "time of row 0 is missing in column 'date'"),
        ({}, {"time": "when"}, "time='when' is for by='time', not for by='entries'"),
        ({}, {"test_size": 0}, "test_size=0 must be a number between 0 and 1"),
        ({}, {"test_size": 1.5}, r"test_size=1\.5 must be"),
        ({}, {"test_size": 1e-9}, None),
        ({"user": range(9)}, {}, "Nothing of the 9 entries can be held out.*larger test_size"),
    ],
)
def test_a_split_that_cannot_be_is_refused(noisy, change, options, message) -> None:
    table = noisy.head(9 if "user" in change else 200).assign(**change)
    if message is None:  # a part of one is at least one
        assert len(train_test_split(table, random_state=0, **options)[1]) <= 1
        return
    with pytest.raises(UserError, match=message):
        train_test_split(table, random_state=0, **options)


def test_only_long_tables_are_split(noisy) -> None:
    wide = noisy.pivot(index="user", columns="item", values="rating")
    with pytest.raises(UserError, match="rows here are users"):
        train_test_split(wide)
    for table in (wide.to_numpy(), Observations.of(noisy)):
        with pytest.raises(UserError, match=r"split long_table\(X\) instead"):
            train_test_split(table)
