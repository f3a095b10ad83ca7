from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from eventspace import KolmogorovDescent, KolmogorovModelCV, Observations, metrics
from eventspace.estimators import selection
from eventspace.fitting import folds as held_out
from eventspace.splits import EntryKFold, long_table
from tests.planted import chances


@parametrize_with_checks(
    [KolmogorovModelCV((2, 3), pmf_penalty=(10, 1), cv=2, n_iter=2, n_init=1, n_jobs=1)]
)
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def noisy() -> pd.DataFrame:
    """A long table of noisy stars, 60 users x 40 items, of four events."""
    rng = np.random.default_rng(0)
    stars = 1 + 4 * chances(rng, 60, 40, 4, concentration=0.5)
    seen = np.argwhere(rng.random(stars.shape) < 0.5)
    value = stars[tuple(seen.T)] + rng.normal(0, 0.6, len(seen))
    return pd.DataFrame({"user": seen[:, 0], "item": seen[:, 1], "rating": value.round(1)})


def searched(table, **settings) -> KolmogorovModelCV:
    defaults = {"n_events": 3, "pmf_penalty": (10, 1), "indicator_penalty": 0.0, "n_init": 1}
    return KolmogorovModelCV(**(defaults | {"random_state": 0} | settings)).fit(table)


def test_the_best_mean_of_the_folds_is_chosen_and_refitted(noisy) -> None:
    grid = {"n_events": (1, 3), "pmf_penalty": (1, 100, 10), "indicator_penalty": (0, 0.1)}
    model = searched(noisy, pmf_prior=("mean", "zero"), cv=3, **grid)
    results = pd.DataFrame(model.cv_results_)
    assert len(results) == 2 * 3 * 2 * 2
    errors = results[["split0_rmse", "split1_rmse", "split2_rmse"]]
    np.testing.assert_allclose(results["mean_rmse"], errors.mean(axis=1))
    np.testing.assert_allclose(results["std_rmse"], errors.std(axis=1, ddof=0))
    assert results["fit_time"].min() > 0
    best = results.iloc[results["mean_rmse"].to_numpy().argmin()]
    assert model.best_params_ == {
        name: best[f"param_{name}"]
        for name in ("n_events", "pmf_prior", "indicator_penalty", "pmf_penalty")
    }
    assert model.best_params_["n_events"] == 3
    assert model.best_rmse_ == best["mean_rmse"]
    assert model.path_.tolist() == [p for p in (100, 10, 1) if p >= best["param_pmf_penalty"]]
    assert model.observations_.n_observed == len(noisy)
    assert model.best_model_.pmf_penalty == best["param_pmf_penalty"]


def test_errors_are_of_held_out_entries_in_the_unit_of_the_table(noisy, monkeypatch) -> None:
    """The first fold is fitted again by hand: ids as they are, everything else in training."""
    made = []
    of = held_out.Fold.of

    def kept(*args):
        made.append(of(*args))
        return made[-1]

    monkeypatch.setattr(held_out.Fold, "of", kept)
    model = searched(noisy, pmf_penalty=5, cv=0.2)
    (fold,) = made
    u, i = (model.observations_.user_ids, model.observations_.item_ids)
    assert fold.train.user_ids is u
    pairs = pd.MultiIndex.from_arrays([u.values[fold.users], i.values[fold.items]])
    table = noisy.set_index(["user", "item"])["rating"]
    held, rest = table.loc[pairs], table.drop(pairs)
    np.testing.assert_allclose(fold.truth, held, atol=1e-6)
    assert len(held) == pytest.approx(0.2 * len(noisy), abs=1)
    ut, it, p = fold.train.coo()
    again = pd.Series(
        fold.train.from_unit(p), pd.MultiIndex.from_arrays([u.values[ut], i.values[it]])
    )
    np.testing.assert_allclose(again.loc[rest.index], rest, atol=1e-6)
    assert len(again) == len(rest)
    refit = KolmogorovDescent(
        3, pmf_penalty=5, n_iter=model.n_iter, n_init=1, random_state=model.best_model_.random_state
    ).fit(fold.train)
    predicted = refit.predict((held.index.get_level_values(0), held.index.get_level_values(1)),
                              unit="original")  # fmt: skip
    assert model.best_rmse_ == pytest.approx(metrics.rmse(held, predicted), rel=1e-6)


