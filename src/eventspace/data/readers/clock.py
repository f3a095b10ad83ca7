"""The column of times in a long table: which it is, and its times as numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Floats
from eventspace.data.column import as_column, column_kind, first_missing, is_arrow
from eventspace.data.forgetting import MOST_TIME, HalfLife, half_life_of
from eventspace.data.readers.roles import position, shown_names, with_role
from eventspace.data.readers.tables import Table

NO_TIMES = "Ratings that fade need times: pass a long table with a column of times."


def clock_of(
    table: Table | None, time: Hashable | None, half_life: HalfLife | None
) -> tuple[Floats | None, float | None]:
    """The times of the rows of a table and the half-life, where it is to forget."""
    if half_life is None:
        if time is not None:
            raise UserError(
                "is for half_life=..., by which ratings fade.", parameter="time", value=time
            )
        return None, None
    if table is None:
        raise UserError(NO_TIMES)
    return read_times(table, time), half_life_of(half_life)


def time_column(table: Table, time: Hashable | None) -> tuple[Any, str]:
    """The column of times, none missing, and its name as a message shows it.

    It is ``time``, else the one that is named like a time.
    """
    at = with_role(table, "time") if time is None else [position(table, time)]
    if len(at) != 1:
        number = "No column is" if not at else "More than one column is"
        raise UserError(
            f"{number} named like the time; the columns are {shown_names(table.names)}.",
            remedy="Say which holds it: time=...",
            shell="Say which holds it: --time NAME.",
        )
    column, name = as_column(table.column(at[0])), shown(table.names[at[0]])
    if column_kind(column) not in ("number", "time"):
        raise UserError(f"Column {name} holds no times: make it numbers or dates first.")
    row = first_missing(column)
    if row is not None:
        raise UserError(f"The time of row {row} is missing in column {name}: drop such rows first.")
    return (column.to_pandas() if is_arrow(column) else column), name


def read_times(table: Table, time: Hashable | None) -> Floats:
    """The time of each row: numbers as they are, dates as seconds since 1970."""
    import pandas as pd

    values, name = time_column(table, time)
    if column_kind(as_column(values)) == "number":
        times = np.asarray(values, dtype=np.float64)
    else:
        try:
            dates = pd.DatetimeIndex(pd.to_datetime(values, utc=True))
        except (TypeError, ValueError) as error:
            raise UserError(f"Column {name} holds no dates: {error}.") from error
        times = np.asarray((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1))
    beyond = ~(np.abs(times) <= MOST_TIME)
    if beyond.any():
        row = int(np.argmax(beyond))
        raise UserError(
            f"The time of row {row} in column {name} is beyond all times: {times[row]:g}."
        )
    return times
