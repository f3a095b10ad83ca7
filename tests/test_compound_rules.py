"""Rules with several conditions: found where they are planted, and nowhere else."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from eventspace import KolmogorovDescent, Observations
from eventspace.rules.compound import Condition, Raters
from eventspace.rules.telling import RuleOptions
from tests import naive

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


@pytest.mark.parametrize(
    "conditions", [((0, True), (1, False)), ((2, True), (0, True), (4, False))]
)
def test_the_law_of_several_conditions(conditions) -> None:
    rng = np.random.default_rng(3)
    theta, psi = rng.dirichlet(np.ones(4), 60), rng.random((6, 4)) < 0.5
    stars = (1 + 4 * np.clip(theta @ psi.T + rng.normal(0, 0.2, (60, 6)), 0, 1)).round()
    stars[rng.random(stars.shape) < 0.2] = np.nan
    seen = Observations.from_wide(pd.DataFrame(stars), scale=(1, 5))
    model = KolmogorovDescent.from_parts(theta, psi, seen)
    next_user = model.fitted_.miner(RuleOptions(like=4.0)).next_user
    unit, p = (stars - 1) / 4, theta @ psi.T
    square = np.where(np.isnan(unit), 0, unit - p) ** 2
    sizes = (~np.isnan(unit)).sum(axis=1)
    spread = np.sqrt((square.sum(axis=1) + 10 * square.sum() / sizes.sum()) / (sizes + 10))
    chance = naive.chance_of_like(p, unit, spread, 0.75)
    offset = naive.offsets(chance, unit, 0.75)
    assert next_user.at_large.shape[1] == 60  # everyone stands for all
    group = Raters.of(next_user, tuple(Condition(*c) for c in conditions), 5)
    expected = naive.of_several(chance, unit, 0.75, offset, list(conditions), 5)
    assert_allclose(group.law(), expected, rtol=1e-3, atol=1e-4)
    for k in range(len(conditions)):
        expected = naive.of_several(chance, unit, 0.75, offset, list(conditions), 5, k)
        assert_allclose(group.added(k), expected, rtol=1e-3, atol=1e-4)


def yes_or_no(columns: dict) -> KolmogorovDescent:
    """A descent on a table of yes and no."""
    seen = Observations.from_wide(pd.DataFrame(columns))
    return KolmogorovDescent(4, pmf_penalty=1.0, random_state=0).fit(seen)


def test_coins_are_no_conditions() -> None:
    wrong = every = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a = rng.random(400) < 0.5
        columns = {f"coin {k}": (rng.random(400) < 0.5).astype(float) for k in range(40)}
        columns |= {"A": a * 1.0, "Z": (rng.random(400) < np.where(a, 0.8, 0.3)).astype(float)}
        found = yes_or_no(columns).rules(conditions=2, top=None)
        longer = found[found["conditions"] > 1]
        wrong += len(longer)
        every += len(found)
    assert every > 20
    assert wrong <= 3


def test_a_condition_is_judged_by_the_same_users() -> None:
    """Only those who like everything rate the coin: that they rated it tells, not what they say."""
    rng = np.random.default_rng(1)
    fan = rng.random(1_000) < 0.4
    a = rng.random(1_000) < np.where(fan, 0.95, 0.4)
    z = rng.random(1_000) < np.where(fan, 0.95, 0.4)
    coin = np.where(fan, rng.random(1_000) < 0.5, np.nan)
    found = yes_or_no({"A": a * 1.0, "Z": z * 1.0, "coin": coin}).rules(conditions=2, top=None)
    assert {"A", "Z"} & set(found["if_item"])
    assert (found["conditions"] == 1).all()


def test_longer_rules_have_no_agreement_to_be_sorted_by(planted) -> None:
    with pytest.raises(ValueError, match="orders rules with one condition"):
        planted[0].rules(conditions=2, sort="agreement_gain")
    with pytest.raises(ValueError, match="of yes and no the means say it all"):
        planted[0].rules(sort="agreement_gain")


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
