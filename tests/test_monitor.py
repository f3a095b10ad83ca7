"""New ratings beside what a model expects of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.base import clone

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)
from eventspace.datasets import movielens_small
from eventspace.fitted.monitoring import _half_interval
from eventspace.fitted.surprise import Surprise, Usual
from tests.command import in_process

CHAINS: dict[str, Any] = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "n_jobs": 1}
NOISE = 0.15


class World:
    """Users and items of four events, whose ratings come in two tables."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.pmf = rng.dirichlet(np.full(4, 0.5), 120)
        self.bits = rng.random((60, 4)) < 0.5
        self.early, self.late = self.table(rng, 0.4), self.table(rng, 0.15)

    def table(self, rng: np.random.Generator, share: float) -> pd.DataFrame:
        u, i = np.nonzero(rng.random((120, 60)) < share)
        chance = (self.pmf @ self.bits.T)[u, i]
        value = np.clip(chance + rng.normal(0, NOISE, len(u)), 0, 1)
        return pd.DataFrame({"user": u, "item": i, "value": value})


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def model(world) -> KolmogorovModel:
    seen = Observations.of(world.early, scale=(0, 1))
    return KolmogorovModel(4, **CHAINS, meets=False, random_state=0).fit(seen)


@pytest.mark.parametrize(
    "kind",
    [
        KolmogorovDescent(4, random_state=0),
        KolmogorovEnsemble(4, n_models=3, random_state=0),
        KolmogorovPosterior(4, **CHAINS, meets=False, random_state=0),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_every_kind_expects_what_it_finds_where_nothing_moves(kind, world) -> None:
    found = kind.fit(Observations.of(world.early, scale=(0, 1))).monitor(world.late)
    # a descent counts each bit of a set as a number, however sure it is
    assert 0.75 < found.rmse / found.expected_rmse < 1.15
    assert not found.refit_due
    assert sum(found.n_moved) <= 1
    assert "No refit is due" in str(found)


def test_it_says_what_it_found_and_changes_nothing(model, world) -> None:
    before = model.fitted_
    found = model.monitor(world.late)
    assert model.fitted_ is before
    error = model.predict((world.late["user"], world.late["item"])) - world.late["value"]
    assert found.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    assert found.low < found.rmse < found.high
    assert found.rmse == pytest.approx(found.expected_rmse, rel=0.15)
    assert found.n_ratings == len(world.late)
    assert sum(found.n_moved) <= 1
    table = found.moved
    assert list(table) == ["kind", "id", "ratings", "rmse", "expected", "surprise", "p_value",
                           "q_value"]  # fmt: skip
    assert table["p_value"].is_monotonic_increasing
    one = table[table["kind"] == "item"].iloc[0]
    own = world.late["item"] == one["id"]
    assert one["ratings"] == own.sum()
    assert one["rmse"] == pytest.approx(np.sqrt(np.mean(error[own] ** 2)))


def test_those_who_moved_are_named(model, world) -> None:
    late = world.late.copy()
    moved = late["user"].isin([5, 6]) | (late["item"] == 7)
    late.loc[moved, "value"] = 1 - (late.loc[moved, "value"] > 0.5)
    found = model.monitor(late)
    named = found.moved[found.moved["q_value"] < 0.05]
    assert set(zip(named["kind"], named["id"], strict=True)) == {
        ("user", 5),
        ("user", 6),
        ("item", 7),
    }
    assert found.n_moved == (2, 1)
    assert "2 of 120 users and 1 of 60 items have moved more than the others: " in str(found)
    assert "user 5" in str(found)


@pytest.mark.parametrize("n_moved", [6, 24, 36])
def test_many_who_moved_do_not_hide_each_other(model, world, n_moved: int) -> None:
    late = world.late.copy()
    moved = late["user"] < n_moved
    late.loc[moved, "value"] = 1 - late.loc[moved, "value"]
    found = model.monitor(late)
    named = found.moved[(found.moved["q_value"] < 0.05) & (found.moved["kind"] == "user")]
    assert (named["id"] < n_moved).sum() >= 0.9 * n_moved
    assert (named["id"] >= n_moved).sum() <= 1
    assert found.n_moved[0] == len(named)


@pytest.mark.parametrize("kind", [KolmogorovDescent(8), KolmogorovDescent(16), KolmogorovModel()])
def test_nobody_moves_where_real_ratings_are_split_at_random(kind) -> None:
    ratings = movielens_small().table
    ratings = ratings[ratings.groupby("item")["user"].transform("size") >= 20]
    known = np.random.default_rng(0).random(len(ratings)) < 0.8
    kind = clone(kind).set_params(random_state=0)
    found = kind.fit(ratings[known]).monitor(ratings[~known])
    assert 0.8 < found.rmse / found.expected_rmse < 1.1  # a descent's is rather too great
    assert not found.refit_due
    assert found.can_tell
    assert sum(found.n_moved) <= 3  # of 671 users and 1,000 items; some users are two people


def test_a_refit_is_due_when_much_has_moved(model, world) -> None:
    late = world.late.assign(value=1 - world.late["value"])
    found = model.monitor(late)
    assert found.refit_due
    assert "A refit is due: errors are" in str(found)


def test_new_users_and_items_are_not_judged(model, world) -> None:
    some = world.late.head(10)
    strangers = pd.DataFrame({"user": [3, 999, 998], "item": [777, 4, 777], "value": 0.5})
    found = model.monitor(pd.concat([some, strangers]))
    assert (found.n_ratings, found.n_others) == (10, 3)
    assert "; 3 are of new users or items." in str(found)
    alone = model.monitor(strangers)
    assert (alone.n_ratings, len(alone.moved), alone.refit_due) == (0, 0, False)
    assert str(alone).startswith("Of 3 ratings none is of a user and an item")
    assert not alone.can_tell


def test_few_ratings_do_not_say_that_no_refit_is_due(model, world) -> None:
    late = world.late
    one = model.monitor(late.head(1))
    assert (one.low, one.high) == (0.0, 1.0)
    assert str(one).startswith("1 rating of users and items that the model knows.\n")
    assert "the ratings are of 1 user only." in str(one)
    strangers = late.assign(user=late["user"] + 1000)
    found = model.monitor(pd.concat([late, strangers, strangers.assign(user=-1).head(1)]))
    assert not found.can_tell
    assert "cannot be told: 50% of the ratings are of new users or items." in str(found)
    half = model.monitor(pd.concat([late, strangers]))
    assert half.can_tell
    assert "No refit is due" in str(half)


def test_only_the_first_who_moved_are_named(model, world) -> None:
    late = world.late.copy()
    moved = late["user"] < 8
    late.loc[moved, "value"] = 1 - (late.loc[moved, "value"] > 0.5)
    found = model.monitor(late)
    n_more = sum(found.n_moved) - 3
    assert n_more > 0
    assert f" and {n_more} more.\n" in str(found)


def test_where_a_missing_rating_says_no_there_is_nothing_to_compare() -> None:
    visits = Observations.of(([0, 0, 1, 2], [0, 1, 1, 0]), missing="no")
    model = KolmogorovDescent(2, random_state=0).fit(visits)
    with pytest.raises(ValueError, match="compare it with evaluate"):
        model.monitor(visits)


def test_p_values_are_uniform_where_nothing_moves() -> None:
    """Also where all errors are thrice as great as expected, of normal errors."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 400, 8000)
    error = np.square(rng.normal(0, 1.0, 8000))
    for expected in (1.0, 1 / 3):
        p = Surprise.of(rows, error, np.full(8000, expected), np.ones(8000)).p_values
        assert stats.kstest(p, "uniform").pvalue > 0.01


def test_users_with_a_noise_of_their_own_have_not_moved() -> None:
    """The more ratings, the surer is a difference that was there before."""
    rng = np.random.default_rng(0)
    n = rng.integers(2, 300, 400)
    apart = 0.1
    noise = 1 / rng.gamma(2 + 1 / apart, 1 / (1 + 1 / apart), 400)
    rows = np.repeat(np.arange(400), n)
    error = noise[rows] * np.square(rng.normal(0, 1.0, len(rows)))
    found = Surprise.of(rows, error, *np.ones((2, len(rows))))
    assert stats.kstest(found.p_values, "uniform").pvalue > 0.01
    assert not (found.q_values < 0.05).any()
    total, square = np.bincount(rows, error), np.bincount(rows, error**2)
    law = Usual.of(n.astype(float), total, square)
    assert law.apart == pytest.approx(apart, rel=0.4)
    assert law.dispersion == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("library", [pl.DataFrame, pa.Table.from_pandas])
def test_users_and_items_of_other_kinds_stand_in_one_column(world, library) -> None:
    """As text where a column holds one kind only."""
    early, late = (
        library(part.assign(item=[f"film {i}" for i in part["item"]]))
        for part in (world.early, world.late)
    )
    found = KolmogorovDescent(4, random_state=0).fit(early).monitor(late).moved
    ids = found["id"].to_list() if library is pl.DataFrame else found["id"].to_pylist()
    assert {"film 7", "7"} < set(ids)


@pytest.mark.parametrize("high", [1e-300, 1e100, 1e200])
def test_any_scale_is_judged_alike(model, world, high: float) -> None:
    parts = (part.assign(value=part["value"] * high) for part in (world.early, world.late))
    early, late = parts
    scaled = clone(model).fit(Observations.of(early, scale=(0, high)))
    found, expected = scaled.monitor(late), model.monitor(world.late)
    assert found.rmse == pytest.approx(high * expected.rmse, rel=1e-3)
    columns = ["rmse", "expected"]
    np.testing.assert_allclose(
        np.sort(found.moved[columns], axis=0),
        high * np.sort(expected.moved[columns], axis=0),
        rtol=0.05,
    )
    assert np.isfinite(found.moved[["surprise", "p_value", "q_value"]]).all(axis=None)


def test_two_users_do_not_say_that_a_refit_is_due(model, world) -> None:
    late = world.late[world.late["user"] < 2]
    found = model.monitor(late.assign(value=1 - late["value"]))
    assert found.rmse > 2 * found.expected_rmse
    assert (found.refit_due, found.can_tell) == (False, False)
    assert "the ratings are of 2 users only." in str(found)


def test_an_empty_table_says_nothing(model, world) -> None:
    found = model.monitor(world.late.head(0))
    assert str(found) == "There are no new ratings."
    assert (found.refit_due, found.can_tell) == (False, False)


def test_the_command_says_the_same(model, world, tmp_path, capsys) -> None:
    model.save(tmp_path / "m")
    world.late.to_csv(tmp_path / "late.csv", index=False)
    moved = tmp_path / "moved.csv"
    done = in_process(["monitor", tmp_path / "m", tmp_path / "late.csv", "-o", moved], capsys)
    found = model.monitor(pd.read_csv(tmp_path / "late.csv"))
    assert done.out == f"{found}\n"
    assert pd.read_csv(moved)["id"].tolist() == found.moved["id"].tolist()
    done = in_process(["monitor", tmp_path / "m", tmp_path / "late.csv", "--json"], capsys)
    said = json.loads(done.out)
    assert said["rmse"] == pytest.approx(found.rmse)
    assert (said["refit_due"], said["can_tell"]) == (False, True)
    assert len(said["moved"]) == len(found.moved)


def test_the_commands_forget(world, tmp_path, capsys) -> None:
    for name, table, at in (("early", world.early, 0), ("late", world.late, 100)):
        table.assign(day=at).to_csv(tmp_path / f"{name}.csv", index=False)
    path = tmp_path / "m"
    options = ["--kind", "descent", "--events", "4", "--scale", "0,1"]
    clock = ["--time", "day", "--half-life", "50"]
    in_process(["fit", tmp_path / "early.csv", "-o", path, *options, *clock], capsys)
    in_process(["update", path, tmp_path / "late.csv", "--time", "day"], capsys)
    seen = Observations.of(
        pd.read_csv(tmp_path / "early.csv"), scale=(0, 1), half_life=50, time="day"
    )
    expected = KolmogorovDescent(4, random_state=0).fit(seen)
    late = Observations.of(
        pd.read_csv(tmp_path / "late.csv"), scale=(0, 1), half_life=50, time="day"
    )
    expected.update(late)
    found = KolmogorovDescent.load(path)
    np.testing.assert_array_equal(found.predict(), expected.predict())
    assert set(np.unique(found.observations_.by_user.weight)) == {0.25, 1.0}
    wrong = ["--time", "day", "--half-life", "x"]
    done = in_process(["fit", tmp_path / "early.csv", "-o", path, *wrong], capsys, code=2)
    assert "--half-life x is no time" in done.err


@pytest.mark.parametrize("half_life", [None, 1e6])
@pytest.mark.parametrize("trials", [(20, 60), (1, 3)])
def test_few_trials_are_expected_to_be_noisy(
    trials: tuple[int, int], half_life: float | None
) -> None:
    """Counts of the same law: what few trials say scatters more, and nobody has moved."""
    rng, world = np.random.default_rng(0), World()

    def counts(share: float, low: int, high: int) -> pd.DataFrame:
        u, i = np.nonzero(rng.random((120, 60)) < share)
        n = rng.integers(low, high, len(u), endpoint=True)
        hits = rng.binomial(n, np.clip((world.pmf @ world.bits.T)[u, i], 0, 1))
        table = pd.DataFrame({"user": u, "item": i, "successes": hits, "trials": n})
        return table if half_life is None else table.assign(time=0)

    seen = Observations.of(counts(0.4, 20, 60), half_life=half_life)
    model = KolmogorovModel(4, meets=False, random_state=0, **CHAINS).fit(seen)
    found = model.monitor(counts(0.2, *trials))
    assert found.rmse == pytest.approx(found.expected_rmse, rel=0.25)
    assert not found.refit_due


def test_a_model_without_any_noise_is_judged_too() -> None:
    """Parts that are given may be exact: then nothing is expected but rounding."""
    rng = np.random.default_rng(0)
    pmf, bits = np.eye(2)[rng.integers(0, 2, 30)], rng.random((12, 2)) < 0.5
    table = pd.DataFrame(pmf @ bits.T)
    model = KolmogorovDescent.from_parts(pmf, bits, table)
    late = table.reset_index(names="user").melt("user", var_name="item")
    same, contrary = model.monitor(late), model.monitor(late.assign(value=1 - late["value"]))
    assert same.rmse == pytest.approx(0.0, abs=1e-6)
    assert not same.refit_due
    assert same.n_moved == (0, 0)
    assert np.isfinite(same.moved["surprise"]).all()
    assert contrary.refit_due
    assert str(contrary).endswith("A refit is due: errors are far greater than expected.")
    wrong = late.assign(value=late["value"].where(late.index != 5, 1 - late["value"]))
    assert not model.monitor(wrong).moved.isna().any(axis=None)


@pytest.mark.parametrize("half_life", [1.0, 3.0])
def test_old_ratings_do_not_hide_what_new_ones_leave(world, half_life: float) -> None:
    """Users of old ratings, and of new ones, have the same noise: that of the world."""
    early = world.early.assign(timestamp=world.early["user"] // 12)  # up to ten half-lives apart
    seen = Observations.of(early, scale=(0, 1), half_life=half_life)
    for kind in (KolmogorovModel, KolmogorovPosterior):
        model = kind(4, **CHAINS, meets=False, random_state=0).fit(seen)
        noise = model.fitted_.record.noise
        old, new = noise[:60], noise[60:]
        assert np.median(old) == pytest.approx(np.median(new), rel=0.3)
        late = world.late[world.late["user"] >= 84]
        found = model.monitor(late.assign(timestamp=10))
        assert 0.7 < found.rmse / found.expected_rmse < 1.2  # of what has faded little is known
        wrong = late.assign(timestamp=10, value=np.random.default_rng(0).permutation(late["value"]))
        assert model.monitor(wrong).refit_due


@pytest.mark.parametrize("weight", [1e-30, 1e-4, 1e8, 1e30])
def test_one_rating_of_any_weight_does_not_speak_for_the_others(model, world, weight) -> None:
    def weighed(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(weight=np.where(np.arange(len(table)) == 0, weight, 1.0))

    late = world.late.copy()
    moved = late["user"].isin([5, 6])
    late.loc[moved, "value"] = 1 - (late.loc[moved, "value"] > 0.5)
    named = model.monitor(weighed(late)).moved
    assert {("user", 5), ("user", 6)} <= set(zip(named["kind"][:3], named["id"][:3], strict=True))
    wrong = world.late.assign(value=1 - world.late["value"])
    assert model.monitor(weighed(wrong)).refit_due
    assert not model.monitor(weighed(world.late)).refit_due


@pytest.mark.parametrize("trials", [100, 10_000])
def test_no_more_is_expected_than_numbers_in_their_range_can_scatter(world, trials: int) -> None:
    """The error that many trials leave is mostly misfit, and misfit does not grow with fewer."""
    rng = np.random.default_rng(0)
    chance = np.clip((world.pmf @ world.bits.T) + rng.normal(0, 0.05, (120, 60)), 0.05, 0.95)
    u, i = (at.ravel() for at in np.indices(chance.shape))
    hits = rng.binomial(trials, chance.ravel())
    known = pd.DataFrame({"user": u, "item": i, "successes": hits, "trials": trials})
    wrong = pd.DataFrame({"user": u, "item": i, "value": (chance.ravel() < 0.5) * 1.0})
    found = KolmogorovDescent(4, random_state=0).fit(known).monitor(wrong)
    assert found.expected_rmse <= 0.5
    assert found.refit_due


def test_errors_count_by_their_weights(model, world) -> None:
    weight = np.random.default_rng(0).uniform(1, 5, len(world.late))
    found = model.monitor(world.late.assign(weight=weight))
    error = model.predict((world.late["user"], world.late["item"])) - world.late["value"]
    assert found.rmse == pytest.approx(np.sqrt(np.average(error**2, weights=weight)))
    one = found.moved[found.moved["kind"] == "item"].iloc[0]
    own = (world.late["item"] == one["id"]).to_numpy()
    expected = np.sqrt(np.average(error[own] ** 2, weights=weight[own]))
    assert one["rmse"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("n_users", "n_each"), [(2, 1), (3, 1), (4, 1), (6, 1), (10, 1), (3, 100), (8, 100)]
)
def test_few_users_are_seldom_named_wrongly(n_users: int, n_each: int) -> None:
    """Their ratings are of a law as it is learnt from: one in twenty times, or less."""
    rng = np.random.default_rng(0)
    rows, ones, named = np.repeat(np.arange(n_users), n_each), np.ones(n_users * n_each), 0
    for _ in range(200):
        noise = 1 / rng.gamma(12, 1 / 11, n_users)
        error = noise[rows] * np.square(rng.standard_normal(len(rows)))
        named += bool((Surprise.of(rows, error, ones, ones).q_values < 0.05).any())
    assert named <= 22  # were it one in twenty, more would come once in a thousand times


def test_the_interval_of_few_users_is_students() -> None:
    squares = np.array([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, squares.mean(), stats.sem(squares))
    assert _half_interval(squares, np.ones(3)) == pytest.approx((high - low) / 2)
