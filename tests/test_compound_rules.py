"""Rules with several conditions: found where they are planted, and nowhere else."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from eventspace import KolmogorovDescent

ITEMS = list("ABCDEF")


@pytest.fixture(scope="module")
def planted():
    """Z is liked by those who like A and do not like B; the rest is chance."""
    rng = np.random.default_rng(0)
    likes = rng.random((1_200, len(ITEMS))) < 0.5
    wanted = likes[:, 0] & ~likes[:, 1]
    z = rng.random(len(likes)) < np.where(wanted, 0.9, 0.2)
    table = pd.DataFrame(np.column_stack([likes, z]).astype(float), columns=[*ITEMS, "Z"])
    # the truth as a space: one event for each outcome of A, B and Z
    outcomes = list(itertools.product((0, 1), repeat=3))
    psi = np.zeros((7, 9), dtype=bool)
    psi[[0, 1, 6], :8] = np.array(outcomes, dtype=bool).T
    psi[2:6, 8] = True
    at = {outcome: k for k, outcome in enumerate(outcomes)}
    mine = [at[int(a), int(b), int(c)] for a, b, c in zip(likes[:, 0], likes[:, 1], z, strict=True)]
    theta = np.full((len(table), 9), 0.02)
    theta[np.arange(len(table)), mine] += 1 - 9 * 0.02
    return KolmogorovDescent.from_parts(theta, psi, table), table


def test_a_planted_rule_is_found_with_its_exception(planted) -> None:
    model, table = planted
    found = model.rules(conditions=2, item="Z", fold=False)
    first = found.iloc[0]
    assert first["if_item"] in ("A & ~B", "~B & A")
    assert first["then_item"] == "Z"
    met = (table["A"] == 1) & (table["B"] == 0)
    counts = [len(table), met.sum(), table["Z"].sum(), (met & (table["Z"] == 1)).sum()]
    assert first[["users", "like_if", "like_then", "like_both"]].tolist() == counts
    assert_allclose(first["confidence"], table["Z"][met].mean(), atol=0.05)
    shorter = found[found["if_item"] == "A"].iloc[0]
    assert first["gain_low"] > shorter["gain"]


def test_expressions_are_those_that_query_reads(planted) -> None:
    model, _ = planted
    first = model.rules(conditions=2).iloc[0]
    event = model.query(first["if_item"])
    assert event == model.event("A") - model.event("B")
    assert (first["kind"] == "implies") == (event <= model.event("Z"))


def test_no_condition_is_added_that_tells_nothing(planted) -> None:
    model, _ = planted
    texts = model.rules(conditions=3, top=None)["if_item"].tolist()
    added = {part for text in texts if "&" in text for part in text.replace("~", "").split(" & ")}
    assert added <= {"A", "B", "Z"}
    assert max(text.count("&") for text in texts) == 1


def test_longer_rules_are_counted_on_other_users_too(planted) -> None:
    model, table = planted
    half = table.iloc[:600].rename(index=lambda user: f"other {user}")
    found = model.rules(half, conditions=2, fold=False).set_index(["if_item", "then_item"])
    row = found.iloc[0]
    met = (half["A"] == 1) & (half["B"] == 0)
    assert (row["held_out_users"], row["held_out_like_if"]) == (600, met.sum())
    assert_allclose(row["held_out_confidence"], half["Z"][met].mean())
    assert_allclose(row["held_out_base"], half["Z"].mean())
    single = model.rules(half, fold=False).set_index(["if_item", "then_item"])
    assert_allclose(found.loc[("A", "Z"), "p_value"], single.loc[("A", "Z"), "p_value"])


def test_one_condition_is_the_same_with_or_without_longer_rules(planted) -> None:
    model, _ = planted
    plain = model.rules(top=None)
    longer = model.rules(top=None, conditions=2)
    assert (longer["conditions"] == 1 + longer["if_item"].str.count("&")).all()
    again = longer[longer.pop("conditions") == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(plain, again, check_dtype=False)
