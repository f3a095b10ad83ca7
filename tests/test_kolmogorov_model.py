"""The one model to begin with: a short posterior, compressed."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.utils.estimator_checks import parametrize_with_checks

from eventspace import KolmogorovDescent, KolmogorovModel, Observations
from eventspace._base.codes import unpack
from eventspace.fitted import drawing
from eventspace.fitted.fit import CompressedFit
from eventspace.sampling.sampler import Sampler
from tests import naive
from tests.fits import fitted
from tests.planted import chances, long, wide

QUICK: dict[str, Any] = {"n_chains": 3, "n_warmup": 4, "n_draws": 6, "random_state": 0}
Floats = NDArray[np.float64]


class Planted:
    """Noisy ratings of a planted model, a part held out; one item has a single rating."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        chance = 0.15 + 0.7 * chances(rng, 150, 60, 4, concentration=0.7)
        self.values = np.clip(chance + rng.normal(0, 0.25, chance.shape), 0, 1)
        seen = rng.random(chance.shape) < 0.4
        seen[:, 7:9] = False
        self.held_out = ~seen
        self.held_out[:, 7:9] = False
        table = np.where(seen, self.values, np.nan)
        table[4, 7], table[9, 8] = 1.0, 0.0
        self.observations = Observations.of(wide(table), scale=(0, 1))


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted()


@pytest.fixture
def model(planted: Planted) -> KolmogorovModel:
    found: KolmogorovModel = fitted(
        KolmogorovModel(8, n_chains=5, random_state=0), planted.observations
    )
    return found


# --- how well ------------------------------------------------------------------------------------


def test_it_predicts_about_as_well_as_it_expects(model, planted) -> None:
    p = model.predict()
    off = p - planted.values
    found = np.sqrt(np.mean(np.square(off[planted.held_out])))
    assert model.expected_rmse_ == pytest.approx(found, rel=0.15)
    single = KolmogorovDescent(8, random_state=0).fit(planted.observations)
    worse = single.predict() - planted.values
    assert found < np.sqrt(np.mean(np.square(worse[planted.held_out])))
    squares = np.square(model.noise_).mean() + model.unsure_**2 + model.loss_**2
    assert model.expected_rmse_ == pytest.approx(np.sqrt(squares))


def test_nothing_is_certain_after_one_rating(model) -> None:
    p = model.predict()
    typical = np.delete(p, [7, 8], axis=1).mean()
    for top, low in ((p[:, 7], p[:, 8]), new_items(model)):
        assert top.mean() - typical < 1 - top.mean()
        assert typical - low.mean() < low.mean()
        assert top.mean() > low.mean()


def new_items(model: KolmogorovModel) -> tuple[Floats, Floats]:
    """Two new items with one rating each, the best and the worst."""
    p = model.update((["u3", "u5"], ["top", "low"], [1.0, 0.0])).predict()
    return p[:, -1], p[:, -2]  # low comes before top


def test_a_new_user_with_one_rating_is_nearly_the_mean_user(model) -> None:
    everyone = model.predict().mean(axis=0)
    model.update((["glad", "sad"], ["i0", "i0"], [1.0, 0.0]))
    glad, sad = model.predict()[-2:]
    for p in (glad, sad):
        assert np.abs(p - everyone).mean() < 0.1
    assert glad[0] > sad[0]


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_auto_takes_no_more_events_than_are_needed(share) -> None:
    found = []
    for n_events in (2, 8):
        rng = np.random.default_rng(1)
        chance = chances(rng, 150, 40, n_events, concentration=0.3)
        table = np.clip(chance + rng.normal(0, 0.05, chance.shape), 0, 1)
        table[rng.random(table.shape) < share] = np.nan
        settings = {"n_chains": 3, "n_warmup": 10, "n_draws": 10, "random_state": 0}
        seen = Observations.of(table, scale=(0, 1))
        found.append(KolmogorovModel("auto", **settings).fit(seen).pmf_.shape[1])
    assert found[0] < found[1] <= 32


