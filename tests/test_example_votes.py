"""The example on votes gives what its page says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from examples import baskets, votes
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
    assert now["baskets"][0]["positive_only"] == pytest.approx(1.0)


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
    ours = baskets.association_rules(bought.astype(float))
    assert len(ours) == len(theirs)
    for rule in ours.itertuples():
        expected = theirs[rule.if_item, rule.then_item]
        assert (rule.confidence, rule.lift) == pytest.approx(expected)
