"""Ratings that fade: weights by age, updates with times, and models that follow."""

from __future__ import annotations

import pickle
import warnings
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations, load
from eventspace._base.codes import unpack
from eventspace.data.forgetting import LEAST, Forgetting
from eventspace.data.updates import read_update
from eventspace.fitted.compressed import STAY
from tests import naive
from tests.archives import with_header

QUICK = settings(deadline=None, max_examples=60)
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 20)), min_size=1, max_size=15
)
TINY: dict[str, Any] = {"n_chains": 2, "n_warmup": 4, "n_draws": 4, "n_jobs": 1, "random_state": 0}


def frame(rows: list[tuple[int, int, int]], weight: bool = False) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["user", "item", "timestamp"])
    table.insert(2, "value", (table["user"] * 5 + table["item"] + table["timestamp"]) % 7 / 7)
    return table.assign(weight=1.0 + table["item"]) if weight else table


def drawn(n_users: int, n_items: int, share: float, seed: int = 0) -> pd.DataFrame:
    """Ratings at random times of two tastes."""
    rng = np.random.default_rng(seed)
    u, i = np.nonzero(rng.random((n_users, n_items)) < share)
    value = np.clip(0.1 + 0.8 * ((u + i) % 2) + rng.normal(0, 0.05, len(u)), 0, 1)
    times = rng.integers(0, 100, len(u)).astype(float)
    return pd.DataFrame({"user": u, "item": i, "value": value, "timestamp": times})


def cells(seen: Observations) -> dict[tuple[int, int], tuple[float, float]]:
    users, items, value = seen.coo()
    pairs = zip((seen.user_ids[u] for u in users), (seen.item_ids[i] for i in items), strict=True)
    return dict(
        zip(pairs, zip(value.tolist(), seen.by_user.weight.tolist(), strict=True), strict=True)
    )


@pytest.mark.parametrize("weight", [False, True])
def test_a_rating_made_now_counts_as_one_and_old_ones_as_less(weight: bool, tmp_path) -> None:
    table = frame([(0, 0, 0), (0, 1, 10), (1, 0, 15), (1, 1, 20)], weight)
    seen = Observations.of(table, scale=(0, 1), half_life=5)
    base = 1.0 + table["item"].to_numpy() if weight else np.ones(4)
    worth = base / base.mean() * [1 / 16, 1 / 4, 1 / 2, 1]
    assert seen.mean_weight == pytest.approx(base.mean())
    now = seen.with_unit_weight()
    assert_allclose(now.by_user.weight, worth, rtol=1e-6)
    assert_allclose(now.by_user.counts(now.fades), [worth[:2].sum(), worth[2:].sum()], rtol=1e-6)
    later = seen.at(25.0).with_unit_weight()
    assert_allclose(later.by_user.weight, worth / 2, rtol=1e-6)
    KolmogorovDescent(2, random_state=0).fit(seen).save(tmp_path / "x.eventspace")
    assert load(tmp_path / "x.eventspace").observations.mean_weight == seen.mean_weight


@pytest.mark.parametrize("weight", [False, True])
def test_a_weight_halves_with_every_half_life(weight) -> None:
    table = frame([(0, 0, 0), (0, 1, 10), (1, 0, 15), (1, 1, 20)], weight)
    seen = Observations.of(table, scale=(0, 1), half_life=5)
    base = 1.0 + table["item"].to_numpy() if weight else np.ones(4)
    assert_allclose(seen.by_user.weight, base * [1 / 16, 1 / 4, 1 / 2, 1], rtol=1e-6)
    assert seen.forgetting == Forgetting(5.0, 20.0, base.mean())
    assert "half-life 5" in repr(seen)


def test_dates_are_seconds_and_durations_too() -> None:
    table = frame([(0, 0, 0), (0, 1, 365), (1, 0, 730)])
    dates = table.assign(
        timestamp=pd.Timestamp("2020-01-01") + pd.to_timedelta(table["timestamp"], "D")
    )
    seconds = table.assign(timestamp=1_577_836_800 + table["timestamp"] * 86400)
    weights = [
        Observations.of(rows, scale=(0, 1), half_life=life).by_user.weight
        for rows in (dates, seconds)
        for life in ("365D", timedelta(days=365), np.timedelta64(365, "D"), "8760h")
    ] + [
        Observations.of(seconds, scale=(0, 1), half_life=life).by_user.weight
        for life in (365 * 86400, str(365 * 86400))
    ]
    for found in weights:
        assert_allclose(found, [0.25, 0.5, 1.0], rtol=1e-6)
    aware = dates.assign(timestamp=dates["timestamp"].dt.tz_localize("Europe/Oslo"))
    seen = Observations.from_long(aware, scale=(0, 1), half_life="365D", time="timestamp")
    assert_allclose(seen.by_user.weight, [0.25, 0.5, 1.0], rtol=1e-6)