def test_a_path_goes_on_from_the_stronger_penalty(noisy) -> None:
    model = searched(noisy, pmf_penalty=(100, 10), n_iter=3)
    assert model.path_.tolist() == [100, 10]
    by_hand = KolmogorovDescent(3, n_iter=3, n_init=1, warm_start=True,
                              random_state=model.best_model_.random_state)  # fmt: skip
    for penalty in model.path_:
        by_hand.set_params(pmf_penalty=penalty).fit(noisy)
    np.testing.assert_array_equal(model.pmf_, by_hand.pmf_)
    cold = clone(by_hand).fit(noisy)
    assert not np.allclose(model.pmf_, cold.pmf_)


def test_auto_stops_when_nothing_gets_better(noisy, monkeypatch) -> None:
    monkeypatch.setattr(selection, "EVENTS", (1, 6, 2, 8))
    model = searched(noisy, n_events="auto", pmf_penalty="auto", cv=0.2)
    results = pd.DataFrame(model.cv_results_)
    assert results["param_n_events"].unique().tolist() == [1, 6, 2]
    assert model.best_params_["n_events"] == 6
    for _, path in results.groupby("param_n_events"):
        assert path["param_pmf_penalty"].tolist() == list(selection.PENALTIES[: len(path)])
        best = path["mean_rmse"].to_numpy().argmin()
        assert len(path) == best + 1 + selection.PATIENCE < len(selection.PENALTIES)


def test_the_choice_predicts_better_than_the_default_model(noisy) -> None:
    held = np.random.default_rng(1).random(len(noisy)) < 0.2
    train, test = noisy[~held], noisy[held]
    errors = [
        metrics.rmse(test["rating"], model.fit(train).predict(test, unit="original"))
        for model in (
            KolmogorovModelCV((8, 16), cv=0.2, n_init=1, random_state=0),
            KolmogorovDescent(random_state=0),
        )
    ]
    assert errors[0] < 0.97 * errors[1]


def test_where_a_path_leads_astray_random_starts_help() -> None:
    """The planted table of the README: the path alone ends far off."""
    rng = np.random.default_rng(0)
    chance = chances(rng, 60, 40, 4, concentration=0.5)
    seen = rng.random(chance.shape) < 0.4
    table = np.full(chance.shape, np.nan)
    table[seen] = np.clip(chance[seen] + rng.normal(0, 0.2, seen.sum()), 0, 1)
    settings = {"pmf_penalty": (640, 40, 5, 0.6), "indicator_penalty": (0.0, 0.2)}
    apart = {}
    for n_init in (1, "auto"):
        model = KolmogorovModelCV(4, **settings, n_init=n_init, random_state=0).fit(table)
        apart[n_init] = metrics.rmse(chance.ravel(), model.predict().ravel())
    assert apart["auto"] < 0.75 * apart[1]


def test_it_is_the_best_model_in_every_way(noisy, tmp_path) -> None:
    model = searched(noisy)
    best = model.best_model_
    pd.testing.assert_frame_equal(model.rules(top=5), best.rules(top=5))
    assert str(model.explain(1, 2)) == str(best.explain(1, 2))
    assert model.summary() == best.summary()
    np.testing.assert_array_equal(model.transform(noisy), best.transform(noisy))
    model.save(tmp_path / "m")
    loaded = KolmogorovModelCV.load(tmp_path / "m")
    assert type(loaded) is KolmogorovDescent
    np.testing.assert_array_equal(loaded.predict(noisy), model.predict(noisy))
    new = pd.DataFrame({"user": ["zoe"] * 3, "item": [0, 1, 2], "rating": [5, 1, 3]})
    assert model.fold_in(new) is model
    np.testing.assert_allclose(model.predict(("zoe", [0, 5])), loaded.fold_in(new).predict(
        ("zoe", [0, 5])))  # fmt: skip
    assert clone(model).get_params() == model.get_params()
    assert "KolmogorovModelCV(" in repr(model)


def test_restarts_go_down_the_same_path(noisy, monkeypatch) -> None:
    model = searched(noisy)
    fits = []
    learn = selection.learn  # type: ignore[attr-defined]

    def seen(observations, settings, **options):
        fits.append((settings.pmf_penalty, settings.random_state))
        return learn(observations, settings, **options)

    monkeypatch.setattr(selection, "learn", seen)
    assert model.rules(top=5, restarts=2)["stability"].between(0, 1).all()
    assert [penalty for penalty, _ in fits] == 2 * model.path_.tolist()
    assert len({seed for _, seed in fits}) == 2