# --- seeds and threads ---------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(planted) -> None:
    settings = {"n_chains": 3, "n_warmup": 3, "n_draws": 4}
    one, two, other = (
        KolmogorovModel(5, **settings, random_state=seed, n_jobs=n_jobs).fit(planted.observations)
        for seed, n_jobs in ((1, 1), (1, 2), (2, 1))
    )
    for name in ("pmf_", "codes_", "noise_", "same_bits_", "same_pmf_", "proved_"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    for mine, others in zip(one.fitted_.record.meetings, two.fitted_.record.meetings, strict=True):
        assert_array_equal(mine, others)
    assert (one.loss_, one.unsure_) == (two.loss_, two.unsure_)
    assert not np.array_equal(one.pmf_, other.pmf_)


def test_two_seeds_find_the_same_events() -> None:
    """The first two chains do not depend on the seed, and events begin there."""
    rng = np.random.default_rng(4)
    chance = chances(rng, 120, 40, 3, concentration=0.4)
    table = np.clip(chance + rng.normal(0, 0.1, chance.shape), 0, 1)
    table[rng.random(table.shape) < 0.4] = np.nan
    seen = Observations.of(table, scale=(0, 1))
    settings = {"n_chains": 4, "n_warmup": 10, "n_draws": 10}
    one, two = (KolmogorovModel(3, **settings, random_state=seed).fit(seen) for seed in (1, 2))
    assert np.mean(one.indicators_ == two.indicators_) > 0.9
    for d in range(3):
        assert np.corrcoef(one.pmf_[:, d], two.pmf_[:, d])[0, 1] > 0.9


# --- what it says of itself ----------------------------------------------------------------------


def test_diagnostics_say_how_far_halves_of_the_chains_agree(model) -> None:
    table = model.diagnostics()
    assert list(table.columns) == ["event", "mass", "bits", "pmf"]
    assert list(table["event"]) == list(range(8))
    assert_allclose(table["mass"], model.pmf_mean_)
    assert_array_equal(table["bits"], model.same_bits_)
    assert_array_equal(table["pmf"], model.same_pmf_)
    assert table["bits"].between(0, 1).all()
    assert table["pmf"].between(-1, 1).all()
    heavy = table["mass"] > 0.15
    assert heavy.any()
    assert table["bits"][heavy].min() > 0.6


def test_the_summary_says_it_in_lines(model) -> None:
    text = str(model.summary())
    for piece in (
        "Kolmogorov model: 8 events, 150 users, 60 items",
        f"RMSE {model.expected_rmse_:.4f} in probability",
        f"predictions {model.loss_:.4f} (RMS) from those of the average",
        "60 of 60 items optimal",
        f"{model.effective_events_.mean():.1f} events for a user, in effect",
        f"{model.same_bits_.mean():.0%} of bits, PMFs correlate {model.same_pmf_.mean():.2f}",
    ):
        assert piece in text
    assert model.proved_.all()


def test_files_and_pickles_hold_it_all(model, tmp_path) -> None:
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="holds a KolmogorovModel, not a KolmogorovDescent"):
        KolmogorovDescent.load(tmp_path / "m")
    new = (["x", "x", "u1"], ["i0", "i3", "y"], [1.0, 0.2, 0.9])
    expected = model.fitted_.update(new)
    for again in (KolmogorovModel.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert str(again.summary()) == str(model.summary())
        assert_array_equal(again.predict(), model.predict())
        pd.testing.assert_frame_equal(again.diagnostics(), model.diagnostics())
        assert isinstance(again.fitted_.record, CompressedFit)
        assert_array_equal(again.update(new).pmf_, expected.pmf)
        assert_array_equal(again.codes_, expected.codes)


def test_the_page_says_how_far_halves_agree(model, tmp_path) -> None:
    text = model.report(tmp_path / "page.html", users=[]).read_text(encoding="utf-8")
    assert "Between halves of the chains" in text
    match = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert match
    fit = json.loads(match[1])["fit"]
    assert fit["expected"] == pytest.approx(model.expected_rmse_)
    assert fit["loss"] == pytest.approx(model.loss_)
    assert fit["same_bits"] == pytest.approx(model.same_bits_.mean())
    assert fit["effective"] == pytest.approx(model.effective_events_.mean())


def test_rules_may_be_tried_on_another_run(planted, monkeypatch) -> None:
    """With the settings of the model, and another seed."""
    model = fitted(KolmogorovModel(4, **QUICK), planted.observations)
    asked: list[Any] = []
    readable = drawing.readable

    def noted(observations: Any, settings: Any, *attributes: Any) -> Any:
        asked.append(settings)
        return readable(observations, settings, *attributes)

    monkeypatch.setattr(drawing, "readable", noted)
    rules = model.rules(restarts=1, top=None)
    assert rules["inclusion"].between(0, 1).all()
    (settings,) = asked
    assert (settings.n_events, settings.n_chains, settings.n_draws) == (4, 3, 6)
    assert settings.random_state != 0


def test_rules_say_whether_halves_of_the_chains_prove_them(model) -> None:
    rules = model.rules(top=None, fold=False)
    place = {item: k for k, item in enumerate(model.item_ids_)}
    halves = model.half_codes_.T
    assert len(halves) == 2
    found = set()
    for rule in rules.itertuples():
        a, b = place[rule.if_item], place[rule.then_item]
        held = [half[a] & ~half[b] == 0 and half[a] > 0 for half in halves]
        assert rule.inclusion == np.mean(held)
        found.add(rule.inclusion)
    assert len(found) > 1
    assert model.rules(sort="inclusion", fold=False)["inclusion"].is_monotonic_decreasing


# --- who is new ----------------------------------------------------------------------------------


def test_new_users_and_items_are_predicted_from_their_ratings(planted) -> None:
    """The last users and items come with half of their ratings, and asked for others."""
    rng = np.random.default_rng(0)
    chance = chances(rng, 130, 50, 3, concentration=0.4)
    table = wide(np.clip(chance + rng.normal(0, 0.1, chance.shape), 0, 1))
    known = Observations.of(table.iloc[:110, :42], scale=(0, 1))
    model = KolmogorovModel(4, **QUICK).fit(known)
    before = model.predict()
    given = pd.concat([long(table.iloc[110:, :21]), long(table.iloc[:55, 42:])])
    model.update(given)
    p = model.predict()
    assert_array_equal(p[55:110, :42], before[55:])
    assert np.abs(p[:55, :42] - before[:55]).mean() < 0.02  # they have rated new items
    everyone = before.mean()
    for rows, columns in ((slice(110, 130), slice(21, 42)), (slice(55, 110), slice(42, 50))):
        truth = chance[rows, columns]
        off = np.sqrt(np.mean(np.square(p[rows, columns] - truth)))
        assert off < 0.5 * np.sqrt(np.mean(np.square(truth - everyone)))
    assert len(model.noise_) == 130
    assert len(model.proved_) == 50
    assert model.proved_.all()
    u, i, value = model.observations_.coo()
    assert model.error_ == pytest.approx(np.square(p[u, i] - value).sum())
    pmf = model.transform(table.iloc[110:, :21].reindex(columns=model.item_ids_))
    assert_allclose(pmf, model.pmf_[110:], atol=0.02)


@pytest.mark.parametrize("n_ratings", [1, 5])
def test_sets_of_new_items_are_optimal(planted, n_ratings) -> None:
    """Of all 2^12 sets, drawn to the mean item."""
    D, rng = 12, np.random.default_rng(n_ratings)
    model: KolmogorovModel = fitted(KolmogorovModel(D, **QUICK), planted.observations)
    G, h = model.fitted_.record.expected_item
    users = [rng.choice(150, n_ratings, replace=False) for _ in range(10)]
    values = rng.random((10, n_ratings)).astype(np.float32).astype(np.float64)
    who = [f"u{u}" for u in np.ravel(users)]
    what = np.repeat([f"new {k}" for k in range(10)], n_ratings)
    new = Observations.of((who, what, values.ravel()), scale=(0, 1))
    known = model.pmf_
    model.update(new)
    assert model.proved_[60:].all()
    sets = unpack(np.arange(2**D, dtype=np.uint64)[:, None], D).astype(np.float64)
    for k in range(10):
        pmf = known[users[k]]
        S, v = pmf.T @ pmf + G, pmf.T @ values[k] + h
        cost = np.einsum("nd,de,ne->n", sets, S, sets) - 2 * sets @ v
        assert cost[int(model.codes_[60 + k, 0])] == pytest.approx(cost.min(), abs=1e-9)


def test_users_of_the_fit_are_drawn_to_their_pmfs_and_items_to_their_sets(planted) -> None:
    model: KolmogorovModel = fitted(KolmogorovModel(4, **QUICK), planted.observations)
    before = model.fitted_.record
    seen, psi = before.observations, before.indicators.astype(float)
    G, _ = before.expected_user
    index = seen.by_user.index[: seen.by_user.ptr[1]]
    gone, again = index[:2], index[2]
    new = next(i for i in range(60) if i not in index)
    items = [seen.item_ids[i] for i in (again, new)]
    forget = (seen.user_ids[0], [seen.item_ids[i] for i in gone])
    model.update(Observations.of(([seen.user_ids[0]] * 2, items, [1.0, 0.0]), scale=(0, 1)),
                 forget=forget)  # fmt: skip
    assert_array_equal(model.codes_, before.codes)
    assert_array_equal(model.pmf_[1:], before.pmf[1:])
    # (x - theta)'(Q + G)(x - theta) stands for the ratings so far; those that go are taken off it
    theta = before.pmf[0]
    H = psi[index].T @ psi[index] + G
    linear, value = H @ theta, dict(zip(index, seen.by_user.value, strict=False))
    for i, p, sign in [(g, value[g], -1) for g in (*gone, again)] + [(again, 1, 1), (new, 0, 1)]:
        H = H + sign * np.outer(psi[i], psi[i])
        linear = linear + sign * p * psi[i]
    found = naive.f(H, linear, model.pmf_[0])
    assert found == pytest.approx(naive.simplex_minimum(H, linear), abs=1e-5)
    u, i, p = model.observations_.coo()
    assert model.error_ == pytest.approx(np.square(model.predict()[u, i] - p).sum())
    assert set(model.observations_.by_user.index[: len(index) - 1]) == {*index, new} - {*gone}


def test_a_user_whose_ratings_come_again_stays(planted) -> None:
    model: KolmogorovModel = fitted(KolmogorovModel(4, **QUICK), planted.observations)
    again = model.fitted_.update(planted.observations)
    assert_allclose(again.pmf, model.pmf_, atol=2e-3)
    assert_array_equal(again.codes, model.codes_)
    assert_allclose(again.error, model.error_, rtol=1e-3)


def test_an_item_that_came_later_is_solved_from_all_its_ratings_each_time(planted) -> None:
    model: KolmogorovModel = fitted(KolmogorovModel(4, **QUICK), planted.observations)
    few, more = range(5), range(5, 60)
    for users in (few, more):
        raters = [f"u{k}" for k in users]
        chance = model.predict((raters, "i3"))
        model.update(Observations.of((raters, ["new"] * len(raters), chance), scale=(0, 1)))
    assert model.codes_[-1, 0] == model.codes_[model.item_ids_.tolist().index("i3"), 0]


def test_something_of_the_fit_must_be_left(planted) -> None:
    table = wide(np.random.default_rng(0).random((6, 5)))
    model = fitted(KolmogorovModel(2, **QUICK), table).update((["x"], ["y"], [0.5]))
    with pytest.raises(ValueError, match="no rating of the users, or of the items, that the model"):
        model.update(forget=long(table))


def test_users_who_come_later_change_nothing_of_what_is_expected_of_users(planted) -> None:
    model: KolmogorovModel = fitted(KolmogorovModel(4, **QUICK), planted.observations)
    record: CompressedFit = model.fitted_.record
    expected = record.expected_user
    rng = np.random.default_rng(0)
    for batch in range(3):
        users = [f"new {batch} {k}" for k in range(200)]
        items = [f"i{k}" for k in rng.integers(0, 60, 200)]
        new = Observations.of((users, items, rng.integers(0, 2, 200) * 1.0), scale=(0, 1))
        model.update(new)
        record = model.fitted_.record
        assert (len(record.pmf), record.n_learnt_users) == (150 + 200 * (batch + 1), 150)
        for one, other in zip(record.expected_user, expected, strict=True):
            assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9)


