from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from eventspace import KolmogorovDescent, Observations
from eventspace.engines import cpu
from eventspace.fitting.half_steps import PmfStep
from eventspace.indicators import SDR, Exact, Local
from eventspace.pmf import FrankWolfe, Pairwise
from tests import naive
from tests.observing import probabilities


@parametrize_with_checks([KolmogorovDescent(n_events=3, n_iter=3, n_init=1, n_jobs=1)])
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)


def fitted(ratings: pd.DataFrame, **settings) -> KolmogorovDescent:
    defaults = {"n_events": 3, "pmf_penalty": 0.1, "random_state": 0}
    return KolmogorovDescent(**(defaults | settings)).fit(ratings)


def test_the_papers_toy_example_is_found_exactly() -> None:
    table = np.array([[0.3, 0.5], [0.1, 0.2]])
    model = KolmogorovDescent(3, pmf_penalty=0.0, random_state=0).fit(table)
    np.testing.assert_allclose(model.predict(), table, atol=1e-3)


def test_a_planted_model_is_recovered() -> None:
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.full(4, 0.5), 60)
    psi = rng.random((50, 4)) < 0.5
    model = KolmogorovDescent(4, pmf_penalty=0.0, n_iter=200, tol=0.0, n_init=10, random_state=0)
    model.fit(theta @ psi.T)
    order = [int(np.argmin([((model.pmf_[:, d] - theta[:, e]) ** 2).sum() for d in range(4)]))
             for e in range(4)]  # fmt: skip
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.indicators_[:, order], psi)
    np.testing.assert_allclose(model.pmf_[:, order], theta, atol=1e-3)


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(ratings, monkeypatch) -> None:
    monkeypatch.setattr(cpu, "CHUNK_WORK", 100)
    by_user = Observations.of(ratings).by_user
    cuts = cpu._chunks(by_user, 3, shared=False)
    assert len(cuts) > 10
    one, two = fitted(ratings, n_jobs=1), fitted(ratings, n_jobs=3)
    np.testing.assert_array_equal(one.codes_, two.codes_)
    np.testing.assert_array_equal(one.pmf_, two.pmf_)
    other = fitted(ratings, random_state=1)
    assert not np.array_equal(one.pmf_, other.pmf_)


@pytest.mark.parametrize("form", ["long", "wide", "polars", "sparse", "triples", "array"])
def test_every_form_of_a_table_gives_the_same_model(ratings, form) -> None:
    wide = ratings.pivot(index="user", columns="item", values="rating")
    array = wide.to_numpy()
    u, i = np.nonzero(~np.isnan(array))
    data = {
        "long": ratings,
        "wide": wide,
        "polars": pl.from_pandas(ratings),
        "sparse": sparse.coo_array((array[u, i], (u, i)), shape=array.shape),
        "triples": tuple(ratings[name] for name in ("user", "item", "rating")),
        "array": array,
    }[form]
    reference = fitted(Observations.of(array))
    model = fitted(data)
    np.testing.assert_array_equal(model.codes_, reference.codes_)
    np.testing.assert_allclose(model.pmf_, reference.pmf_)


def test_predictions_are_theta_dot_psi_in_either_unit(ratings) -> None:
    model = fitted(ratings)
    everything = model.predict()
    np.testing.assert_allclose(everything, model.pmf_ @ model.indicators_.T)
    pairs = ratings[["user", "item"]]
    p = model.predict(pairs)
    u = model.observations_.user_ids.positions(ratings["user"])
    i = model.observations_.item_ids.positions(ratings["item"])
    np.testing.assert_allclose(p, everything[u, i])
    one = model.predict(("u1", ["i1", "i2"]))
    np.testing.assert_array_equal(one, model.predict((["u1", "u1"], ["i1", "i2"])))
    np.testing.assert_array_equal(one[:1], model.predict(("u1", "i1")))
    for same in (ratings, (ratings["user"], ratings["item"]), pl.from_pandas(pairs)):
        np.testing.assert_array_equal(model.predict(same), p)
    lo, hi = ratings["rating"].min(), ratings["rating"].max()
    np.testing.assert_allclose(model.predict(pairs, unit="original"), lo + (hi - lo) * p)


