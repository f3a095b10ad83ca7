"""What the adapters share: an estimator learns what the host gives it, and answers the host."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from eventspace._base.types import Floats
from eventspace.data.observations import Observations
from eventspace.estimators.base import Holder
from eventspace.estimators.model import KolmogorovModel
from eventspace.fitted.prediction import Predictor


def learnt(
    estimator: Holder | None, table: tuple[Any, ...], scale: Any, seed: int | None = None
) -> Any:
    """A copy of the estimator, or a KolmogorovModel, fitted to (users, items, values).

    Without values every pair is a yes, and what is missing is a no. The host's ``seed`` is for an
    estimator that has none of its own.
    """
    model = KolmogorovModel() if estimator is None else clone(estimator)
    if seed is not None and model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    return model.fit(Observations.of(table, scale=scale, missing=float(len(table) == 2)))


def values_of(fitted: Predictor, users: Any, items: Any) -> Floats:
    """The predicted values of pairs; the population stands in for what is unknown."""
    return fitted.predict((users, items), unit="original", unknown="population")


def pmf_of(fitted: Predictor, user: Any) -> Floats:
    """The PMF of a user; the population's if the user is unknown."""
    at = int(fitted.observations.user_ids.positions([user])[0])
    return np.asarray(fitted.pmf_mean if at < 0 else fitted.pmf[at])


def appeal_of(fitted: Predictor, user: Any, pmf: Floats) -> Floats:
    """What ``recommend`` ranks all items by, for a user with this PMF.

    A user that the model does not know meets what the population meets. What a user has rated is
    not met next: where that decides, it comes last.
    """
    p, seen = fitted.inverse_transform(pmf), fitted.observations
    at = seen.user_ids.positions([user])
    told = fitted.appeal(at, p, meets=True, like=None)
    found = np.array(next(iter(told.values()), p)[0], dtype=np.float64)
    if "chance" in told and at[0] >= 0:
        found[seen.by_user.index[seen.by_user.ptr[at[0]] : seen.by_user.ptr[at[0] + 1]]] = -1.0
    return found
