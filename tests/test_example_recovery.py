"""Planted models are found again where the page says so."""

from __future__ import annotations

import pytest

from examples import recovery
from examples.__main__ import figures_of
from tests.example import assert_page_says


def test_the_page_says_what_was_measured() -> None:
    assert_page_says("recovery", recovery.tables)


@pytest.mark.parametrize(("n_events", "per_item"), [(2, 40), (4, 80), (8, 160)])
def test_with_ratings_enough_every_set_is_found(n_events: int, per_item: int) -> None:
    found = recovery.recovery(n_events, per_item, seed=7)
    assert found["codes"] == 1.0
    assert found["pmf"] < 0.03
    assert found["order"] == 1.0


def test_a_new_run_measures_the_same() -> None:
    kept = figures_of("recovery")["rows"]
    row = next(row for row in kept if (row["n_events"], row["per_item"]) == (4, 10))
    found = recovery.recovery(4, 10, seed=0)
    assert found == {key: pytest.approx(value, abs=0.02) for key, value in row.items()}
