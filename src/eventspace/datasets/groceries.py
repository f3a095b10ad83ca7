"""Baskets of a grocery: what was bought, and nothing about what was not."""

from __future__ import annotations

import pandas as pd

from eventspace.datasets.dataset import Dataset
from eventspace.datasets.sources import Source

GROCERIES = Source(
    "groceries",
    "the R package arules, data set Groceries",
    how=": transactions.csv (transaction, item) and items.csv (item, labels, level2, level1).",
)


def groceries() -> Dataset:
    """A month of a grocery: 9,835 baskets of 169 kinds of goods; only what was bought is listed.

    A user is a basket; every value is one, and what is missing was not bought. Items have their
    groups.
    """
    bought = pd.read_csv(GROCERIES.path("transactions.csv"))
    items = pd.read_csv(GROCERIES.path("items.csv"), index_col=0)
    table = pd.DataFrame(
        {
            "user": bought["transaction"],
            "item": bought["item"].map(items["labels"]),
            "value": 1.0,
        }
    )
    return Dataset(
        "Groceries",
        table,
        (0.0, 1.0),
        "M. Hahsler, K. Hornik and T. Reutterer, Implications of probabilistic data modeling for "
        "mining association rules, 2006.",
        "Comes with arules, GPL-3.",
        items=items.set_index("labels").rename_axis("item"),
        missing="no",
    )
