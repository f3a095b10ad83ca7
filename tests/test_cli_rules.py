"""Rules on the command line: what they say, what held-out users say, and how people see it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent
from eventspace.cli import reasoning
from eventspace.demo import agreed
from eventspace.rules.mining import SORTS
from tests import planted
from tests.command import in_process, in_terminal


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a model, and with the ratings of some of its users."""
    folder: Path = tmp_path_factory.mktemp("rules")
    rng = np.random.default_rng(0)
    table = planted.long(planted.wide((1 + 4 * planted.chances(rng, 30, 20, 3)).round(2)))
    table = table[rng.random(len(table)) < 0.67]
    KolmogorovDescent(3, random_state=0).fit(table).save(folder / "m")
    some = table[table["user"] < "u2"]
    some.assign(user="other " + some["user"]).to_csv(folder / "some.csv", index=False)
    return folder


@pytest.fixture
def model(place) -> KolmogorovDescent:
    return KolmogorovDescent.load(place / "m")


@pytest.fixture
def rules(place, capsys):
    """The table that the command writes in a pipe."""

    def run(*options: object) -> pd.DataFrame:
        done = in_process(["rules", place / "m", *options], capsys)
        return pd.read_csv(io.StringIO(done.out))

    return run


def test_rules_and_what_held_out_users_say(place, model, rules) -> None:
    some = pd.read_csv(place / "some.csv")
    options = ["--evidence", place / "some.csv"]
    found = rules(*options, "--item", "i0", "--top", 3)
    assert len(found) == 3
    assert ((found["if_item"] == "i0") | (found["then_item"] == "i0")).all()
    expected = model.rules(some, item="i0", top=3)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    every = [*options, "--min-evidence", 0, "--proved"]
    proved = model.rules(top=None, min_evidence=0, proved=True)
    assert len(rules(*every, "--all")) == len(proved) > reasoning.TOP
    assert len(rules(*every)) == reasoning.TOP


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("--proved", {"proved": True}),
        ("--min-evidence 4", {"min_evidence": 4}),
        ("--min-evidence 0 --proved", {"min_evidence": 0, "proved": True}),
        ("--conditions 2", {"conditions": 2}),
        ("--like 4", {"like": 4.0}),
        ("--restarts 2 --sort inclusion", {"restarts": 2, "sort": "inclusion"}),
        ("--sort lift", {"sort": "lift"}),
    ],
)
def test_every_option_does_what_it_does_in_python(line, given, model, rules) -> None:
    expected = model.rules(top=None, **given)
    assert len(expected)
    assert not expected.equals(model.rules(top=None))
    pd.testing.assert_frame_equal(rules("--all", *line.split()), expected, check_dtype=False)


def test_the_sorts_are_those_of_python() -> None:
    assert get_args(reasoning.Sort) == SORTS


def test_a_rule_reads_as_a_statement(place, model) -> None:
    code, seen = in_terminal("rules", place / "m", "--top", 1)
    assert code == 0
    assert 'of those who like "if", so many like "then"; of all, so many do anyway.' in seen
    assert f"A like: {model.liked_from_:g} or more." in seen
    assert cells(seen) == [stated(model.rules(top=1).iloc[0])]
    code, seen = in_terminal("rules", place / "m", "--top", 1, "--like", 4)
    assert "A like: 4 or more." in seen
    assert cells(seen) == [stated(model.rules(top=1, like=4).iloc[0])]


@pytest.mark.parametrize(("times", "said_of_q"), [(1, "q 0.5"), (12, "q < 0.001")])
def test_what_held_out_users_say_stands_below_each_rule(
    times, said_of_q, place, model, tmp_path
) -> None:
    first = model.rules(top=1).iloc[0]
    likes = {first["if_item"]: [5, 5, 5, 1] * times, first["then_item"]: [5, 5, 1, 1] * times}
    other = pd.DataFrame(likes).melt(var_name="item", ignore_index=False)
    other.rename_axis("user").to_csv(tmp_path / "other.csv")
    code, seen = in_terminal("rules", place / "m", "--evidence", tmp_path / "other.csv", "--top", 2)
    assert code == 0
    assert "counted in" in seen
    said, found, said_next, found_next = cells(seen)
    assert said == stated(first)
    assert found == ["", "", "", f"67% of {3 * times}", "50%", "+17", said_of_q]
    assert said_next == stated(model.rules(top=2).iloc[1])
    assert found_next == ["", "", "", "- of 0", "-", "-", "untested"]  # nobody rated both


def cells(seen: str) -> list[list[str]]:
    """The lines of a table on a terminal, without its head."""
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in seen.splitlines()
        if "│" in line
    ]


def stated(rule: Any) -> list[str]:
    """A rule as a person reads it."""
    low, high = rule["confidence_low"], rule["confidence_high"]
    return [
        rule["if_item"],
        {"implies": "=>", "equivalent": "<=>", "soft": "~>"}[rule["kind"]],
        rule["then_item"],
        f"{rule['confidence']:.0%} [{100 * low:.0f}, {100 * high:.0f}]",
        f"{rule['base']:.0%}",
        f"{100 * rule['gain']:+.0f}",
        str(rule["like_both"]),
    ]


def test_the_demonstration_counts_the_rules_that_held_out_users_affirm() -> None:
    nobody = float("nan")
    rules = pd.DataFrame(
        {
            "confidence": [0.9, 0.7, 0.8, 0.1],
            "base": [0.5, 0.5, 0.5, 0.1],
            "held_out_like_if": [10, 5, 2, 0],
            "held_out_confidence": [0.8, 0.4, 0.6, nobody],
            "held_out_base": [0.7, 0.4, 0.1, 0.9],
        }
    )
    assert agreed(rules) == (
        "The first 4: held-out users agree on 2 of 3 (a gain above 0). On average 80% was promised "
        "where 50% like it anyway; 60% was found, where 40% do."
    )