def test_the_same_seed_gives_the_same_choice_on_any_number_of_threads(noisy) -> None:
    one, two = (searched(noisy, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.pmf_, two.pmf_)
    np.testing.assert_array_equal(one.cv_results_["mean_rmse"], two.cv_results_["mean_rmse"])
    other = searched(noisy, random_state=1)
    assert (one.cv_results_["mean_rmse"] != other.cv_results_["mean_rmse"]).all()


@pytest.mark.parametrize("form", ["wide", "array", "sparse", "observations"])
def test_any_table_is_searched_by_entries(noisy, form) -> None:
    wide = noisy.pivot(index="user", columns="item", values="rating").sort_index(axis=1)
    array = wide.to_numpy()
    u, i = np.nonzero(~np.isnan(array))
    table = {
        "wide": wide,
        "array": array,
        "sparse": sparse.coo_array((array[u, i], (u, i)), shape=array.shape),
        "observations": Observations.of(wide),
    }[form]
    expected = searched(Observations.of(array))
    np.testing.assert_allclose(searched(table).best_rmse_, expected.best_rmse_, rtol=1e-6)


def test_weights_count_in_the_held_out_error(noisy) -> None:
    weight = np.random.default_rng(0).exponential(size=len(noisy))
    seen = Observations.of(noisy.assign(weight=weight))
    (fold,) = held_out.folds(seen, 0.3, np.random.RandomState(0))
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


@pytest.mark.parametrize("cv", ["auto", 2, 5, 50, 0.5])
def test_every_user_and_item_keeps_entries(cv) -> None:
    rng = np.random.default_rng(0)
    table = np.where(rng.random((12, 9)) < 0.3, rng.random((12, 9)), np.nan)
    seen = Observations.of(table)
    folds = held_out.folds(seen, cv, np.random.RandomState(0))
    assert folds
    for fold in folds:
        assert fold.users.size
        for order in ("by_user", "by_item"):
            before, after = (np.diff(getattr(o, order).ptr) for o in (seen, fold.train))
            np.testing.assert_array_equal(before > 0, after > 0)
        assert fold.users.size + fold.train.n_observed == seen.n_observed
    if cv != 0.5:  # no entry is held out twice
        pairs = [p for fold in folds for p in zip(fold.users, fold.items, strict=True)]
        assert len(set(pairs)) == len(pairs)


def test_small_tables_are_searched_too() -> None:
    nan = np.nan
    toy = np.array([[5, 5, 2, 1, 5], [4, 5, nan, 2, 5], [1, 2, 4, nan, 4], [2, nan, 5, 4, 5],
                    [nan, 1, 5, 5, 5]])  # fmt: skip
    model = KolmogorovModelCV(n_init=1, random_state=0).fit(toy)
    assert np.isfinite(model.best_rmse_)
    assert set(model.cv_results_["param_n_events"]) == {4}  # 8 would be more than there are items
    assert model.predict().shape == (5, 5)
    for lonely in (np.array([[0.3]]), np.where(np.eye(4), 0.5, nan)):
        with pytest.warns(UserWarning, match="no entry can be held out"):
            model = KolmogorovModelCV(random_state=0).fit(lonely)
        assert np.isnan(model.best_rmse_)
        assert model.best_params_["n_events"] == selection.EVENTS[0]
        assert model.predict().shape == lonely.shape


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_events": ()}, r"n_events=\(\) has nothing to try"),
        ({"n_events": "many"}, r"n_events='many' must be a whole number"),
        ({"n_events": (4, 65)}, r"n_events=65 must be a whole number from 1 to 64"),
        ({"pmf_penalty": (1, -1)}, r"pmf_penalty=-1 must be a finite number"),
        ({"pmf_prior": ("mean", "flat")}, r"pmf_prior='flat' is unknown"),
        ({"indicator_penalty": "auto"}, r"indicator_penalty='auto' must be a finite number"),
        ({"cv": 1}, r"cv=1 must be 'auto', at least 2 folds, or a part"),
        ({"cv": 1.5}, r"cv=1.5 must be"),
        ({"cv": True}, r"cv=True must be"),
        ({"cv": "five"}, r"cv='five' must be"),
    ],
)
def test_bad_settings_are_refused_before_any_fit(noisy, settings, message, monkeypatch) -> None:
    monkeypatch.setattr(KolmogorovDescent, "fit", None)
    with pytest.raises(ValueError, match=message):
        searched(noisy, **settings)


def test_an_interrupt_ends_the_search(noisy, monkeypatch) -> None:
    learn = selection.learn  # type: ignore[attr-defined]

    def interrupted(*arguments, **options):
        descent = learn(*arguments, **options)
        descent.interrupted = True
        return descent

    monkeypatch.setattr(selection, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        searched(noisy)


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
