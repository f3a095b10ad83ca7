"""LensKit takes an estimator for one of its scorers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.whole
pytest.importorskip("lenskit", reason="the extra 'lenskit' is not installed")

from lenskit import batch
from lenskit.data import Dataset, ItemList, ItemListCollection, RecQuery, from_interactions_df
from lenskit.metrics import NDCG, RMSE, RunAnalysis
from lenskit.pipeline import Pipeline, predict_pipeline, topn_pipeline
from lenskit.testing import BasicComponentTests, ScorerTests
from lenskit.training import TrainingOptions

from eventspace import KolmogorovDescent, KolmogorovModel
from eventspace.adapters.lenskit import KolmogorovScorer
from eventspace.baselines import BiasModel, PopularityModel

IDS = {"user": "user_id", "item": "item_id"}


@pytest.fixture(scope="module")
def ml_100k(movielens_100k: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(movielens_100k).rename(columns=IDS)


@pytest.fixture(scope="module")
def ml_ratings(ml_100k: pd.DataFrame) -> pd.DataFrame:
    return ml_100k[ml_100k["user_id"] <= 300]


@pytest.fixture(scope="module")
def ml_ds(ml_ratings: pd.DataFrame) -> Dataset:
    return from_interactions_df(ml_ratings)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore:Class-scoped fixtures", "ignore:user_items is deprecated")
class TestAsLensKitTestsScorers(BasicComponentTests, ScorerTests):  # type: ignore[misc]
    """The tests that LensKit ships for the scorers of others, and what they themselves warn of."""

    component = KolmogorovScorer
    configs = ({"estimator": BiasModel(damping=2.0), "score": "appeal"},)
    config = KolmogorovScorer(estimator=KolmogorovDescent(8, pmf_penalty=30)).config
    can_score = "all"
    expected_rmse = 0.98
    expected_ndcg = 0.0


def test_scores_are_those_of_the_estimator(ml_ds) -> None:
    descent = KolmogorovDescent(3, random_state=0)
    scorer = KolmogorovScorer(estimator=descent)
    scorer.train(ml_ds)
    assert not hasattr(descent, "fitted_")
    model, items = scorer.model_, ItemList(ml_ds.items.ids()[:50])
    expected = model.predict((7, items.ids()), unit="original")
    np.testing.assert_allclose(scorer(7, items).scores(), expected, rtol=1e-6)
    unknown = ItemList([1, 99_999])
    expected = model.predict(([-1] * 2, [1, 99_999]), unit="original", unknown="population")
    np.testing.assert_allclose(scorer(-1, unknown).scores(), expected, rtol=1e-6)
    np.testing.assert_allclose(scorer(None, unknown).scores(), expected, rtol=1e-6)


def test_the_ratings_of_a_query_say_who_a_new_user_is(ml_ds) -> None:
    scorer = KolmogorovScorer(estimator=KolmogorovDescent(3, random_state=0))
    scorer.train(ml_ds)
    items, seen = ItemList(ml_ds.items.ids()[:50]), [1, 50, 99_999]
    history = ItemList(seen, rating=np.array([5.0, 1.0, 3.0]))
    new = ([0, 0], seen[:2], [5.0, 1.0])
    p = scorer.model_.inverse_transform(scorer.model_.transform(new))[0]
    at = scorer.model_.observations_.item_ids.positions(items.ids())
    expected = scorer.model_.observations_.from_unit(p[at])
    for query in (history, RecQuery(user_id=-1, history_items=history)):
        np.testing.assert_allclose(scorer(query, items).scores(), expected, rtol=1e-6)
    nothing_known = ItemList([99_999], rating=np.array([3.0]))
    np.testing.assert_array_equal(
        scorer(nothing_known, items).scores(), scorer(None, items).scores()
    )


def test_recommendations_are_those_of_the_estimator(ml_ds) -> None:
    scorer = KolmogorovScorer(estimator=PopularityModel(), score="appeal")
    pipeline = topn_pipeline(scorer, n=10)
    pipeline.train(ml_ds)
    own = pipeline.run("recommender", query=7)
    expected = scorer.model_.recommend(7)
    np.testing.assert_allclose(own.scores(), expected["chance"], rtol=1e-6)  # LensKit's are float32
    assert own.ids().tolist() == expected["item"].tolist()
    assert np.isnan(scorer(7, ItemList([99_999])).scores()).all()


def test_a_pipeline_is_made_again_from_its_configuration(ml_ds) -> None:
    scorer = KolmogorovScorer(estimator=KolmogorovDescent(3, random_state=4), score="appeal")
    pipeline = predict_pipeline(scorer, fallback=False)
    again = Pipeline.from_config(pipeline.config).component("scorer")
    assert again.config.score == "appeal"
    assert again.config.estimator.get_params() == scorer.config.estimator.get_params()


@pytest.mark.parametrize("own", [None, 5])
def test_the_seed_is_the_estimators_own_or_lenskits(own, ml_ds) -> None:
    found = []
    for seed in (1, 1, 2):
        scorer = KolmogorovScorer(estimator=KolmogorovDescent(3, n_iter=2, random_state=own))
        scorer.train(ml_ds, TrainingOptions(rng=seed))
        found.append(scorer.model_.random_state)
    assert found[0] == found[1]
    assert (found[1] == found[2]) == (own is not None)


def test_a_data_set_without_ratings_says_who_met_what(ml_ratings) -> None:
    data = from_interactions_df(ml_ratings[["user_id", "item_id"]])
    quick = KolmogorovModel(3, n_chains=2, n_warmup=3, n_draws=4, random_state=0, meets=False)
    scorer = KolmogorovScorer(estimator=quick)
    scorer.train(data)
    assert scorer.model_.observations_.missing == 1.0
    users = ml_ratings["user_id"].unique()[:20]
    met = {user: set(own) for user, own in ml_ratings.groupby("user_id")["item_id"]}
    items = ItemList(sorted(set().union(*met.values())))
    for user in users:
        scores = scorer(user, items).scores()
        own = np.isin(items.ids(), list(met[user]))
        assert scores[own].mean() > scores[~own].mean()


def test_a_run_on_movielens(movielens_100k) -> None:
    """LensKit's own pipeline, batch inference and figures."""
    train, test = (frame.rename(columns=IDS) for frame in movielens_100k)
    held_out = ItemListCollection.from_df(test[["user_id", "item_id", "rating"]], ["user_id"])
    scorer = KolmogorovScorer(estimator=KolmogorovModel(random_state=0))
    pipeline = topn_pipeline(scorer, predicts_ratings="raw", n=10)
    pipeline.train(from_interactions_df(train))
    predicted = RunAnalysis(RMSE()).measure(batch.predict(pipeline, held_out, n_jobs=1), held_out)
    ranked = RunAnalysis(NDCG(10)).measure(batch.recommend(pipeline, held_out, n_jobs=1), held_out)
    model = scorer.model_
    p = model.predict((test["user_id"], test["item_id"]), unit="original", unknown="population")
    error = pd.DataFrame({"user": test["user_id"], "square": np.square(p - test["rating"])})
    by_user = np.sqrt(error.groupby("user")["square"].mean())
    assert predicted.list_summary().loc["RMSE", "mean"] == pytest.approx(by_user.mean(), abs=1e-6)
    assert np.sqrt(error["square"].mean()) == pytest.approx(0.8975, abs=0.005)
    assert ranked.list_summary().loc["NDCG@10", "mean"] > 0.05
