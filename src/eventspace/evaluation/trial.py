"""One part of a table held out, and what a model is worth there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace import metrics
from eventspace._base.cached import cached_property
from eventspace._base.types import Bits, Positions
from eventspace.data.observations import Observations
from eventspace.evaluation.entrant import Entrant
from eventspace.fitting.folds import Fold
from eventspace.rules.likes import ChanceOfLike, lowest_like


@dataclass(frozen=True, eq=False)
class Trial:
    """One part of a table to learn from, and the rest to be measured on."""

    fold: Fold
    like: float  # the least value that is one
    n: int  # recommendations that are judged

    @property
    def train(self) -> Observations:
        """The part to learn from."""
        return self.fold.train

    @cached_property
    def liked(self) -> Bits:
        """Which of the entries that are held out are likes."""
        return np.asarray(self.train.to_unit(self.fold.truth) >= lowest_like(self.train, self.like))

    @cached_property
    def wanting(self) -> Positions:
        """The users with a like that is held out."""
        return np.unique(self.fold.users[self.liked]).astype(np.int64)

    def scores(self, name: str, model: Any) -> dict[str, float]:
        """Every column for a model, which is fitted first."""
        fold, entrant = self.fold, Entrant.of(name, model, self.train)
        seconds = entrant.fit()
        value = entrant.predict(fold.users, fold.items)
        p = np.clip(self.train.to_unit(value), 0.0, 1.0)
        law = ChanceOfLike.of(self.train, entrant.spread(), self.like)
        top = entrant.top(self.wanting, self.n)
        return {
            "rmse": metrics.rmse(fold.truth, value, fold.weight),
            "mae": metrics.mae(fold.truth, value, fold.weight),
            "log_loss": metrics.log_loss(self.liked, law(p, fold.users), fold.weight),
            "coverage": math.nan if law.yes_or_no else self._coverage(entrant),
            **self._ranking(top),
            "seconds": seconds,
        }

    def _coverage(self, entrant: Entrant) -> float:
        bounds = entrant.interval(self.fold.users, self.fold.items)
        return math.nan if bounds is None else metrics.coverage(self.fold.truth, *bounds)

    def _ranking(self, top: Positions) -> dict[str, float]:
        """NDCG and recall of the first n items for each such user, -1 where there are fewer.

        Behind its n places, each user's column has the likes that are not among them: all that the
        metrics need to know of the items further down.
        """
        who, n_items = self.wanting, self.train.n_items
        names = f"ndcg@{self.n}", f"recall@{self.n}"
        if not who.size:
            return dict.fromkeys(names, math.nan)
        users, items = (side[self.liked] for side in (self.fold.users, self.fold.items))
        wanted = users.astype(np.int64) * n_items + items
        listed = np.where(top < 0, -1, who[:, None] * n_items + top)
        further = ~np.isin(wanted, listed)
        truth = np.append(np.isin(listed, wanted).ravel(), np.ones(further.sum()))
        place = np.append(np.tile(-np.arange(self.n), len(who)), np.full(further.sum(), -self.n))
        of = np.append(np.repeat(who, self.n), users[further])
        ndcg = metrics.ndcg_at(truth, place, of, n=self.n)
        recall = metrics.recall_at(truth, place, of, n=self.n, like=1)
        return dict(zip(names, (ndcg, recall), strict=True))
