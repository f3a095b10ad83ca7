"""The page on DNA methylation says what was measured, and a new run measures the same."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from examples import methylation
from examples.__main__ import ROOT, figures_of, written
from examples.mixing import matched, score

PAGE = ROOT / "docs" / "example-methylation.md"


def test_the_page_says_what_was_measured() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = methylation.tables(figures_of("methylation"))
    assert set(re.findall(r"<!-- (\w+) -->", page)) == set(tables)
    assert written(page, tables) == page


def test_the_pictures_are_drawn_from_what_was_measured(tmp_path) -> None:
    methylation.draw(figures_of("methylation"), tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == set(re.findall(r"\(images/examples/([^)]+)\)", page))


def test_events_are_matched_to_types_before_errors_are_counted() -> None:
    truth = np.random.default_rng(0).dirichlet(np.ones(4), 30)
    assert score(matched(truth[:, [2, 0, 3, 1]], truth), truth) == pytest.approx(
        {"rmse": 0.0, "mae": 0.0, "correlation": 1.0}
    )
    off = score(truth + np.array([0.1, -0.1, 0.0, 0.0]), truth)
    assert off == pytest.approx({"rmse": np.sqrt(0.005), "mae": 0.05, "correlation": 1.0})


@pytest.mark.whole
@pytest.mark.skipif("EVENTSPACE_DATA" not in os.environ, reason="EVENTSPACE_DATA is unset")
def test_a_new_run_measures_the_same() -> None:
    kept, found = figures_of("methylation"), methylation.measure()
    assert found["seeds"] == kept["seeds"]
    for name, methods in kept["scores"].items():
        for method, measures in methods.items():
            again = found["scores"][name][method]
            assert np.mean(again["rmse"]) == pytest.approx(np.mean(measures["rmse"]), abs=0.01), (
                f"{name}, {method}"
            )
    for name, fact in kept["facts"].items():
        for what in ("hold", "gain and hold", "base", "bits", "order again"):
            assert found["facts"][name][what] == pytest.approx(fact[what], abs=0.03), (
                f"{name}, {what}"
            )