def test_a_known_item_that_nobody_had_rated_is_learnt_from_new_users() -> None:
    rng = np.random.default_rng(1)
    chance = chances(rng, 120, 20, 3, concentration=0.4)
    table = wide(np.clip(chance + rng.normal(0, 0.05, chance.shape), 0, 1))
    bare = table.iloc[:80].assign(i7=np.nan)
    model = KolmogorovModel(3, **QUICK).fit(Observations.of(bare, scale=(0, 1)))
    model.update(long(table.iloc[80:]))
    assert np.abs(model.predict()[:80, 7] - chance[:80, 7]).mean() < 0.1
    assert model.predict().shape == (120, 20)


# --- what is known beside ratings ----------------------------------------------------------------


def test_attributes_speak_for_items_with_few_ratings() -> None:
    rng = np.random.default_rng(4)
    user_kind, item_kind = np.arange(80) % 2, np.arange(50) % 2
    mean = np.where(user_kind[:, None] == item_kind, 0.85, 0.2)
    table = np.clip(mean + rng.normal(0, 0.2, mean.shape), 0, 1)
    table[rng.random(table.shape) < 0.6] = np.nan
    table[1:, 40:] = np.nan
    table[0, 40:] = 0.5
    of_items = pd.DataFrame({"kind": item_kind}, index=[f"i{k}" for k in range(50)])
    seen = Observations.of(wide(table), scale=(0, 1))
    off = []
    for attributes in (None, of_items):
        model = KolmogorovModel(4, **QUICK | {"n_warmup": 20, "n_draws": 20})
        p = model.fit(seen, item_attributes=attributes).predict()
        off.append(np.abs(p - mean)[:, 40:].mean())
    assert off[1] < 0.8 * off[0]


