"""The example on votes gives what its page says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from examples import compare, votes
from examples.ideal_points import IdealPoints
from tests.example import assert_page_says, assert_same_seed, needs_data


def test_the_page_says_what_was_measured() -> None:
    assert_page_says("votes", votes.tables)


@pytest.mark.whole
@needs_data("house-votes-84", "senate109", "groceries")
def test_the_figures_come_again() -> None:
    now = votes.measure(seeds=votes.SEEDS[:1])
    assert_same_seed("votes", now)
    for chamber in ("house", "senate"):
        loss = {tool: row["log_loss"][0] for tool, row in now["hidden"][chamber].items()}
        assert loss["KolmogorovEnsemble"] < loss["ideal points, one dimension"] + 0.01


def test_ideal_points_find_the_line() -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 40)
    chance = 1 / (1 + np.exp(-np.outer(x, rng.normal(0, 2, 60)) - rng.normal(0, 1, 60)))
    u, i = (part.ravel() for part in np.indices(chance.shape))
    votes = (rng.random(chance.shape) < chance).astype(float).ravel()
    found = IdealPoints(1, 1.0).fit(pd.DataFrame({"user": u, "item": i, "value": votes}))
    assert abs(np.corrcoef(found.points[:, 0], x)[0, 1]) > 0.95


def test_association_rules_are_those_of_mlxtend() -> None:
    patterns = pytest.importorskip("mlxtend.frequent_patterns", reason="mlxtend is not installed")
    rng = np.random.default_rng(0)
    bought = pd.DataFrame(rng.random((200, 6)) < 0.3, columns=list("abcdef"))
    frequent = patterns.apriori(bought, min_support=0.005, use_colnames=True, max_len=2)
    theirs = patterns.association_rules(frequent, metric="support", min_threshold=0.005)
    theirs = {(*r.antecedents, *r.consequents): (r.confidence, r.lift) for r in theirs.itertuples()}
    ours = compare.counted_rules(bought.astype(float), like=1.0, least=1)
    assert len(ours) == len(theirs)
    for rule in ours.itertuples():
        expected = theirs[rule.if_item, rule.then_item]
        assert (rule.confidence, rule.lift) == pytest.approx(expected)


def test_a_rule_is_counted_among_those_who_rated_both() -> None:
    """Five users; the last has not rated b, the fourth has not rated c."""
    wide = pd.DataFrame({"a": [5, 4, 4, 1, 5], "b": [4, 5, 1, 1, None], "c": [1, 2, 1, None, 1.0]})
    counted = compare.counted_rules(wide, like=4, least=2)
    assert counted[["if_item", "then_item"]].to_numpy().tolist() == [["a", "b"], ["b", "a"]]
    assert counted["confidence"].tolist() == pytest.approx([2 / 3, 1])
    assert counted["gain"].tolist() == pytest.approx([2 / 3 - 2 / 4, 1 - 3 / 4])
    assert compare.folded(counted, "gain", 2)["if_item"].tolist() == ["b"]
    tried = pd.DataFrame({"if_item": ["a", "c", "b"], "then_item": ["b", "a", "c"]})
    found = compare.held_out(wide, tried, like=4)  # nobody likes c: c to a cannot be tried
    assert found == pytest.approx(
        {"confidence": (2 / 3 + 0) / 2, "base": (2 / 4 + 0) / 2, "lift": 4 / 3}
    )


def test_nobody_is_on_both_sides() -> None:
    table = pd.DataFrame({"user": np.repeat(np.arange(9), 3), "item": np.tile([0, 1, 2], 9)})
    one, other = compare.halves(table, seed=0)
    assert sorted([*one["user"].unique(), *other["user"].unique()]) == list(range(9))
    assert len(one) + len(other) == len(table)
    assert 0 < len(other) < len(table)