def test_unknown_ids_are_listed_or_met_by_the_population(ratings) -> None:
    model = fitted(ratings)
    with pytest.raises(ValueError, match=r"2 of these users: 'zoe', 'yan'.*population"):
        model.predict((["zoe", "u1", "yan", "zoe"], ["i1"] * 4))
    with pytest.raises(ValueError, match=r"1 of these items: 'Alien'"):
        model.predict((["u1"], ["Alien"]))
    p = model.predict((["zoe", "u1", "zoe"], ["i1", "?", "?"]), unknown="population")
    u1, i1 = (ids.positions([id_])[0] for ids, id_ in (
        (model.observations_.user_ids, "u1"), (model.observations_.item_ids, "i1")))  # fmt: skip
    theta, psi = model.pmf_.mean(axis=0), model.indicators_.mean(axis=0)
    expected = [theta @ model.indicators_[i1], model.pmf_[u1] @ psi, theta @ psi]
    np.testing.assert_allclose(p, expected)


def test_rows_and_columns_without_evidence_get_the_population() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((10, 6))
    table[4], table[:, 2] = np.nan, np.nan
    model = KolmogorovDescent(3, random_state=0).fit(table)
    rated = np.delete(np.arange(10), 4)
    np.testing.assert_allclose(model.pmf_[4], model.pmf_[rated].mean(axis=0))
    others = np.delete(model.indicators_, 2, axis=0).mean(axis=0)
    np.testing.assert_allclose(model.predict()[:, 2], model.pmf_ @ others)
    assert 2 not in model.recommend(0, 6, seen=True)["item"].tolist()


def test_transform_solves_each_row_to_the_minimum(ratings) -> None:
    model = fitted(ratings, pmf_penalty=0.7)
    wide = ratings.pivot(index="user", columns="item", values="rating")
    pmf = model.transform(wide)
    assert pmf.shape == (len(wide), 3)
    psi = model.indicators_.astype(float)
    for k, user in enumerate(wide.index[:5]):
        mine = ratings[ratings["user"] == user]
        index = model.observations_.item_ids.positions(mine["item"])
        p = model.observations_.to_unit(mine["rating"])
        Q, r, _ = naive.sums(psi, index, p, np.ones(len(p)))
        Q, r = Q + 0.7 * np.eye(3), r + 0.7 * model.pmf_mean_
        assert naive.f(Q, r, pmf[k]) == pytest.approx(naive.simplex_minimum(Q, r), abs=1e-5)
    np.testing.assert_allclose(model.inverse_transform(pmf), pmf @ psi.T)


def test_a_table_of_rows_is_completed(ratings) -> None:
    model = fitted(ratings)
    rows = np.full((2, 20), np.nan)
    rows[0, :4] = [5, 1, 3, 2]
    completed = model.predict(rows)
    np.testing.assert_allclose(completed, model.inverse_transform(model.transform(rows)))
    np.testing.assert_allclose(completed[1], model.inverse_transform(model.pmf_mean_)[0])


def test_two_columns_are_pairs_whichever_comes_first(ratings) -> None:
    model = fitted(ratings)
    right = model.predict((["u3"], ["i11"]))
    for frame in ({"movie": ["i11"], "who": ["u3"]}, {"who": ["u3"], "movie": ["i11"]},
                  {"a": ["u3"], "b": ["i11"]}):  # fmt: skip
        np.testing.assert_array_equal(model.predict(pd.DataFrame(frame)), right)


def test_a_perfect_fit_has_a_summary() -> None:
    for value in (0.0, 0.5, 1.0):
        for penalty in (0.0, 1.0, 1e9):
            model = KolmogorovDescent(3, pmf_penalty=penalty, random_state=0)
            table = np.vstack([np.full((6, 5), value), np.full((1, 5), 0.25)])
            assert model.fit(table).error_ >= 0.0
            assert "RMSE" in model.summary()


