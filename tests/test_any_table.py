"""The one model on any table: tiny, full, constant, weighted, with users that nobody knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    Observations,
    load,
)
from tests.planted import chances

QUICK: dict[str, Any] = {"n_chains": 3, "n_warmup": 4, "n_draws": 6, "random_state": 0}
Floats = NDArray[np.float64]


def assert_sound(model: KolmogorovModel) -> None:
    """Probabilities are probabilities, PMFs and numbers as well."""
    p = model.predict()
    assert p.min() >= 0
    assert p.max() <= 1
    assert_allclose(model.pmf_.sum(axis=1), 1)
    assert model.pmf_.min() >= 0
    for value in (model.expected_rmse_, model.loss_, model.unsure_):
        assert np.isfinite(value)
        assert value >= 0
    assert model.effective_events_.min() >= 1 - 1e-9
    assert model.effective_events_.max() <= model.pmf_.shape[1] + 1e-9


def assert_rules_sound(rules: Any) -> None:
    """Shares are shares, intervals are some; and nobody is counted who is not there."""
    for name in ("confidence", "base", "support", "confidence_low", "confidence_high"):
        assert rules[name].between(0, 1).all(), name
    assert (rules["confidence_low"] <= rules["confidence_high"]).all()
    assert (rules["gain_low"] <= rules["gain"]).all()
    assert (rules["gain"] <= rules["gain_high"]).all()
    assert (rules["like_both"] <= rules[["like_if", "like_then"]].min(axis=1)).all()
    assert (rules[["like_if", "like_then"]].max(axis=1) <= rules["users"]).all()


def unrated() -> Floats:
    table = np.random.default_rng(3).random((8, 6))
    table[2] = table[:, 3] = np.nan
    return table


def tables() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    u, i = np.divmod(np.arange(40), 5)
    return {
        "one rating": (["ann"], ["Up"], [0.7]),
        "one top rating": (["ann"], ["Up"], [1.0]),
        "one bottom rating": (["ann"], ["Up"], [0.0]),
        "two by two": np.eye(2),
        "one user": rng.random((1, 5)),
        "one item": rng.random((5, 1)),
        "full": rng.random((12, 9)),
        "nearly all yes": np.vstack([np.ones((6, 5)), np.zeros((1, 5))]),
        "nearly all half": np.hstack([np.full((6, 5), 0.5), np.ones((6, 1))]),
        "rows alike": np.tile(rng.random((1, 5)), (6, 1)),
        "columns alike": np.tile(rng.random((6, 1)), 5),
        "yes and no": (rng.random((20, 10)) < 0.4) * 1.0,
        "weighted": (u, i, rng.random(40), 0.01 + 5 * rng.random(40)),
        "unrated": unrated(),
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_events", [1, 2, 16, "auto"])
@pytest.mark.parametrize("name", tables())
def test_any_table_gives_a_sound_model(name, n_events, tmp_path) -> None:
    seen = Observations.of(tables()[name], scale=(0, 1))
    for n_chains in (1, 3):
        model = KolmogorovModel(n_events, **QUICK | {"n_chains": n_chains}).fit(seen)
        assert_sound(model)
        assert (np.diff(model.pmf_mean_) <= 1e-12).all()
        assert model.diagnostics()["bits"].between(0, 1).all()
        assert model.diagnostics()["pmf"].between(-1, 1).all()
        assert str(model.summary())
        user, item = seen.user_ids[0], seen.item_ids[0]
        assert 0 <= model.explain(user, item).probability <= 1
        for proved in (False, True):
            assert_rules_sound(model.rules(top=None, min_evidence=0, proved=proved))
        model.save(tmp_path / "m")
        assert_array_equal(load(tmp_path / "m").predict(), model.predict())
        assert_allclose(model.transform(seen).sum(axis=1), 1)
        new = Observations.of(([user, "x"], ["y", item], [1.0, 1.0]), scale=(0, 1))
        model.update(new)
        assert_sound(model)
        assert model.predict().shape == (seen.n_users + 1, seen.n_items + 1)


@pytest.mark.parametrize("value", [1.0, 0.0, 0.5])
def test_tables_that_say_one_thing_are_refused(value) -> None:
    seen = Observations.of(np.full((30, 20), value), scale=(0, 1))
    for model in (KolmogorovModel(4, **QUICK), KolmogorovDescent(4), KolmogorovEnsemble(4)):
        with pytest.raises(ValueError, match=r"All 600 values are .*missing=\"no\""):
            model.fit(seen)


def test_more_events_than_users_and_items_may_be_asked_for() -> None:
    table = np.random.default_rng(0).random((12, 9))
    model = KolmogorovModel(64, **QUICK).fit(table)
    assert model.pmf_.shape == (12, 64)
    assert model.codes_.shape == (9, 1)
    assert model.proved_.all()
    assert_sound(model)


def test_the_unrated_are_as_the_mean() -> None:
    model = KolmogorovModel(4, **QUICK).fit(unrated())
    p = model.predict()
    rated = np.delete(np.arange(6), 3)
    bits = model.indicators_[rated]
    assert_allclose(p[:, 3], model.pmf_ @ bits.mean(axis=0))
    assert p.shape == (8, 6)
    asked = model.predict(([2, 0], [0, 3]))
    assert_allclose(asked, p[[2, 0], [0, 3]])


def test_weights_count() -> None:
    """Ratings that weigh little are hardly heard."""
    rng = np.random.default_rng(2)
    table = np.clip(chances(rng, 40, 12, 2) + rng.normal(0, 0.05, (40, 12)), 0, 1)
    u, i = (index.ravel() for index in np.indices(table.shape))
    value = table.ravel().copy()
    wrong = rng.random(value.size) < 0.3
    value[wrong] = rng.random(wrong.sum())
    off = []
    for weight in (np.where(wrong, 1e-3, 1.0), np.ones(value.size)):
        seen = Observations.of((u, i, value, weight), scale=(0, 1))
        p = KolmogorovModel(4, **QUICK).fit(seen).predict()
        off.append(np.square(p - table).mean())
    assert off[0] < 0.5 * off[1]


@pytest.mark.parametrize(("n_chains", "halves"), [(2, False), (4, True)])
def test_one_group_of_chains_has_no_halves(n_chains, halves, tmp_path) -> None:
    """With this many users and ratings, chains are weighed in pairs."""
    table = np.random.default_rng(0).random((200, 25))
    model = KolmogorovModel(3, **QUICK | {"n_chains": n_chains}).fit(table)
    for column in ("bits", "pmf"):
        assert model.diagnostics()[column].notna().all() == halves
        assert model.diagnostics()[column].isna().all() != halves
    assert ("repeats" in str(model.summary())) == halves
    model.save(tmp_path / "m")
    assert str(load(tmp_path / "m").summary()) == str(model.summary())
    page = model.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert ('"same_bits":null' in page.replace(" ", "")) != halves
    assert_sound(model)
