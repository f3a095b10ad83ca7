"""The posterior: one model made of many draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

from eventspace import KolmogorovDescent, KolmogorovPosterior, Observations
from eventspace._base.codes import unpack
from eventspace.fitting import descent
from eventspace.sampling import sampler
from eventspace.sampling.chain import Chain
from eventspace.sampling.diagnostics import effective_size, split_rhat
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.sweeps import Draws
from tests.fits import fitted
from tests.planted import noisy_stars

QUICK = {"n_events": 8, "n_chains": 2, "n_warmup": 20, "n_draws": 24, "n_samples": 12}


@pytest.fixture(scope="module")
def noisy() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stars from a planted model with noise: (train, test)."""
    return noisy_stars()


@pytest.fixture(scope="module")
def posterior(noisy):
    table = Observations.from_long(noisy[0], scale=(1, 5))
    return fitted(KolmogorovPosterior(**QUICK, random_state=0), table)


def rmse(stars, test) -> float:
    return float(np.sqrt(np.mean((stars - test["rating"]) ** 2)))


def test_it_predicts_better_than_a_single_model_and_than_means(posterior, noisy) -> None:
    train, test = noisy
    found = rmse(posterior.predict(test, unit="original"), test)
    table = Observations.from_long(train, scale=(1, 5))
    single = KolmogorovDescent(8, pmf_penalty=1, random_state=0).fit(table)
    assert found < rmse(single.predict(test, unit="original"), test)
    assert found < rmse(test["item"].map(train.groupby("item")["rating"].mean()), test)
    assert found < 0.55  # the noise alone is 0.4


def test_the_mean_of_the_draws_is_the_prediction_of_the_stacked_model(posterior, noisy) -> None:
    samples = list(posterior.samples())
    assert len(samples) == posterior.n_samples_ == 12
    for pmf, bits in samples:
        assert_allclose(pmf.sum(axis=1), 1)
        assert bits.shape == (60, 8)
    mean = np.mean([pmf @ bits.T for pmf, bits in samples], axis=0)
    assert_allclose(posterior.predict(), mean, atol=1e-12)
    assert_allclose(posterior.pmf_.sum(axis=1), 1)
    event = posterior.event("i0") & ~posterior.event("i1")
    first = [list(posterior.item_ids_).index(item) for item in ("i0", "i1")]
    each = [pmf @ (bits[first[0]] & ~bits[first[1]]) for pmf, bits in samples]
    assert_allclose(event.probability(posterior.user_ids_), np.mean(each, axis=0), atol=1e-12)


def test_intervals_cover_what_they_promise(posterior, noisy) -> None:
    test = noisy[1]
    for level in (0.5, 0.9):
        found = posterior.predict_interval(test, level, unit="original")
        truth = test["rating"].to_numpy()
        inside = (found["low"] <= truth) & (truth <= found["high"])
        assert inside.mean() == pytest.approx(level, abs=0.05)
    assert_allclose(found["mean"], posterior.predict(test, unit="original"))
    draws = [pmf @ bits.T for pmf, bits in posterior.samples()]
    u = posterior.observations_.user_ids.positions(test["user"])
    i = posterior.observations_.item_ids.positions(test["item"])
    assert_allclose(found["std"], 4 * np.std([draw[u, i] for draw in draws], axis=0), atol=1e-6)


def test_rules_have_the_part_of_the_draws_in_which_they_hold(posterior) -> None:
    found = posterior.rules(top=None, fold=False)
    place = {item: k for k, item in enumerate(posterior.item_ids_)}
    samples = [bits for _, bits in posterior.samples()]
    for rule in found.itertuples():
        a, b = place[rule.if_item], place[rule.then_item]
        held = [s[a].any() and not (s[a] & ~s[b]).any() for s in samples]
        assert rule.inclusion == pytest.approx(np.mean(held))
    assert len(found) > 5
    assert found["inclusion"].nunique() > 5
    by_inclusion = posterior.rules(sort="inclusion", fold=False)
    assert by_inclusion["inclusion"].is_monotonic_decreasing
    own = posterior.rules(item="i0", top=None, fold=False)
    assert len(own) == ((found["if_item"] == "i0") | (found["then_item"] == "i0")).sum()


