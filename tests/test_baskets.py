"""Rules of baskets beside mlxtend's: the same counts, and what the next baskets hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from eventspace import KolmogorovModel, Observations
from eventspace.datasets import groceries
from eventspace.datasets.groceries import GROCERIES

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(
        not GROCERIES.has("transactions.csv"), reason="EVENTSPACE_DATA has no groceries"
    ),
]
QUICK = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "random_state": 0, "verbose": False}
PAIR = ["if_item", "then_item"]
SUPPORT = 0.01


@pytest.fixture(scope="module")
def bought() -> pd.DataFrame:
    return groceries().table[["user", "item"]]


def rules_of(baskets: pd.DataFrame) -> pd.DataFrame:
    """All pairs of goods that mlxtend finds in so many baskets."""
    patterns = pytest.importorskip(
        "mlxtend.frequent_patterns", reason="the extra 'hosts' is not installed"
    )
    wide = pd.crosstab(baskets["user"], baskets["item"]).astype(bool)
    pairs = patterns.apriori(wide, min_support=SUPPORT, max_len=2, use_colnames=True)
    found: pd.DataFrame = patterns.association_rules(pairs, metric="support", min_threshold=SUPPORT)
    sides = ([min(items) for items in found[side]] for side in ("antecedents", "consequents"))
    return found.assign(**dict(zip(PAIR, sides, strict=True)))


def test_counts_are_those_of_mlxtend(bought) -> None:
    theirs = rules_of(bought)
    assert len(theirs) == 426
    model = KolmogorovModel(4, **QUICK).fit(Observations.of(bought, missing="no"))
    least = int(np.ceil(SUPPORT * bought["user"].nunique()))
    ours = model.rules(top=None, fold=False, min_evidence=least)
    both = theirs.merge(ours, on=PAIR, how="left", suffixes=("_theirs", ""))
    listed = both[both["users"].notna()]
    assert len(listed) == len(ours)  # no pair of ours is unknown to mlxtend
    assert_allclose(listed["like_both"] / listed["users"], listed["support_theirs"])
    assert_allclose(listed["like_both"] / listed["like_if"], listed["confidence_theirs"])
    assert_allclose(listed["like_then"] / listed["users"], listed["consequent support"])
    assert (both.loc[both["users"].isna(), "lift_theirs"] < 1.2).all()  # which gain nothing
    for item, rest in theirs.groupby("if_item"):
        counted = model.similar_items(item, 200).set_index("item").loc[rest["then_item"]]
        assert_allclose(counted["like_both"] / counted["users"], rest["support"])


@pytest.mark.parametrize(("of", "off", "counted_off"), [(10, 0.029, 0.039), (2, 0.022, 0.024)])
def test_the_next_basket_is_nearer_to_our_confidence(bought, of, off, counted_off) -> None:
    """Rules of every tenth basket, or every second, and shares of the others."""
    seen = Observations.of(bought[bought["user"] % of == 0], missing="no")
    model = KolmogorovModel(random_state=0, meets=False, verbose=False).fit(seen)
    rules = model.rules(top=None, fold=False, min_evidence=20)
    others = bought[bought["user"] % of != 0]
    wide = pd.crosstab(others["user"], others["item"])
    together = wide.T @ wide
    cases = np.array([together.loc[a, a] for a in rules["if_item"]])
    pairs = zip(rules["if_item"], rules["then_item"], strict=True)
    shares = np.array([together.loc[a, b] for a, b in pairs]) / cases

    def rmse(confidence: pd.Series) -> float:
        return float(np.sqrt(np.average((confidence - shares) ** 2, weights=cases)))

    assert rmse(rules["confidence"]) == pytest.approx(off, abs=1e-3)
    assert rmse(rules["like_both"] / rules["like_if"]) == pytest.approx(counted_off, abs=1e-3)
