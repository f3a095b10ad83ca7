"""Surprise takes an estimator for one of its algorithms."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.whole
surprise = pytest.importorskip("surprise", reason="the extra 'surprise' is not installed")

from surprise import Dataset, Reader, accuracy
from surprise.model_selection import GridSearchCV, PredefinedKFold, cross_validate

from eventspace import KolmogorovDescent, KolmogorovModel
from eventspace.adapters.surprise import KolmogorovAlgorithm
from eventspace.baselines import BiasModel

STARS = Reader(rating_scale=(1, 5))


@pytest.fixture
def data(ratings: pd.DataFrame):
    return Dataset.load_from_df(ratings, STARS)


def test_predictions_are_those_of_the_estimator(data, ratings) -> None:
    descent = KolmogorovDescent(3, random_state=0)
    algorithm = KolmogorovAlgorithm(descent).fit(data.build_full_trainset())
    assert not hasattr(descent, "fitted_")
    assert isinstance(algorithm.model_, KolmogorovDescent)
    assert algorithm.model_.observations_.scale == (1, 5)
    pairs = ratings["user"].to_numpy(), ratings["item"].to_numpy()
    expected = algorithm.model_.predict(pairs, unit="original")
    one_by_one = [algorithm.predict(*pair).est for pair in zip(*pairs, strict=True)]
    assert one_by_one == expected.tolist()
    tested = algorithm.test([(u, i, r) for u, i, r in ratings.itertuples(index=False)])
    assert [p.est for p in tested] == expected.tolist()
    assert [p.r_ui for p in tested] == ratings.iloc[:, 2].tolist()
    assert [(p.uid, p.iid) for p in tested] == list(zip(*pairs, strict=True))


def test_the_population_stands_in(data) -> None:
    algorithm = KolmogorovAlgorithm(BiasModel()).fit(data.build_full_trainset())
    model = algorithm.model_
    mean = model.observations_.from_unit(model.mean_)
    for users, items in ((["nobody"], ["nothing"]), (["nobody"], ["i1"]), (["u1"], ["nothing"])):
        there = algorithm.predict(users[0], items[0])
        assert not there.details["was_impossible"]
        assert [there.est] == model.predict((users, items), unit="original", unknown="population")
    assert algorithm.predict("nobody", "nothing").est == pytest.approx(mean)


def test_it_says_what_it_predicts(data, capsys) -> None:
    algorithm = KolmogorovAlgorithm(BiasModel()).fit(data.build_full_trainset())
    tested = algorithm.test([("u1", "i1", 4.0), ("u2", "nothing", 3.0)], verbose=True)
    assert capsys.readouterr().out == "".join(f"{prediction}\n" for prediction in tested)


def test_a_search_finds_the_better_estimator(data) -> None:
    estimators = [BiasModel(damping=1e9), BiasModel(damping=1.0)]
    search = GridSearchCV(KolmogorovAlgorithm, {"estimator": estimators}, cv=3)
    search.fit(data)
    assert search.best_params["rmse"]["estimator"] is estimators[1]


def test_cross_validation_on_movielens(movielens_100k, tmp_path) -> None:
    """Surprise's own folds and figures, beside its SVD, which has 0.932."""
    files = []
    for name, frame in zip(("base", "test"), movielens_100k, strict=True):
        files.append(tmp_path / name)
        frame.to_csv(files[-1], sep="\t", header=False, index=False)
    reader = Reader("ml-100k")
    data = Dataset.load_from_folds([tuple(map(str, files))], reader)
    algorithm = KolmogorovAlgorithm(KolmogorovModel(random_state=0))
    found = cross_validate(algorithm, data, ["RMSE", "MAE"], cv=PredefinedKFold())
    assert found["test_rmse"][0] == pytest.approx(0.8975, abs=0.005)
    assert found["test_mae"][0] < 0.72
    test = movielens_100k[1]
    pairs = test["user"].astype(str), test["item"].astype(str)
    p = algorithm.model_.predict(pairs, unit="original", unknown="population")
    assert found["test_rmse"][0] == pytest.approx(np.sqrt(np.mean((p - test["rating"]) ** 2)))
    svd = surprise.SVD(random_state=0).fit(data.construct_trainset(data.read_ratings(files[0])))
    held_out = data.construct_testset(data.read_ratings(files[1]))
    assert found["test_rmse"][0] < accuracy.rmse(svd.test(held_out), verbose=False)


def test_a_copy_predicts_the_same(data) -> None:
    algorithm = KolmogorovAlgorithm(KolmogorovDescent(3, random_state=0))
    algorithm.fit(data.build_full_trainset())
    assert copy.deepcopy(algorithm).predict("u1", "i1") == algorithm.predict("u1", "i1")