def test_successes_fade_after_they_are_divided_by_their_trials() -> None:
    table = pd.DataFrame(
        {"user": [0, 0], "item": [0, 1], "successes": [2, 3], "trials": [4, 3], "time": [0.0, 1.0]}
    )
    seen = Observations.of(table, half_life=1)
    assert seen.by_user.value.tolist() == [0.5, 1.0]
    assert seen.by_user.weight.tolist() == [2.0, 3.0]


def test_what_is_ancient_is_never_nothing() -> None:
    rows = frame([(0, 0, 0), (0, 1, 20), (1, 0, 20)])
    with pytest.warns(UserWarning, match="the 1 older ratings count like 1.2e-38 new ones"):
        seen = Observations.of(rows, scale=(0, 1), half_life=1e-300)
    assert_allclose(seen.by_user.weight, [LEAST, 1.0, 1.0])
    later = seen.at(1e9)
    assert_allclose(later.by_user.weight, LEAST)
    assert later.at(5.0) is later
    model = KolmogorovDescent(2, random_state=0).fit(seen)
    assert np.isfinite(model.predict()).all()


@pytest.mark.parametrize(
    "life", [0, -1, float("nan"), float("inf"), "soon", "NaT", True, [3], "1e30"]
)
def test_what_is_no_half_life_is_refused(life) -> None:
    with pytest.raises(ValueError, match=r"half_life=.*counts half"):
        Observations.of(frame([(0, 0, 0), (0, 1, 1)]), half_life=life)


def test_what_has_no_times_is_refused() -> None:
    table = frame([(0, 0, 0), (0, 1, 1)])
    wide = pd.DataFrame(np.eye(6), columns=["date", *"bcdef"])
    for data in (([0], [1], [0.5]), np.eye(3), wide):
        with pytest.raises(ValueError, match="need times"):
            Observations.of(data, half_life=1)
    with pytest.raises(ValueError, match="No column is named like the time"):
        Observations.of(table.drop(columns="timestamp"), half_life=1)
    with pytest.raises(ValueError, match="time='timestamp' is for ratings that fade: state half"):
        Observations.of(table, time="timestamp")
    with pytest.raises(ValueError, match="time of row 1 is missing"):
        Observations.of(table.assign(timestamp=[1.0, np.nan]), half_life=1)
    with pytest.raises(ValueError, match=r"time of row 0 .* beyond all times"):
        Observations.of(table.assign(timestamp=[np.inf, 1.0]), half_life=1)
    with pytest.raises(ValueError, match="half-life of these observations is 2, not 1: leave"):
        Observations.of(Observations.of(table, half_life=2), half_life=1)
    with pytest.raises(ValueError, match="have no times"):
        Observations.of(Observations.of(table), half_life=1)


def test_the_last_of_a_pair_is_the_latest() -> None:
    table = frame([(0, 0, 9), (0, 0, 3), (0, 1, 5)])
    seen = Observations.of(table, scale=(0, 1), duplicates="last", half_life=1)
    value, weight = cells(seen)[0, 0]
    assert value == pytest.approx(table["value"][0])
    assert weight == 1.0


@pytest.mark.filterwarnings("ignore:The .*time .* Beside it the .*ratings .*count like")
@QUICK
@given(ROWS, st.lists(ROWS, max_size=3), st.sampled_from([1.0, 3.0, 40.0]))
def test_updates_in_any_order_of_times_weigh_each_rating_by_its_age(first, others, life) -> None:
    """Late ones too; the value of the last table holds, and of a table's the latest."""
    seen = Observations.of(frame(first), scale=(0, 1), duplicates="last", half_life=life)
    expected: dict[tuple[int, int], tuple[float, int]] = {}
    for rows in (first, *others):
        if rows is not first:
            seen = read_update(seen, frame(rows), None).now
        table = frame(rows).sort_values("timestamp", kind="stable")
        for user, item, value, at in zip(*(table[c] for c in table), strict=True):
            expected[user, item] = value, at
    now = max(at for rows in (first, *others) for _, _, at in rows)
    assert seen.forgetting is not None
    assert seen.forgetting.now == now
    found = cells(seen)
    assert found.keys() == expected.keys()
    for pair, (value, at) in expected.items():
        assert found[pair][0] == pytest.approx(value, abs=1e-6)
        assert found[pair][1] == pytest.approx(max(2.0 ** ((at - now) / life), LEAST), rel=1e-4)


