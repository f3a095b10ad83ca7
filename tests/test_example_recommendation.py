"""The page on recommendations says what was measured, and a new run measures the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eventspace import Observations
from examples import recommendation
from examples.__main__ import figures_of
from tests.example import DRAWN, assert_page_says, needs_data, tolerance


def test_the_page_says_what_was_measured() -> None:
    assert_page_says("recommendation", recommendation.tables)


def test_likes_among_the_ten_best_are_counted() -> None:
    """Two users, twelve films; the first film is known to both, and does not count."""
    films = object.__new__(recommendation.Films)
    films.train = pd.DataFrame({"user": ["a", "b"] + ["c"] * 12, "item": ["f00", "f00"]
                                + [f"f{k:02}" for k in range(12)], "value": 3.0})  # fmt: skip
    films.test = pd.DataFrame({"user": ["a", "a", "b"], "item": ["f01", "f11", "f02"],
                               "value": [5.0, 4.0, 2.0]})  # fmt: skip
    films.observations = Observations.from_long(films.train, scale=(1, 5))
    p = np.tile(np.arange(12, 0, -1.0), (3, 1))  # f0 best of all, f11 worst
    assert recommendation.from_all_films(films, p) == pytest.approx(1 / 10)  # a's: f1 of f1 to f10


@pytest.mark.whole
@needs_data("movielens-100k")
def test_a_new_run_measures_the_same() -> None:
    kept, found = figures_of("recommendation"), recommendation.measure()
    for method, scores in kept["scores"].items():
        assert found["scores"][method] == pytest.approx(scores, abs=tolerance(method)), method
    assert found["from all films"] == pytest.approx(kept["from all films"], abs=DRAWN)
    assert found["entries"] == [80_000, 20_000]
    for rules, tried in kept["tried"].items():
        for part in ("said", "held out"):
            assert found["tried"][rules][part] == pytest.approx(tried[part], abs=DRAWN), rules
