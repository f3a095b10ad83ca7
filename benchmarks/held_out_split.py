"""A model of most users, and the tables of the others, for benchmarks of rules."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.rule_orders import Pairs, Table
from eventspace import KolmogorovModel, Observations
from eventspace.rules import mining
from eventspace.rules.telling import RuleOptions

TABLES: dict[str, tuple[Callable[[], data.Ratings], tuple[float, float]]] = {
    "ML-100K": (lambda: both_parts(), (1, 5)),
    "latest-small": (data.movielens_small, (0.5, 5)),
    "ML-1M": (data.movielens_1m, (1, 5)),
}
SPLITS = {  # seeds; 1 to 8 were for choosing. Few users judge differently each time
    "ML-100K": range(11, 21),
    "latest-small": range(11, 21),
    "ML-1M": range(11, 14),
}
LIKE = 4.0
KNOWN = 5  # ratings of an item that takes part
BOOTSTRAP = 1_000


def both_parts() -> data.Ratings:
    """All of MovieLens 100K."""
    one, other = data.movielens_100k(1)
    return data.Ratings(*(np.concatenate(two) for two in zip(one, other, strict=True)))


@dataclass
class Split:
    """A model of three quarters of the users, and two tables: theirs, and the others'."""

    model: KolmogorovModel
    known: NDArray[np.intp]  # the items of the tables: those with some ratings
    train: Table
    test: Table
    judges: NDArray[np.intp]  # the users of the second, among all
    seconds: float

    @classmethod
    def of(cls, name: str, seed: int, held_out: float = 0.25) -> Split:
        ratings, scale = TABLES[name][0](), TABLES[name][1]
        users, user = np.unique(ratings.users, return_inverse=True)
        others = np.random.default_rng(seed).permutation(len(users))[: int(held_out * len(users))]
        held = np.isin(user, others)
        seen = Observations.of(
            (user[~held], ratings.items[~held], ratings.values[~held]), scale=scale
        )
        start = time.perf_counter()
        model = KolmogorovModel(random_state=0).fit(seen)
        seconds = time.perf_counter() - start
        known = np.flatnonzero(seen.by_item.sizes >= KNOWN)
        place = np.full(seen.n_items + 1, -1)  # the last: unknown
        place[known] = np.arange(len(known))
        item = place[seen.item_ids.positions(ratings.items)]
        tables = []
        for part in (~held & (item >= 0), held & (item >= 0)):
            judges, rows = np.unique(user[part], return_inverse=True)
            rated = np.zeros((rows.max() + 1, len(known)), dtype=bool)
            stars = np.zeros(rated.shape)
            rated[rows, item[part]] = True
            stars[rows, item[part]] = (ratings.values[part] - scale[0]) / (scale[1] - scale[0])
            tables.append(Table(rated, stars, (LIKE - scale[0]) / (scale[1] - scale[0])))
        train, test = tables
        return cls(model, known, train, test, judges, seconds)

    def pairs(self, rules: mining.Rules) -> Pairs:
        """Rules by the positions in the tables."""
        sides = (np.searchsorted(self.known, rules[side]) for side in ("if_item", "then_item"))
        return Pairs(*sides)


def miner(split: Split, **options: Any) -> mining.Miner:
    return split.model.fitted_.miner(RuleOptions(like=LIKE, **options))
