"""PMFs and indicators, the factors of a table: their products, and what given ones must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Floats
from eventspace.data.ids import Ids
from eventspace.data.invariants import simplex_flaw
from eventspace.data.observations import Observations

ROUNDING = 1e-8  # of a sum: what is left of it by subtraction, if no more, is mostly rounding
_BLOCK = 1 << 20  # numbers held of a side


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


def squared_errors(
    observations: Observations, pmf: Floats, indicators: NDArray[Any], *, weighted: bool = True
) -> Floats:
    """Of each user: the (weighted) sum of (theta_u . psi_i - p_ui)^2.

    A missing entry that says no adds w (theta_u . psi_i)^2: what all pairs do, less the stored.
    """
    (u, i, p), missing = observations.coo(), observations.missing
    predicted = dot_products(pmf, indicators, u, i)
    error = np.square(predicted - p)
    if weighted and observations.weighted:
        error *= observations.by_user.weight
    if not missing:
        return np.asarray(np.bincount(u, error, len(pmf)))
    psi = indicators.astype(np.float64)
    of_all = np.einsum("ud,de,ue->u", pmf, psi.T @ psi, pmf, optimize=True)
    of_stored = np.bincount(u, error - missing * np.square(predicted), len(pmf))
    # a sum of squares, which rounding may leave just below zero
    return np.asarray(np.maximum(of_stored + missing * of_all, 0.0))


def squared_error(observations: Observations, pmf: Floats, indicators: NDArray[Any]) -> float:
    """The weighted sum of (theta_u . psi_i - p_ui)^2."""
    return float(squared_errors(observations, pmf, indicators).sum())


def told_by_sums(observations: Observations, error: float) -> bool:
    """Whether sums of squares tell an error: beside one great weight all others are rounding."""
    weight, value = observations.by_user.weight, observations.by_user.value
    return not weight.size or error > ROUNDING * float(weight @ np.square(value, dtype=np.float64))


def sum_of_squares(
    pmf: Floats,
    indicators: NDArray[Any],
    users: NDArray[Any],
    items: NDArray[Any],
    p: NDArray[Any],
    weight: NDArray[Any],
) -> float:
    """The same over some entries; an empty ``weight`` means that every weight is one."""
    error = np.square(dot_products(pmf, indicators, users, items) - p)
    return float(error @ weight if weight.size else error.sum())


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
