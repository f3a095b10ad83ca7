"""Which column is what, and whether a table is long or wide."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace.data.readers.column_names import FEW, role
from eventspace.data.readers.frames import Table, column_kind, value_array

_HINTS = ("user", "item", "value", "weight", "successes", "trials", "time")

Roles = dict[str, int]


class ColumnsError(UserError):
    """Which column is what cannot be told; the remedy is to name them."""


def long_roles(table: Table) -> Roles | None:
    """The columns' roles if the table is long, None if it is wide; an error if it may be either.

    The rule is in the docstring of `eventspace.Observations.of`.
    """
    found = [role(name) for name in table.names]
    named = {r for r in found if r in ("user", "item")}
    named |= {"value" for r in found if r in ("value", "successes", "trials")}
    columns = [j for j, r in enumerate(found) if r != "index"]
    if table.pivoted:
        return None
    if len(named) == 3:
        return assign(table, {})
    if len(columns) in (3, 4):
        return _by_position(table, named)
    hints = {r for r in found if r in _HINTS}
    if len(hints) >= 2 or (len(columns) < 3 and named - {"user"}):
        raise _missing(table, {r for r in ("user", "item", "value") if r not in named})
    if 4 < len(columns) <= FEW and not named and _looks_long(table, columns):
        raise _ambiguous(table)
    return None


def _looks_long(table: Table, columns: list[int]) -> bool:
    """Whether the first columns are numbers that only ids can be, and nothing is missing."""
    user, item, value = columns[:3]
    if any(column_kind(table.column(j)) != "number" for j in columns):
        return False
    if any(np.isnan(_numbers(table, j).astype(np.float64)).any() for j in columns):
        return False
    return _only_ids(table, user, value) and _only_ids(table, item, value)


def assign(table: Table, given: Mapping[str, Hashable]) -> Roles:
    """The roles of the columns of a long table: as given, else by name, else by position."""
    roles = _named(table, given)
    filled = _filled(table, roles)
    if filled is None:
        raise _missing(table, set(_lacking(roles)))
    return filled


def _named(table: Table, given: Mapping[str, Hashable]) -> Roles:
    roles = {r: _position(table, name) for r, name in given.items()}
    settled = set(given)
    if "value" in given:
        settled |= {"successes", "trials"}
    elif "successes" in given or "trials" in given:
        settled |= {"value", "weight"}
    for j, name in enumerate(table.names):
        r = role(name)
        if r is None or r in ("time", "index", *settled) or j in roles.values():
            continue
        if r in roles:
            raise ColumnsError(
                f"Columns {shown(table.names[roles[r]])} and {shown(name)} could both be the {r}:",
                remedy=f"say which with {_from_long([r])}.",
                shell=f"say which with {_options([r])}.",
            )
        roles[r] = j
    counts = [r for r in ("successes", "trials") if r in roles]
    for r in ("value", "weight"):
        if counts and r in roles:
            names = _listed(table, [roles[r], *(roles[c] for c in counts)])
            raise ColumnsError(
                f"Columns {names} say twice what the {r} is:",
                remedy="give Observations.from_long a value and perhaps a weight, or else "
                "successes and trials.",
                shell="give --value and perhaps --weight, or else --successes and --trials.",
            )
    return roles


def _filled(table: Table, roles: Roles) -> Roles | None:
    """Roles that no column is named for go to the columns without a role, in order.

    Their number must agree; but a last column of times may be left over.
    """
    lacking = _lacking(roles)
    if not lacking:
        return roles
    free = [
        j
        for j, name in enumerate(table.names)
        if j not in roles.values() and role(name) not in ("time", "index")
    ]
    if len(free) == len(lacking) + 1 and _is_time(table, free[-1]):
        free.pop()
    if len(free) != len(lacking) or not {"user", "item", "value"}.issuperset(lacking):
        return None
    return roles | dict(zip(lacking, free, strict=True))


def _lacking(roles: Roles) -> list[str]:
    counts = "successes" in roles or "trials" in roles
    needed = ["user", "item", *(("successes", "trials") if counts else ("value",))]
    return [r for r in needed if r not in roles]


def _by_position(table: Table, named: set[str]) -> Roles:
    """The roles in a table of three or four columns, if what has no name can only be an id."""
    if len(named) >= 2:
        return assign(table, {})
    roles = _filled(table, _named(table, {}))
    if roles is None or not all(
        _only_ids(table, roles[r], roles.get("value")) for r in ("user", "item") if r not in named
    ):
        raise _ambiguous(table)
    return roles


def _ambiguous(table: Table) -> ColumnsError:
    names = _listed(table, range(len(table.names)))
    needed = ["user", "item", "value"]
    return ColumnsError(
        f"A table of columns {names} could be long (user, item, value) or wide (a row a user, "
        "a column an item):",
        remedy=f"say which with {_from_long(needed)}, with weight=... if it has one, or "
        "Observations.from_wide(data).",
        shell=f"say which with {_options(needed)}, --weight NAME if it has one, or say --wide.",
    )


def _only_ids(table: Table, j: int, value: int | None) -> bool:
    """Whether column j holds what cannot be values next to those of the column ``value``.

    Text does, and times; so do whole numbers that leave both [0, 1] and the range of the values,
    unless the rows have labels of their own, as those of a wide table have.
    """
    kind = column_kind(table.column(j))
    if kind != "number":
        return kind in ("other", "time")
    if table.index is not None and np.asarray(table.index).dtype.kind not in "iu":
        return False
    low, high = 0.0, 1.0
    if value is not None and column_kind(table.column(value)) == "number":
        lowest, highest = _range(table, value)
        low, high = min(low, lowest), max(high, highest)
    ids = _numbers(table, j)
    if ids.dtype.kind not in "iu" and not np.array_equal(ids, np.floor(ids)):
        return False
    lowest, highest = _range(table, j)
    return lowest < low or highest > high


def _range(table: Table, j: int) -> tuple[float, float]:
    array = _numbers(table, j)
    if not array.size:
        return math.nan, math.nan
    return float(np.fmin.reduce(array)), float(np.fmax.reduce(array))


def _numbers(table: Table, j: int) -> npt.NDArray[Any]:
    array = value_array(table.column(j))
    if array.dtype.kind == "O":
        import pandas as pd

        return np.where(pd.isna(array), np.nan, array).astype(np.float64)
    return array


def _is_time(table: Table, j: int) -> bool:
    """Whether a column holds times: of such a type, or Unix seconds (all after 1973)."""
    kind = column_kind(table.column(j))
    return kind == "time" or (kind == "number" and _range(table, j)[0] >= 1e8)


def _position(table: Table, name: Hashable) -> int:
    positions = [j for j, other in enumerate(table.names) if other == name]
    if len(positions) != 1:
        number = "no column" if not positions else "more than one column"
        raise UserError(
            f"There is {number} {shown(name)} among {_listed(table, range(len(table.names)))}."
        )
    return positions[0]


def _missing(table: Table, missing: set[str]) -> ColumnsError:
    order: list[str] = [r for r in ("user", "item", "value", "successes", "trials") if r in missing]
    names = _listed(table, range(len(table.names)))
    to_name = f"the columns are {names}. For a long table, name it:"
    wide = "for a wide one (a row a user, a column an item)"
    return ColumnsError(
        f"No column is named like the {' or the '.join(order)}:",
        remedy=f"{to_name} {_from_long(order)}; {wide} use Observations.from_wide(data).",
        shell=f"{to_name} {_options(order)}; {wide} say --wide.",
    )


def _from_long(roles: list[str]) -> str:
    """How Python names the columns of these roles."""
    return f"Observations.from_long(data, {', '.join(f'{r}=...' for r in roles)})"


def _options(roles: list[str]) -> str:
    """How the command line names them."""
    return ", ".join(f"--{r} NAME" for r in roles)


def _listed(table: Table, positions: range | list[int]) -> str:
    names = [shown(table.names[j]) for j in positions]
    return ", ".join(names if len(names) <= 8 else [*names[:7], "..."])
