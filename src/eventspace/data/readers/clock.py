"""The column of times in a long table: which it is, and its times as numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Floats
from eventspace.data.column import as_column, column_kind, first_missing, is_arrow
from eventspace.data.forgetting import (
    FIRST_DATE,
    GONE,
    LAST_DATE,
    LITTLE,
    MOST_TIME,
    Forgetting,
    HalfLife,
    bare_number,
    check_jump,
    day_hint,
    half_life_of,
    life_in_words,
    time_in_words,
    unit_hint,
    warn_if_faded,
)
from eventspace.data.readers.raw_entries import RawEntries
from eventspace.data.readers.roles import position, shown_names, with_role
from eventspace.data.readers.tables import Table

NO_TIMES = "Ratings that fade need times: pass a long table with a column of times."
ISO_DATE = r"\d{4}-\d\d-\d\d"


class Clock(NamedTuple):
    """How the ratings of a table fade, and what its times are."""

    half_life: float
    known: Forgetting | None  # how those fade that these come to
    column: str
    dates: bool
    seconds: bool  # since 1970: dates, and numbers beside a duration

    def forgetting(self, raw: RawEntries) -> Forgetting:
        """The half-life and the newest time, if the times are such that the ratings still count."""
        times = raw.times
        assert times is not None
        # the first that is no number, else the newest
        k = int(np.argmax(np.where(np.abs(times) <= MOST_TIME, times, np.inf)))
        newest, place = float(times[k]), f"The time of {raw.row(k)} in column {self.column}"
        if self.dates and newest >= LAST_DATE:
            date = time_in_words(newest, dates=True)
            raise UserError(f"{place} is {date}, after the year 2100: correct it, or leave it out.")
        beyond = "" if abs(newest) <= MOST_TIME else "beyond all times"
        if self.seconds and newest >= LAST_DATE:
            beyond = "after the year 2100, as seconds since 1970"
        if beyond:
            raise UserError(f"{place} is {newest:.15g}, {beyond}.{unit_hint(newest)}")
        if self.seconds and not self.dates and newest < FIRST_DATE:
            raise self._in_another_unit(newest, place)
        if not self.dates and newest < FIRST_DATE and self.known is not None and self.known.dated:
            raise UserError(
                f"{place}, the newest, is {newest:.15g}, which as seconds since 1970 is "
                f"{time_in_words(newest, dates=True)}. The model has {self.known.words}: make the "
                "column dates, or multiply it so that it holds such seconds."
            )
        if self.known is not None:
            check_jump(self.known, newest, place)
        else:
            self._check_fading(times, place)
        unit = 1.0
        if raw.weights is not None:  # sorted, for the order of the rows must not matter
            unit = float(np.sort(raw.weights).mean(dtype=np.float64))
        return Forgetting(self.half_life, newest, unit)

    def _in_another_unit(self, newest: float, place: str) -> UserError:
        """The error for numbers that are no likely seconds since 1970."""
        life = f"{self.half_life:.15g} if they are in seconds."
        return UserError(
            f"{place}, the newest, is {newest:.15g}. Beside a duration, numbers are seconds since "
            f"1970, and as such it is {time_in_words(newest, dates=True)}: make the column dates, "
            "or multiply it so that it holds such seconds. If times count from another start, "
            "state a half-life without a unit:",
            remedy=f"half_life={life}",
            shell=f"--half-life {life}",
        )

    def _check_fading(self, times: Floats, place: str) -> None:
        """Refuse a few times so late that all other ratings would count for nothing beside them.

        Warn if ratings fade so fast that hardly any count but those of the newest time.
        """
        fading = Forgetting(self.half_life, float(times.max()))
        newest = f"{place} is {time_in_words(fading.now, self.seconds)}"
        life = life_in_words(self.half_life, seconds=True) if self.seconds else fading.life
        hint = "" if self.seconds else day_hint(fading)
        ordered = np.sort(times)
        gaps = np.flatnonzero(np.diff(ordered) > GONE * self.half_life)
        n, before = len(times), int(gaps[-1]) + 1 if gaps.size else 0
        if 0 < n - before <= max(1, LITTLE * n) and before:
            last = time_in_words(float(ordered[before - 1]), self.seconds)
            few = "it" if n - before == 1 else f"it and {n - before - 1:,} more"
            raise UserError(
                f"{newest}. Beside {few} the other {before:,} ratings, until {last}, would count "
                f"less than a millionth.{hint} {'Else correct' if hint else 'Correct'} the time, "
                f"leave it out, or state a longer half-life than {life}."
            )
        older = times[times < fading.now]
        if len(older) <= LITTLE * n:
            return
        left = float(fading.weights(older, None).sum(dtype=np.float64))
        doubt = f" Is it right, and the half-life, {life}, long enough, and in the times' unit?"
        beside = f"{newest}. Beside it the {len(older):,} older ratings"
        warn_if_faded(beside, len(older), left, hint or doubt)


def clock_of(
    table: Table | None, time: Hashable | None, half_life: HalfLife | None
) -> tuple[Floats | None, Clock | None]:
    """The times of the rows of a table and how they fade, where they are to."""
    if half_life is None:
        if time is not None:
            raise UserError(
                "is for ratings that fade:",
                parameter="time",
                value=time,
                remedy="state half_life=... too.",
                shell="state --half-life too.",
            )
        return None, None
    if table is None:
        raise UserError(NO_TIMES)
    life = half_life_of(half_life)
    known = half_life if isinstance(half_life, Forgetting) else None
    values, name = time_column(table, time, rename=known is not None)
    dates = column_kind(as_column(values)) != "number"
    times = _seconds(values, half_life, name) if dates else np.asarray(values, dtype=np.float64)
    seconds = dates or (known is None and bare_number(half_life) is None)
    return times, Clock(life, known, name, dates, seconds)


def time_column(table: Table, time: Hashable | None, *, rename: bool = False) -> tuple[Any, str]:
    """The column of times, numbers or dates, none missing, and its name as a message shows it.

    It is ``time``, else the one that is named like a time; ``rename`` where there is no ``time``.
    """
    at = with_role(table, "time") if time is None else [position(table, time)]
    if len(at) != 1:
        number = "No column is" if not at else "More than one column is"
        raise UserError(
            f"{number} named like the time; the columns are {shown_names(table.names)}.",
            remedy="Name that of the times, and no other, 'timestamp'."
            if rename
            else "Say which holds it: time=...",
            shell="Say which holds it: --time NAME.",
        )
    column, name = as_column(table.column(at[0])), shown(table.names[at[0]])
    row = first_missing(column)
    if row is not None:
        raise UserError(
            f"The time of {table.place(row)} is missing in column {name}: drop such rows first."
        )
    kind = column_kind(column)
    if kind not in ("number", "time", "other"):
        raise UserError(f"Column {name} holds no times: make it numbers or dates first.")
    values = column.to_pandas() if is_arrow(column) else column
    return (_dates(values, table, name) if kind == "other" else values), name


def _dates(values: Any, table: Table, name: str) -> Any:
    """Dates that are written as text or come as objects, as they are in a text file."""
    import pandas as pd

    values = pd.Series(np.asarray(values, dtype=object))
    texts = values.astype(str)
    iso = texts.where(texts.str.match(ISO_DATE))
    dates = pd.to_datetime(iso, utc=True, format="ISO8601", errors="coerce")
    row = first_missing(dates)
    if row is not None:
        raise UserError(
            f"The time of {table.place(row)} in column {name} is {shown(values[row])}: write it as "
            "a number, or as a date until 2100 such as 2024-12-31 or 2024-12-31 23:59."
        )
    return dates


def _seconds(dates: Any, half_life: HalfLife, name: str) -> Floats:
    """Dates as seconds since 1970, if the half-life has a unit."""
    import pandas as pd

    bare = bare_number(half_life)
    if bare is not None:
        raise UserError(
            f"has no unit, and the times are dates: write '{bare:.15g}D' if it is in days.",
            parameter="half_life",
            value=half_life,
        )
    try:
        index = pd.DatetimeIndex(pd.to_datetime(dates, utc=True)).as_unit("us")
    except (TypeError, ValueError) as error:
        raise UserError(f"Column {name} holds no dates: {error}.") from error
    return np.asarray(index.asi8 / 1e6)
