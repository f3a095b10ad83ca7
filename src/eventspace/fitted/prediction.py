"""What factors say of users and items: P[X_ui = 1] = theta_u . psi_i."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_choice
from eventspace._base.errors import UserError, warn
from eventspace._base.threads import blas_alike
from eventspace._base.types import Bits, Floats, Positions
from eventspace.data.column import as_column, first_missing
from eventspace.data.entries import Entries
from eventspace.data.factors import dot_products, squared_error
from eventspace.data.frames import DataFrame
from eventspace.data.invariants import InvariantError
from eventspace.data.observations import Observations
from eventspace.data.pairs import is_positional, read_pairs
from eventspace.logic.space import known_positions

Unit = Literal["probability", "original"]
Unknown = Literal["error", "population"]

UNITS = ("probability", "original")
UNKNOWN = ("error", "population")
SHELL = "--unknown population lets the population stand in."
UPDATE = "Use update to add them"  # what an error about unknown ids advises
EVENTS = 512  # of whose indicators the numbers are held at a time


class Predictor(ABC):
    """Predictions for the users and items of some observations.

    Where there is no evidence, the population stands in: an unknown user, or one without ratings,
    has the mean PMF of the users with ratings; an unknown item, or one of which nothing is said,
    the mean indicator of the rated items.
    """

    name: str  # of the estimator, for errors
    for_new_ids = UPDATE
    observations: Observations
    pmf: Floats
    pmf_mean: Floats
    indicator_mean: Floats
    unsaid: Bits

    @abstractmethod
    def indicators_in(self, events: slice, items: Positions) -> Floats:
        """psi of some items in some events, as numbers."""

    @abstractmethod
    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new."""

    @property
    def user_ids(self) -> NDArray[Any]:
        """The ids of the users, in the order of the rows of ``pmf``."""
        return self.observations.user_ids.values

    @property
    def item_ids(self) -> NDArray[Any]:
        """The ids of the items, in the order of the rows of ``codes`` and ``indicators``."""
        return self.observations.item_ids.values

    @property
    def blocks(self) -> Iterator[slice]:
        """The events, some at a time: psi of all of them would be large."""
        n_events = self.pmf.shape[1]
        return (slice(k, min(k + EVENTS, n_events)) for k in range(0, n_events, EVENTS))

    def predict(
        self, X: Any = None, *, unit: Unit = "probability", unknown: Unknown = "error"
    ) -> Floats:
        """P[X_ui = 1] for pairs, for all pairs, or for the rows of a table.

        ``X`` may be

        - pairs: ``(users, items)``, or a DataFrame with both columns. Gives one number per pair.
          One user may stand with many items, and the other way round;
        - None: every user and item of the model. Gives users x items;
        - an array or a wide DataFrame with the model's items as columns: each row is taken as a
          new user, as in :meth:`transform`. Gives rows x items: the table completed.

        ``unit="original"`` gives the unit of the table that was fitted, ``unknown="population"``
        lets the population stand in for ids that the model does not know.
        """
        check_choice("unit", unit, UNITS)
        check_choice("unknown", unknown, UNKNOWN)
        if X is None:
            p = self.inverse_transform(self.pmf)
        elif (pairs := read_pairs(X, self.observations)) is not None:
            p = self.predict_positions(*self.positions(pairs.users, pairs.items, unknown))
        elif hasattr(X, "toarray"):  # sparse
            raise UserError(
                "A sparse table completed is dense: use inverse_transform(transform(X)) for it."
            )
        else:
            p = self.inverse_transform(self.transform(X))
        return self.observations.from_unit(p) if unit == "original" else p

    def inverse_transform(self, X: Any) -> Floats:
        """P[X_i = 1] of every item under each of the PMFs in ``X``: rows x items."""
        pmf = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if pmf.shape[1] != self.pmf.shape[1]:
            raise UserError(
                f"A PMF here has {self.pmf.shape[1]} events, X has {pmf.shape[1]} columns."
            )
        items = np.arange(self.observations.n_items)
        p = np.zeros((len(pmf), len(items)))
        with blas_alike(len(pmf)):
            for events in self.blocks:
                p += pmf[:, events] @ self.indicators_or_mean(events, items).T
        return self.kept_within(p)

    def recommend(
        self,
        user: Any = None,
        n: int = 10,
        *,
        candidates: Any = None,
        exclude: Any = None,
        min_evidence: int = 1,
        seen: bool = False,
        meets: bool = True,
        like: float | None = None,
        unknown: Unknown = "error",
        unit: Unit = "probability",
    ) -> DataFrame:
        """The n items that a user most probably meets and likes: a DataFrame, the best first.

        Ranked by the prediction alone, items would come first that hardly anybody meets. So a model
        that has learnt who meets what ranks by P[meets next and likes], the product of P[meets
        next] and P[likes]. Others rank by the prediction. Ties go to the item with more ratings.
        Where what is missing says no, to meet is to say yes, and ``chance`` is that alone.

        Parameters
        ----------
        user : id, or several, optional
            For whom. For several (a list, an array, a column) the answer has a column ``user``.
            None: for everybody.
        n : int, default 10
            How many items for each.
        candidates : ids, optional
            Only these items.
        exclude : ids or pairs, optional
            Not these items. Or not these pairs: ``(users, items)``, or a table with both columns.
        min_evidence : int, default 1
            How many ratings an item must have, in all.
        seen : bool, default False
            Also items that the user has rated.
        meets : bool, default True
            False: rank by the prediction alone.
        like : float, optional
            The least value that counts as a like, in the unit of the table; None: the least one
            above the mean.
        unknown : {"error", "population"}, default "error"
            "population": users that the model does not know get what is best for anyone.
        unit : {"probability", "original"}, default "probability"
            Of the prediction: a column ``probability``, or ``value``.

        Returns
        -------
        DataFrame
            ``item``; where it is known who meets what, ``chance`` = P[meets and likes], ``meets``
            and ``likes``; the prediction; and ``ratings``, how many the item has.
        """
        from eventspace.fitted.recommending import Wanted, recommended

        check_choice("unit", unit, UNITS)
        check_choice("unknown", unknown, UNKNOWN)
        check_choice("meets", meets, (True, False))
        wanted = Wanted.of(self.observations, n, candidates, exclude, min_evidence, seen)
        options: dict[str, Any] = {"unknown": unknown, "unit": unit, "show": None}
        return recommended(self, user, wanted, **options, meets=meets, like=like)

    def all_chances(self, users: Positions) -> Floats:
        """The chances of all items for some users, -1 for the population: users x items."""
        pmf = self.pmf[users]
        pmf[users < 0] = self.pmf_mean
        return self.inverse_transform(pmf)

    def appeal(
        self, users: Positions, p: Floats, *, meets: bool, like: float | None
    ) -> dict[str, NDArray[Any]]:
        """What is told of items beside their chances, users x items; they are ranked by the first.

        Nothing: they are ranked by their chances.
        """
        return {}

    def score(self, X: Any, y: Any = None) -> float:
        """R^2 of the predictions over the observed entries of ``X``, weighted by their weights.

        A table with ids is compared by them: this is how to score held-out entries. It may hold
        values beyond the model's scale, and the population stands in for ids that are unknown. The
        rows of an array or sparse matrix have no ids: each is taken as a new user, as in
        :meth:`transform`, so that the score says how well rows are rebuilt from themselves, not how
        well unseen entries are predicted.
        """
        known = self.observations
        if known.missing:
            return self._score_of_all(X)
        table = Observations.of(X)  # on its own scale: held-out values may exceed the model's
        u, i, p = table.coo()
        truth = known.to_unit(table.from_unit(p))
        if is_positional(X):
            predicted = self.products(self.transform(X), u, i)
        else:
            users = known.user_ids.positions(table.user_ids.values)
            items = known.item_ids.positions(table.item_ids.values)
            predicted = self.predict_positions(users[u], items[i])
        weight = table.by_user.weight if table.weighted else np.ones(len(truth))
        return r_squared(truth, predicted, weight)

    def _score_of_all(self, X: Any) -> float:
        """R^2 over all pairs of the users and items of a table: those that are missing say no."""
        known = self.observations
        table = Observations.of(X, scale=known.scale, missing=known.missing)
        if is_positional(X):
            pmf, items = self.transform(X), np.arange(known.n_items)
        else:
            users = known.user_ids.positions(table.user_ids.values)
            items = known.item_ids.positions(table.item_ids.values)
            pmf = np.where((users < 0)[:, None], self.pmf_mean, self.pmf[users])
        psi = np.hstack([self.indicators_or_mean(events, items) for events in self.blocks])
        value = table.by_user.value.astype(np.float64)
        weight = table.by_user.weight if table.weighted else np.ones_like(value)
        total = float(weight @ np.square(value) - (weight @ value) ** 2 / table.total_weight)
        rest = squared_error(table, pmf, psi)
        return 1.0 - rest / total if total else float(rest == 0.0)

    def positions(
        self, users: Any, items: Any, unknown: str = "error"
    ) -> tuple[Positions, Positions]:
        """Where ids are; unknown ones are an error, or -1 for "population"."""
        known, at = self.observations, []
        remedy = f"{self.for_new_ids}, or predict(..., unknown='population')."
        for ids, wanted, what in ((known.user_ids, users, "user"), (known.item_ids, items, "item")):
            column = as_column(wanted)
            row = first_missing(column)
            if row is not None:
                raise UserError(f"The {what} id of row {row} is missing; every pair needs both.")
            if unknown == "error":
                at.append(known_positions(ids, column, what, remedy, SHELL))
            else:
                at.append(ids.positions(column))
        return at[0], at[1]

    def predict_positions(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        """theta_u . psi_i for pairs of positions; -1 stands for the population."""
        who, u = np.unique(users, return_inverse=True)
        pmf = self.pmf[who]
        if who.size and who[0] < 0:
            pmf[0] = self.pmf_mean
        return self.products(pmf, u, items)

    def products(self, pmf: Floats, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        """theta_u . psi_i for pairs of a row of ``pmf`` and the position of an item."""
        what, i = np.unique(items, return_inverse=True)
        p = np.zeros(len(users))
        for events in self.blocks:
            p += dot_products(pmf[:, events], self.indicators_or_mean(events, what), users, i)
        return self.kept_within(p)

    def kept_within(self, p: Floats) -> Floats:
        """Predictions as they may be: those of any numbers are what they are."""
        return p

    def indicators_or_mean(self, events: slice, items: Positions) -> Floats:
        """psi of some items in some events; the mean indicator where nothing is said of one."""
        psi = self.indicators_in(events, items)
        silent = (items < 0) | self.unsaid[items]
        if silent.any():
            psi[silent] = self.indicator_mean[events]
        return psi

    def aligned(self, X: Any) -> Observations:
        """The observations in a table, on the model's scale and with its items.

        The columns of an array or sparse matrix have no ids: they are the items in their order.
        """
        known, missing = self.observations, self.observations.missing
        if is_positional(X):
            table = Observations.of(X, scale=known.scale, missing=missing)
            if table.n_items != known.n_items:
                raise UserError(
                    f"X has {table.n_items} features, but {self.name} is expecting "
                    f"{known.n_items} features as input: a column for each of its items."
                )
            return table
        table = Observations.of(X, scale=known.scale, missing=missing, items=known.item_ids)
        known_positions(known.item_ids, table.item_ids.values, "item", f"{self.for_new_ids}.")
        return table


class Factors(Predictor):
    """Any numbers for theta and psi, such as baselines have; ``solve`` gives theta of new users."""

    for_new_ids = "Fit again with them"

    def __init__(
        self,
        name: str,
        observations: Observations,
        pmf: Floats,
        indicators: NDArray[Any],
        solve: Callable[[Entries], Floats],
    ) -> None:
        self.name, self.observations, self.solve = name, observations, solve
        self.pmf, self.indicators = pmf, indicators
        users, items = observations.by_user.rated, observations.by_item.rated
        self.pmf_mean = np.asarray(pmf[users].mean(axis=0))
        self.indicator_mean = np.asarray(indicators[items].mean(axis=0))
        self.unsaid = ~items

    def known(self) -> list[str]:
        """What it knows of itself, by name."""
        names = [name for name in vars(self) if name not in ("name", "solve", "unsaid")]
        return [*names, "user_ids", "item_ids"]

    def indicators_in(self, events: slice, items: Positions) -> Floats:
        """psi of some items in some events, as numbers."""
        return self.indicators[items, events].astype(np.float64)

    def transform(self, X: Any) -> Floats:
        """The row of ``pmf_`` that each user of a table would have, taken as new.

        The items must be those of the fit. Gives rows x events, in the order of the table's rows.
        """
        return self.solve(self.aligned(X).by_user)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        seen, n_events = self.observations, self.pmf.shape[1]
        if len(self.pmf) != seen.n_users or self.indicators.shape != (seen.n_items, n_events):
            raise InvariantError("pmf_ or indicators_ does not fit the observations")


def r_squared(truth: Floats, predicted: Floats, weight: NDArray[Any]) -> float:
    """The part of the (weighted) variance that is explained; 0 or 1 where nothing varies."""
    if len(truth) < 2:
        warn("R^2 is not defined for fewer than two entries")
        return math.nan
    rest = float(weight @ np.square(truth - predicted))
    total = float(weight @ np.square(truth - np.average(truth, weights=weight)))
    return 1.0 - rest / total if total else float(rest == 0.0)
