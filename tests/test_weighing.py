"""Users weigh the events of several chains: closed forms, what is learnt, what becomes of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from eventspace import KolmogorovPosterior, Observations
from eventspace.engines.cpu import CPU
from eventspace.sampling import joint_law
from eventspace.sampling.joint_law import Joint, together
from eventspace.sampling.priors.noise import SHAPE as NOISE_SHAPE
from eventspace.sampling.priors.noise import NoisePrior
from tests import naive
from tests.fits import fitted

Floats = NDArray[np.float64]


def ratings(p: Floats, *, share: float = 1.0, weight: Floats | None = None, seed: int = 0) -> Any:
    """These values, or a part of them, as observations, anything outside of [0, 1] cut off."""
    seen = np.random.default_rng(seed).random(p.shape) < share
    u, i = np.nonzero(seen)
    columns = [u, i, np.clip(p, 0, 1)[u, i], *([] if weight is None else [weight[u, i]])]
    ids = {"users": np.arange(len(p)), "items": np.arange(p.shape[1])}
    return Observations.of(tuple(columns), scale=(0, 1), **ids)


def joint_of(observations: Observations, chances: Floats, n_threads: int = 1) -> Joint:
    return Joint(
        observations.by_user, observations.by_user.counts(), chances, CPU(n_threads), False
    )


def finished(steps: Generator[int, None, Any]) -> Any:
    """What a task gives that is run to its end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_expected_is_that_of_the_formulas_and_of_all_bits(weighted: bool) -> None:
    """Bits that are not sure: the quadratic of a user is its mean over all their settings."""
    rng = np.random.default_rng(0)
    chances = rng.choice([0.0, 0.3, 0.8, 1.0], (4, 3))
    weight = rng.uniform(0.5, 3.0, (5, 4)) if weighted else None
    seen = ratings(rng.random((5, 4)), share=0.5, weight=weight)
    assert 0 in np.diff(seen.by_user.ptr)  # one has rated nothing
    covariance = 0.1 * np.cov(rng.normal(size=(3, 9)))
    centres, precision = rng.dirichlet(np.ones(3), 5), rng.uniform(5, 50, 5)
    found = joint_of(seen, chances).expect(covariance, centres, precision)
    settings = naive.all_codes(12).reshape(-1, 4, 3)
    mass = np.prod(np.where(settings, chances, 1 - chances), axis=(1, 2))
    total = np.zeros((3, 3))
    entries = seen.by_user
    for u in range(5):
        at = slice(*entries.ptr[u : u + 2])
        i, y = entries.index[at], entries.value[at].astype(float)
        w = entries.weight[at].astype(float) if weighted else np.ones(len(y))
        X = settings[:, i]
        Q = np.einsum("s,sid,i,sie->de", mass, X, w, X)
        r = np.einsum("s,sid,i,i->d", mass, X, w, y)
        V = np.linalg.inv(precision[u] * Q + np.linalg.inv(covariance))
        m = V @ (precision[u] * r + np.linalg.solve(covariance, centres[u]))
        assert_allclose(found.theta[u], m, atol=1e-9)
        assert_allclose(found.error[u], w @ y**2 - 2 * r @ m + m @ Q @ m + np.sum(Q * V), atol=1e-6)
        square = np.einsum("s,sid,sie->de", mass, settings, settings) / 4
        assert_allclose(found.variance[u], np.sum(V * square))
        total += V * (len(y) > 0)
    assert_allclose(found.covariance, total)


