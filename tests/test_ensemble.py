"""The ensemble: one model made of many descents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from eventspace import KolmogorovDescent, KolmogorovEnsemble, Observations
from eventspace._base.codes import pack
from eventspace.engines.cpu import CPU
from eventspace.fitting.descent import Descent, descend
from eventspace.fitting.folds import held_out
from eventspace.fitting.half_steps import HalfSteps
from eventspace.fitting.restarts import PENALTIES, TRIAL_MODELS, Restarts, Trial, path_to
from eventspace.indicators import Local
from eventspace.pmf import Pairwise
from tests.planted import chances, noisy_stars

QUICK = {"n_events": 8, "n_models": 6}


@pytest.fixture(scope="module")
def noisy() -> tuple[Observations, pd.DataFrame]:
    """Stars from a planted model with noise: (train, test)."""
    train, test = noisy_stars()
    return Observations.from_long(train, scale=(1, 5)), test


@pytest.fixture(scope="module")
def ensemble(noisy) -> KolmogorovEnsemble:
    return KolmogorovEnsemble(**QUICK, random_state=0).fit(noisy[0])


def rmse(stars, test) -> float:
    return float(np.sqrt(np.mean((stars - test["rating"]) ** 2)))


def test_it_predicts_better_than_its_models_and_about_as_well_as_it_says(ensemble, noisy) -> None:
    test = noisy[1]
    found = rmse(ensemble.predict(test, unit="original"), test)
    seen = ensemble.observations_
    u, i = seen.user_ids.positions(test["user"]), seen.item_ids.positions(test["item"])
    single = [rmse(1 + 4 * (pmf @ bits.T)[u, i], test) for pmf, bits in ensemble.samples()]
    assert found < min(single)
    assert found < 0.6  # the noise alone is 0.4
    assert ensemble.held_out_error_ == pytest.approx(found, abs=0.1)


def test_penalties_are_those_that_predict_a_held_out_tenth_best(noisy, ensemble) -> None:
    fold = held_out(noisy[0], 0.1, np.random.RandomState(0))
    assert fold is not None
    pairs = [
        ids.values[at]
        for ids, at in zip(
            (noisy[0].user_ids, noisy[0].item_ids), (fold.users, fold.items), strict=True
        )
    ]
    error = {}
    for penalty in PENALTIES:
        for size in (0.0, 0.3):
            options = QUICK | {"n_models": 4, "pmf_penalty": penalty, "indicator_penalty": size}
            model = KolmogorovEnsemble(**options, random_state=0).fit(fold.train)
            error[penalty, size] = fold.error(model.predict(tuple(pairs)))
    chosen = ensemble.pmf_penalty_, ensemble.indicator_penalty_
    assert error[chosen] < np.median(list(error.values()))
    assert error[chosen] < 1.15 * min(error.values())  # models from other starts chose it


def test_given_penalties_are_kept_and_still_tried(noisy) -> None:
    options = {"pmf_penalty": 2.0, "indicator_penalty": 0.1}
    model = KolmogorovEnsemble(**QUICK, **options, random_state=0).fit(noisy[0])
    assert (model.pmf_penalty_, model.indicator_penalty_) == (2.0, 0.1)
    assert 0.4 < model.held_out_error_ < 0.8
    assert path_to(2.0) == [30.0, 10.0, 3.0, 2.0]
    assert path_to(3.0) == [30.0, 10.0, 3.0]


def test_every_model_has_the_sets_that_a_descent_leaves(noisy, ensemble) -> None:
    """At the end of a descent no user can do better alone: a convex solve changes nothing much."""
    seen = ensemble.observations_
    for pmf, bits in ensemble.samples():
        again = KolmogorovDescent.from_parts(pmf, bits, seen)
        again.set_params(pmf_penalty=ensemble.pmf_penalty_)
        solved = again.transform(seen)
        assert_allclose(solved @ bits.T, pmf @ bits.T, atol=0.05)


def test_the_same_seed_gives_the_same_models_on_any_number_of_threads(noisy, ensemble) -> None:
    again = KolmogorovEnsemble(**QUICK, random_state=0, n_jobs=1).fit(noisy[0])
    assert_array_equal(again.pmf_, ensemble.pmf_)
    assert_array_equal(again.codes_, ensemble.codes_)
    assert_array_equal(again.noise_, ensemble.noise_)
    other = KolmogorovEnsemble(**QUICK, random_state=1).fit(noisy[0])
    assert not np.array_equal(other.pmf_, ensemble.pmf_)


def test_intervals_cover_about_what_they_promise(ensemble, noisy) -> None:
    test = noisy[1]
    for level in (0.5, 0.9):
        found = ensemble.predict_interval(test, level, unit="original")
        inside = (found["low"] <= test["rating"].to_numpy()) & (
            test["rating"].to_numpy() <= found["high"]
        )
        assert inside.mean() == pytest.approx(level, abs=0.1)


def test_what_is_fitted_shows_itself(ensemble) -> None:
    assert "# fitted: Observations(" in repr(ensemble)
    assert "fitted" not in repr(KolmogorovEnsemble())


def test_noisier_users_have_more_noise() -> None:
    rng = np.random.default_rng(0)
    chance = chances(rng, 80, 60, 3)
    noise = np.where(np.arange(80) < 40, 0.05, 0.2)
    table = np.clip(0.4 + 0.2 * chance + rng.normal(0, noise[:, None], chance.shape), 0, 1)
    table[rng.random(table.shape) < 0.3] = np.nan
    seen = Observations.of(table, scale=(0, 1))
    found = KolmogorovEnsemble(3, n_models=3, random_state=0).fit(seen).noise_
    assert found[:40].max() < found[40:].min()
    assert_allclose(np.sqrt(np.mean(found**2)), np.sqrt(np.mean(noise**2)), rtol=0.25)


def test_noise_is_that_of_an_observation_of_weight_one() -> None:
    rng = np.random.default_rng(0)
    chance = chances(rng, 80, 60, 3)
    table = 0.4 + 0.2 * chance + rng.normal(0, 0.06, chance.shape)
    weight = np.where(np.arange(80) < 40, 1.0, 9.0)[:, None] * np.ones(60)
    seen = Observations.from_wide(table, weight=weight, scale=(0, 1))
    found = KolmogorovEnsemble(3, n_models=3, random_state=0).fit(seen).noise_
    assert found[40:].mean() > 1.8 * found[:40].mean()


def test_a_trial_tells_noise_from_the_spread_of_the_models(noisy) -> None:
    fold = held_out(noisy[0], 0.1, np.random.RandomState(0))
    assert fold is not None
    restarts = Restarts(n_events=8, n_iter=2, engine=CPU(), show=False)
    trial = restarts.best(fold, 3.0, [0.1], seed=5)
    assert trial[:2] == (3.0, 0.1)
    models, _ = restarts.fitted(fold.train, trial, 5, TRIAL_MODELS)
    p = np.array([(pmf @ bits.T)[fold.users, fold.items] for pmf, bits in models])
    assert trial.error == pytest.approx(fold.error(p.mean(axis=0)))
    truth = (fold.truth - 1) / 4
    each = np.mean([np.mean(np.square(q - truth)) for q in p])
    spread = p.var(axis=0).mean()
    assert spread > 0.1 * each  # or there is nothing to tell
    assert trial.noise**2 == pytest.approx(each - 2 * spread)


def test_each_penalty_has_its_iterations_however_the_last_one_ended(noisy) -> None:
    """A descent that stood still goes on with the next penalty until it stands still again."""
    restarts = Restarts(n_events=3, n_iter=60, engine=CPU(), show=False)
    trial = Trial(0.3, 0.0, np.nan, np.nan)
    ((pmf, bits),), _ = restarts.fitted(noisy[0], trial, 0, 1)
    start = Descent(pmf.copy(), pack(bits)[:, 0])
    engine = HalfSteps.on(CPU(), Local(3), Pairwise(), 0.0, 0.3)
    options = {"prior": "mean", "tol": 1e-4, "on_iteration": lambda now, pmfs: None}
    rng = np.random.default_rng(0)
    again = descend(start, noisy[0], engine, n_iter=60, rng=rng, **options)
    assert again.history[-1] > 0.998 * again.history[0]


def test_the_unrated_are_like_the_population() -> None:
    stars = np.random.default_rng(0).random((12, 8))
    stars[3] = stars[:, 2] = np.nan
    table = pd.DataFrame(stars, index=list("abcdefghijkl"), columns=[f"i{i}" for i in range(8)])
    model = KolmogorovEnsemble(4, n_models=3, random_state=0).fit(table)
    population = model.predict((["z"], ["i0"]), unknown="population")
    assert_allclose(model.predict((["d"], ["i0"])), population)
    assert 0.2 < model.predict((["a"], ["i2"]))[0] < 0.8
    assert_allclose(
        model.predict((["a"], ["i2"])), model.predict((["a"], ["none"]), unknown="population")
    )
    assert_allclose(model.predict()[0, 2], model.predict((["a"], ["i2"]))[0])


def test_a_table_of_which_nothing_can_be_held_out_is_fitted_all_the_same() -> None:
    table = pd.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "rating": [0.0, 1.0]})
    model = KolmogorovEnsemble(2, n_models=2, pmf_penalty=0.01, random_state=0)
    with pytest.warns(UserWarning, match="no entry can be held out: intervals are too narrow"):
        model.fit(table)
    assert np.isnan(model.held_out_error_)
    assert np.isfinite(model.noise_).all()
    assert_allclose(model.predict((["a", "b"], ["x", "y"])), [0, 1], atol=0.05)


def test_a_file_holds_it_all(ensemble, noisy, tmp_path) -> None:
    ensemble.save(tmp_path / "e")
    again = KolmogorovEnsemble.load(tmp_path / "e")
    assert_array_equal(again.predict(noisy[1]), ensemble.predict(noisy[1]))
    assert str(again.summary()) == str(ensemble.summary())
    assert "6 models of 8 events, 150 users, 60 items" in str(again.summary())
    with pytest.raises(ValueError, match="holds a KolmogorovEnsemble, not a KolmogorovDescent"):
        KolmogorovDescent.load(tmp_path / "e")


def test_mistakes_are_named() -> None:
    for options, message in (
        ({"n_events": 65}, "n_events=65 must be a whole number from 1 to 64"),
        ({"n_models": 0}, "n_models=0 must be a whole number from 1 to 4096"),
        ({"n_iter": 0}, "n_iter=0 must be a whole number of at least 1"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number above 0"),
        ({"pmf_penalty": -1}, "pmf_penalty=-1 must be a finite number"),
        ({"indicator_penalty": "none"}, "indicator_penalty='none' must be a finite number"),
    ):
        with pytest.raises(ValueError, match=message):
            KolmogorovEnsemble(**options).fit(np.eye(3))
    with pytest.raises(ValueError, match="Nothing is observed"):
        KolmogorovEnsemble().fit(np.full((2, 2), np.nan))


def test_movielens_is_predicted_better_than_by_a_single_model(movielens_100k) -> None:
    train, test = movielens_100k
    columns = ["user", "item", "rating"]
    seen = Observations.from_long(train[columns], scale=(1, 5))
    test = test[test["item"].isin(train["item"])]
    options = {"pmf_penalty": 3.0, "indicator_penalty": 0.3}
    model = KolmogorovEnsemble(8, n_models=8, **options, random_state=0).fit(seen)
    single = KolmogorovDescent(8, pmf_penalty=30, random_state=0).fit(seen)
    found = rmse(model.predict(test[columns], unit="original"), test)
    assert found < rmse(single.predict(test[columns], unit="original"), test) - 0.01
    assert found < 0.935


@pytest.mark.filterwarnings("ignore:no entry can be held out")
@parametrize_with_checks([KolmogorovEnsemble(2, n_models=2)])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)
