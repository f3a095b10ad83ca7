"""Models compared on entries that were held out: every column against a plain computation."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from eventspace import KolmogorovDescent, KolmogorovEnsemble, Observations, UserError, evaluate
from eventspace.baselines import BiasModel, PopularityModel
from eventspace.data.readers.tables import table_of
from eventspace.data.times import entry_times
from eventspace.evaluation import entrant, rivals
from eventspace.splits import long_table

COLUMNS = [
    "model", "fold", "rmse", "mae", "log_loss", "coverage", "ndcg@10", "recall@10", "seconds"
]  # fmt: skip


class ItemMeans:
    """A stranger that reads the long table, and remembers what it was shown."""

    shown: ClassVar[list[Any]] = []

    def fit(self, table: Any) -> None:
        self.shown.append(table)
        frame = table.to_pandas() if isinstance(table, pl.DataFrame) else table
        self.means = frame.groupby("item")["value"].mean()

    def predict(self, pairs: Any) -> Any:
        return pairs["item"].to_pandas().map(self.means) if isinstance(
            pairs, pl.DataFrame) else pairs["item"].map(self.means)  # fmt: skip


class Lister(ItemMeans):
    """A stranger that recommends, the same two items to everybody."""

    def recommend(self, user: Any, n: int) -> list[str]:
        return ["i3", "i7"]


@pytest.fixture(autouse=True)
def _forgetful() -> None:
    ItemMeans.shown.clear()


def trained_on() -> list[pd.DataFrame]:
    """What the strangers have learnt from, fit by fit."""
    return ItemMeans.shown


def rest(ratings: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """The ratings that are not in the training part."""
    both = ratings.merge(train[["user", "item"]], how="left", indicator=True)
    return both[both["_merge"] == "left_only"]


def ranking(train: Any, test: Any, known: Any, like: float, model: Any, n: int) -> Any:
    """NDCG and recall by brute force: each user, each item, sorted by Python."""
    counts = train["item"].value_counts()
    ndcg, recall = [], []
    for user, own in test.groupby("user"):
        liked = set(own.loc[own["rating"] >= like, "item"])
        if not liked:
            continue
        seen = set(train.loc[train["user"] == user, "item"])
        items = [item for item in known if item not in seen]
        pairs = pd.DataFrame({"user": user, "item": items})
        value = dict(zip(items, model.predict(pairs), strict=True))
        best = sorted(items, key=lambda item: (-value[item], -counts[item]))[:n]
        gain = sum(1 / math.log2(k + 2) for k, item in enumerate(best) if item in liked)
        ndcg.append(gain / sum(1 / math.log2(k + 2) for k in range(min(n, len(liked)))))
        recall.append(len(liked & set(best)) / len(liked))
    return np.mean(ndcg), np.mean(recall)


@pytest.mark.parametrize("n", [1, 3, 30])
def test_every_column_is_what_it_says(ratings, n) -> None:
    models = {"biases": BiasModel(), "means": ItemMeans(), "descent": KolmogorovDescent(3)}
    found: Any = evaluate(ratings, models, like=3.5, n=n, random_state=4).set_index("model")
    train = trained_on()[0]
    test = rest(ratings, train)
    assert len(test) == pytest.approx(0.2 * len(ratings), abs=2)
    scale = (ratings["rating"].min(), ratings["rating"].max())
    seen = Observations.of(train, scale=scale)
    stranger = ItemMeans()
    stranger.fit(train)
    low = ratings.loc[ratings["rating"] < 3.5, "rating"].max()
    for name, model in (("biases", BiasModel().fit(seen)), ("means", stranger)):
        unit = {"unit": "original"} if name == "biases" else {}
        value = np.asarray(model.predict(test[["user", "item"]], **unit))
        error, row = value - test["rating"].to_numpy(), found.loc[name]
        assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert row["mae"] == pytest.approx(np.mean(np.abs(error)))
        fitted = np.asarray(model.predict(train[["user", "item"]], **unit))
        spread = np.sqrt(np.mean((fitted - train["value"]) ** 2))
        chance = np.clip(norm.cdf((value - (low + 3.5) / 2) / spread), 5e-3, 1 - 5e-3)
        loss = -np.log(np.where(test["rating"] >= 3.5, chance, 1 - chance)).mean()
        assert row["log_loss"] == pytest.approx(loss, rel=1e-4)
        ndcg, recall = ranking(train, test, ratings["item"].unique(), 3.5, model, n)
        assert (row[f"ndcg@{n}"], row[f"recall@{n}"]) == pytest.approx((ndcg, recall))
        assert math.isnan(row["coverage"])
        assert 0 < row["seconds"] < 60
    assert 0 < ndcg < 1


def test_coverage_is_that_of_the_intervals(ratings) -> None:
    model = KolmogorovEnsemble(3, n_models=4, random_state=0)
    found = evaluate(ratings, {"ensemble": model, "means": ItemMeans()}, random_state=1)
    assert list(found.columns) == COLUMNS
    train = trained_on()[0]
    test = rest(ratings, train)
    scale = (ratings["rating"].min(), ratings["rating"].max())
    ids = Observations.of(ratings)
    model.fit(Observations.of(train, scale=scale, users=ids.user_ids, items=ids.item_ids))
    bounds = model.predict_interval(test, 0.9, unit="original")
    inside = (bounds["low"] <= test["rating"]) & (test["rating"] <= bounds["high"])
    assert found["coverage"][0] == pytest.approx(inside.mean())
    assert found["rmse"][0] == pytest.approx(
        np.sqrt(np.mean((bounds["mean"] - test["rating"]) ** 2)), rel=1e-6
    )


def test_models_of_the_caller_are_not_touched(ratings) -> None:
    biases, means = BiasModel(), ItemMeans()
    evaluate(ratings, {"biases": biases, "means": means})
    assert not hasattr(biases, "fitted_")
    assert not hasattr(means, "means")


def test_yes_and_no_have_chances_and_no_coverage() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((40, 12)) < rng.random(12)).astype(float)
    found = evaluate(table, {"e": KolmogorovEnsemble(2, n_models=2, random_state=0)})
    model = ItemMeans()
    loss = evaluate(table, {"means": model})["log_loss"][0]
    train = trained_on()[0]
    test = rest(long_table(table), train)
    model.fit(train)
    p = np.clip(model.predict(test), 5e-3, 1 - 5e-3)
    assert loss == pytest.approx(-np.log(np.where(test["value"] == 1, p, 1 - p)).mean(), rel=1e-5)
    assert math.isnan(found["coverage"][0])
    assert found["ndcg@10"][0] > 0


def test_each_fold_is_held_out_once(ratings) -> None:
    found = evaluate(ratings, {"means": ItemMeans(), "biases": BiasModel()}, cv=4, random_state=2)
    assert found[["model", "fold"]].to_numpy().tolist() == [
        [name, fold] for fold in range(4) for name in ("means", "biases")
    ]
    held = [rest(ratings, train) for train in trained_on()]
    out = pd.concat(held)
    assert not out.duplicated(["user", "item"]).any()
    assert len(out) == pytest.approx(len(ratings), abs=5)
    errors = [
        np.sqrt(np.mean((part["rating"] - part["item"].map(means)) ** 2))
        for part, means in zip(
            held, (train.groupby("item")["value"].mean() for train in trained_on()), strict=True
        )
    ]
    np.testing.assert_allclose(found.loc[found["model"] == "means", "rmse"], errors, rtol=1e-6)


def test_the_same_seed_gives_the_same_split(ratings) -> None:
    for seed in (0, 0, 1):
        evaluate(ratings, {"means": ItemMeans()}, random_state=seed)
    first, second, other = trained_on()
    pd.testing.assert_frame_equal(first, second)
    assert not first.equals(other)


def test_ranking_in_blocks_is_the_same(ratings, monkeypatch) -> None:
    whole = evaluate(ratings, {"means": ItemMeans()}, n=3)
    monkeypatch.setattr(entrant, "BLOCK", 45)  # two users at a time
    blocks = evaluate(ratings, {"means": ItemMeans()}, n=3)
    pd.testing.assert_frame_equal(whole.drop(columns="seconds"), blocks.drop(columns="seconds"))


def test_what_is_recommended_may_be_less_than_what_is_judged(ratings) -> None:
    found = evaluate(ratings, {"lister": Lister()}, like=3.5, random_state=0)
    test = rest(ratings, trained_on()[0])
    liked = test[test["rating"] >= 3.5].groupby("user")["item"].agg(set)
    recall = np.mean([len(own & {"i3", "i7"}) / len(own) for own in liked])
    assert 0 < found["recall@10"][0] == pytest.approx(recall)


def test_our_models_are_ranked_by_what_they_recommend(ratings) -> None:
    found = evaluate(ratings, {"p": PopularityModel(), "m": ItemMeans()}, n=4, random_state=4)
    train = trained_on()[0]

    class Counts:
        def predict(self, pairs: Any) -> Any:
            return pairs["item"].map(train["item"].value_counts())

    like = ratings.loc[ratings["rating"] > ratings["rating"].mean(), "rating"].min()
    known = np.sort(ratings["item"].unique())
    expected = ranking(train, rest(ratings, train), known, like, Counts(), 4)
    assert tuple(found.loc[0, ["ndcg@4", "recall@4"]]) == pytest.approx(expected)


def test_scikit_learns_models_are_fitted_to_pairs(ratings) -> None:
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge())
    found = evaluate(ratings, {"ridge": model, **rivals()}, random_state=0)
    assert found["model"].tolist() == ["ridge", *rivals()]
    assert found["rmse"][0] < 0.9 * ratings["rating"].std()


def test_polars_in_polars_out(ratings) -> None:
    models = {"biases": BiasModel(), "means": ItemMeans()}
    expected = evaluate(ratings, models).drop(columns="seconds")
    found: Any = evaluate(pl.from_pandas(ratings), models)
    assert isinstance(found, pl.DataFrame)
    assert isinstance(trained_on()[-1], pl.DataFrame)
    pd.testing.assert_frame_equal(found.drop("seconds").to_pandas(), expected)


def test_without_models_ours_and_the_baselines_are_compared(ratings) -> None:
    small = ratings[ratings["user"].isin([f"u{k}" for k in range(8)])]
    found = evaluate(small)
    assert found["model"].tolist() == ["KolmogorovModel", *rivals()]
    assert found[["rmse", "mae", "log_loss", "seconds"]].notna().all(axis=None)


def test_by_time_the_latest_are_held_out(ratings, tmp_path) -> None:
    when = np.random.default_rng(5).permutation(len(ratings))
    table = ratings.assign(timestamp=when)
    expected = evaluate(table, {"means": ItemMeans()}, by="time", test_size=0.3)
    both = table.merge(trained_on()[0], how="left", on=["user", "item"])
    out = both["value"].isna()
    for _, own in both.groupby("user"):
        late = own["timestamp"].rank(pct=True)
        assert late[out[own.index]].min() > 0.6
    path = tmp_path / "ratings.csv"
    table.rename(columns={"timestamp": "when"}).to_csv(path, index=False)
    seen = Observations.of(ratings)
    given = long_table(seen).merge(table, on=["user", "item"])["timestamp"]
    for X, time in ((path, "when"), (seen, given)):
        again = evaluate(X, {"means": ItemMeans()}, by="time", time=time, test_size=0.3)
        pd.testing.assert_frame_equal(
            again.drop(columns="seconds"), expected.drop(columns="seconds")
        )


@pytest.mark.filterwarnings("ignore:1 of 5 entries have no value")
def test_a_pair_that_occurs_twice_has_its_latest_time() -> None:
    rows = [("b", "x", 1, 50), ("a", "y", 1, 40), ("a", "x", 0, 10), ("a", "y", 0, 20)]
    frame = pd.DataFrame([*rows, ("a", "z", np.nan, 99)], columns=["user", "item", "value", "time"])
    seen = Observations.of(frame, duplicates="last")
    table: Any = table_of(frame)
    assert seen.user_ids.values.tolist() == ["a", "b"]
    times = entry_times(seen, table, {"user": 0, "item": 1, "value": 2}, None)
    assert times.tolist() == [0, 2, 3]  # a x, a y, b x: the ranks of 10, 40, 50


def test_weights_count() -> None:
    rng = np.random.default_rng(0)
    u, i = np.nonzero(rng.random((20, 9)) < 0.8)
    value, weight = rng.random(len(u)), rng.exponential(size=len(u))
    found = evaluate((u, i, value, weight), {"means": ItemMeans()})
    table = pd.DataFrame({"user": u, "item": i, "rating": value, "weight": weight})
    train = trained_on()[0]
    assert list(train.columns) == ["user", "item", "value", "weight"]
    test = rest(table, train)
    square = (test["rating"] - test["item"].map(train.groupby("item")["value"].mean())) ** 2
    expected = np.sqrt(np.average(square, weights=test["weight"]))
    assert found["rmse"][0] == pytest.approx(expected, rel=1e-5)


def test_if_all_values_are_equal_every_entry_is_a_like() -> None:
    rng = np.random.default_rng(0)
    u, i = np.nonzero(rng.random((30, 12)) < np.linspace(0.1, 0.9, 12))
    found = evaluate((u, i, np.ones(len(u))), {"popularity": PopularityModel()})
    assert found["ndcg@10"][0] > 0.5


def test_nobody_likes_what_is_held_out() -> None:
    rows = [(f"u{u}", f"i{i}", 1.0) for u in range(6) for i in range(6)]
    only = ("v", "i0", 5.0)  # the only rating of its user is never held out
    frame = pd.DataFrame([*rows, only], columns=["user", "item", "rating"])
    found = evaluate(frame, {"means": ItemMeans()}, like=5, random_state=0)
    assert found[["ndcg@10", "recall@10"]].isna().all(axis=None)
    with pytest.raises(ValueError, match="like=9 makes nothing a like: values run from 1 to 5"):
        evaluate(frame, {"means": ItemMeans()}, like=9)


class Broken(ItemMeans):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, pairs: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (BiasModel(), {}, "models must be a dict of names and models, .* not a BiasModel"),
        ({}, {}, "models must be a dict .* not nothing"),
        ({"b": BiasModel}, {}, r"models\['b'\] is a class: pass BiasModel\(\)"),
        ({"o": OneHotEncoder()}, {}, r"models\['o'\] has no method predict"),
        ({"x": Broken([1.0])}, {}, r"models\['x'\]: predict of \d+ pairs gave .* \(1,\)"),
        (None, {"by": "users"}, "by='users' is unknown; allowed are 'entries', 'time'"),
        (None, {"by": "time"}, "No column is named like the time"),
        (None, {"time": "when"}, "time='when' is for a split by time. Say by='time'."),
        (None, {"cv": 3, "by": "time"}, "cv makes random folds"),
        (None, {"cv": 3, "test_size": 0.1}, "test_size is for one split"),
        (None, {"cv": 1}, "n_splits=1"),
        (None, {"test_size": 2}, "test_size=2 must be a number between 0 and 1"),
        (None, {"n": 0}, "n=0 must be a whole number"),
        (None, {"like": "a"}, "like='a' must be a number"),
    ],
)
def test_mistakes_are_told(ratings, models, options, message) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(ratings, models, **options)


def test_what_is_no_prediction_is_refused(ratings) -> None:
    class Lost(ItemMeans):
        def predict(self, pairs: Any) -> Any:
            return np.where(np.arange(len(pairs)) == 2, np.nan, 1.0)

    with pytest.raises(UserError, match="gave nan for pair 2: a finite number is wanted"):
        evaluate(ratings, {"lost": Lost()})


def test_times_that_are_not_there(ratings) -> None:
    for X in (np.ones((3, 3)), Observations.of(ratings)):
        with pytest.raises(UserError, match="needs a long table with a column of times"):
            evaluate(X, by="time")
    with pytest.raises(UserError, match=r"time has 1 times for \d+ entries"):
        evaluate(Observations.of(ratings), by="time", time=[3])


def test_a_fit_that_is_interrupted_ends_all(ratings) -> None:
    class Stopped(ItemMeans):
        interrupted_ = True

    with pytest.raises(KeyboardInterrupt):
        evaluate(ratings, {"stopped": Stopped()})