def test_the_law_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of two kinds of noise, who differ in one direction only."""
    rng = np.random.default_rng(1)
    n_users, n_items = 1500, 120
    bits = (rng.random((n_items, 5)) < 0.5).astype(float)
    along = np.array([0.12, -0.12, 0.0, 0.05, -0.05])
    theta = 0.2 + rng.normal(size=(n_users, 1)) * along
    noise = np.where(np.arange(n_users) % 2 == 0, 0.03, 0.15)[:, None]
    values = 0.3 + 0.4 * (theta @ bits.T + rng.normal(size=(n_users, n_items)) * noise)
    assert 0 < values.min() < values.max() < 1  # nothing is cut off
    # the scale and the shift are for an event in which all come true, and one in which none does
    chances = np.hstack([bits, np.ones((n_items, 1)), np.zeros((n_items, 1))])
    truth = np.hstack([0.4 * theta, np.full((n_users, 2), 0.3)])
    seen = ratings(values, share=0.5)
    start = truth + rng.normal(0, 0.05, truth.shape)
    monkeypatch.setattr(joint_law, "STEPS", 40)
    mean = lambda now: np.tile(now.mean(axis=0), (len(now), 1))  # noqa: E731
    weigh = joint_of(seen, chances, 2)
    weighed, covariance = finished(weigh.learn(start, np.full(n_users, 100.0), mean))
    assert_allclose(covariance[:5, :5], 0.16 * np.outer(along, along), atol=4e-4)
    of_quiet, of_loud = (np.median(1 / np.sqrt(weighed.precision[k::2])) for k in (0, 1))
    rate, half = NOISE_SHAPE / weighed.precision.mean(), n_items / 4  # of the ratings, for each
    for found, own in ((of_quiet, 0.4 * 0.03), (of_loud, 0.4 * 0.15)):
        expected = np.sqrt((rate + half * own**2) / (NOISE_SHAPE + half))
        assert found == pytest.approx(expected, rel=0.05)
    quiet = np.arange(0, n_users, 2)
    apart = (weighed.pmf @ chances.T - truth @ chances.T)[quiet]
    assert np.sqrt(np.mean(np.square(apart))) < 0.01


def test_pmfs_are_the_nearest_in_their_predictions() -> None:
    rng = np.random.default_rng(2)
    chances = rng.random((9, 5))
    weigh = joint_of(ratings(rng.random((20, 9))), chances)
    pmf = rng.dirichlet(np.ones(5), 20)
    assert_allclose(weigh.nearest(pmf), pmf, atol=1e-6)
    theta = pmf + rng.normal(0, 0.2, pmf.shape)
    found = weigh.nearest(theta)
    assert found.min() >= 0
    assert_allclose(found.sum(axis=1), 1)
    wanted = np.clip(theta @ chances.T, 0, 1)
    for u in range(20):
        Q, r = chances.T @ chances, chances.T @ wanted[u]
        assert naive.f(Q, r, found[u]) <= naive.simplex_minimum(Q, r) + 2e-3
    assert np.isfinite(weigh.nearest(np.full((20, 5), -1.0))).all()


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(3)
    seen, chances = ratings(rng.random((300, 20)), share=0.5), rng.random((20, 12))
    start, centres = rng.dirichlet(np.ones(12), 300), np.full((300, 12), 1 / 12)
    found = [
        finished(joint_of(seen, chances, n).learn(start, np.full(300, 20.0), lambda now: centres))
        for n in (1, 2)
    ]
    for one, two in zip(*(found[k][0] for k in (0, 1)), strict=True):
        assert_array_equal(one, two)
    assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("value", [0.0, 0.4])
def test_tables_without_noise_or_difference_are_learnt(value: float) -> None:
    seen, chances = ratings(np.full((60, 25), value)), np.tile([0.0, 1.0, 1.0, 0.0], (25, 1))
    start = np.full((60, 4), 0.25)
    joint = joint_of(seen, chances)
    weighed, covariance = finished(joint.learn(start, np.full(60, 1e9), lambda now: start))
    assert np.isfinite(covariance).all()
    assert weighed.precision.max() <= joint_law.MOST_PRECISION
    assert_allclose(weighed.pmf.sum(axis=1), 1)
    assert_allclose(weighed.pmf @ chances.T, value, atol=0.01)


def test_those_without_ratings_are_where_they_are_expected() -> None:
    rng = np.random.default_rng(4)
    p = rng.random((6, 8))
    seen = Observations.of(
        (np.zeros(8), np.arange(8), p[0]), scale=(0, 1), users=np.arange(6), items=np.arange(8)
    )
    centres = rng.dirichlet(np.ones(3), 6)
    weigh = joint_of(seen, rng.random((8, 3)))
    settled = weigh.settle(0.01 * np.eye(3), centres, NoisePrior(0.08))
    assert_allclose(settled.pmf[1:], centres[1:], atol=1e-6)
    assert_allclose(settled.precision[1:], NOISE_SHAPE / 0.08)
    assert settled.variance[0] < settled.variance[1:].min()


@pytest.mark.parametrize(
    ("n_chains", "n_events", "n_users", "n_ratings", "expected"),
    [
        (8, 8, 256, 20, 8),
        (8, 8, 255, 20, 4),
        (8, 8, 256, 19, 1),
        (8, 24, 191, 50, 1),
        (8, 24, 192, 50, 2),
        (24, 24, 5000, 50, 2),
        (24, 8, 5000, 50, 8),
        (11, 24, 5000, 50, 1),
        (5, 6, 5000, 50, 5),
        (1, 6, 5000, 50, 1),
        (8, 64, 5000, 50, 2),
    ],
)
def test_chains_are_taken_together_where_there_are_users_and_ratings_enough(
    n_chains: int, n_events: int, n_users: int, n_ratings: int, expected: int
) -> None:
    u, i = np.indices((n_users, n_ratings)).reshape(2, -1)
    users = np.arange(n_users + 1000)  # a thousand without ratings do not count
    seen = Observations.of((u, i, np.full(u.size, 0.5)), scale=(0, 1), users=users)
    assert together(n_chains, n_events, seen.by_user) == expected


# --- in a posterior -----------------------------------------------------------------------------

QUICK = {"n_events": 6, "n_chains": 4, "n_warmup": 20, "n_draws": 24, "n_samples": 24}


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, Floats]:
    """Users of a logistic curve, which no few events describe: what is seen, and the chances."""
    rng = np.random.default_rng(5)
    curve = rng.normal(0, 1.2, (260, 3)) @ rng.normal(0, 1.2, (3, 60)) + rng.normal(size=60)
    chances = 1 / (1 + np.exp(-curve))
    values = np.clip(chances + rng.normal(0, 0.1, chances.shape), 0, 1)
    values[rng.random(values.shape) > 0.55] = np.nan
    names = [f"u{u}" for u in range(260)], [f"i{i}" for i in range(60)]
    return pd.DataFrame(values, index=names[0], columns=names[1]), chances


@pytest.fixture(scope="module")
def weighed(tables: tuple[pd.DataFrame, Floats]) -> KolmogorovPosterior:
    known = Observations.from_wide(tables[0].iloc[:250, :56], scale=(0, 1))
    return KolmogorovPosterior(**QUICK, random_state=0).fit(known)


def long(wide: pd.DataFrame) -> pd.DataFrame:
    return wide.rename_axis("user").reset_index().melt("user", var_name="item").dropna()


def off(model: Any, users: slice, items: slice, chances: Floats) -> float:
    """How far the predictions are from the chances, in the order of the table."""
    u = model.observations_.user_ids.positions(np.array([f"u{k}" for k in range(260)][users]))
    i = model.observations_.item_ids.positions(np.array([f"i{k}" for k in range(60)][items]))
    found = model.predict()[np.ix_(u, i)]
    return float(np.sqrt(np.mean(np.square(found - chances[users, items]))))


def test_weighing_chains_predicts_better(weighed, tables) -> None:
    known = Observations.from_wide(tables[0].iloc[:250, :56], scale=(0, 1))
    plain = fitted(KolmogorovPosterior(**QUICK, random_state=0, weigh=False), known)
    assert (weighed.n_together_, plain.n_together_) == (4, 1)
    assert_array_equal(np.sort(weighed.cost_.ravel()), np.sort(plain.cost_.ravel()))
    part = slice(250), slice(56), tables[1]
    assert off(weighed, *part) < 0.9 * off(plain, *part)
    assert "4 together weighed by the users" in weighed.summary()
    assert "24 draws of 6 events" in weighed.summary()
    assert "weighed" not in plain.summary()
    assert not plain.open_.any()


def test_a_sample_has_a_draw_of_each_chain_and_all_share_their_pmfs(weighed) -> None:
    samples = list(weighed.samples())
    assert len(samples) == weighed.n_samples_ == 6
    for pmf, bits in samples:
        assert bits.shape == (56, 24)
        assert_allclose(pmf, samples[0][0], atol=1e-12)
        assert_allclose(pmf.sum(axis=1), 1)
    mean = np.mean([pmf @ bits.T for pmf, bits in samples], axis=0)
    assert_allclose(weighed.predict(), mean, atol=1e-9)
    weights = samples[0][0].reshape(250, 4, 6).sum(axis=2)  # of each chain, by each user
    assert weights.std(axis=0).min() > 0.01


def test_rules_are_those_of_single_draws(weighed) -> None:
    found = weighed.rules(top=None, fold=False)
    place = {item: k for k, item in enumerate(weighed.item_ids_)}
    bits = np.concatenate([bits.reshape(56, 4, 6) for _, bits in weighed.samples()], axis=1)
    for rule in found.itertuples():
        a, b = bits[place[rule.if_item]], bits[place[rule.then_item]]
        held = a.any(axis=1) & ~(a & ~b).any(axis=1)
        assert rule.inclusion == pytest.approx(held.mean())
    assert len(found) > 5


def test_intervals_hold_what_the_ratings_leave_open(weighed, tables) -> None:
    wide, chances = tables
    rng = np.random.default_rng(6)
    u, i = np.nonzero(np.isnan(wide.to_numpy()[:250, :56]))
    pairs = pd.DataFrame({"user": wide.index[u], "item": wide.columns[i]})
    found = weighed.predict_interval(pairs, 0.9)
    truth = np.clip(chances[u, i] + rng.normal(0, 0.1, len(u)), 0, 1)
    inside = (found["low"] <= truth) & (truth <= found["high"])
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    draws = np.array([pmf @ bits.T for pmf, bits in weighed.samples()])
    at = weighed.observations_.user_ids.positions(pairs["user"])
    which = weighed.observations_.item_ids.positions(pairs["item"])
    variance = 4 * draws[:, at, which].var(axis=0) + weighed.open_[at]
    assert_allclose(found["std"], np.sqrt(variance), atol=1e-6)
    anyone = weighed.predict_interval((["nobody"], ["i0"]), unknown="population")
    everyone = np.array([draw[:, list(weighed.item_ids_).index("i0")] for draw in draws])
    left_open = weighed.open_.mean()
    assert anyone["std"][0] == pytest.approx(np.sqrt(everyone.var() + left_open), rel=1e-6)
    assert weighed.open_.min() > 0


def test_newcomers_weigh_the_events_too(weighed, tables, tmp_path) -> None:
    wide, chances = tables
    weighed.save(tmp_path / "model")
    model = KolmogorovPosterior.load(tmp_path / "model")
    assert_array_equal(model.predict(), weighed.predict())
    pmf = model.transform(wide.iloc[250:, :56])
    assert pmf.shape == (10, weighed.pmf_.shape[1])
    assert_allclose(pmf.sum(axis=1), 1)
    order = [wide.columns.get_loc(item) for item in model.item_ids_]
    apart = model.inverse_transform(pmf) - chances[250:][:, order]
    known = off(model, slice(250), slice(56), chances)
    assert np.sqrt(np.mean(np.square(apart))) < 1.3 * known
    model.update(long(wide.iloc[250:, :56]))
    assert model.open_.shape == model.noise_.shape == (260,)
    assert off(model, slice(250, 260), slice(56), chances) < 1.3 * known
    assert_array_equal(model.pmf_[:250], weighed.pmf_)
    model.update(long(wide.iloc[:, 56:]))
    assert off(model, slice(260), slice(56, 60), chances) < 2 * known
    model.predict_interval((["u255"], ["i58"]))


def test_an_update_that_fails_leaves_what_is_left_open_alone(weighed, tables, monkeypatch) -> None:
    def interrupted(self: Any, chain: Any, log_odds: Floats, n_samples: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eventspace.sampling.updating.Updating.draw_items", interrupted)
    with pytest.raises(KeyboardInterrupt):
        weighed.update(long(tables[0].iloc[250:, :56]))
    assert weighed.open_.shape == (250,)


def test_groups_of_chains_are_samples_of_their_own(tables) -> None:
    known = Observations.from_wide(tables[0].iloc[:250, :56], scale=(0, 1))
    quick = {**QUICK, "n_events": 16, "n_warmup": 2, "n_draws": 6}
    model = KolmogorovPosterior(**quick, random_state=0).fit(known)
    assert model.n_together_ == 2
    assert model.covariance_.shape == (2, 32, 32)
    pmfs = [pmf for pmf, _ in model.samples()]
    assert len(pmfs) == model.n_samples_ == 12
    for k, pmf in enumerate(pmfs):
        assert_allclose(pmf, pmfs[k % 2], atol=1e-12)
    assert not np.allclose(pmfs[0], pmfs[1], atol=1e-3)
    again = model.transform(tables[0].iloc[:250, :56])
    apart = (model.inverse_transform(again) - model.predict())[:, :]
    assert np.sqrt(np.mean(np.square(apart))) < 0.05
    model.update(long(tables[0].iloc[250:, :56]))
    assert_allclose(model.pmf_.sum(axis=1), 1)
    part = slice(250, 260), slice(56), tables[1]
    assert off(model, *part) < 1.3 * off(model, slice(250), *part[1:])


@pytest.mark.parametrize("weight", [0.04, 25.0])
def test_only_how_weights_compare_matters(weighed, tables, weight) -> None:
    frame = long(tables[0].iloc[:250, :56]).assign(weight=weight)
    known = Observations.from_long(frame, scale=(0, 1), users=weighed.user_ids_)
    model = KolmogorovPosterior(**QUICK, random_state=0).fit(known)
    assert model.n_together_ == 4
    assert_allclose(np.median(model.noise_), np.median(weighed.noise_), rtol=0.05)
    new = long(tables[0].iloc[250:, :56]).assign(weight=weight)
    mixed = np.where(np.arange(len(new)) % 2 == 0, weight, 1e-9 * weight)  # half say nothing
    aligned: Any = {"scale": (0, 1), "users": tables[0].index[250:]}
    found, half, whole = (
        model.inverse_transform(model.transform(Observations.from_long(frame, **aligned)))
        for frame in (new.assign(weight=mixed), new.iloc[::2], new)
    )
    assert np.std(found - half) < 0.4 * np.std(whole - half)


@pytest.mark.parametrize("informed", [False, True])
def test_centres_know_who_rated_what_and_attributes_if_they_may(informed, monkeypatch) -> None:
    """Those of a kind like the same: their number says it, and so does what they rate."""
    rng = np.random.default_rng(7)
    kind = np.arange(120) % 2
    p = np.where(kind[:, None] == np.arange(40) % 2, 0.8, 0.2) + rng.normal(0, 0.1, (120, 40))
    seen = ratings(p, share=0.7)
    of_users = kind[:, None] + rng.normal(0, 0.1, (120, 1))
    given = []
    learn = Joint.learn

    def spied(self: Joint, theta: Floats, precision: Floats, centres: Any) -> Any:
        given.append((theta, centres(theta)))
        return learn(self, theta, precision, centres)

    monkeypatch.setattr(Joint, "learn", spied)
    quick = {**QUICK, "n_events": 3, "n_warmup": 5, "n_draws": 8}
    attributes = {"user_attributes": of_users} if informed else {}
    model = KolmogorovPosterior(**quick, informed=informed, random_state=0)
    model.fit(seen, **attributes)
    [(theta, centres)] = given
    apart = np.abs(centres[kind == 0].mean(axis=0) - centres[kind == 1].mean(axis=0)).max()
    assert np.abs(theta[kind == 0].mean(axis=0) - theta[kind == 1].mean(axis=0)).max() > 0.1
    assert (apart > 0.1) == informed


def test_one_draw_of_a_chain_is_not_weighed(tables) -> None:
    known = Observations.from_wide(tables[0].iloc[:250, :56], scale=(0, 1))
    quick = {**QUICK, "n_samples": 7, "n_warmup": 1, "n_draws": 4}
    model = KolmogorovPosterior(**quick, random_state=0).fit(known)
    assert model.n_together_ == 1
    assert model.n_samples_ == 4


def test_the_penalty_is_that_of_the_chains_whether_they_are_weighed_or_not(weighed, tables) -> None:
    known = Observations.from_wide(tables[0].iloc[:250, :56], scale=(0, 1))
    plain = fitted(KolmogorovPosterior(**QUICK, random_state=0, weigh=False), known)
    of_noise = (np.median(weighed.noise_) / np.median(plain.noise_)) ** 2
    assert weighed.pmf_penalty_ == pytest.approx(plain.pmf_penalty_ * of_noise)
