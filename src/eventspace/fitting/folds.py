"""Entries held out of a table, to choose what predicts them best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Bits
from eventspace.data.entries import transpose
from eventspace.data.missing import that_speak
from eventspace.data.observations import Observations
from eventspace.metrics import rmse

Positions = NDArray[np.integer[Any]]


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
        by_user, weight = seen.by_user.kept(~held), seen.by_user.weight
        both = that_speak(by_user, transpose(by_user, seen.n_items), seen.missing)
        train = replace(seen, by_user=both[0], by_item=both[1])
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
        lo, hi = self.train.scale
        truth = self.train.to_unit(self.truth)  # in which squares of great values do not overflow
        return rmse(truth, p, self.weight) * (hi - lo)


def held_out(seen: Observations, part: float, random: np.random.RandomState) -> Fold | None:
    """The fold with a random part held out; None where nothing can be."""
    users, items, _ = seen.coo()
    held = spared(random.permutation(seen.n_observed) < part * seen.n_observed, users, items)
    return Fold.of(seen, held) if held.any() else None


def spared(held: Bits, users: Positions, items: Positions) -> Bits:
    """Give one held-out entry back to each user and item that would have none left."""
    held = held.copy()
    for ids in (users, items):
        left = np.bincount(ids[~held], minlength=int(ids.max(initial=-1)) + 1)
        bare = np.flatnonzero(held & (left[ids] == 0))
        held[bare[np.unique(ids[bare], return_index=True)[1]]] = False
    return held