def test_ratings_that_fade_go_with_models_that_forget_only() -> None:
    table = frame([(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 5)])
    forgets = KolmogorovDescent(2, random_state=0).fit(Observations.of(table, half_life=1))
    with pytest.raises(ValueError, match="need times"):
        forgets.update(([0], [0], [0.5]))
    keeps = KolmogorovDescent(2, random_state=0).fit(table)
    with pytest.raises(ValueError, match="fade and the model's do not"):
        keeps.update(Observations.of(table, half_life=1))
    forgets.update(forget=(0, 0))
    assert forgets.observations_.forgetting == Forgetting(1.0, 5.0)


@pytest.mark.parametrize("kind", [KolmogorovDescent, KolmogorovModel, KolmogorovPosterior])
def test_files_and_pickles_keep_how_a_model_forgets(kind, tmp_path) -> None:
    settings = {"random_state": 0} if kind is KolmogorovDescent else TINY
    table = drawn(20, 12, 0.5)
    model = kind(2, **settings).fit(Observations.of(table, scale=(0, 1), half_life=30))
    model.save(tmp_path / "m.eventspace")
    more = drawn(22, 13, 0.1, seed=1).assign(timestamp=130.0)
    ways = (load(tmp_path / "m.eventspace"), pickle.loads(pickle.dumps(model)).fitted_)
    known = model.fitted_
    for other in ways:
        assert other.observations.forgetting == Forgetting(30.0, known.observations.forgetting.now)
        assert_array_equal(other.update(more).predict(), known.update(more).predict())


@pytest.mark.parametrize(
    "header",
    [
        {"half_life": 0, "now": 1.0},
        {"half_life": -3.0, "now": 1.0},
        {"half_life": 1e300, "now": 1.0},
        {"half_life": 1.0, "now": 1e300},
        {"half_life": 1.0, "now": None},
        {"half_life": None, "now": 1.0},
        {"half_life": "365D", "now": 1.0},
        {"half_life": True, "now": 1.0},
        {"half_life": 10**400, "now": 1.0},
    ],
    ids=str,
)
def test_a_file_with_another_clock_is_refused(header, tmp_path) -> None:
    path = tmp_path / "m.eventspace"
    KolmogorovDescent(2, random_state=0).fit(Observations.of(drawn(8, 6, 0.9), half_life=9)).save(
        path
    )
    with_header(path, **header)
    with pytest.raises(ValueError, match=r"m\.eventspace.*(half-life|time)"):
        load(path)


def test_ratings_without_weights_do_not_fade(tmp_path) -> None:
    path = tmp_path / "m.eventspace"
    KolmogorovDescent(2, random_state=0).fit(drawn(8, 6, 0.9)).save(path)
    with_header(path, half_life=1.0, now=2.0, unit_weight=1.0)
    with pytest.raises(ValueError, match="fade, but have no weights"):
        load(path)


@pytest.mark.parametrize("kind", [KolmogorovDescent, KolmogorovModel])
def test_the_error_is_that_of_the_faded_ratings(kind) -> None:
    settings = {"random_state": 0} if kind is KolmogorovDescent else {**TINY, "meets": False}
    model = kind(2, **settings).fit(Observations.of(drawn(20, 12, 0.5), scale=(0, 1), half_life=30))
    for k in range(3):
        model.update(drawn(22, 13, 0.05, seed=k + 1).assign(timestamp=100.0 + 20 * k))
        u, i, p = model.observations_.coo()
        expected = model.observations_.by_user.weight @ np.square(model.predict()[u, i] - p)
        assert model.error_ == pytest.approx(expected, rel=1e-4)