def test_users_without_any_rating_are_the_population() -> None:
    table = np.random.default_rng(0).random((8, 5))
    model = KolmogorovDescent(2, random_state=0).fit(table)
    np.testing.assert_allclose(model.transform(np.full((1, 5), np.nan))[0], model.pmf_mean_)
    with pytest.raises(ValueError, match="Nothing is observed"):
        model.fit(np.full((2, 2), np.nan))


def test_an_item_that_nobody_had_rated_is_solved_when_somebody_does() -> None:
    table = np.random.default_rng(0).random((10, 6))
    table[:, 4] = np.nan
    model = KolmogorovDescent(3, random_state=0).fit(table)
    model.update((["a", "b", "a", "b"], [4, 4, 0, 0], [1.0, 1.0, 0.9, 0.8]))
    assert model.predict((["a", "b"], [4, 4])).min() > 0.5
    assert model.proved_.shape == (6,)


def test_score_takes_sparse_tables_and_values_beyond_the_scale(ratings) -> None:
    array = np.random.default_rng(0).random((12, 7))
    array[array < 0.3] = 0.0
    model = KolmogorovDescent(3, random_state=0).fit(sparse.csr_array(array))
    assert model.score(sparse.csr_array(array)) == pytest.approx(
        model.score(np.where(array == 0, np.nan, array))
    )
    model = fitted(ratings)
    beyond = ratings.assign(rating=ratings["rating"] + 0.5)
    assert model.score(beyond) < model.score(ratings)


def test_grid_search_works_on_the_rows_of_a_long_table(ratings) -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(KolmogorovDescent(random_state=0), {"n_events": [1, 3]}, cv=folds)
    search.fit(ratings)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"n_events": 3}


def test_unknown_ids_of_any_kind_are_listed() -> None:
    users = np.fromiter([("a", 1), ("b", 2)], dtype=object, count=2)
    model = KolmogorovDescent(2, random_state=0).fit((users, ["x", "y"], [0.1, 0.9]))
    with pytest.raises(ValueError, match=r"knows no user \('z', 1\)"):
        model.recommend(("z", 1))


def test_score_is_r2_over_the_observed_entries(ratings) -> None:
    model = fitted(ratings)
    held_out = ratings.sample(40, random_state=0)
    p = model.observations_.to_unit(held_out["rating"])
    error = ((model.predict(held_out) - p) ** 2).sum() / ((p - p.mean()) ** 2).sum()
    assert model.score(held_out) == pytest.approx(1 - error, abs=1e-5)
    array = ratings.pivot(index="user", columns="item", values="rating")[
        list(model.observations_.item_ids)
    ].to_numpy()
    rows = model.transform(array) @ model.indicators_.T
    seen = ~np.isnan(array)
    p = model.observations_.to_unit(array[seen])
    error = ((rows[seen] - p) ** 2).sum() / ((p - p.mean()) ** 2).sum()
    assert model.score(array) == pytest.approx(1 - error, abs=1e-5)


def test_recommendations_are_the_likeliest_unseen_items_in_the_callers_library(ratings) -> None:
    model = fitted(pl.from_pandas(ratings))
    best = model.recommend("u3", 4)
    assert isinstance(best, pl.DataFrame)
    assert best.columns == ["item", "probability", "ratings"]
    seen = set(ratings.loc[ratings["user"] == "u3", "item"])
    assert not seen & set(best["item"])
    unseen = [item for item in model.observations_.item_ids if item not in seen]
    p = model.predict((["u3"] * len(unseen), unseen))
    np.testing.assert_allclose(best["probability"], np.sort(p)[::-1][:4])
    counts = ratings["item"].value_counts()
    some = model.recommend("u3", 20, seen=True, min_evidence=20)
    assert set(some["item"]) == set(counts[counts >= 20].index)
    with pytest.raises(ValueError, match="'zoe'"):
        model.recommend("zoe")
    stars = fitted(ratings).recommend("u3", 4, unit="original")
    assert isinstance(stars, pd.DataFrame)
    lo, hi = ratings["rating"].min(), ratings["rating"].max()
    np.testing.assert_allclose(stars["value"], lo + (hi - lo) * best["probability"].to_numpy())


