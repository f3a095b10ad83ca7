"""What a fitted model says of users and items: P[X_ui = 1] = theta_u . psi_i."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eventspace._base.checks import check_choice, check_whole
from eventspace._base.codes import unpack
from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Codes, Floats
from eventspace.data.column import as_column, first_missing
from eventspace.data.frames import data_frame
from eventspace.data.ids import Ids
from eventspace.data.invariants import simplex_flaw
from eventspace.data.observations import Observations
from eventspace.data.pairs import is_positional, read_pairs
from eventspace.logic.space import known_position, known_positions

Unit = Literal["probability", "original"]
Unknown = Literal["error", "population"]

UNITS = ("probability", "original")
UNKNOWN = ("error", "population")
_BLOCK = 1 << 20  # numbers held of a side when pairs are predicted


class Prediction:
    """Predictions from ``pmf_``, ``codes_`` and ``observations_``.

    Where there is no evidence, the population stands in: an unknown user, or one without ratings,
    has the mean PMF of the users with ratings; an unknown item, or one without ratings, the mean
    indicator of the rated items.
    """

    pmf_: Floats
    codes_: Codes
    observations_: Observations
    _FOR_NEW_IDS = "Use fold_in to add them"  # what an error about unknown ids advises

    @property
    def indicators_(self) -> NDArray[Any]:
        """psi: items x events, whether the item comes true in the event."""
        return self._indicators_of(slice(None))

    @property
    def user_ids_(self) -> NDArray[Any]:
        """The ids of the users, in the order of the rows of ``pmf_``."""
        return self.observations_.user_ids.values

    @property
    def item_ids_(self) -> NDArray[Any]:
        """The ids of the items, in the order of the rows of ``codes_`` and ``indicators_``."""
        return self.observations_.item_ids.values

    @property
    def pmf_mean_(self) -> Floats:
        """The mean PMF of the users with ratings: the population's."""
        rated = self.observations_.by_user.rated
        return np.asarray(self.pmf_[rated].mean(axis=0))

    @property
    def indicator_mean_(self) -> Floats:
        """The mean indicator of the rated items: what part of them comes true in each event."""
        rated = self.observations_.by_item.rated
        return np.asarray(self.indicators_[rated].mean(axis=0))

    def predict(
        self, X: Any = None, *, unit: Unit = "probability", unknown: Unknown = "error"
    ) -> Floats:
        """P[X_ui = 1] for pairs, for all pairs, or for the rows of a table.

        ``X`` may be

        - pairs: ``(users, items)``, or a DataFrame with a column of each. Gives one number a pair.
          One user may stand with many items, and the other way round;
        - None: every user and item of the model. Gives users x items;
        - an array or a wide DataFrame with the model's items as columns: each row is taken as a
          new user, as in :meth:`transform`. Gives rows x items: the table completed.

        ``unit="original"`` gives the unit of the table that was fitted, ``unknown="population"``
        lets the population stand in for ids that the model does not know.
        """
        check_is_fitted(self)
        check_choice("unit", unit, UNITS)
        check_choice("unknown", unknown, UNKNOWN)
        if X is None:
            p = self.inverse_transform(self.pmf_)
        elif (pairs := read_pairs(X, self.observations_)) is not None:
            known, advice = self.observations_, self._FOR_NEW_IDS
            users = positions(known.user_ids, pairs.users, "user", unknown, advice)
            items = positions(known.item_ids, pairs.items, "item", unknown, advice)
            p = self._predict_positions(users, items)
        elif sparse.issparse(X):
            raise UserError(
                "A sparse table completed is dense: use inverse_transform(transform(X)) for it."
            )
        else:
            p = self.inverse_transform(self.transform(X))  # type: ignore[attr-defined]
        return self.observations_.from_unit(p) if unit == "original" else p

    def inverse_transform(self, X: Any) -> Floats:
        """P[X_i = 1] of every item under each of the PMFs in ``X``: rows x items."""
        check_is_fitted(self)
        pmf = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if pmf.shape[1] != self.pmf_.shape[1]:
            raise UserError(
                f"A PMF here has {self.pmf_.shape[1]} events, X has {pmf.shape[1]} columns."
            )
        return pmf @ self._indicators_or_mean().T

    def recommend(
        self,
        user: Any,
        n: int = 10,
        *,
        min_evidence: int = 1,
        seen: bool = False,
        unit: Unit = "probability",
    ) -> Any:
        """The n items that the user most probably likes: a DataFrame, the likeliest first.

        Items that the user has rated, and those with fewer than ``min_evidence`` ratings in all,
        are left out; ``seen=True`` takes the rated ones in. Ties go to the item with more ratings.
        """
        check_is_fitted(self)
        check_whole("n", n, 1)
        check_whole("min_evidence", min_evidence, 1)
        check_choice("unit", unit, UNITS)
        known = self.observations_
        u = known_position(known.user_ids, user, "user")
        p = self.inverse_transform(self.pmf_[u])[0]
        evidence = known.by_item.sizes
        candidate = evidence >= min_evidence
        if not seen:
            candidate[known.by_user.index[known.by_user.ptr[u] : known.by_user.ptr[u + 1]]] = False
        items = np.flatnonzero(candidate)
        best = items[np.lexsort((-evidence[items], -p[items]))[:n]]
        column = "probability" if unit == "probability" else "value"
        values = known.from_unit(p[best]) if unit == "original" else p[best]
        ids = [known.item_ids[i] for i in best]
        return data_frame({"item": ids, column: values, "ratings": evidence[best]}, known.library)

    def score(self, X: Any, y: Any = None) -> float:
        """R^2 of the predictions over the observed entries of ``X``, weighted by their weights.

        A table with ids is compared by them: this is how to score held-out entries. It may hold
        values beyond the model's scale, and the population stands in for ids that are unknown. The
        rows of an array or sparse matrix have no ids: each is taken as a new user, as in
        :meth:`transform`, so that the score says how well rows are rebuilt from themselves, not how
        well unseen entries are predicted.
        """
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        known = self.observations_
        table = Observations.of(X)  # on its own scale: held-out values may exceed the model's
        u, i, p = table.coo()
        truth = known.to_unit(table.from_unit(p))
        if is_positional(X):
            pmf = self.transform(X)  # type: ignore[attr-defined]
            predicted = self._products(pmf, self._indicators_or_mean(), u, i)
        else:
            users = known.user_ids.positions(table.user_ids.values)
            items = known.item_ids.positions(table.item_ids.values)
            predicted = self._predict_positions(users[u], items[i])
        weight = table.by_user.weight if table.weighted else None
        return float(r2_score(truth, predicted, sample_weight=weight))

    def _aligned(self, X: Any) -> Observations:
        """The observations in a table, on the model's scale and with its items.

        The columns of an array or sparse matrix have no ids: they are the items in their order.
        """
        known = self.observations_
        if is_positional(X):
            table = Observations.of(X, scale=known.scale)
            if table.n_items != known.n_items:
                raise UserError(
                    f"X has {table.n_items} features, but {type(self).__name__} is expecting "
                    f"{known.n_items} features as input: a column for each of its items."
                )
            return table
        table = Observations.of(X, scale=known.scale, items=known.item_ids)
        advice = f"{self._FOR_NEW_IDS}."
        known_positions(known.item_ids, table.item_ids.values, "item", advice)
        return table

    def _indicators_of(self, items: NDArray[Any] | slice) -> NDArray[Any]:
        """psi of some items."""
        return unpack(self.codes_[items], self.pmf_.shape[1])

    def _indicators_or_mean(self, items: NDArray[Any] | slice = slice(None)) -> Floats:
        """psi of some items as numbers, with the mean indicator for those without ratings."""
        indicators = self._indicators_of(items).astype(np.float64)
        unrated = self.observations_.by_item.sizes[items] == 0
        if unrated.any() and getattr(self, "given_", None) != "indicators":
            indicators[unrated] = self.indicator_mean_
        return indicators

    def _predict_positions(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        """theta_u . psi_i for pairs of positions; -1 stands for the population."""
        who, u = np.unique(users, return_inverse=True)
        what, i = np.unique(items, return_inverse=True)
        pmf, indicators = self.pmf_[who], self._indicators_or_mean(what)
        if who.size and who[0] < 0:
            pmf[0] = self.pmf_mean_
        if what.size and what[0] < 0:
            indicators[0] = self.indicator_mean_
        return self._products(pmf, indicators, u, i)

    def _products(
        self, pmf: Floats, indicators: Floats, users: NDArray[Any], items: NDArray[Any]
    ) -> Floats:
        """The predictions for pairs of rows."""
        return dot_products(pmf, indicators, users, items)


def dot_products(
    pmf: Floats, indicators: NDArray[Any], users: NDArray[Any], items: NDArray[Any]
) -> Floats:
    """theta_u . psi_i for pairs of rows."""
    p = np.empty(len(users))
    n = max(1, _BLOCK // pmf.shape[1])
    for start in range(0, len(users), n):
        block = slice(start, start + n)
        p[block] = np.einsum("kd,kd->k", pmf[users[block]], indicators[items[block]])
    return p


def squared_error(observations: Observations, pmf: Floats, indicators: NDArray[Any]) -> float:
    """The weighted sum of (theta_u . psi_i - p_ui)^2."""
    u, i, p = observations.coo()
    error = np.square(dot_products(pmf, indicators, u, i) - p)
    return float(error @ observations.by_user.weight if observations.weighted else error.sum())


def checked_parts(
    pmf: Any, indicators: Any, observations: Observations
) -> tuple[Floats, NDArray[Any]]:
    """Given PMFs and indicators as arrays, of the shape that the observations want."""
    theta, psi = np.array(pmf, dtype=np.float64, order="C"), np.array(indicators)
    for name, part, rows in (
        ("pmf", theta, observations.n_users),
        ("indicators", psi, observations.n_items),
    ):
        wanted = (rows, theta.shape[-1])
        if part.shape != wanted:
            raise UserError(f"{name} has the shape {part.shape}; {wanted} is wanted.")
    check_pmf(theta, observations.user_ids)
    return theta, psi


def check_pmf(pmf: Floats, ids: Ids) -> None:
    """Refuse rows that are no distributions."""
    k = simplex_flaw(pmf)
    if k >= 0:
        raise UserError(
            f"Each row of pmf must be non-negative and add up to 1: that of {shown(ids[k])} adds "
            f"up to {pmf[k].sum():.6g}, and its least number is {pmf[k].min():.6g}. Divide rounded "
            "ones by their sums: pmf.div(pmf.sum(axis=1), axis=0)."
        )


def positions(
    ids: Ids, wanted: Any, what: str, unknown: str, advice: str = Prediction._FOR_NEW_IDS
) -> NDArray[np.int64]:
    """Positions of ``wanted`` among ``ids``; unknown ones are an error, or -1 for "population"."""
    wanted = as_column(wanted)
    row = first_missing(wanted)
    if row is not None:
        raise UserError(f"The {what} id of row {row} is missing; every pair needs both.")
    if unknown == "population":
        return ids.positions(wanted)
    remedy = f"{advice}, or predict(..., unknown='population')."
    shell = "--unknown population lets the population stand in."
    return known_positions(ids, wanted, what, remedy, shell)
