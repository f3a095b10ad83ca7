"""Cornac takes an estimator for one of its recommenders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.whole
cornac = pytest.importorskip("cornac", reason="the extra 'cornac' is not installed")

from cornac.eval_methods import BaseMethod
from cornac.metrics import MAE, NDCG, RMSE, Recall

from eventspace import KolmogorovDescent, KolmogorovModel
from eventspace.adapters.cornac import KolmogorovRecommender
from eventspace.baselines import BiasModel, PopularityModel


def triples(frame: pd.DataFrame) -> list[tuple]:
    return list(frame[["user", "item", "rating"]].itertuples(index=False, name=None))


@pytest.fixture
def train_set(ratings: pd.DataFrame):
    """In Cornac's order, which is not that of the table once it is shuffled."""
    return cornac.data.Dataset.from_uir(triples(ratings.sample(frac=1, random_state=0)))


def test_scores_are_those_of_the_estimator(train_set) -> None:
    descent = KolmogorovDescent(3, random_state=0)
    recommender = KolmogorovRecommender(descent).fit(train_set)
    assert not hasattr(descent, "fitted_")
    assert recommender.name == "KolmogorovDescent"
    model = recommender.model_
    for user_idx, user in enumerate(recommender.user_ids):
        expected = model.predict((user, recommender.item_ids))
        np.testing.assert_allclose(recommender.score(user_idx), expected)
        value = model.predict(([user], [recommender.item_ids[5]]), unit="original")[0]
        assert recommender.score(user_idx, 5) == value
        assert recommender.rate(user_idx, 5) == value


def test_recommendations_are_those_of_the_estimator(train_set) -> None:
    """Also of a model that ranks by something else than it predicts."""
    quick = KolmogorovModel(3, n_chains=2, n_warmup=2, n_draws=4, random_state=0)
    for estimator in (KolmogorovDescent(3, random_state=0), PopularityModel(), quick):
        recommender = KolmogorovRecommender(estimator).fit(train_set)
        own = recommender.recommend("u3", k=5, remove_seen=True, train_set=train_set)
        appeal = recommender.score(recommender.uid_map["u3"])
        scores = dict(zip(recommender.item_ids, appeal, strict=True))
        expected = recommender.model_.recommend("u3", 5)["item"]
        assert [scores[i] for i in own] == [scores[i] for i in expected]
    kept = recommender.recommend("u3", k=5, remove_seen=False)
    assert kept == own  # what was rated is not met next


def test_the_population_stands_in(ratings) -> None:
    known = ratings[(ratings["user"] != "u0") & (ratings["item"] != "i0")]
    method = BaseMethod.from_splits(triples(known), triples(ratings), exclude_unknowns=False)
    recommender = KolmogorovRecommender(BiasModel()).fit(method.train_set)
    user, item = recommender.uid_map["u0"], recommender.iid_map["i0"]
    assert recommender.is_unknown_user(user)
    assert recommender.is_unknown_item(item)
    mean = recommender.model_.observations_.from_unit(recommender.model_.mean_)
    assert recommender.rate(user, item) == pytest.approx(mean)
    assert len(recommender.score(user)) == recommender.num_items == known["item"].nunique()


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # Cornac leaves them open
def test_it_is_copied_named_and_kept(train_set, tmp_path) -> None:
    recommender = KolmogorovRecommender(BiasModel(damping=2.0), name="biases")
    again = recommender.clone({"estimator": PopularityModel()})
    assert (again.name, type(again.estimator)) == ("biases", PopularityModel)
    recommender.fit(train_set)
    kept = KolmogorovRecommender.load(recommender.save(str(tmp_path)))
    np.testing.assert_array_equal(kept.score(3), recommender.score(3))
    fixed = kept.model_
    with pytest.warns(UserWarning, match="already fitted"):  # Cornac's own
        assert kept.fit(train_set).model_ is fixed  # loaded, it is not trainable


def test_an_experiment_on_movielens(movielens_100k, tmp_path, monkeypatch, capsys) -> None:
    """Cornac's own split, figures and table."""
    train, test = (triples(frame) for frame in movielens_100k)
    method = BaseMethod.from_splits(train, test, rating_threshold=4.0, exclude_unknowns=False)
    models = [
        KolmogorovRecommender(KolmogorovModel(random_state=0)),
        KolmogorovRecommender(PopularityModel()),
        cornac.models.MF(seed=0),
    ]
    metrics = [RMSE(), MAE(), NDCG(10), Recall(10)]
    experiment = cornac.Experiment(method, models, metrics, user_based=False)
    monkeypatch.chdir(tmp_path)  # where Cornac writes a log
    experiment.run()
    ours, popular, factors = (result.metric_avg_results for result in experiment.result)
    assert ours["RMSE"] == pytest.approx(0.8975, abs=0.005)
    assert ours["RMSE"] < factors["RMSE"] < popular["RMSE"]
    assert popular["NDCG@10"] > 0.1
    assert "KolmogorovModel" in capsys.readouterr().out