def test_an_update_solves_for_its_users_and_items_and_leaves_the_rest(ratings) -> None:
    """New users u7 and u8, a new item i5, a user who rates anew, and a rating that goes."""
    known = ratings[~ratings["user"].isin(["u7", "u8"]) & (ratings["item"] != "i5")]
    model = fitted(known)
    before = clone(model).fit(known)
    table = pd.concat(
        [
            ratings[ratings["user"].isin(["u7", "u8"])],
            ratings[(ratings["item"] == "i5") & ratings["user"].isin(["u0", "u6"])],
            pd.DataFrame({"user": ["u9"], "item": ["i0"], "rating": [3.21]}),
        ]
    )
    gone = known[known["user"] == "u11"].iloc[:1]
    assert model.update(table, forget=gone[["user", "item"]]) is model
    seen = model.observations_
    assert list(seen.user_ids)[-2:] == ["u7", "u8"]
    moved = {*table["user"], "u11"}
    others = [k for k, user in enumerate(before.user_ids_) if user not in moved]
    assert_array_equal(model.pmf_[others], before.pmf_[others])
    kept = [
        k for k, item in enumerate(before.item_ids_) if item not in {*table["item"], *gone["item"]}
    ]
    assert kept
    assert_array_equal(model.codes_[kept], before.codes_[kept])
    psi, penalty = model.indicators_.astype(float), model.pmf_penalty
    for user in moved:  # given the sets now
        u = list(seen.user_ids).index(user)
        row = slice(*seen.by_user.ptr[u : u + 2])
        Q, r, _ = naive.sums(psi, seen.by_user.index[row], seen.by_user.value[row], np.ones(999))
        Q, r = Q + penalty * np.eye(3), r + penalty * before.pmf_mean_
        assert naive.f(Q, r, model.pmf_[u]) == pytest.approx(naive.simplex_minimum(Q, r), abs=1e-5)
    errors = model.predict(seen) - seen.coo()[2]
    assert model.error_ == pytest.approx((errors**2).sum(), rel=1e-5)
    assert (len(model.gap_), len(model.proved_)) == (30, 20)
    rated = table.loc[table["user"] == "u7", "item"]
    assert set(model.recommend("u7", 20)["item"]).isdisjoint(rated)
    again = clone(model).fit(known).update(table).update(forget=gone[["user", "item"]])
    assert probabilities(again.observations_) == probabilities(seen)


def test_items_of_an_update_are_solved_given_all_their_raters(ratings) -> None:
    known = ratings[ratings["item"] != "i5"]
    before = fitted(known).fitted_
    new = ratings[ratings["item"] == "i5"]
    after = before.update(new)
    u = before.observations.user_ids.positions(new["user"])
    S, v, _ = naive.sums(before.pmf, u, before.observations.to_unit(new["rating"]),
                         np.ones(len(u)))  # fmt: skip
    psi = after.indicators[-1].astype(float)
    assert naive.g(S, v, psi) == pytest.approx(naive.exhaustive(S, v)[0], abs=1e-4)
    assert after.update(forget=new[["user", "item"]]).unsaid[-1]


def test_an_update_that_only_repeats_what_is_known_lowers_the_cost(ratings) -> None:
    model = fitted(ratings).fitted_
    again = model.update(ratings)
    assert probabilities(again.observations) == probabilities(model.observations)
    assert again.error < 1.02 * model.error


