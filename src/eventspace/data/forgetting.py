"""Forgetting: the weight of a rating halves with every half-life of its age."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from datetime import timedelta
from time import time as real_time
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.checks import is_real
from eventspace._base.errors import UserError, warn
from eventspace._base.types import Floats
from eventspace.data.entries import Entries, Float32Array

LEAST, MOST = (float(end) for end in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))
MOST_TIME = 1e18  # that a file may name: beyond it a second is lost to rounding
GONE = 20.0  # half-lives, after which a rating counts less than a millionth
LITTLE = 0.01  # of what ratings counted: if no more is left, they have all but faded
FIRST_DATE, LAST_DATE = 1e8, 4_102_444_800.0  # of seconds since 1970: in 1973, and in 2100
YEAR_ONE = -62_135_596_800.0  # begins then
UNITS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
SPELT = {"t": "min", "l": "ms", "u": "us", "n": "ns", "d": "D", "w": "W"}  # as pandas asks for them
LONE_UNIT = re.compile(r"(?<=[\d\s.])(?:[HTSLUNtlundw]|MIN|[MUN]S)(?![A-Za-z])")
PARTS = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}  # of a second


class Forgetting(NamedTuple):
    """How a table forgets: weights w 2^(-age / half_life), with ages from ``now``.

    Weights fade alike: what is known at one time is known at a later one with all its weights times
    one number. So the times are not needed once the weights are there.
    """

    half_life: float  # in the unit of the times
    now: float  # the latest of them
    unit_weight: float = (
        1.0  # the mean weight of ratings before they fade: one made now counts fully
    )

    def weights(self, times: Floats, base: Float32Array | None) -> Float32Array:
        """The weights of ratings that were made at these times."""
        with np.errstate(over="ignore"):  # an age of infinitely many half-lives is one
            faded = np.exp2((times - self.now) / self.half_life)
        return kept_weights(faded if base is None else faded * base)

    def by(self, later: float) -> float:
        """What every weight is multiplied by when the time is ``later``."""
        return float(np.exp2((self.now - later) / self.half_life))

    @property
    def dated(self) -> bool:
        """Whether times are seconds since 1970, as far as they tell."""
        return _is_date(self.now)

    @property
    def words(self) -> str:
        """The half-life and the time."""
        return f"half-life {self.life}, now {time_in_words(self.now)}"

    @property
    def life(self) -> str:
        """The half-life, with its unit where the times are dates."""
        return life_in_words(self.half_life, self.dated)


HalfLife = float | str | timedelta | Forgetting  # the last: as other observations fade


def life_in_words(half_life: float, seconds: bool) -> str:
    """A half-life, with its unit where it is in ``seconds``."""
    if not seconds:
        return f"{half_life:.15g}"
    fitting = [name for name, size in UNITS.items() if half_life >= size]
    name = fitting[0] if fitting else "second"
    number = half_life / UNITS[name]
    return f"{number:g} {name}" + "s" * (number != 1)


def time_in_words(time: float, dates: bool = False) -> str:
    """A time as a date: if it is one, or else if it is likely to be seconds since 1970."""
    if not (dates or _is_date(time)):
        return f"{time:.15g}"
    if time < YEAR_ONE:
        return "before year 1"
    return str(np.datetime64(int(time), "s").astype("datetime64[D]"))


def unit_hint(time: float) -> str:
    """What to do about a time that is too late, if it can be a part of seconds since 1970."""
    units = [unit for unit, n in PARTS.items() if FIRST_DATE <= time / n < 1e3 * FIRST_DATE]
    if not units:
        return " Correct it, or leave it out."
    return f" If it is in {units[0]}, divide by {PARTS[units[0]]:.0f}, or make the column dates."


def day_hint(fading: Forgetting) -> str:
    """What to do about a half-life without a unit, if that is seconds but is likely to be days."""
    if not fading.dated or fading.half_life >= UNITS["day"]:
        return ""
    return (
        f" The times look like seconds since 1970, so the half-life of {fading.half_life:.15g} is "
        f"in seconds, too: write '{fading.half_life:.15g}D' if it is in days."
    )


def _is_date(time: float) -> bool:
    return FIRST_DATE <= time < LAST_DATE


def bare_number(option: Any) -> float | None:
    """A half-life that was stated without a unit."""
    if isinstance(option, np.timedelta64) or not (is_real(option) or isinstance(option, str)):
        return None
    try:
        return float(option)
    except ValueError:
        return None
    except OverflowError:
        return math.inf


def half_life_of(option: Any) -> float:
    """The half-life as a number: durations in seconds."""
    if isinstance(option, Forgetting):
        return option.half_life
    found = bare_number(option)
    if found is None:
        import pandas as pd

        try:
            found = float(pd.Timedelta(_respelt(option)).total_seconds())
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


def _respelt(option: Any) -> Any:
    """A duration with units that no version of pandas warns of; ISO 8601, as "PT2H", stays."""
    if not isinstance(option, str) or "P" in option:
        return option
    return LONE_UNIT.sub(lambda unit: SPELT.get(unit[0].lower(), unit[0].lower()), option)


def check_clock(known: Forgetting | None, time: Hashable | None, option: HalfLife | None) -> None:
    """Refuse another half-life than that with which observations fade already."""
    if time is None and option is None:
        return
    if known is None:
        raise UserError("These observations have no times: state half_life where they are made.")
    if option is not None and half_life_of(option) != known.half_life:
        other = option.life if isinstance(option, Forgetting) else repr(option)
        raise UserError(
            f"The half-life of these observations is {known.life}, not {other}: leave half_life "
            "out, or read their table again with another."
        )


def check_jump(known: Forgetting, newest: float, place: str) -> None:
    """Refuse a newest time beside which all that is known would count for nothing.

    No way leads back from there. Of a time in the future, which a rating can hardly have, next to
    nothing is refused; but not where the time of the model lies there, too, as generated ones may.
    """
    future = FIRST_DATE <= known.now < real_time() + UNITS["day"] < newest
    most, share = (-math.log2(LITTLE), "hundredth") if future else (GONE, "millionth")
    if newest - known.now > most * known.half_life:
        hint = unit_hint(newest) if known.dated else ""
        doubt = "It lies in the future." if future else "Are times in one unit?"
        raise UserError(
            f"{place} is {time_in_words(newest)}. Beside it all that is known would count less "
            f"than a {share} ({known.words}). {doubt}{hint} If it is right, fit again."
        )


def warn_if_faded(beside: str, before: float, after: float, advice: str) -> None:
    """Warn if hardly anything is left of what ratings counted."""
    if after < LITTLE * before:
        count = f"{after:,.0f}" if after >= 10 else f"{after:.2g}"
        warn(f"{beside} count like {count} new ones.{advice}")


def warn_of_old(known: Forgetting, newest: float) -> None:
    """Warn of ratings that count for nothing beside what is known, or are in another unit."""
    foreign = known.dated and newest < FIRST_DATE
    told, age = time_in_words(newest), (known.now - newest) / known.half_life
    if foreign:
        told += f" ({time_in_words(newest, dates=True)} as seconds since 1970)"
    if foreign or age > GONE:
        count = "less than a millionth" if age > GONE else f"{np.exp2(-age):.2g} at most"
        warn(
            f"The newest time is {told}: these ratings count {count} ({known.words}). Are times in "
            "one unit?"
        )


def faded(entries: Entries, factor: float) -> Entries:
    """The entries with all weights times one number."""
    if factor == 1.0:
        return entries
    return entries._replace(weight=kept_weights(entries.weight * np.float64(factor)))


def kept_weights(weight: Any) -> Float32Array:
    """Weights as float32 holds them: finite, and never nothing."""
    return np.asarray(np.clip(weight, LEAST, MOST), dtype=np.float32)
