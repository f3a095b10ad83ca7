"""What is missing can speak: visits, clicks and baskets, where only the yes is stored."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
    load,
)
from eventspace.baselines import BiasModel
from eventspace.data.factors import squared_error, squared_errors
from eventspace.engines import engine
from tests.observing import content

VISITS = pd.DataFrame(
    {"user": ["ann", "ann", "bob", "cid", "ann"], "item": ["x", "y", "y", "z", "x"]}
)
QUICK = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "random_state": 0, "verbose": False}


def baskets(n_users: int = 60, n_items: int = 20, seed: int = 0) -> np.ndarray:
    """Users of three kinds, and what each of them visits."""
    rng = np.random.default_rng(seed)
    pmf = rng.dirichlet(np.full(3, 0.3), n_users)
    sets = np.eye(3)[:, np.arange(n_items) % 3]
    return (rng.random((n_users, n_items)) < 0.7 * (pmf @ sets) + 0.02) * 1.0


def stored(table: np.ndarray, **options) -> Observations:
    """The ones of a table, the rest missing."""
    users, items = np.nonzero(table)
    known = {"users": range(table.shape[0]), "items": range(table.shape[1])}
    return Observations.of((users, items), missing="no", **known, **options)


@pytest.mark.parametrize(
    "table",
    [
        VISITS,
        VISITS.rename(columns={"user": "who", "item": "what"}),
        VISITS.assign(timestamp=np.arange(5)),
        VISITS[["item", "user"]],
        tuple(VISITS[name].tolist() for name in VISITS),
    ],
    ids=["named", "by position", "with times", "other order", "tuple"],
)
def test_a_table_without_values(table) -> None:
    seen = Observations.of(table, missing="no")
    pairs = {("ann", "x"), ("ann", "y"), ("bob", "y"), ("cid", "z")}
    assert content(seen) == dict.fromkeys(pairs, (1.0, 1.0))
    assert (seen.scale, seen.missing) == ((0.0, 1.0), 1.0)
    assert seen.by_user.rated.all()
    assert "4 observed, the others no, scale 0..1" in repr(seen)


def test_named_columns_and_files(tmp_path) -> None:
    odd = VISITS.assign(more="x").rename(columns={"user": "a", "item": "b"})
    seen = Observations.from_long(odd, user="a", item="b", missing=0.5)
    assert seen.n_observed == 4
    assert_array_equal(seen.by_item.missing, np.full(3, 0.5))
    VISITS.to_csv(tmp_path / "visits.csv", index=False)
    assert content(Observations.of(tmp_path / "visits.csv", missing="no")) == content(seen)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (VISITS, {"missing": "none"}, r"missing='none' does not say what missing entries mean"),
        (VISITS, {"missing": -1}, r"missing=-1 does not say"),
        (VISITS.assign(value=3.0), {"missing": "no"}, r"Values run from 3 to 3, .*scale=\(0, 3\)"),
        (VISITS, {}, r"No column is named like the value.*missing=\"no\""),
        (VISITS.assign(clicked=[1, 0, 1, 1, 0]), {"missing": "no"}, "'clicked' may be the value"),
        (VISITS, {"missing": 1e39}, "does not say"),
        ((["a"], ["b"]), {}, r'With missing="no", \(users, items\) will do'),
    ],
)
def test_what_is_refused(table, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        Observations.of(table, **options)


def test_a_wide_table_stays_wide() -> None:
    wide = pd.DataFrame({"Alien": [1, 0, 1], "Heat": [0, 1, 1]}, index=list("abc"))
    seen = Observations.of(wide, missing="no")
    assert (seen.n_users, seen.n_items, seen.n_observed) == (3, 2, 6)


def test_successes_and_trials_are_chances() -> None:
    table = VISITS.iloc[:4].assign(successes=[1, 2, 3, 0], trials=[4, 4, 3, 2])
    seen = Observations.of(table, missing="no")
    assert content(seen)["ann", "y"] == (0.5, 4.0)


def test_observations_are_told_what_is_missing() -> None:
    seen = Observations.of(VISITS, missing="no")
    assert Observations.of(seen).missing == 1.0
    assert Observations.of(seen, missing="unknown").missing == 0.0
    assert not Observations.of(seen, missing="unknown").by_user.missing.size
    stars = Observations.of(VISITS.iloc[:4].assign(value=[1, 3, 5, 2]))
    with pytest.raises(ValueError, match=r"Values run from 1 to 5"):
        Observations.of(stars, missing="no")


def test_stated_scales_and_stored_noes() -> None:
    table = VISITS.iloc[:4].assign(value=[5.0, 0.0, 2.5, 5.0])
    seen = Observations.of(table, missing="no", scale=(0, 5))
    assert content(seen)["bob", "y"] == (0.5, 1.0)
    assert content(seen)["ann", "y"] == (0.0, 1.0)


def test_alignment_and_pickles_keep_what_is_missing() -> None:
    seen = Observations.of(VISITS, missing=0.25)
    again = Observations.of(seen, items=seen.item_ids)
    assert again.missing == 0.25
    assert replace(again).by_user.missing.tolist() == [0.25] * 3
    function, parts = seen.__reduce__()
    assert content(function(*parts)) == content(seen)
    assert function(*parts).by_item.missing.tolist() == [0.25] * 3


class Keep:
    """A step that keeps the quadratics."""

    def __call__(self, G, h, e, gram, linear, energy) -> None:
        gram[:], linear[:], energy[:] = G, h, e


@given(
    st.integers(0, 10_000), st.sampled_from([1.0, 0.3, 2.0]), st.booleans(), st.sampled_from([1, 2])
)
def test_quadratics_are_those_of_the_filled_table(seed, weight, weighted, n_threads) -> None:
    """S_i = w0 G + sum of (w - w0) theta theta' over the stored, and the same for users."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((7, 5)) < 0.4, rng.random((7, 5)), np.nan)
    table[0, 0] = 0.5
    own = rng.random(table.shape) + 0.5 if weighted else np.ones(table.shape)
    seen = Observations.from_wide(
        table, missing=weight, scale=(0, 1), weight=own if weighted else None
    )
    p, w = np.nan_to_num(table), np.where(np.isnan(table), weight, own)
    for entries, values, weights in ((seen.by_user, p, w), (seen.by_item, p.T, w.T)):
        n_rows, n_columns = values.shape
        factors = rng.random((n_columns, 3))
        found = np.empty((n_rows, 3, 3)), np.empty((n_rows, 3)), np.empty(n_rows)
        engine("cpu", n_threads).run(Keep(), entries, factors, *found)
        assert_allclose(found[0], np.einsum("rc,cd,ce->rde", weights, factors, factors), rtol=1e-5)
        assert_allclose(found[1], (weights * values) @ factors, rtol=1e-5, atol=1e-7)
        assert_allclose(found[2], (weights * values**2).sum(axis=1), rtol=1e-5, atol=1e-7)
        counts = np.where(np.isnan(table), weight, 1.0).sum(axis=1 if n_rows == 7 else 0)
        assert_allclose(entries.counts(), counts)
        if weighted:
            axis = 1 if n_rows == 7 else 0
            assert_allclose(entries.counts(fading=True), w.sum(axis=axis), rtol=1e-5)
    pmf, bits = rng.dirichlet(np.ones(3), 7), rng.random((5, 3)) < 0.5
    errors = (w * (pmf @ bits.T - p) ** 2).sum(axis=1)
    assert_allclose(squared_errors(seen, pmf, bits), errors, rtol=1e-5)
    assert_allclose(squared_error(seen, pmf, bits), errors.sum(), rtol=1e-5)


