"""Rules as mlxtend has them: its columns, its order, its formulas."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

from eventspace import KolmogorovDescent, UserError
from eventspace.adapters import mlxtend as adapter
from eventspace.adapters.mlxtend import association_rules
from tests.fits import fitted
from tests.planted import noisy_stars


@pytest.fixture
def model():
    return fitted(KolmogorovDescent(4, random_state=0), noisy_stars()[0])


def test_names_that_both_have_mean_the_same(model) -> None:
    rules = model.rules(top=20)
    found = association_rules(rules)
    assert adapter.__all__ == ["association_rules"]
    assert len(found) == len(rules) > 0
    assert found["antecedents"].tolist() == [frozenset([item]) for item in rules["if_item"]]
    assert found["consequents"].tolist() == [frozenset([item]) for item in rules["then_item"]]
    for name in ("support", "confidence", "lift"):
        assert found[name].tolist() == rules[name].tolist()
    assert found["consequent support"].tolist() == rules["base"].tolist()
    both = found["antecedent support"] * found["confidence"]
    assert both.tolist() == pytest.approx(found["support"].tolist())


def test_any_library_is_taken(model) -> None:
    rules = model.rules(top=5)
    for other in (pl.from_pandas(rules), pa.Table.from_pandas(rules)):
        assert_frame_equal(association_rules(other), association_rules(rules))


def test_several_conditions_are_refused(model) -> None:
    rules = model.rules(top=5).assign(conditions=[1, 1, 2, 1, 1])
    with pytest.raises(UserError, match=r"take rules\(conditions=1\)"):
        association_rules(rules)
    assert_frame_equal(
        association_rules(rules.assign(conditions=1)), association_rules(model.rules(top=5))
    )


@pytest.mark.whole
def test_mlxtend_itself_makes_the_same_of_the_three_supports(model) -> None:
    patterns = pytest.importorskip(
        "mlxtend.frequent_patterns", reason="the extra 'hosts' is not installed"
    )
    found = association_rules(model.rules(top=20))
    for k in range(len(found)):
        one = found.iloc[[k]].reset_index(drop=True)
        if_items, then_items = one["antecedents"][0], one["consequents"][0]
        itemsets = pd.DataFrame(
            {
                "support": one.loc[0, ["antecedent support", "consequent support", "support"]],
                "itemsets": [if_items, then_items, if_items | then_items],
            }
        )
        theirs = patterns.association_rules(itemsets, metric="support", min_threshold=0.0)
        theirs = theirs[theirs["antecedents"] == if_items].reset_index(drop=True)
        assert_frame_equal(one, theirs.astype(one.dtypes), check_names=False)
