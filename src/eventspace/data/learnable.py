"""Tables from which something can be learnt."""

from __future__ import annotations

from typing import Any

from eventspace._base.errors import UserError
from eventspace.data.observations import Observations


def to_learn_from(X: Any) -> Observations:
    """The observations in a table, of which there must be some."""
    observations = Observations.of(X)
    if not observations.n_observed:
        raise UserError("Nothing is observed: there is no entry to learn from.")
    return observations


def to_tell_apart(X: Any) -> Observations:
    """The same, where not all say the same: the probability space that fits these best is empty."""
    observations = to_learn_from(X)
    value = observations.by_user.value
    if not observations.missing and len(value) > 1 and value.min() == value.max():
        raise all_the_same(len(value), float(observations.from_unit(value[0])))
    return observations


def all_the_same(n: int, value: float) -> UserError:
    """The error for a table with one value only."""
    return UserError(
        f"All {n:,} values are {value:g}: there is nothing to tell apart.",
        remedy="If they say yes, and a pair that is not in the table is a no, as in visits, "
        'clicks and baskets: Observations.of(data, missing="no").',
        shell="If they say yes, and a pair that is not in the table is a no, as in visits, "
        "clicks and baskets: --missing no.",
    )