def test_what_was_known_draws_users_and_items_as_its_faded_sums_say() -> None:
    """Of all 2^4 sets, and of all PMFs: (x - x0)'(f S + G)(x - x0), f the part that is left."""
    table, D = drawn(40, 20, 0.5), 4
    table["timestamp"] = 0.0
    model = KolmogorovModel(D, **TINY, meets=False).fit(
        Observations.of(table, scale=(0, 1), half_life=10)
    )
    before = model.fitted_.record
    rated = table[table["user"] == 3]["item"].tolist()
    item = next(i for i in range(20) if i not in rated)
    model.update(pd.DataFrame({"user": [3], "item": [item], "value": [1.0], "timestamp": [20.0]}))
    theta, f = before.pmf, 0.25
    seen = before.observations
    u, i = (ids.positions([k])[0] for ids, k in ((seen.user_ids, 3), (seen.item_ids, item)))
    raters = seen.by_item.index[seen.by_item.ptr[i] : seen.by_item.ptr[i + 1]]
    x0 = before.indicators[i].astype(float)
    G, _ = before.expected_item
    H = f * theta[raters].T @ theta[raters] + G
    sets = unpack(np.arange(2**D, dtype=np.uint64)[:, None], D).astype(float)
    cost = np.einsum("nd,de,ne->n", sets - x0, H, sets - x0) + np.square(sets @ theta[u] - 1.0)
    cost += 2 * before.weighed_noise * STAY * np.abs(sets - x0).sum(axis=1)
    assert cost[int(model.codes_[i, 0])] == pytest.approx(cost.min(), abs=1e-6)
    psi = model.indicators_.astype(float)
    mine = [seen.item_ids.positions([k])[0] for k in rated]
    G, _ = before.expected_user
    H = f * psi[mine].T @ psi[mine] + G
    Q, r = H + np.outer(psi[i], psi[i]), H @ theta[u] + psi[i]
    assert naive.f(Q, r, model.pmf_[u]) == pytest.approx(naive.simplex_minimum(Q, r), abs=1e-5)


@pytest.mark.parametrize("kind", [KolmogorovDescent, KolmogorovModel])
def test_users_and_items_follow_what_has_moved(kind) -> None:
    """One user changes sides, and one item: forgetting, the model follows; else it lags."""
    settings = {"random_state": 0} if kind is KolmogorovDescent else {**TINY, "meets": False}
    table, late = (drawn(60, 30, 0.5, seed).assign(timestamp=20.0 * seed) for seed in (0, 1))
    moved = (late["user"] == 0) ^ (late["item"] == 0)
    late["value"] = np.where(moved, 1 - late["value"], late["value"])
    u, i = np.indices((60, 30))
    chance = 0.1 + 0.8 * (((u + i) % 2) ^ ((u == 0) ^ (i == 0)))
    off, others = {}, {}
    for life in (None, 5.0):
        model = kind(4, **settings).fit(Observations.of(table, scale=(0, 1), half_life=life))
        model.update(late)
        apart = np.abs(model.predict((u.ravel(), i.ravel())).reshape(u.shape) - chance)
        off[life], others[life] = apart[(u == 0) ^ (i == 0)].mean(), apart[1:, 1:].mean()
    assert max(others.values()) < 0.1
    assert off[5.0] < 0.2
    assert off[5.0] < 0.8 * off[None]


@pytest.mark.parametrize("kind", [KolmogorovDescent(2, random_state=0), KolmogorovModel(2, **TINY)])
def test_nothing_is_lost_where_all_that_is_known_has_faded(kind) -> None:
    """However great the weights are beside which it counts for nothing."""
    rng = np.random.default_rng(0)
    u, i = np.nonzero(np.ones((4, 4)))
    known = pd.DataFrame({"user": u, "item": i, "value": rng.random(16), "weight": 1e8})
    known["timestamp"] = np.linspace(0, 1, 16)
    model = kind.fit(Observations.of(known, half_life=1.0))
    one = pd.DataFrame({"user": [9], "item": [1], "value": [0.3], "weight": [1e8]})
    for k in range(1, 11):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The newest time")
            model.update(one.assign(timestamp=1 + 19.0 * k))
    model.update(forget=([9], [1]))
    found = model.monitor(known.assign(timestamp=191.0))
    assert np.isfinite(found.expected_rmse)
    assert not found.moved.isna().any(axis=None)


def test_a_model_takes_its_own_observations_however_old_or_heavy() -> None:
    old = frame([(0, 0, 0), (0, 1, 103), (1, 0, 104), (1, 1, 105)])
    heavy = old.drop(columns="timestamp").assign(weight=1e30)
    for seen in (
        Observations.of(old, scale=(0, 1), half_life=1.0),
        Observations.of(heavy, scale=(0, 1)),
    ):
        model = KolmogorovDescent(2, random_state=0).fit(seen)
        assert model.transform(model.observations_).shape == (2, 2)
        assert np.isfinite(model.monitor(model.observations_).rmse)
        assert Observations.of(seen, scale=(0, 2)).n_observed == 4


def test_the_mean_weight_does_not_depend_on_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    u, i = np.nonzero(np.ones((30, 20)))
    weight = 10 ** rng.uniform(-12, 12, 600)
    rows = pd.DataFrame({"user": u, "item": i, "value": 0.5, "weight": weight, "timestamp": 0})
    orders = [rows, *(rows.sample(frac=1, random_state=k) for k in range(20))]
    assert len({Observations.of(one, half_life=1.0).mean_weight for one in orders}) == 1
