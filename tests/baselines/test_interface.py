"""What all baselines have in common: names, tables in, questions answered."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from eventspace import Observations, baselines
from eventspace.baselines import (
    BiasModel,
    BinaryFactorization,
    HypercubeModel,
    ItemKMeans,
    PopularityModel,
)
from eventspace.baselines.base import Alternating
from eventspace.fitting.half_steps import FreeIndicators
from tests.test_public import _declared, public

EVERY = [
    BiasModel(),
    BinaryFactorization(3, n_jobs=1),
    HypercubeModel(3, n_iter=3, n_jobs=1, random_state=0),
    ItemKMeans(3, n_iter=3, n_jobs=1, random_state=0),
    PopularityModel(),
]
every = pytest.mark.parametrize("baseline", EVERY, ids=lambda kind: type(kind).__name__)
ALTERNATING = [kind for kind in EVERY if isinstance(kind, Alternating)]
alternating = pytest.mark.parametrize("baseline", ALTERNATING, ids=lambda kind: type(kind).__name__)


@parametrize_with_checks(EVERY)
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)


def test_public_names() -> None:
    assert baselines.__all__ == [type(kind).__name__ for kind in EVERY]
    assert sorted(dir(baselines)) == baselines.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = baselines.nothing
    common = {
        "fit",
        "inverse_transform",
        "predict",
        "recommend",
        "score",
        "transform",
    }
    more = {"ItemKMeans": {"codes_", "labels_"}, "BinaryFactorization": {"codes_"}}
    for kind in map(type, EVERY):
        own = {name for name in public(kind) if name in _declared(kind)}
        assert own == common | more.get(kind.__name__, set())


def test_the_room_opens_lightly() -> None:
    heavy = ["numba", "numpy", "pandas", "scipy", "sklearn"]
    code = (
        "import sys, json, eventspace.baselines;"
        f"print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []


@every
def test_questions_are_answered_as_the_model_does(ratings, baseline) -> None:
    model = clone(baseline).fit(ratings)
    everything = model.predict()
    assert everything.shape == (30, 20)
    products = model.pmf_ @ model.indicators_.T
    np.testing.assert_allclose(everything, np.clip(products, 0, 1), atol=1e-12)
    u = model.observations_.user_ids.positions(ratings["user"])
    i = model.observations_.item_ids.positions(ratings["item"])
    for pairs in (ratings, pl.from_pandas(ratings), (ratings["user"], ratings["item"])):
        np.testing.assert_allclose(model.predict(pairs), everything[u, i])
    lo, hi = ratings["rating"].min(), ratings["rating"].max()
    stars = model.predict(ratings, unit="original")
    np.testing.assert_allclose(stars, lo + (hi - lo) * everything[u, i])
    p = model.observations_.to_unit(ratings["rating"])
    error = np.square(everything[u, i] - p)
    assert model.error_ == pytest.approx(error.sum(), rel=1e-5, abs=1e-8)
    assert model.score(ratings) == pytest.approx(1 - error.mean() / p.var(), abs=1e-5)
    assert not set(model.recommend("u3", 4)["item"]) & set(ratings.item[ratings.user == "u3"])


@every
def test_unknown_ids_are_listed_with_a_remedy_that_exists(ratings, baseline) -> None:
    model = clone(baseline).fit(ratings)
    with pytest.raises(ValueError, match=r"'zoe'.*Fit again with them, or predict\(.*population"):
        model.predict((["zoe"], ["i1"]))
    with pytest.raises(ValueError, match=r"'Alien'.*Fit again with them\.$"):
        model.transform(pd.DataFrame({"user": ["a"], "item": ["Alien"], "rating": [3.0]}))
    p = model.predict((["zoe", "u1", "zoe"], ["i1", "?", "?"]), unknown="population")
    u1, i1 = (ids.positions([id_])[0] for ids, id_ in (
        (model.observations_.user_ids, "u1"), (model.observations_.item_ids, "i1")))  # fmt: skip
    theta, psi = model.pmf_mean_, model.indicator_mean_
    expected = [theta @ model.indicators_[i1], model.pmf_[u1] @ psi, theta @ psi]
    np.testing.assert_allclose(p, expected)


@every
def test_the_same_users_taken_as_new_have_the_same_predictions(ratings, baseline) -> None:
    """A user's row is a convex solve, so that it does not matter where it began."""
    settings = {"n_iter": 200, "tol": 0.0} if isinstance(baseline, Alternating) else {}
    model = clone(baseline).set_params(**settings).fit(ratings)
    wide = ratings.pivot(index="user", columns="item", values="rating")
    again = model.predict(wide[list(model.item_ids_)].loc[list(model.user_ids_)])
    seen = model.observations_.coo()[:2]
    np.testing.assert_allclose(again[seen], model.predict()[seen], atol=2e-3)


