"""Entries held out of a table, to choose what predicts them best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import is_real, is_whole
from eventspace._base.errors import UserError
from eventspace._base.types import Bits
from eventspace.data.entries import Entries, transpose
from eventspace.data.observations import Observations
from eventspace.metrics import rmse

Positions = NDArray[np.integer[Any]]

SMALL = 3_000  # entries: below, five folds cost next to nothing


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
    helds = (spared(held, users, items) for held in choices)
    return [Fold.of(seen, held) for held in helds if held.any()]


def spared(held: Bits, users: Positions, items: Positions) -> Bits:
    """Of what is to be held out, give one entry back to each user and item with none left."""
    held = held.copy()
    for ids in (users, items):
        left = np.bincount(ids[~held], minlength=int(ids.max(initial=-1)) + 1)
        bare = np.flatnonzero(held & (left[ids] == 0))
        held[bare[np.unique(ids[bare], return_index=True)[1]]] = False
    return held