def test_the_descent_is_that_of_the_filled_table() -> None:
    table = baskets()
    model, full = (
        KolmogorovDescent(3, random_state=0).fit(seen) for seen in (stored(table), table)
    )
    assert_array_equal(model.codes_, full.codes_)
    assert_allclose(model.pmf_, full.pmf_, atol=1e-6)
    assert_allclose(model.error_, full.error_, rtol=1e-6)
    assert_allclose(model.fitted_.record.spread, full.fitted_.record.spread, rtol=1e-5)
    assert_allclose(model.score(stored(table)), full.score(table), rtol=1e-5)
    users, items = np.nonzero(table[:2])
    new = ([f"n{u}" for u in users], items)
    assert_allclose(model.transform(new), full.transform(table[:2]), atol=1e-5)
    rmse = np.sqrt(full.error_ / table.size)
    assert f"RMSE {rmse:.4f} in probability" in model.summary()
    assert "the others no" in model.summary()


every = pytest.mark.parametrize(
    "estimator",
    [
        KolmogorovModel(3, **QUICK),
        KolmogorovPosterior(3, **QUICK),
        KolmogorovEnsemble(3, n_models=4, random_state=0, verbose=False),
        KolmogorovDescent(3, pmf_penalty=1.0, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)


@every
@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_every_kind_learns_from_what_is_missing(estimator, weight, tmp_path) -> None:
    table = baskets(80)
    seen = stored(table) if weight == 1.0 else Observations.of(stored(table), missing=weight)
    model = estimator.fit(seen)
    p = model.predict()
    assert p[table == 1].mean() > 1.3 * p[table == 0].mean()  # a table of ones would be all ones
    assert p.mean() < 0.6
    assert model.score(seen) > 0.1
    assert "the others no" in str(model.summary())
    best = model.recommend([0, 1], 3)
    assert len(best) == 6
    averaged = isinstance(estimator, (KolmogorovModel, KolmogorovPosterior))
    assert ("chance" in best.columns) == averaged
    assert "likes" not in best.columns
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.observations.missing == weight
    assert_allclose(again.predict(), p, atol=1e-12)
    assert str(model.explain(0, 0))


def test_rules_count_all_baskets() -> None:
    table = baskets(300)
    model = KolmogorovModel(3, **QUICK).fit(stored(table))
    rules = model.rules(min_evidence=10, fold=False)
    assert len(rules)
    for row in rules.itertuples():
        a, b = table[:, int(str(row.if_item))], table[:, int(str(row.then_item))]
        assert (row.users, row.like_if, row.like_then, row.like_both) == (
            300, a.sum(), b.sum(), (a * b).sum(),
        )  # fmt: skip
        assert abs(row.support - (a * b).mean()) < 0.05
        assert abs(row.confidence - (a * b).sum() / a.sum()) < 0.15
    other = baskets(200, seed=1)
    users, items = np.nonzero(other)
    tested = model.rules(([f"n{u}" for u in users], items), min_evidence=10)
    first = tested.iloc[0]
    a, b = other[:, int(first.if_item)], other[:, int(first.then_item)]
    assert first.held_out_users == 200
    assert first.held_out_confidence == pytest.approx((a * b).sum() / a.sum())
    longer = model.rules(min_evidence=5, conditions=2)
    assert (longer["users"] == 300).all()


def test_held_out_baskets_may_refute_a_rule() -> None:
    table = baskets(300)
    model = KolmogorovModel(3, **QUICK).fit(stored(table))
    first = model.rules(min_evidence=10).iloc[0]
    alone = ([f"n{u}" for u in range(60)], [int(first.if_item)] * 30 + [int(first.then_item)] * 30)
    told = model.rules(alone, min_evidence=10).iloc[0]
    assert (told.held_out_users, told.held_out_like_if) == (60, 30)
    assert told.held_out_confidence == 0
    assert told.held_out_base == 0.5
    assert told.p_value == 1


def test_weights_and_what_is_missing() -> None:
    rng = np.random.default_rng(0)
    table = baskets(30, 12)
    users, items = np.nonzero(table)
    weight = rng.random(len(users)) + 0.5
    known = {"users": range(30), "items": range(12)}
    seen = Observations.of((users, items, np.ones(len(users)), weight), missing=0.5, **known)
    w = np.full(table.shape, 0.5)
    w[users, items] = weight
    assert_allclose(seen.total_weight, w.sum(), rtol=1e-6)
    model = KolmogorovDescent(3, random_state=0).fit(seen)
    p, mean = model.predict(), np.average(table, weights=w)
    r2 = 1 - (w * (p - table) ** 2).sum() / (w * (table - mean) ** 2).sum()
    assert_allclose(model.score(seen), r2, rtol=1e-5)
    half = seen.with_unit_weight(2.0)
    assert_allclose(half.by_user.missing, 0.25)
    assert half.missing == 0.25
    KolmogorovPosterior(3, **QUICK).fit(seen)


@every
def test_updates_of_visits(estimator) -> None:
    table = baskets(80)
    model = estimator.fit(stored(table))
    fitted = model.fitted_.update((["new"] * 3, [0, 3, 6]))
    now = fitted.observations
    assert (now.n_users, now.missing) == (81, 1.0)
    assert len(now.by_item.missing) == 81
    assert_allclose(fitted.error, squared_error(now, fitted.pmf, fitted.indicators), rtol=1e-5)
    p = fitted.predict(("new", list(range(20))))
    kind = np.arange(20) % 3 == 0
    assert p[kind].mean() > p[~kind].mean()
    again = model.fitted_.update((np.zeros(1, int), np.flatnonzero(table[0])[:1]))
    if hasattr(model, "noise_"):  # nothing is new
        assert_allclose(again.noise, model.noise_, rtol=0.5)


def test_noise_is_that_of_all_pairs_after_an_update() -> None:
    """One chain, not weighed: its users are drawn, given how many pairs speak."""
    table = baskets(80)
    alone = {**QUICK, "n_chains": 1, "n_warmup": 20, "n_draws": 20}
    model = KolmogorovPosterior(3, **alone).fit(stored(table))
    users, items = np.nonzero(table[:20])
    again = model.fitted_.update((users, items))  # all of it is known
    assert_allclose(again.noise[:20].mean(), model.noise_[:20].mean(), rtol=0.1)


def test_similar_items_need_common_baskets() -> None:
    table = baskets(200)
    found = KolmogorovModel(3, **QUICK).fit(stored(table)).similar_items(0, 20, min_evidence=8)
    assert (found["like_both"] >= 8).all()
    assert (found["users"] == 200).all()
    assert set(found["item"][:5]) <= {3, 6, 9, 12, 15, 18}


def test_biases_learn_from_what_is_stored() -> None:
    with pytest.raises(ValueError, match="BiasModel learns from what is stored"):
        BiasModel().fit(stored(baskets()))


def test_shared_sets_need_entries() -> None:
    with pytest.raises(ValueError, match="indicators='shared' is for tables"):
        KolmogorovDescent(2, indicators="shared").fit(stored(baskets()))


def test_labels_tell_what_those_who_say_yes_have_more_of() -> None:
    model = KolmogorovDescent(3, random_state=0).fit(stored(baskets(200)))
    for liked in model.events()["likes"]:
        assert len({item % 3 for item in liked}) <= 1  # of one kind each


@pytest.mark.parametrize("missing", ["no", 0.1])
@pytest.mark.parametrize(
    "kind",
    [
        KolmogorovDescent(3, random_state=0),
        KolmogorovEnsemble(3, n_models=2, random_state=0),
        KolmogorovPosterior(3, **QUICK),
        KolmogorovModel(3, **QUICK),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_who_is_known_may_meet_what_is_new(kind, missing) -> None:
    for known, new in (([0], [77]), ([77], [0]), ([0, 77], [77, 0]), ([0], [1])):
        users, items = np.nonzero(baskets())
        model = clone(kind).fit(Observations.of((users, items), missing=missing))
        model.update((known, new))
        p = model.predict((known, new))
        assert ((p >= 0) & (p <= 1)).all()


@pytest.mark.parametrize("solver", ["exact", "local"])
@pytest.mark.parametrize(("n_events", "missing"), [(8, 0.1), (32, 0.1), (64, 1e3), (64, 1e6)])
def test_tiny_weights_beside_what_is_missing_do_not_go_on_for_ever(
    solver: str, n_events: int, missing: float
) -> None:
    """What rounding leaves of their sums is no gain."""
    rows = ([0, 1, 0, 1], ["a", "a", "b", "c"], [1.0] * 4, [1e-10, 1e-10, 1.0, 1.0])
    for seed in range(4):
        model = KolmogorovDescent(n_events, indicator_solver=solver, random_state=seed, n_init=1)
        model.fit(Observations.of(rows, missing=missing))
        assert np.isfinite(model.history_).all()


@given(st.integers(0, 10_000))
def test_sets_are_the_best_also_beside_heavy_missing_ones(seed: int) -> None:
    """Against enumeration, given PMFs; sums that decide are as exact as float64 has them."""
    rng, missing, n_events = np.random.default_rng(seed), 1e6, 3
    pmf = rng.dirichlet(np.ones(n_events), 5)
    full = rng.random((5, 4)) < 0.6
    full[:, 0] = full[0] = True
    users, items = np.nonzero(full)
    p, w = rng.random(len(users)), 10.0 ** rng.uniform(-3, 3, len(users))
    seen = Observations.of((users, items, p, w), missing=missing)
    model = KolmogorovDescent(n_events, n_iter=1, random_state=0).fit(seen, pmf=pmf)
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=n_events)))
    weight, value = np.full((5, 4), missing), np.zeros((5, 4))
    weight[users, items], value[users, items] = w, p
    errors = ((pmf @ sets.T)[:, None] - value[:, :, None]) ** 2
    costs = np.einsum("ui,uis->is", weight, errors)
    own = np.array([(sets == row).all(axis=1).argmax() for row in model.indicators_])
    slack = 1.001e-7 * weight.sum(axis=0)
    assert (costs[np.arange(4), own] <= costs.min(axis=1) + slack)[model.proved_].all()


def test_a_column_of_times_is_no_value_where_it_is_named() -> None:
    table = VISITS.assign(day=[1.0, 5.0, 2.0, 9.0, 4.0])
    for read in (Observations.of, Observations.from_long):
        with pytest.raises(ValueError, match="Column 'day' may be the value"):
            read(table, missing="no")
        seen = read(table, missing="no", time="day", half_life=3)
        assert seen.forgetting is not None
        assert seen.forgetting.now == 9.0
    pairs = table[["user", "item", "day"]].set_axis(["a", "b", "day"], axis=1)
    assert Observations.of(pairs, missing="no", time="day", half_life=3).n_observed == 4
