"""Forgetting: the weight of a rating halves with every half-life of its age."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.checks import is_real
from eventspace._base.errors import UserError
from eventspace._base.types import Floats
from eventspace.data.entries import Entries, Float32Array

HalfLife = float | str | timedelta
LEAST = float(np.finfo(np.float32).tiny)  # a weight: what is known of a pair is never nothing
MOST_TIME = 1e18  # that a file may name: beyond it a second is lost to rounding


class Forgetting(NamedTuple):
    """How a table forgets: weights w 2^(-age / half_life), with ages from ``now``.

    Weights fade alike: what is known at one time is known at a later one with all its weights times
    one number. So the times are not needed once the weights are there.
    """

    half_life: float  # in the unit of the times
    now: float  # the latest of them

    def weights(self, times: Floats, base: Float32Array | None) -> Float32Array:
        """The weights of ratings that were made at these times."""
        faded = np.exp2((times - self.now) / self.half_life)
        return _stored(faded if base is None else faded * base)

    def by(self, later: float) -> float:
        """What every weight is multiplied by when the time is ``later``."""
        return float(np.exp2((self.now - later) / self.half_life))


def half_life_of(option: Any) -> float:
    """The half-life as a number: durations in seconds."""
    try:
        found = float(option) if is_real(option) or isinstance(option, str) else math.nan
    except ValueError:
        found = math.nan
    if math.isnan(found):
        import pandas as pd

        try:
            found = float(pd.Timedelta(option).total_seconds())
        except (TypeError, ValueError, OverflowError):
            found = math.nan
    if not 0 < found <= MOST_TIME:
        raise UserError(
            "is no time after which a rating counts half: write a duration such as '365D' or "
            "'12h', or a number above zero in the unit of the times.",
            parameter="half_life",
            value=option,
        )
    return found


def check_clock(known: Forgetting | None, time: Hashable | None, option: HalfLife | None) -> None:
    """Refuse another half-life than that with which observations fade already."""
    if time is None and option is None:
        return
    if known is None:
        raise UserError("These observations have no times: state half_life where they are made.")
    if option is not None and half_life_of(option) != known.half_life:
        raise UserError(
            f"is not the half-life of these observations, {known.half_life:g}.",
            parameter="half_life",
            value=option,
        )


def faded(entries: Entries, factor: float) -> Entries:
    """The entries with all weights times one number."""
    if factor == 1.0:
        return entries
    return entries._replace(weight=_stored(entries.weight * np.float64(factor)))


def _stored(weight: Any) -> Float32Array:
    return np.asarray(np.maximum(weight, LEAST), dtype=np.float32)
