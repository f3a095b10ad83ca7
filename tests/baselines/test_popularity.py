from __future__ import annotations

import numpy as np
import pytest

from eventspace.baselines import BiasModel, PopularityModel


def test_it_predicts_damped_means_of_items(ratings) -> None:
    model, biases = PopularityModel(3.0).fit(ratings), BiasModel(3.0).fit(ratings)
    expected = np.clip(biases.mean_ + biases.item_bias_, 0, 1)
    np.testing.assert_allclose(model.predict(), np.tile(expected, (30, 1)))
    assert model.predict(("zoe", "i5"), unknown="population") == model.predict(("u3", "i5"))
    _, i, p = model.observations_.coo()
    assert model.error_ == pytest.approx(np.square(expected[i] - p).sum())
    wide = ratings.pivot(index="user", columns="item", values="rating")[model.item_ids_]
    np.testing.assert_allclose(model.predict(wide), model.predict())


def test_it_recommends_what_most_have_rated_and_the_user_has_not(ratings) -> None:
    model, counts = PopularityModel().fit(ratings), ratings["item"].value_counts()
    seen = set(ratings.loc[ratings["user"] == "u3", "item"])
    best = model.recommend("u3", 4)
    assert not seen & set(best["item"])
    assert best["ratings"].tolist() == counts.drop(list(seen)).nlargest(4).tolist()
    np.testing.assert_allclose(best["probability"], model.predict(("u3", best["item"])))
