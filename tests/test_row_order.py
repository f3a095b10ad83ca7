"""The order of rows, and of the columns of a wide table, says nothing: the model is the same."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)
from eventspace.data.ids import Ids, number
from tests.command import in_process

SMALL: dict[str, Any] = {"random_state": 0, "verbose": False}
CHAINS: dict[str, Any] = {"n_chains": 2, "n_warmup": 4, "n_draws": 4}
MODELS: dict[str, Any] = {
    "descent": KolmogorovDescent(3, n_init=2, **SMALL),
    "model": KolmogorovModel(3, **CHAINS, **SMALL),
    "posterior": KolmogorovPosterior(3, n_samples=4, **CHAINS, **SMALL),
    "ensemble": KolmogorovEnsemble(3, n_models=2, n_iter=2, pmf_penalty=1.0, **SMALL),
}
IDS: dict[str, list[Any]] = {
    "numbers": [30, 4, 100, -7, 8, 10**12, 5, 66, 2, 1],
    "texts": ["b", "Z", "a", "é", "10", "9", "bb", "c", "\U0001f600", "~"],
    "mixed": [
        3,
        "3",
        (1, "a"),
        2.5,
        datetime.date(2020, 1, 2),
        "x",
        (1, 2),
        b"3",
        True,
        None.__class__,
    ],
}


def rated(users: list[Any], items: list[Any], seed: int = 0) -> pd.DataFrame:
    """Two thirds of all pairs, in one order, with stars."""
    rng = np.random.default_rng(seed)
    u, i = np.nonzero(rng.random((len(users), len(items))) < 0.7)
    return pd.DataFrame(
        {
            "user": pd.Series([users[k] for k in u], dtype=object),
            "item": pd.Series([items[k] for k in i], dtype=object),
            "value": rng.integers(1, 6, len(u)),
        }
    )


def shuffled(table: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    return table.sample(frac=1.0, random_state=seed)


def same(one: Any, other: Any) -> None:
    """By id, and to the last bit."""
    one, other = (getattr(model, "fitted_", model) for model in (one, other))
    seen, there = one.observations, other.observations
    users = there.user_ids.positions(seen.user_ids.values)
    items = there.item_ids.positions(seen.item_ids.values)
    assert sorted(users) == list(range(there.n_users))
    assert sorted(items) == list(range(there.n_items))
    np.testing.assert_array_equal(one.pmf, other.pmf[users])
    np.testing.assert_array_equal(one.codes, other.codes[items])
    assert one.error == other.error
    asked = np.repeat(one.user_ids, len(items)), np.tile(one.item_ids, len(users))
    np.testing.assert_array_equal(one.predict(asked), other.predict(asked))


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("name", MODELS)
def test_long(name: str, kind: str) -> None:
    table = rated(IDS[kind], IDS[kind][::-1])
    one, other = (clone(MODELS[name]).fit(rows) for rows in (table, shuffled(table)))
    same(one, other)
    assert one.observations_.user_ids == other.observations_.user_ids


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("name", MODELS)
def test_wide(name: str, kind: str) -> None:
    table = rated(IDS[kind], IDS[kind][::-1])
    rng = np.random.default_rng(2)
    cells = np.full((len(IDS[kind]), len(IDS[kind])), np.nan)
    for user, item, value in table.itertuples(index=False):
        cells[IDS[kind].index(user), IDS[kind].index(item)] = value
    wide = pd.DataFrame(cells, index=pd.Index(IDS[kind], dtype=object), columns=IDS[kind])
    mixed = wide.iloc[rng.permutation(len(wide)), rng.permutation(len(wide))]
    one, other = (clone(MODELS[name]).fit(Observations.from_wide(rows)) for rows in (wide, mixed))
    same(one, other)
    same(one, clone(MODELS[name]).fit(table))
    assert list(other.user_ids_) == list(mixed.index)  # the caller counts in rows and columns
    assert list(other.item_ids_) == list(mixed.columns)


def test_transform_keeps_the_rows_of_a_wide_table(ratings: pd.DataFrame) -> None:
    wide = ratings.pivot(index="user", columns="item", values="rating")
    model = KolmogorovDescent(3, random_state=0).fit(wide)
    mixed = wide.iloc[::-1, ::-1]
    np.testing.assert_array_equal(model.transform(mixed), model.transform(wide)[::-1])
    moved = KolmogorovDescent(3, random_state=0).fit(mixed)  # an array's columns are its items
    rows = moved.transform(mixed.to_numpy())
    np.testing.assert_allclose(rows, model.transform(wide)[::-1], atol=1e-6)


@pytest.mark.parametrize("name", ["model", "posterior"])
def test_attributes_in_an_array_are_those_of_rows_and_columns(name: str) -> None:
    rng = np.random.default_rng(0)
    labels = [f"u{k}" for k in range(30)]
    wide = pd.DataFrame(rng.integers(0, 2, (30, 8)), index=labels, columns=list("abcdefgh"))
    about, of_items = rng.standard_normal((30, 2)), rng.standard_normal((8, 1))
    rows, columns = rng.permutation(30), rng.permutation(8)
    one = clone(MODELS[name]).fit(wide, user_attributes=about, item_attributes=of_items)
    other = clone(MODELS[name]).fit(
        wide.iloc[rows, columns], user_attributes=about[rows], item_attributes=of_items[columns]
    )
    same(one, other)


@pytest.mark.parametrize("side", ["pmf", "indicators"])
def test_given_parts_in_an_array_are_those_of_rows_and_columns(side: str) -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.random((6, 5)), index=list("fedcba"), columns=list("vzywx"))
    parts = {"pmf": rng.dirichlet(np.ones(3), 6), "indicators": rng.integers(0, 2, (5, 3))}
    rows, columns = rng.permutation(6), rng.permutation(5)
    one = KolmogorovDescent(3).fit(wide, **{side: parts[side]})
    moved = parts[side][rows if side == "pmf" else columns]
    other = KolmogorovDescent(3).fit(wide.iloc[rows, columns], **{side: moved})
    same(one, other)
    given = one.pmf_ if side == "pmf" else one.indicators_
    np.testing.assert_array_equal(given, parts[side])


def test_a_compressed_average() -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 2, (12, 8)), index=list("lkjihgfedcba"))
    mixed = wide.iloc[rng.permutation(12), rng.permutation(8)]
    one, other = (
        clone(MODELS["posterior"]).fit(Observations.from_wide(rows)).to_model(2)
        for rows in (wide, mixed)
    )
    same(one, other)


def test_warm_start_goes_on_after_the_rows_have_moved() -> None:
    wide = pd.DataFrame(np.random.default_rng(0).random((12, 8)), index=list("lkjihgfedcba"))
    model = KolmogorovDescent(3, n_init=1, n_iter=2, warm_start=True, random_state=0).fit(wide)
    before = model.history_[-1]
    assert model.fit(wide.iloc[::-1]).history_[0] <= before
    assert list(model.user_ids_) == list("abcdefghijkl")


@pytest.mark.parametrize("name", MODELS)
def test_updates(name: str) -> None:
    """Known ids keep their positions; new ones follow, sorted."""
    table = rated(list(range(12)), list("hgfedcba"))
    known, new = table[(table.user > 3) & (table.item < "g")], table[(table.user <= 3)]
    model = clone(MODELS[name]).fit(known)
    one, other = (model.fitted_.update(rows) for rows in (new, shuffled(new)))
    assert list(one.user_ids) == [*range(4, 12), *range(4)]
    assert list(one.item_ids) == list("abcdefgh")
    assert one.observations.user_ids == other.observations.user_ids
    same(one, other)


def test_real_ratings(movielens_100k: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table = movielens_100k[0]
    few = table[(table.user <= 150) & (table.item <= 300)]
    for model in MODELS.values():
        one, other = (
            clone(model).set_params(n_events=6).fit(rows) for rows in (few, shuffled(few))
        )
        same(one, other)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = rated(IDS["numbers"], list("hgfedcba"))
    for name, rows in (("one", table), ("other", shuffled(table))):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        arguments = [tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.eventspace"]
        in_process(["fit", *arguments, "--events", 3, "--seed", 0], capsys)
    one, other = ((tmp_path / f"{name}.eventspace").read_bytes() for name in ("one", "other"))
    assert one == other


anything = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(st.characters(codec="utf-8"), max_size=3),
    st.binary(max_size=2),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.fractions(),
    st.decimals(allow_nan=False),
    st.complex_numbers(allow_nan=False),
)
ids = st.recursive(
    anything, lambda part: st.tuples(part, part) | st.frozensets(part, max_size=3), max_leaves=4
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_ids_of_any_kind_have_one_order(data: st.DataObject) -> None:
    column = data.draw(st.lists(ids, min_size=1, max_size=12))
    moved = data.draw(st.permutations(column))
    one, at = number(np.fromiter(column, object, len(column)), "user")
    other, there = number(np.fromiter(moved, object, len(moved)), "user")
    assert list(one) == list(other)
    assert [one[k] for k in at] == column
    assert [other[k] for k in there] == moved


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
        st.lists(st.integers(0, 9), min_size=1),
        st.lists(st.floats(allow_nan=False), min_size=1),
        st.lists(st.text(st.characters(codec="utf-8"), max_size=2), min_size=1),
    )
)
def test_numbers_and_text_are_sorted_in_every_library(column: list[Any]) -> None:
    expected = sorted(set(column))
    for found in (column, pd.Series(column), pl.Series(column), pl.Series(column).to_arrow()):
        numbered, at = number(found, "user")
        assert list(numbered) == expected
        assert [expected[k] for k in at] == column


def test_text_with_nul_is_told_apart() -> None:
    """pandas itself looks no further than the character NUL."""
    texts = ["", "\0", "a\0b", "a", "a\0c", "\0"]
    for column in (texts, pd.Series(texts, dtype=object)):
        found, at = number(column, "user")
        assert list(found) == ["", "\0", "a", "a\0b", "a\0c"]
        assert [found[k] for k in at] == texts


def test_kinds_come_one_after_the_other() -> None:
    mixed = ["b", 2, (1, 2), "a", Decimal("1.5"), (1, 1), Fraction(1, 3), b"x"]
    found, _ = number(mixed, "user")
    third = Fraction(1, 3)
    assert list(found) == [third, Decimal("1.5"), 2, "a", "b", b"x", (1, 1), (1, 2)]


def test_new_ids_follow_known_ones_sorted() -> None:
    known, at = number([9, 3, 5, 3], "user", Ids([5, 1]))
    assert list(known) == [5, 1, 3, 9]
    assert at.tolist() == [3, 2, 0, 2]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_mean_of_repeats_is_the_same_to_the_bit(data: st.DataObject) -> None:
    row = st.tuples(
        st.sampled_from("ab"), st.sampled_from("xy"), st.floats(0, 1), st.floats(1e-12, 1e12)
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=20))
    moved = data.draw(st.permutations(rows))
    for n in (3, 4):
        one, other = (
            Observations.of(
                tuple(list(zip(*some, strict=True))[:n]), duplicates="mean", scale=(0, 1)
            )
            for some in (rows, moved)
        )
        for k in range(4):
            np.testing.assert_array_equal(one.by_user[k], other.by_user[k])


def test_a_mean_of_repeats_is_weighted() -> None:
    table = ["a"] * 3, ["x"] * 3, [0.0, 1.0, 0.5], [1.0, 2.0, 1.0]
    seen = Observations.of(table, duplicates="mean")
    assert seen.by_user.value.tolist() == [0.625]
    assert seen.by_user.weight.tolist() == [4.0]
    assert Observations.of(table, duplicates="last").by_user.value.tolist() == [0.5]
