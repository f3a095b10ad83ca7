from __future__ import annotations

import numpy as np
import pytest

from eventspace import Observations
from eventspace.baselines import BiasModel


def test_biases_are_damped_means(ratings) -> None:
    model = BiasModel(damping=3.0).fit(ratings)
    p = ratings.assign(p=model.observations_.to_unit(ratings["rating"]))
    mean = p["p"].mean()
    assert model.mean_ == pytest.approx(mean, abs=1e-6)
    for k, item in enumerate(model.item_ids_):
        mine = p.loc[p["item"] == item, "p"] - mean
        assert model.item_bias_[k] == pytest.approx(mine.sum() / (len(mine) + 3), abs=1e-6)
    item_bias = dict(zip(model.item_ids_, model.item_bias_, strict=True))
    for k, user in enumerate(model.user_ids_):
        mine = p[p["user"] == user]
        rest = mine["p"] - mean - mine["item"].map(item_bias)
        assert model.user_bias_[k] == pytest.approx(rest.sum() / (len(rest) + 3), abs=1e-6)
    u, i = model.user_ids_.tolist().index("u3"), model.item_ids_.tolist().index("i5")
    assert model.predict(("u3", "i5"))[0] == pytest.approx(
        np.clip(mean + model.user_bias_[u] + model.item_bias_[i], 0, 1)
    )


def test_what_is_unknown_has_no_bias(ratings) -> None:
    model = BiasModel().fit(ratings)
    p = model.predict((["zoe", "u3", "zoe"], ["i5", "?", "?"]), unknown="population")
    u, i = model.user_ids_.tolist().index("u3"), model.item_ids_.tolist().index("i5")
    expected = model.mean_ + np.array([model.item_bias_[i], model.user_bias_[u], 0.0])
    np.testing.assert_allclose(p, expected)


def test_predictions_stay_on_the_scale_wherever_they_are_asked_for() -> None:
    table = np.array([[1.0, 1.0, np.nan], [1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])
    model = BiasModel(damping=0.0).fit(table)
    raw = model.pmf_ @ model.indicators_.T
    assert raw.max() > 1
    assert raw.min() < 0
    u, i = np.nonzero(~np.isnan(table))
    for p in (model.predict()[u, i], model.predict((u, i)), model.predict(table)[u, i]):
        np.testing.assert_allclose(p, np.clip(raw, 0, 1)[u, i])
    error = np.square(np.clip(raw, 0, 1)[u, i] - table[u, i])
    assert model.error_ == pytest.approx(error.sum())
    expected = 1 - error.mean() / table[u, i].var()
    assert model.score(table) == pytest.approx(expected)
    assert model.score((u, i, table[u, i])) == pytest.approx(expected)


def test_additive_tables_are_found_without_damping() -> None:
    rng = np.random.default_rng(0)
    table = 0.3 + 0.3 * rng.random((9, 1)) + 0.3 * rng.random((1, 7))
    model = BiasModel(damping=0.0).fit(table)
    np.testing.assert_allclose(model.predict(), table, atol=1e-6)
    weight = rng.random(table.shape) + 0.1
    weighted = BiasModel(damping=9.0).fit(Observations.from_wide(table, weight=weight))
    assert weighted.mean_ == pytest.approx(np.average(table, weights=weight), abs=1e-6)
    error = np.square(weighted.predict() - table)
    assert weighted.error_ == pytest.approx((weight * error).sum(), abs=1e-5)
    twice = np.vstack([table, table[:4]]) ** 2
    weight = np.repeat([2.0, 1.0], [4, 5])[:, None] * np.ones_like(table)
    weighted = BiasModel(damping=2.0).fit(Observations.from_wide(table**2, weight=weight))
    repeated = BiasModel(damping=2.0).fit(twice)
    np.testing.assert_allclose(weighted.item_bias_, repeated.item_bias_, atol=1e-7)
    np.testing.assert_allclose(weighted.user_bias_[4:], repeated.user_bias_[4:9], atol=1e-7)
