"""Entries held out of a table: folds of what is observed, never of rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from eventspace._base.checks import check_whole, is_real, is_whole
from eventspace._base.errors import UserError
from eventspace._base.types import Bits
from eventspace.data.column import as_column
from eventspace.data.entries import Entries, transpose
from eventspace.data.frames import data_frame
from eventspace.data.observations import Observations
from eventspace.data.pairs import read_pairs
from eventspace.metrics import rmse

Positions = NDArray[np.integer[Any]]

SMALL = 3_000  # entries: below, five folds cost next to nothing


class EntryKFold:
    """K folds of the entries of a table, for scikit-learn's ``GridSearchCV`` and the like.

    It splits the rows of a long table (a DataFrame with a row an entry), as ``KFold`` would, but an
    entry stays in the training part if its user or its item would have none there otherwise. The
    rows of a wide table, an array or a sparse matrix are users, who must not be held out as a
    whole: make a long table of it with :func:`long_table`.
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
            held = _spared(fold == k, users, items)
            if not held.any():
                raise UserError(
                    f"Fold {k} of {self.n_splits} would be empty: too few entries have others of "
                    "their user and of their item. Take fewer folds, or a larger table."
                )
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are."""
        return self.n_splits


def long_table(X: Any) -> Any:
    """The observed entries of any table as a DataFrame: ``user``, ``item``, ``value``, ``weight``.

    Weights are there if the table has them. The rows come by user and then by item.
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


@dataclass
class Fold:
    """Observations to learn from, with the ids of all, and the entries that are held out."""

    train: Observations
    users: Positions
    items: Positions
    truth: NDArray[np.float64]
    weight: NDArray[np.floating[Any]] | None

    @classmethod
    def of(cls, seen: Observations, held: Bits) -> Fold:
        """The fold with these entries, in the order of ``seen.coo()``, held out."""
        ptr, index, value, weight = seen.by_user
        kept = np.concatenate([[0], np.cumsum(~held)])
        by_user = Entries(kept[ptr], index[~held], value[~held], weight[~held[: weight.size]])
        by_item = transpose(by_user, seen.n_items)
        train = Observations(
            seen.user_ids, seen.item_ids, by_user, by_item, seen.scale, seen.library
        )
        users, items, p = seen.coo()
        return cls(
            train,
            users[held],
            items[held],
            seen.from_unit(p[held]),
            weight[held] if weight.size else None,
        )

    def error(self, p: NDArray[np.float64]) -> float:
        """The RMSE of predicted probabilities over what is held out, in the unit of the table."""
        return rmse(self.truth, self.train.from_unit(p), self.weight)


def folds(seen: Observations, cv: Any, random: np.random.RandomState) -> list[Fold]:
    """The folds that ``cv`` asks for, without those in which nothing can be held out."""
    if cv == "auto":
        cv = 5 if seen.n_observed < SMALL else 0.1
    order = random.permutation(seen.n_observed)
    if is_whole(cv) and cv >= 2:
        choices: Iterable[Bits] = (order % cv == k for k in range(cv))
    elif is_real(cv) and 0 < cv < 1:
        choices = [order < cv * seen.n_observed]
    else:
        allowed = "'auto', at least 2 folds, or a part between 0 and 1"
        raise UserError(f"must be {allowed}.", parameter="cv", value=cv)
    users, items, _ = seen.coo()
    helds = (_spared(held, users, items) for held in choices)
    return [Fold.of(seen, held) for held in helds if held.any()]


def _spared(held: Bits, users: Positions, items: Positions) -> Bits:
    """Of what is to be held out, give one entry back to each user and item with none left."""
    held = held.copy()
    for ids in (users, items):
        left = np.bincount(ids[~held], minlength=int(ids.max(initial=-1)) + 1)
        bare = np.flatnonzero(held & (left[ids] == 0))
        held[bare[np.unique(ids[bare], return_index=True)[1]]] = False
    return held