def test_both_may_be_new_and_whoever_is_left_without_ratings_is_as_the_population(ratings) -> None:
    model = fitted(ratings)
    model.update((["zoe", "zoe"], ["Alien", "i0"], [5.0, 1.0]))
    assert model.predict(("zoe", "Alien")) > model.predict(("zoe", "i0"))
    model.update(forget=("zoe", ["Alien", "i0"]))
    assert_array_equal(model.pmf_[-1], model.transform(np.full((1, 21), np.nan))[0])
    nobody = model.predict((["nobody"], ["Alien"]), unknown="population")
    assert model.predict((["zoe"], ["Alien"])) == pytest.approx(nobody)


def test_warm_start_goes_on_where_it_stood(ratings) -> None:
    model = fitted(ratings, n_iter=2, tol=0.0, n_init=1, warm_start=True)
    first = model.history_[-1]
    model.fit(ratings)
    assert model.history_[0] <= first + 1e-9
    model.set_params(n_events=2).fit(ratings)
    assert model.pmf_.shape[1] == 2


def test_more_starts_never_cost_more(ratings) -> None:
    costs = [fitted(ratings, n_init=n, n_iter=3).history_[-1] for n in (1, 5)]
    assert costs[1] <= costs[0]


def test_an_interrupt_returns_the_model_so_far(ratings, monkeypatch) -> None:
    update, calls = PmfStep.__call__, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return update(self, *args)

    monkeypatch.setattr(PmfStep, "__call__", interrupted)
    with pytest.warns(UserWarning, match="interrupted: this is the model so far"):
        model = fitted(ratings, tol=0.0, n_init=1)
    assert model.interrupted_
    assert model.n_iter_ == 2
    assert model.predict().shape == (30, 20)
    assert "2 iterations, " in model.summary()
    assert "interrupted" in model.summary()
    with pytest.raises(KeyboardInterrupt):  # before anything was reached
        KolmogorovDescent(3).fit(ratings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_events": 0}, r"n_events=0 must be a whole number from 1 to 64"),
        ({"n_events": 65}, r"n_events=65 must be a whole number from 1 to 64"),
        ({"n_events": 2.5}, r"n_events=2.5 must be a whole number from 1 to 64"),
        ({"pmf_penalty": -1}, r"pmf_penalty=-1 must be a finite number of at least 0"),
        ({"indicator_penalty": np.nan}, r"indicator_penalty=nan must be a finite"),
        ({"tol": -0.1}, r"tol=-0.1 must be"),
        ({"n_iter": 0}, r"n_iter=0 must be a whole number of at least 1"),
        ({"n_init": 0}, r"n_init=0 must be 'auto' or a whole number of at least 1"),
        ({"n_jobs": 0}, r"n_jobs=0 must be"),
        ({"pmf_prior": "flat"}, r"pmf_prior='flat' is unknown; allowed are 'mean', 'zero'"),
        ({"indicator_solver": "magic"}, r"allowed are 'exact', 'sdr', 'local'"),
        ({"pmf_solver": "newton"}, r"allowed are 'pairwise', 'frank-wolfe'"),
    ],
)
def test_bad_settings_are_refused_with_what_is_allowed(ratings, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(ratings, **settings)


@pytest.mark.parametrize(
    ("solver", "settings", "message"),
    [
        (FrankWolfe, {"step": "huge"}, r"step='huge' is unknown; allowed are 'paper', 'jaggi'"),
        (FrankWolfe, {"max_steps": 0}, r"max_steps=0 must be a whole number of at least 1"),
        (Exact, {"node_budget": 0}, r"node_budget=0 must be a whole number of at least 1"),
        (SDR, {"n_roundings": -1}, r"n_roundings=-1 must be"),
        (Local, {"n_starts": 2.5}, r"n_starts=2.5 must be"),
        (Pairwise, {"tol": -1.0}, r"tol=-1.0 must be a finite number of at least 0"),
    ],
)
def test_bad_settings_of_a_solver_are_refused_at_once(solver, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        solver(**settings)


def test_bad_questions_are_refused_with_what_is_allowed(ratings) -> None:
    model = fitted(ratings)
    with pytest.raises(ValueError, match="unit='stars' is unknown; allowed are 'probability'"):
        model.predict(unit="stars")
    with pytest.raises(ValueError, match="unknown='guess' is unknown; allowed are 'error'"):
        model.predict(unknown="guess")
    with pytest.raises(ValueError, match="3 events, X has 2 columns"):
        model.inverse_transform([[0.5, 0.5]])
    with pytest.raises(ValueError, match="same length, not of 3 and 2"):
        model.predict((["u1", "u2", "u3"], ["i1", "i2"]))
    with pytest.raises(ValueError, match="'Alien'"):
        model.transform(pd.DataFrame({"user": ["a"], "item": ["Alien"], "rating": [3.0]}))


def test_solvers_can_be_set_up_and_report_what_they_prove(ratings) -> None:
    proved = {
        solver: fitted(ratings, indicator_solver=solver).proved_.mean()
        for solver in (Exact(), SDR(4), Local(2), "exact", "sdr", "local")
    }
    assert proved == {Exact(): 1, SDR(4): 0, Local(2): 0, "exact": 1, "sdr": 0, "local": 0}


def test_summary_and_repr_say_what_was_fitted(ratings) -> None:
    model = KolmogorovDescent(3)
    assert repr(model) == "KolmogorovDescent(n_events=3)"
    model = fitted(ratings)
    assert "30 users x 20 items" in repr(model)
    text = repr(model.summary())
    assert f"observed    {len(ratings)} of 600" in text
    rmse = np.sqrt(np.mean((model.predict(ratings, unit="original") - ratings["rating"]) ** 2))
    assert f"{rmse:.4f} in the original unit" in text
    assert "20 of 20 items optimal" in text


def test_paper_split_reaches_the_papers_error(movielens_100k) -> None:
    """An accuracy band on real data: NRMSE on u4 after five iterations, R/5, as in Table 2."""
    train, test = movielens_100k
    observations = Observations.of(train, scale="max")
    for n_events, penalty, most in ((4, 10.0, 0.199), (8, 30.0, 0.194), (16, 60.0, 0.1905)):
        errors = []
        for seed in range(3):
            model = KolmogorovDescent(
                n_events, pmf_penalty=penalty, n_iter=5, tol=0.0, random_state=seed
            ).fit(observations)
            p = model.predict(test, unknown="population")
            errors.append(np.sqrt(np.mean((p - test["rating"] / 5) ** 2)))
            assert model.proved_.all()
        assert np.mean(errors) <= most


def test_a_model_from_given_parts_predicts_and_is_saved(tmp_path) -> None:
    table = pd.DataFrame([[0.3, 0.5], [0.1, 0.2]], index=["ann", "bob"], columns=["x", "y"])
    theta, psi = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [[0, 1, 0], [1, 1, 0]]
    model = KolmogorovDescent.from_parts(theta, psi, table)
    np.testing.assert_allclose(model.predict(), table)
    np.testing.assert_allclose(model.error_, 0, atol=1e-12)
    model.save(tmp_path / "m")
    again = KolmogorovDescent.load(tmp_path / "m")
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(again.predict(), model.predict())
    model.update(pd.DataFrame({"user": ["eve"], "item": ["y"], "value": [0.9]}))
    assert model.predict((["eve"], ["y"]))[0] > 0.5
    for bad_theta, bad_psi, message in (
        (theta[:1], psi, r"pmf has the shape \(1, 3\); \(2, 3\) is wanted"),
        (theta, [[0, 1], [1, 1]], r"indicators has the shape \(2, 2\); \(2, 3\) is wanted"),
        ([[0.5, 0.3, 0.5], theta[1]], psi, "non-negative and add up to 1"),
        ([[1.5, -0.5, 0.0], theta[1]], psi, "non-negative and add up to 1"),
        (theta, [[0, 0.5, 0], psi[1]], "indicators must be 0 or 1"),
    ):
        with pytest.raises(ValueError, match=message):
            KolmogorovDescent.from_parts(bad_theta, bad_psi, table)
