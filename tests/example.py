"""What the tests of examples have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from examples.__main__ import ROOT, figures_of, written

CLOSE = 2e-3  # another processor may round otherwise,
DRAWN = 2e-2  # and a chain go another way: as far as between two seeds


def needs_data(*folders: str) -> pytest.MarkDecorator:
    """Skip where the data are not."""
    at = os.environ.get("EVENTSPACE_DATA")
    there = bool(at) and all((Path(str(at)) / folder).exists() for folder in folders)
    return pytest.mark.skipif(not there, reason=f"EVENTSPACE_DATA has no {', '.join(folders)}")


def assert_page_says(name: str, tables: Callable[[dict[str, Any]], Mapping[str, str]]) -> None:
    """The tables of what was measured stand on the page."""
    page = (ROOT / "docs" / f"example-{name}.md").read_text(encoding="utf-8")
    assert written(page, tables(figures_of(name))) == page


def assert_same_seed(name: str, now: dict[str, Any]) -> None:
    """Every measure of every tool is for the first seed what it was."""
    then, again = (dict(_first(figures["hidden"])) for figures in (figures_of(name), now))
    assert then.keys() == again.keys()
    for measure, value in then.items():
        assert again[measure] == pytest.approx(value, abs=tolerance(measure)), measure


def tolerance(method: str) -> float:
    """How near a method's figures are to come again; an average is of draws."""
    return DRAWN if "Posterior" in method or "to_model" in method else CLOSE


def _first(hidden: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for task, tools in hidden.items():
        for tool, measures in tools.items():
            for measure, values in measures.items():
                yield f"{task}, {tool}: {measure}", values[0]