# --- how it is asked for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_events": 65}, "n_events=65 must be 'auto' or a whole number from 1 to 64"),
        ({"n_events": 0}, "n_events=0 must be 'auto' or a whole number from 1 to 64"),
        ({"n_events": "many"}, "n_events='many' must be 'auto' or a whole number"),
        ({"n_chains": 0}, "n_chains=0 must be 'auto' or a whole number"),
        ({"n_chains": "few"}, "n_chains='few' must be 'auto' or a whole number"),
        ({"n_chains": 257}, "n_chains=257 must be at most 256"),
        ({"n_draws": 3}, "n_draws=3 must be a whole number of at least 4"),
        ({"n_warmup": -1}, "n_warmup=-1 must be a whole number of at least 0"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number above 0"),
    ],
)
def test_mistakes_are_named(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        KolmogorovModel(**settings).fit(np.eye(3))


@pytest.mark.parametrize(("n_users", "n_chains"), [(199, 24), (200, 6)])
def test_small_tables_have_many_chains(n_users, n_chains, monkeypatch) -> None:
    counted, sample = [], Sampler.sample

    def spied(self: Any, seen: Any, rngs: Any, *numbers: Any) -> Any:
        counted.append(len(rngs))
        return sample(self, seen, rngs, *numbers)

    monkeypatch.setattr(Sampler, "sample", spied)
    table = np.random.default_rng(0).random((n_users, 10))
    KolmogorovModel(2, n_warmup=0, n_draws=4, random_state=0).fit(table)
    assert counted == [n_chains]


@parametrize_with_checks([KolmogorovModel(2, n_chains=1, n_warmup=1, n_draws=4)])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)
