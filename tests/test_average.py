"""What an average of models is good for, whichever way its samples came about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)
from eventspace._base.codes import inside, pack
from eventspace.data.scale import from_unit
from tests.fits import fitted
from tests.planted import chances, long, wide

MAKERS = {
    "ensemble": lambda: KolmogorovEnsemble(8, n_models=10, random_state=0),
    "posterior": lambda: KolmogorovPosterior(
        8, n_chains=2, n_warmup=20, n_draws=24, n_samples=12, random_state=0
    ),
}
SINGLE = {
    "model": lambda: KolmogorovModel(4, n_chains=2, n_warmup=5, n_draws=8, random_state=0),
    "descent": lambda: KolmogorovDescent(4, random_state=0),
}


@pytest.fixture(scope="module")
def stars() -> pd.DataFrame:
    """A planted model with noise, users x items; a third is missing."""
    rng = np.random.default_rng(3)
    chance = chances(rng, 120, 60, 4, concentration=0.5)
    table = np.clip(1.8 + 2.4 * chance + rng.normal(0, 0.3, chance.shape), 1, 5)
    table[rng.random(table.shape) < 0.35] = np.nan
    return wide(table)


def seen(stars: pd.DataFrame) -> Observations:
    return Observations.from_wide(stars, scale=(1, 5))


@pytest.fixture(scope="module", params=MAKERS)
def average(request, stars):
    return fitted(MAKERS[request.param](), seen(stars))


def fresh(average, table: Observations):
    """Another fit by the same estimator."""
    return fitted(clone(average), table)


def test_it_is_the_mean_of_its_samples(average) -> None:
    mean = np.mean([pmf @ bits.T for pmf, bits in average.samples()], axis=0)
    assert_allclose(average.predict(), mean, atol=1e-12)
    assert_allclose(average.pmf_.sum(axis=1), 1)
    u, i, p = average.observations_.coo()
    assert average.error_ == pytest.approx(np.square(mean[u, i] - p).sum())


@pytest.mark.parametrize("kind", [*MAKERS, "model", "descent"])
def test_rows_are_scored_by_what_is_predicted_of_them(kind, stars) -> None:
    """Also where an item was not rated: score and predict ask the same question."""
    table = stars.to_numpy().copy()
    table[:, 7] = np.nan
    model = (MAKERS | SINGLE)[kind]()
    model.fit(Observations.from_wide(table, scale=(1, 5)))
    later = stars.to_numpy()
    known = ~np.isnan(later)
    truth, predicted = (later[known] - 1) / 4, model.predict(later)[known]
    explained = 1 - np.square(predicted - truth).sum() / np.square(truth - truth.mean()).sum()
    assert model.score(later) == pytest.approx(explained, abs=1e-6)
    held = model.predict(later)[:, 7]
    silent = model.indicator_mean_ if kind != "posterior" else model.indicators_[7]
    assert_allclose(held, model.transform(later) @ silent)


def test_new_rows_are_rebuilt_from_themselves(average, stars) -> None:
    pmf = average.transform(stars)
    assert_allclose(pmf.sum(axis=1), 1)
    assert np.nanstd(average.inverse_transform(pmf) - (stars - 1) / 4) < 0.12
    assert average.score(stars) > 0.5


# --- one model of all events --------------------------------------------------------------------


def test_all_events_are_one_model_that_says_the_same(average, stars, tmp_path) -> None:
    model = average.to_model()
    assert isinstance(model, KolmogorovDescent)
    assert model.codes_.shape[1] > 1
    assert_allclose(model.predict(), average.predict(), atol=1e-12)
    assert (np.diff(model.pmf_mean_) <= 0).all()
    one, two = model.query("i0 & ~i1"), average.query("i0 & ~i1")
    assert_allclose(one.probability("u3"), two.probability("u3"))
    bits = model.indicators_
    rules = model.rules(proved=True, top=None, fold=False, min_evidence=0)
    place = {item: k for k, item in enumerate(model.item_ids_)}
    proved = {(r.if_item, r.then_item) for r in rules.itertuples()}
    sets = pack(bits)
    wanted = {
        (a, b)
        for a in place
        for b in place
        if a != b and inside(sets[place[a]], sets[place[b]]) and bits[place[a]].any()
    }
    assert proved == wanted
    assert_array_equal(
        model.order().adjacency(), [[inside(lower, upper) for lower in sets] for upper in sets]
    )
    assert len(model.events()) == bits.shape[1]
    assert "u3 and i5" in str(model.explain("u3", "i5"))
    text = str(model.summary())
    assert f"{bits.shape[1] - 64} more, of " in text
    assert "nothing: PMFs and indicators were given" in text
    assert text.count("\n") == 5 + 64
    model.save(tmp_path / "all")
    again = KolmogorovDescent.load(tmp_path / "all")
    assert_array_equal(again.predict(), model.predict())
    assert str(again.summary()) == text


def test_it_is_explained_by_a_readable_model(average, monkeypatch) -> None:
    fitted_, pair = average.fitted_, (["u3"], ["i5"])
    why, readable = average.explain("u3", "i5"), average.to_model(16)
    assert why.probability == pytest.approx(average.predict(pair)[0])
    assert why.population == pytest.approx(average.event("i5").probability())
    assert why.value == pytest.approx(average.predict(pair, unit="original")[0])
    assert why.readable == pytest.approx(readable.predict(pair)[0])
    assert 0 < abs(why.readable - why.probability) < 0.1
    assert why.events.loc[why.events["comes_true"], "mass"].sum() == pytest.approx(why.readable)
    pd.testing.assert_frame_equal(average.events(), readable.events())
    assert len(average.events()) == len(why.events) == 16 < average.pmf_.shape[1]
    first, second, third, *_ = str(why).splitlines()
    assert first.startswith(f"u3 and i5: {why.probability:.1%}, or ")
    assert second == (
        f"The average says {why.probability:.1%}. Its readable model, with the 16 events below, "
        f"says {why.readable:.1%}."
    )
    assert f"({why.readable:.1%} of u3's mass)" in third
    assert "The average says" not in str(readable.explain("u3", "i5"))
    monkeypatch.setattr(type(fitted_), "to_model", None)  # it was made once, and kept
    assert str(average.explain("u3", "i5")) == str(why)


def test_an_average_with_few_events_is_read_as_it_is(stars) -> None:
    average = KolmogorovEnsemble(3, n_models=2, random_state=0).fit(seen(stars))
    why = average.explain("u3", "i5")
    assert len(average.events()) == 6
    assert why.readable == why.probability == pytest.approx(average.predict((["u3"], ["i5"]))[0])
    assert "The average says" not in str(why)


def test_all_events_take_in_nobody_new(average, stars) -> None:
    model = average.to_model()
    for work in (
        lambda: model.transform(stars),
        lambda: model.update((["new"], ["i0"], [3.0])),
        lambda: model.update((["u0"], ["new"], [3.0])),
    ):
        with pytest.raises(
            ValueError, match=r"has \d+ events, and takes in no new users.*to_model"
        ):
            work()
    with pytest.raises(ValueError, match=r"n_events=\d+ must be a whole number from 1 to 64"):
        model.fit(stars)


# --- compressed ---------------------------------------------------------------------------------


def test_a_compressed_model_says_how_far_it_is_from_the_average(average, stars, tmp_path) -> None:
    wide, narrow = average.to_model(8), average.to_model(2)
    assert isinstance(wide, KolmogorovModel)
    seen = average.observations_
    weight = np.outer(seen.by_user.sizes + 1, seen.by_item.sizes + 1)
    for small in (wide, narrow):
        apart = np.square(small.predict() - average.predict())
        assert small.loss_ == pytest.approx(np.sqrt(np.average(apart, weights=weight)), abs=1e-6)
    assert wide.loss_ < 0.05 < narrow.loss_
    assert f"predictions {wide.loss_:.4f} (RMS) from those of the average" in str(wide.summary())
    assert_allclose(wide.pmf_.sum(axis=1), 1)
    assert (np.diff(wide.pmf_mean_) <= 0).all()
    u, i, p = wide.observations_.coo()
    assert wide.error_ == pytest.approx(np.square(wide.predict()[u, i] - p).sum())
    wide.save(tmp_path / "small")
    assert KolmogorovModel.load(tmp_path / "small").loss_ == wide.loss_
    wide.update((["new"] * 3, ["i0", "i1", "i2"], [5.0, 1.0, 3.0]))
    assert wide.predict((["new"], ["i0"])).shape == (1,)


def test_auto_takes_as_many_events_as_are_worth_it(average) -> None:
    chosen = average.to_model("auto")
    assert chosen.pmf_.shape[1] in (2, 4, 8, 16, 24, 32)
    average_rmse = np.sqrt(chosen.expected_rmse_**2 - chosen.loss_**2)
    assert chosen.expected_rmse_ <= 1.01 * average_rmse
    fewer = average.to_model(chosen.pmf_.shape[1] // 4)  # half as many may just do, grown alone
    assert fewer.expected_rmse_ > 1.01 * average_rmse


def test_compression_depends_on_the_average_alone(average) -> None:
    one, again = average.to_model(4), average.to_model(4)
    assert_array_equal(one.pmf_, again.pmf_)
    average.n_jobs = 1
    alone = average.to_model(4)
    average.n_jobs = -1
    assert_array_equal(one.pmf_, alone.pmf_)
    with pytest.raises(ValueError, match="n_events=65 must be a whole number from 1 to 64"):
        average.to_model(65)


def test_films_compressed_are_predicted_better_than_by_a_model_of_its_own(movielens_100k) -> None:
    train, test = (part[["user", "item", "rating"]] for part in movielens_100k)
    test = test[test["item"].isin(train["item"])]
    table = Observations.of(train, scale=(1, 5))
    options = {"n_chains": 2, "n_warmup": 30, "n_draws": 40, "n_samples": 20, "random_state": 0}
    average = KolmogorovPosterior(8, **options).fit(table)
    small = average.to_model(8)
    single = KolmogorovDescent(8, pmf_penalty=30, indicator_penalty=0.2, random_state=0).fit(table)
    assert error(average, test) < error(small, test) < error(single, test) - 0.02


# --- new users and items ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def halves(stars):
    """Without the last users and items; half of what these have; the other half."""
    rng = np.random.default_rng(1)
    half = rng.random(stars.shape) < 0.5
    known = stars.iloc[:100, :50]
    users = stars.mask(~half).iloc[100:, :50]
    items = stars.mask(~half).iloc[:100, 50:]
    asked = long(stars.mask(half))
    new_user, new_item = ~asked["user"].isin(known.index), ~asked["item"].isin(known.columns)
    return known, long(users), long(items), asked[new_user & ~new_item], asked[~new_user & new_item]


def error(average, asked) -> float:
    p = average.predict(asked, unit="original", unknown="population")
    return float(np.sqrt(np.mean(np.square(p - asked["rating"]))))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("side", ["user", "item"])
def test_who_is_new_is_predicted_nearly_as_well_as_if_fitted(halves, name, side) -> None:
    known, users, items, of_users, of_items = halves
    given, asked = (users, of_users) if side == "user" else (items, of_items)
    average = fitted(MAKERS[name](), seen(known))
    before = average.predict()
    population = error(average, asked)
    average.update(given)
    found = error(average, asked)
    refitted = fresh(average, Observations.of(pd.concat([long(known), given]), scale=(1, 5)))
    assert found < 0.8 * population
    assert found < 1.2 * error(refitted, asked)
    others = ~np.isin(average.user_ids_[: len(before)], given["user"])
    kept = ~np.isin(average.item_ids_[: before.shape[1]], given["item"])
    now = average.predict()[: len(before), : before.shape[1]]
    assert_array_equal(now[np.ix_(others, kept)], before[np.ix_(others, kept)])
    assert len(average.noise_) == average.observations_.n_users
    interval = average.predict_interval(asked, 0.9, unit="original")
    assert interval.index.equals(asked.index)  # so that columns may be joined
    covered = (interval["low"] <= asked["rating"]) & (asked["rating"] <= interval["high"])
    assert covered.mean() > 0.8


@pytest.mark.parametrize("name", MAKERS)
def test_users_and_items_at_once_are_as_one_after_the_other_if_they_do_not_meet(
    halves, name
) -> None:
    known, users, items, *_ = halves
    both = fitted(MAKERS[name](), seen(known)).update(pd.concat([users, items]))
    assert both.predict().shape == (120, 60)
    again = fitted(MAKERS[name](), seen(known)).update(pd.concat([users, items]))
    assert_array_equal(again.predict(), both.predict())
    apart = fitted(MAKERS[name](), seen(known)).update(users).update(items)
    assert_allclose(apart.predict(), both.predict(), atol=0.25)
    assert np.corrcoef(apart.predict().ravel(), both.predict().ravel())[0, 1] > 0.97


@pytest.mark.parametrize("name", MAKERS)
def test_updates_do_not_depend_on_the_number_of_threads_or_on_a_file(
    halves, name, tmp_path
) -> None:
    known, users, items, *_ = halves
    one = fitted(MAKERS[name](), seen(known))
    one.save(tmp_path / "average")
    two = type(one).load(tmp_path / "average").set_params(n_jobs=1)
    new = pd.concat([users, items])
    assert_array_equal(one.update(new).pmf_, two.update(new).pmf_)
    assert_array_equal(one.codes_, two.codes_)


@pytest.mark.parametrize("name", MAKERS)
def test_an_item_without_ratings_is_learnt_from_new_users(stars, name) -> None:
    bare = stars.iloc[:100].assign(i7=np.nan)
    average = fitted(MAKERS[name](), seen(bare))
    more = long(stars.iloc[100:])
    average.update(more)
    asked = long(stars.iloc[:100][["i7"]])
    p = average.predict(asked, unit="original")
    assert np.corrcoef(p, asked["rating"])[0, 1] > 0.5


@pytest.mark.parametrize("name", MAKERS)
def test_known_users_and_items_follow_their_ratings(halves, name) -> None:
    """A user turns everything round, takes one rating back, and rates what is new."""
    known = halves[0]
    before = fitted(MAKERS[name](), seen(known)).fitted_
    mine = long(known).query("user == 'u3'")
    turned = mine.iloc[1:].assign(rating=lambda rows: 6 - rows["rating"])
    new = pd.DataFrame({"user": ["u3", "x"], "item": ["new", "new"], "rating": [5.0, 4.0]})
    after = before.update(pd.concat([turned, new]), forget=mine[["user", "item"]].iloc[:1])
    assert after.observations.n_observed == before.observations.n_observed + 1
    wanted, p = turned["rating"], before.predict(turned[["user", "item"]], unit="original")
    now = after.predict(turned[["user", "item"]], unit="original")
    assert np.abs(now - wanted).mean() < 0.6 * np.abs(p - wanted).mean()
    others = [user for user in known.index if user != "u3"]
    at = before.observations.user_ids.positions(others)
    assert_array_equal(after.pmf[at], before.pmf[at])
    u, i, value = after.observations.coo()
    apart = after.predict_positions(u, i) - value
    assert after.error == pytest.approx(np.square(apart).sum())
    assert_allclose(after.pmf.sum(axis=1), 1)


@pytest.mark.parametrize("side", ["user", "item"])
@pytest.mark.parametrize("name", MAKERS)
def test_films_and_viewers_update(movielens_100k, name, side) -> None:
    """A hundred are hidden, taken in with half of their ratings, and asked for the others."""
    other = {"user": "item", "item": "user"}[side]
    train = movielens_100k[0][["user", "item", "rating"]].astype({"rating": float})
    train = train[train["user"] % 3 == 0] if side == "item" else train[train["item"] % 3 == 0]
    rng = np.random.default_rng(0)
    sizes = train.groupby(side).size()
    hidden = train[side].isin(rng.choice(sizes[sizes >= 10].index, 100, replace=False))
    half = rng.random(len(train)) < 0.5
    known = train[~hidden]
    given = train[hidden & half & train[other].isin(known[other])]
    asked = train[hidden & ~half & train[other].isin(known[other])]
    asked = asked[asked[side].isin(given[side])]
    if name == "ensemble":
        options = {"pmf_penalty": 6.0, "indicator_penalty": 0.3, "random_state": 0}
        average = KolmogorovEnsemble(8, n_models=8, **options)
    else:
        options = {"n_warmup": 30, "n_draws": 40, "n_samples": 20, "random_state": 0}
        average = KolmogorovPosterior(8, n_chains=2, **options)
    average.fit(Observations.of(known, scale=(1, 5)))
    population = error(average, asked)
    found = error(average.update(given), asked)
    refitted = fresh(average, Observations.of(pd.concat([known, given]), scale=(1, 5)))
    assert found < population - 0.03
    assert found < error(refitted, asked) + 0.02


def test_the_spread_of_the_population_is_in_the_interval_of_unknown_ids(average) -> None:
    """Mean and deviation over users and samples, over items and samples, and over all."""
    seen = average.observations_
    u, i = np.diff(seen.by_user.ptr) > 0, np.diff(seen.by_item.ptr) > 0
    p = np.array([pmf @ bits.T for pmf, bits in average.samples()])
    users, items = seen.user_ids.values, seen.item_ids.values
    asked = (["nobody", users[3], "nobody"], [items[2], "nothing", "nothing"])
    found = average.predict_interval(asked, unknown="population")
    over = [p[:, u, 2], p[:, 3][:, i], p[:, u][:, :, i]]
    np.testing.assert_allclose(found["mean"], [part.mean() for part in over])
    variance = np.array([part.var() for part in over])
    variance += np.append(average.left_open_, average.left_open_[u].mean())[[-1, 3, -1]]
    np.testing.assert_allclose(found["std"], np.sqrt(variance))


def test_the_mean_of_an_interval_is_a_probability() -> None:
    """Sums of many masses that are one but for rounding are one."""
    table = ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 1, 1, 0])
    for seed in range(20, 30):
        model = KolmogorovEnsemble(3, n_models=3, n_iter=3, random_state=seed).fit(table)
        found = model.predict_interval(([0, 0, 1], [0, 1, 0]))
        assert (found["mean"] <= found["high"]).all()


def test_predictions_keep_within_the_scale() -> None:
    ends = np.arange(-50, 50, 3) / 10
    for lo in ends:
        for hi in ends[ends > lo]:
            found = from_unit(np.array([0.0, 0.5, np.nextafter(1.0, 0.0), 1.0, 2.0]), (lo, hi))
            assert found[0] == lo
            assert lo < found[1] < hi
            assert (found[2:4] <= hi).all()
            np.testing.assert_allclose(found[3:], [hi, 2 * hi - lo])  # what predicts beyond, does