@alternating
def test_weights_count_as_repeated_entries(baseline) -> None:
    """A user of weight two and two users who say the same are one thing to the items."""
    rng = np.random.default_rng(3)
    table, weight = rng.random((12, 6)), np.ones((12, 6))
    weight[:4] = 2.0
    model = clone(baseline).set_params(pmf_penalty=0.0)
    twice, theta = np.vstack([table, table[:4]]), rng.dirichlet(np.ones(3), 12)
    start: dict = {}
    if isinstance(baseline, HypercubeModel):
        start = {"init": (theta, np.zeros((6, 3)))}
    weighted = model.set_params(**start).fit(Observations.from_wide(table, weight=weight))
    if start:
        start = {"init": (np.vstack([theta, theta[:4]]), np.zeros((6, 3)))}
    repeated = clone(model).set_params(**start).fit(twice)
    np.testing.assert_allclose(weighted.indicators_, repeated.indicators_, atol=1e-4)
    np.testing.assert_allclose(weighted.pmf_, repeated.pmf_[:12], atol=1e-4)
    assert weighted.error_ == pytest.approx(repeated.error_, rel=1e-4)


@every
def test_rows_and_columns_without_evidence_get_the_population(baseline) -> None:
    table = np.random.default_rng(0).random((10, 6))
    table[4], table[:, 2] = np.nan, np.nan
    model = clone(baseline).fit(table)
    everything = model.predict()
    assert np.isfinite(everything).all()
    np.testing.assert_allclose(everything[:, 2], model.pmf_ @ model.indicator_mean_)
    np.testing.assert_allclose(model.pmf_[4], model.pmf_mean_)
    with pytest.raises(ValueError, match="Nothing is observed"):
        model.fit(np.full((2, 2), np.nan))


@alternating
def test_the_cost_never_rises_and_more_starts_never_cost_more(ratings, baseline) -> None:
    for penalty in (0.0, 1.0, 20.0):
        settings = {"pmf_penalty": penalty, "n_iter": 30, "tol": 0.0}
        one = clone(baseline).set_params(**settings).fit(ratings)
        assert (np.diff(one.history_) <= 1e-9).all()
        ridge = penalty * np.square(one.pmf_ - one.pmf_mean_).sum()
        assert one.history_[-1] == pytest.approx(one.error_ + ridge, rel=1e-9)
        many = clone(baseline).set_params(n_init=4, **settings).fit(ratings)
        assert many.history_[-1] <= one.history_[-1]
        assert many.history_[-1] < one.history_[-1] or many.n_iter_ == one.n_iter_


@alternating
def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(ratings, baseline) -> None:
    one, two = clone(baseline).fit(ratings), clone(baseline).set_params(n_jobs=3).fit(ratings)
    np.testing.assert_array_equal(one.pmf_, two.pmf_)
    np.testing.assert_array_equal(one.indicators_, two.indicators_)
    other = clone(baseline).set_params(random_state=1).fit(ratings)
    assert not np.array_equal(one.pmf_, other.pmf_)


@alternating
def test_an_interrupt_is_passed_on(ratings, baseline, monkeypatch) -> None:
    update, calls = FreeIndicators.__call__, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return update(self, *args)

    monkeypatch.setattr(FreeIndicators, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clone(baseline).set_params(tol=0.0).fit(ratings)


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        (HypercubeModel(0), r"n_events=0 must be a whole number from 1 to 64"),
        (ItemKMeans(65), r"n_events=65 must be a whole number from 1 to 64"),
        (ItemKMeans(n_init=0), r"n_init=0 must be a whole number of at least 1"),
        (ItemKMeans(n_iter=0), r"n_iter=0 must be a whole number of at least 1"),
        (ItemKMeans(pmf_penalty=-1), r"pmf_penalty=-1 must be a finite number of at least 0"),
        (ItemKMeans(tol=-1.0), r"tol=-1.0 must be"),
        (ItemKMeans(n_jobs=0), r"n_jobs=0 must be"),
        (BinaryFactorization(21), r"n_events=21 must be a whole number from 1 to 20"),
        (BiasModel(damping=np.nan), r"damping=nan must be a finite number of at least 0"),
    ],
)
def test_bad_settings_are_refused_with_what_is_allowed(ratings, baseline, message) -> None:
    with pytest.raises(ValueError, match=message):
        baseline.fit(ratings)
