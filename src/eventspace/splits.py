"""Entries held out of a table: folds of observed entries, never of whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from eventspace._base.checks import check_whole
from eventspace._base.errors import UserError
from eventspace.data.column import as_column
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.data.pairs import read_pairs
from eventspace.fitting.folds import spared


class EntryKFold:
    """K folds of the entries of a table, for scikit-learn's ``GridSearchCV`` and the like.

    It splits the rows of a long table (a DataFrame with one row per entry), as ``KFold`` does. But
    an entry stays in the training part if its user or its item would have no entry there otherwise.
    The rows of a wide table, an array or a sparse matrix are users, and whole users must not be
    held out: make a long table of it with :func:`long_table`.
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None) -> None:
        check_whole("n_splits", n_splits, 2)
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The rows for training and those held out, fold by fold."""
        pairs = read_pairs(X)
        if pairs is None:
            raise UserError("Not a long table: rows here are users. Split long_table(X) instead.")
        users, items = (pd.factorize(as_column(ids))[0] for ids in pairs)
        if min(users.min(initial=0), items.min(initial=0)) < 0:
            raise UserError("An id is missing (NaN or None) in the table: drop such rows first.")
        fold = check_random_state(self.random_state).permutation(len(users)) % self.n_splits
        for k in range(self.n_splits):
            held = spared(fold == k, users, items)
            if not held.any():
                raise UserError(
                    f"Fold {k} of {self.n_splits} would be empty: too few entries have others of "
                    "their user and of their item. Take fewer folds, or a larger table."
                )
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are."""
        return self.n_splits


def long_table(X: Any) -> DataFrame:
    """The observed entries of any table as a DataFrame: ``user``, ``item``, ``value``, ``weight``.

    There are weights if the table has them. The rows are sorted by user and then by item.
    """
    seen = Observations.of(X)
    users, items, p = seen.coo()
    columns = {
        "user": seen.user_ids.values[users],
        "item": seen.item_ids.values[items],
        "value": seen.from_unit(p),
    }
    if seen.weighted:
        columns["weight"] = seen.by_user.weight
    return data_frame(columns, seen.library)