def test_an_average_proves_what_its_readable_model_proves(posterior) -> None:
    found = posterior.rules(top=None, fold=False)
    readable = posterior.to_model(16)
    for rule in found.itertuples():
        proved = readable.event(rule.if_item) <= readable.event(rule.then_item)
        assert proved == (rule.kind != "soft")
    with pytest.raises(ValueError, match="restarts=2 is for single models"):
        posterior.rules(restarts=2)


def test_the_same_seed_gives_the_same_draws_on_any_number_of_threads(noisy, posterior) -> None:
    table = Observations.from_long(noisy[0], scale=(1, 5))
    again = KolmogorovPosterior(**QUICK, random_state=0, n_jobs=1).fit(table)
    np.testing.assert_array_equal(again.pmf_, posterior.pmf_)
    np.testing.assert_array_equal(again.codes_, posterior.codes_)
    other = KolmogorovPosterior(**QUICK, random_state=1).fit(table)
    assert not np.array_equal(other.pmf_, posterior.pmf_)
    four = {**QUICK, "n_chains": 4, "n_warmup": 2, "n_draws": 4, "random_state": 0}
    one, two = (KolmogorovPosterior(**four, n_jobs=n_jobs).fit(table) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.pmf_, two.pmf_)


def test_where_memory_is_free_changes_no_draw() -> None:
    """Thirty fits among blocks and gaps of many sizes, so that arrays lie elsewhere in each."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), 24) @ (rng.random((3, 14)) < 0.5) + rng.normal(0, 0.1, (24, 14))
    u, i = np.nonzero(rng.random(p.shape) < 0.8)
    columns = u, i, np.clip(p, 0, 1)[u, i], rng.gamma(2.0, 1.0, len(u))
    options = {"n_chains": 2, "n_warmup": 2, "n_draws": 6, "n_samples": 4, "meets": False}
    found: set[Any] = set()
    junk: list[Any] = []
    for _ in range(30):
        blocks = [np.empty(size, np.uint8) for size in rng.integers(16, 4000, 200).tolist()]
        junk = [*junk, blocks[:: int(rng.integers(2, 5))]][-4:]
        del blocks
        table = Observations.of(columns, scale=(0, 1))
        model = KolmogorovPosterior(3, **options, random_state=0, n_jobs=1).fit(table)
        drawn = model.pmf_, model.codes_, model.noise_, model.cost_
        found.add(tuple(np.asarray(array).tobytes() for array in drawn))
    assert len(found) == 1


def test_a_file_holds_it_all(posterior, noisy, tmp_path) -> None:
    posterior.save(tmp_path / "p")
    again = KolmogorovPosterior.load(tmp_path / "p")
    np.testing.assert_array_equal(again.predict(noisy[1]), posterior.predict(noisy[1]))
    assert str(again.summary()) == str(posterior.summary())
    pd.testing.assert_frame_equal(again.diagnostics(), posterior.diagnostics())
    with pytest.raises(ValueError, match="holds a KolmogorovPosterior, not a KolmogorovDescent"):
        KolmogorovDescent.load(tmp_path / "p")


def test_new_users_update(noisy) -> None:
    table = Observations.from_long(noisy[0], scale=(1, 5))
    model = fitted(KolmogorovPosterior(**QUICK, random_state=0), table)
    stars = noisy[0][noisy[0]["user"] == "u3"].assign(user="new")
    model.update(stars)
    both = model.predict((["u3", "new"], ["i5", "i5"]))
    assert abs(both[0] - both[1]) < 0.15
    assert len(model.predict_interval((["new"], ["i5"]))) == 1


def test_unrated_users_and_items_have_draws_of_their_priors() -> None:
    stars = np.random.default_rng(0).random((12, 8))
    stars[3] = stars[:, 2] = np.nan
    table = pd.DataFrame(stars, index=list("abcdefghijkl"), columns=[f"i{i}" for i in range(8)])
    model = KolmogorovPosterior(**QUICK, random_state=0).fit(table)
    p = model.predict((["d"], ["i2"]))[0]
    assert 0 < p < 1
    assert model.predict((["z"], ["i0"]), unknown="population").shape == (1,)


def test_diagnostics_see_chains_that_disagree() -> None:
    rng = np.random.default_rng(0)
    agreeing = rng.normal(size=(4, 500))
    assert split_rhat(agreeing) == pytest.approx(1, abs=0.02)
    assert effective_size(agreeing) == pytest.approx(2000, rel=0.2)
    apart = agreeing + np.arange(4)[:, None]
    assert split_rhat(apart) > 1.3
    assert effective_size(apart) < 50
    slow = np.zeros((4, 2000))
    for t in range(1, 2000):
        slow[:, t] = 0.9 * slow[:, t - 1] + rng.normal(size=4)
    assert effective_size(slow) == pytest.approx(8000 * 0.1 / 1.9, rel=0.4)
    many = np.stack([agreeing, apart], axis=2)
    assert_allclose(split_rhat(many), [split_rhat(agreeing), split_rhat(apart)])
    assert_allclose(effective_size(many), [effective_size(agreeing), effective_size(apart)])
    assert split_rhat(np.ones((2, 8))) == 1
    with pytest.raises(ValueError, match="3 draws a chain are too few"):
        split_rhat(np.zeros((2, 3)))


def test_mistakes_are_named(posterior) -> None:
    for options, message in (
        ({"n_events": 65}, "n_events=65 must be a whole number from 1 to 64"),
        ({"n_draws": 3}, "n_draws=3 must be a whole number of at least 4"),
        ({"concentration": -1}, "concentration=-1 must be 'auto' or a number from 0 to 1e\\+100"),
        ({"concentration": "x"}, "concentration='x' must be 'auto'"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            KolmogorovPosterior(**options).fit(np.eye(3))
    with pytest.raises(ValueError, match="level=2 is a probability"):
        posterior.predict_interval((["u0"], ["i0"]), 2)
    with pytest.raises(ValueError, match="An interval is for pairs"):
        posterior.predict_interval(np.zeros((2, 60)))


@parametrize_with_checks([KolmogorovPosterior(2, n_chains=1, n_warmup=2, n_draws=4, n_samples=2)])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


# --- attributes ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kinds():
    """Two kinds of users and of items, ratings of a part, and a column that tells the kind."""
    rng = np.random.default_rng(4)
    user_kind, item_kind = np.arange(80) % 2, np.arange(50) % 2
    mean = np.where(user_kind[:, None] == item_kind, 0.85, 0.2)
    table = np.clip(mean + rng.normal(0, 0.1, mean.shape), 0, 1)
    seen = rng.random(table.shape) < 0.3
    users, items = [f"u{u}" for u in range(80)], [f"i{i}" for i in range(50)]
    wide = pd.DataFrame(np.where(seen, table, np.nan), index=users, columns=items)
    of_users = pd.DataFrame({"kind": user_kind, "noise": rng.normal(size=80)}, index=users)
    of_items = pd.DataFrame({"kind": item_kind}, index=items)
    return wide, of_users, of_items


def test_attributes_speak_for_items_whose_ratings_hardly_count(kinds, tmp_path) -> None:
    wide, of_users, of_items = kinds
    known = Observations.from_wide(wide.iloc[:, :40], scale=(0, 1))
    model = KolmogorovPosterior(**QUICK, random_state=0)
    model.fit(known, user_attributes=of_users, item_attributes=of_items)
    assert model.item_attribute_names_.tolist() == ["kind"]
    assert model.user_attributes_.shape == (80, 2)
    path = tmp_path / "kinds.eventspace"
    model.save(path)
    one = wide.index[0]
    few = (np.full(10, one), wide.columns[40:], np.full(10, 0.5), np.full(10, 1e-6))
    liked = np.arange(40, 50) % 2 == 0
    apart = []
    for attributes in (None, of_items):
        model = KolmogorovPosterior.load(path).update(few, item_attributes=attributes)
        assert model.item_attributes_.shape == (50, 1)
        p = model.predict(([one] * 10, wide.columns[40:]))
        apart.append(p[liked].mean() - p[~liked].mean())
    assert abs(apart[0]) < 0.1
    assert apart[1] > 0.12


def test_attributes_by_a_range_of_ids_are_read_by_them() -> None:
    rng = np.random.default_rng(0)
    table = Observations.of(
        (np.arange(1, 31).repeat(8), np.tile(np.arange(8), 30), rng.random(240))
    )
    ages = pd.DataFrame({"age": np.arange(30.0)}, index=pd.RangeIndex(1, 31, name="user"))
    model = KolmogorovPosterior(2, n_chains=1, n_warmup=1, n_draws=4, random_state=0)
    model.fit(table, user_attributes=ages)
    assert model.user_attributes_[:, 0].tolist() == list(range(30))


def test_attributes_of_new_rows_need_the_columns_of_the_fit(kinds) -> None:
    wide, of_users, of_items = kinds
    model = KolmogorovPosterior(**QUICK, random_state=0)
    model.fit(Observations.from_wide(wide.iloc[:, :40], scale=(0, 1)), item_attributes=of_items)
    new = (["u0"], ["i44"], [0.5])
    with pytest.raises(ValueError, match="user_attributes has the columns kind, noise: those of"):
        model.update(new, user_attributes=of_users)
    assert model.update(new).item_attributes_.shape == (41, 1)
    with pytest.raises(ValueError, match="Attributes are for informed priors"):
        KolmogorovPosterior(informed=False).fit(wide, user_attributes=of_users)


def test_attributes_of_new_users_speak_for_them(kinds) -> None:
    wide, of_users, _ = kinds
    known = Observations.from_wide(wide.iloc[:60], scale=(0, 1))
    model = fitted(KolmogorovPosterior(**QUICK, random_state=0), known, user_attributes=of_users)
    new = wide.index[60:]
    few = (new, np.repeat("i0", 20), np.full(20, 0.5), np.full(20, 1e-6))
    p = model.update(few, user_attributes=of_users).predict((new, np.repeat("i2", 20)))
    liked = np.arange(60, 80) % 2 == 0
    assert p[liked].mean() > p[~liked].mean() + 0.1


def test_an_update_that_fails_changes_nothing(kinds, monkeypatch) -> None:
    wide, of_users, _ = kinds
    known = Observations.from_wide(wide.iloc[:60], scale=(0, 1))
    model = fitted(KolmogorovPosterior(**QUICK, random_state=0), known, user_attributes=of_users)
    before = model.predict()

    def interrupted(self, chain, log_odds, n_samples):
        raise KeyboardInterrupt

    monkeypatch.setattr("eventspace.sampling.updating.Updating.draw_items", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.update((["u70"], ["i0"], [0.5]), user_attributes=of_users)
    assert model.user_attributes_.shape == (60, 2)
    np.testing.assert_array_equal(model.predict(), before)


# --- what is kept of the chains -----------------------------------------------------------------


def test_the_score_is_that_of_the_predictions_for_unrated_items_too(kinds) -> None:
    wide, _, of_items = kinds
    known = wide.iloc[:, :40].reindex(columns=wide.columns)  # ten without ratings
    model = KolmogorovPosterior(**QUICK, random_state=0)
    model.fit(Observations.from_wide(known, scale=(0, 1)), item_attributes=of_items)
    held = wide.iloc[:, 40:].rename(index={"u0": "unknown"}).rename_axis("user").reset_index()
    held = held.melt("user", var_name="item").dropna()
    p = model.predict(held, unknown="population")
    total = np.square(held["value"] - held["value"].mean()).sum()
    expected = 1 - np.square(held["value"] - p).sum() / total
    assert model.score(held) == pytest.approx(expected, abs=1e-6)
    assert expected > 0.1  # attributes tell something of them


@pytest.mark.parametrize("weight", [0.04, 25.0])
def test_noise_is_that_of_an_observation_of_mean_weight(noisy, posterior, weight) -> None:
    heavy = noisy[0].assign(weight=weight)
    model = KolmogorovPosterior(**QUICK, random_state=0)
    model.fit(Observations.from_long(heavy, scale=(1, 5)))
    np.testing.assert_allclose(model.noise_, posterior.noise_, rtol=0.05)
    np.testing.assert_allclose(model.predict(), posterior.predict(), atol=0.02)


@pytest.mark.parametrize(("n_users", "n_chains"), [(199, 24), (200, 8)])
def test_small_tables_have_many_chains(n_users, n_chains) -> None:
    table = np.random.default_rng(0).random((n_users, 10))
    model = KolmogorovPosterior(2, n_warmup=1, n_draws=4, random_state=0).fit(table)
    assert model.cost_.shape == (n_chains, 4)


@pytest.mark.parametrize(("n_chains", "n_draws", "n_samples"), [(24, 9, 32), (5, 7, 11), (2, 4, 2)])
def test_no_more_draws_are_kept_than_asked_for(n_chains, n_draws, n_samples) -> None:
    table = np.random.default_rng(0).random((20, 10))
    settings = {"n_chains": n_chains, "n_draws": n_draws, "n_samples": n_samples}
    model = KolmogorovPosterior(2, n_warmup=1, **settings, random_state=0).fit(table)
    assert n_samples / 2 < model.n_samples_ <= n_samples


def test_chains_start_from_descents_down_the_penalties(noisy, monkeypatch) -> None:
    seen, started = [], []
    descend, sweep = descent.descend, Chain.sweep

    def spied(now, observations, steps, **settings):
        penalty = steps.update_pmfs.penalty
        seen.append((penalty, settings["prior"], settings["n_iter"], settings["tol"]))
        return descend(now, observations, steps, **settings)

    def first(self) -> None:
        started.append(self.pmf.min())
        sweep(self)

    monkeypatch.setattr(sampler, "descend", spied)
    monkeypatch.setattr(Chain, "sweep", first)
    quick = {**QUICK, "n_chains": 1, "n_warmup": 1, "n_draws": 4, "random_state": 0, "n_jobs": 1}
    model = KolmogorovPosterior(**quick).fit(Observations.from_long(noisy[0], scale=(1, 5)))
    assert seen == [(penalty, "mean", 1, 0.0) for penalty in (30.0, 10.0, 3.0)]
    assert started[0] >= 0.02 / model.n_events
    mass = model.pmf_mean_ * model.n_samples_
    variance = np.mean(mass * (1 - mass)) / (model.concentration_ + 1)
    assert model.pmf_penalty_ == pytest.approx(np.median(model.noise_) ** 2 / variance)


def test_what_is_learnt_along_is_the_mean_of_the_kept_draws(noisy, monkeypatch) -> None:
    kept: list[Draws] = []
    table = Observations.from_long(noisy[0], scale=(1, 5))
    original = Sampler.sample

    def spied(*arguments):
        kept.extend(original(*arguments)[0])
        return kept, False

    monkeypatch.setattr(Sampler, "sample", spied)
    model = KolmogorovPosterior(**QUICK, random_state=0).fit(table)
    drawn = np.array([laws for chain in kept for laws in chain.laws])
    found = model.concentration_, model.user_spread_**2, model.item_spread_**2
    np.testing.assert_allclose(found, drawn.mean(axis=0))
    assert drawn.std(axis=0).min() > 0
    precision = np.array([p for chain in kept for p in chain.precision])
    np.testing.assert_allclose(model.noise_, np.sqrt((1 / precision).mean(axis=0)))
    for chain in kept:  # the last draw is among them
        last = chain.pmf[-1] @ unpack(chain.codes[-1][:, None], 8).T
        u, i, p = table.coo()
        assert chain.cost[-1] == pytest.approx(np.square(last[u, i] - p).sum())


def test_every_chain_keeps_a_draw() -> None:
    with pytest.raises(ValueError, match="n_samples=1 is too few: one is kept of each of 2 chains"):
        KolmogorovPosterior(n_chains=2, n_samples=1).fit(np.eye(3))


@pytest.mark.parametrize("concentration", [0.0, 1e-300, 1e100])
def test_any_concentration_may_be_given(noisy, concentration: float) -> None:
    quick = {**QUICK, "n_warmup": 2, "n_draws": 4, "random_state": 0}
    model = KolmogorovPosterior(**quick, concentration=concentration)
    model.fit(Observations.from_long(noisy[0], scale=(1, 5)))
    np.testing.assert_allclose(model.pmf_.sum(axis=1), 1.0)
