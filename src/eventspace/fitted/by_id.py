"""Learning in the order of the ids: a model is the same whatever the order of rows and columns.

A long table is read in this order. A wide one keeps the order of its rows and columns, as the
caller counts in it: it is put in order to be learnt from, and what was learnt is put back.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

from eventspace.data.invariants import ARRAYS
from eventspace.data.observations import Observations
from eventspace.fitted.fit import Fit

F = TypeVar("F", bound=Fit)


def as_in(observations: Observations, fit: F) -> F:
    """A fit to these observations, in whatever order, with the users and items in theirs."""
    seen = fit.observations
    if seen is observations:
        return fit
    at = {
        "users": seen.user_ids.positions(observations.user_ids.values),
        "items": seen.item_ids.positions(observations.item_ids.values),
    }
    rows = {
        field.name: getattr(fit, field.name)[at[ARRAYS[field.name].axes[0]]]
        for field in fields(fit)
        if field.name in ARRAYS and ARRAYS[field.name].axes[0] in at
    }
    return replace(fit, observations=observations, **rows)
