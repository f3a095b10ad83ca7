"""Models of ours and of others behind one interface, to be compared."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from eventspace._base.errors import UserError
from eventspace._base.types import Floats, Positions
from eventspace.data.frames import data_frame
from eventspace.data.observations import Observations
from eventspace.estimators.base import Estimator, Holder
from eventspace.metrics import rmse
from eventspace.splits import long_table

LEVEL = 0.9  # of the intervals whose coverage is told
BLOCK = 1 << 20  # pairs predicted at a time to rank the items
TRIED = 1 << 17  # training entries from which the spread of a model's errors is taken


@dataclass(frozen=True, eq=False)
class Entrant:
    """A model of ours or of others, asked in one way: by positions, in the table's own unit."""

    name: str
    model: Any
    train: Observations

    @classmethod
    def of(cls, name: str, model: Any, train: Observations) -> Self:
        """An unfitted copy of a model, without a progress bar of its own: there is one for all."""
        copy = clone(model, safe=False)
        if isinstance(copy, Holder) and "verbose" in copy.get_params():
            copy.set_params(verbose=False)
        return cls(name, copy, train)

    @property
    def ours(self) -> bool:
        """Whether it reads tables and answers as our models do."""
        return isinstance(self.model, Holder)

    def fit(self) -> float:
        """Learn; give the seconds that it took."""
        users, items, p = self.train.coo()
        if self.ours:
            arguments: tuple[Any, ...] = (self.train,)
        elif _takes_values(self.model.fit):
            arguments = self._pairs(users, items), self.train.from_unit(p)
        else:
            arguments = (long_table(self.train),)
        began = perf_counter()
        self.model.fit(*arguments)
        if getattr(self.model, "interrupted_", False):
            raise KeyboardInterrupt
        return perf_counter() - began

    def predict(self, users: Any, items: Any) -> Floats:
        """The values of pairs."""
        unit = {"unit": "original"} if self.ours else {}
        values = np.asarray(self.model.predict(self._pairs(users, items), **unit), dtype=np.float64)
        said = f"models[{self.name!r}]: predict of {len(users)} pairs gave"
        if values.shape != users.shape:
            raise UserError(
                f"{said} an array of shape {values.shape}: a number for each is wanted."
            )
        if not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(values)))
            raise UserError(f"{said} {values[bad]} for pair {bad}: a finite number is wanted.")
        return values

    def interval(self, users: Any, items: Any) -> tuple[Floats, Floats] | None:
        """Between which values lie with a chance of 90 %, if the model says it."""
        if not self.ours or not hasattr(self.model, "predict_interval"):
            return None
        bounds = self.model.predict_interval(self._pairs(users, items), LEVEL, unit="original")
        return np.asarray(bounds["low"]), np.asarray(bounds["high"])

    def spread(self) -> Floats:
        """Of each user: how far values are from the predictions, in probability."""
        if isinstance(self.model, Estimator):
            return np.asarray(self.model.fitted_.record.spread)
        users, items, p = self.train.coo()
        some = np.linspace(0, len(p) - 1, min(len(p), TRIED)).astype(np.int64)
        predicted = self.train.to_unit(self.predict(users[some], items[some]))
        return np.full(self.train.n_users, rmse(p[some], predicted))

    def top(self, users: Positions, n: int) -> Positions:
        """The n items that each user has not in training and gets first: users x n, -1 for none."""
        found = np.full((len(users), n), -1)
        if self.ours:
            best = self.model.recommend(self.train.user_ids.values[users], n)
            at = np.full(self.train.n_users, -1)
            at[users] = np.arange(len(users))
            rows = at[self.train.user_ids.positions(best["user"])]  # in the order of the users
            first = np.searchsorted(rows, rows)
            found[rows, np.arange(len(rows)) - first] = self.train.item_ids.positions(best["item"])
            return found
        if callable(getattr(self.model, "recommend", None)):
            for row, user in zip(found, users, strict=True):
                best = self.model.recommend(self.train.user_ids[user], n)
                items = best["item"] if hasattr(best, "columns") else best
                positions = self.train.item_ids.positions(items)[:n]
                row[: len(positions)] = positions
            return found
        step = max(1, BLOCK // self.train.n_items)
        for start in range(0, len(users), step):
            best = self._best(users[start : start + step])[:, :n]
            found[start : start + step, : best.shape[1]] = best
        return found

    def _best(self, users: Positions) -> Positions:
        """All items for some users, the best prediction first; -1 where a user has it already."""
        by_user, evidence = self.train.by_user, self.train.by_item.sizes
        popular = np.argsort(-evidence, kind="stable")
        popular = popular[evidence[popular] > 0]
        value = self.predict(np.repeat(users, len(popular)), np.tile(popular, len(users)))
        own = [by_user.index[by_user.ptr[user] : by_user.ptr[user + 1]] for user in users]
        taken = np.array([np.isin(popular, items) for items in own])
        value = np.where(taken, -np.inf, value.reshape(taken.shape))
        order = np.argsort(-value, axis=1, kind="stable")
        return np.where(np.take_along_axis(taken, order, axis=1), -1, popular[order])

    def _pairs(self, users: Any, items: Any) -> Any:
        """Pairs as the model takes them."""
        ids = {"user": self.train.user_ids.values[users], "item": self.train.item_ids.values[items]}
        return tuple(ids.values()) if self.ours else data_frame(ids, self.train.library)


def _takes_values(fit: Any) -> bool:
    """Whether a method fits pairs to values, and not a table."""
    kinds = [parameter.kind for parameter in inspect.signature(fit).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Parameter.VAR_POSITIONAL in kinds or sum(k in positional for k in kinds) > 1
