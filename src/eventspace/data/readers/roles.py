"""Which column is what: by its name, by its place, by what it holds; and is a table long or wide.

The rules are in the docstring of `eventspace.Observations.of`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Floats
from eventspace.data.column import column_kind, floats, value_array, value_range

if TYPE_CHECKING:
    from eventspace.data.readers.tables import Table

Roles = dict[str, int]  # the position of the column that has a role

FEW = 8  # columns that a long table may well have

# Read without case, blanks and underscores; a user's or an item's word also with "id", "name",
# "no" or "number".
_WORDS = {
    "user": "user uid customer client member visitor viewer reader listener buyer reviewer person "
    "subject patient respondent student voter legislator senator sample basket transaction "
    "transmitter sender",
    "item": "item iid movie film title product article good sku asin isbn book song track page url "
    "question rollcall bill cpg probe receiver",
    "value": "value rating score p prob probability vote response outcome stars",
    "weight": "weight weights",
    "successes": "successes",
    "trials": "trials",
    "time": "timestamp time date datetime ts",
    "index": "index unnamed0",
}
_ROLE = {word: role for role, words in _WORDS.items() for word in words.split()}


class ColumnsError(UserError):
    """Which column is what cannot be told; the remedy is to name them."""


def role(name: Hashable) -> str | None:
    """What a column of this name is taken for, or None."""
    if name == "":  # what a written row index is called
        return "index"
    if not isinstance(name, str):
        return None
    word = re.sub(r"[\W_]+", "", name).lower()
    stem = _ROLE.get(re.sub("(id|name|no|number)$", "", word))
    return _ROLE.get(word) or (stem if stem in ("user", "item") else None)


def with_role(table: Table, wanted: str) -> list[int]:
    """The columns that are named for a role."""
    return [j for j, name in enumerate(table.names) if role(name) == wanted]


def position(table: Table, name: Hashable) -> int:
    """The column of this name."""
    positions = [j for j, other in enumerate(table.names) if other == name]
    if len(positions) != 1:
        number = "no column" if not positions else "more than one column"
        raise UserError(f"There is {number} {shown(name)} among {shown_names(table.names)}.")
    return positions[0]


def shown_names(names: Iterable[Hashable]) -> str:
    """The names of columns, for messages; the first of them where they are many."""
    texts = [shown(name) for name in names]
    return ", ".join(texts if len(texts) <= 8 else [*texts[:7], "..."])


def long_roles(table: Table, *, valued: bool = True, time: Hashable | None = None) -> Roles | None:
    """The columns' roles if the table is long, None if it is wide; an error if it may be either.

    If it need not be ``valued``, two columns, or a user's and an item's without any value, will do,
    beside the one that is said to be the ``time``.
    """
    if not valued and (pair := _pair_roles(table, time)) is not None:
        return pair
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
    hints = set(found) - {"index", None}
    if len(hints) >= 2 or (len(columns) < 3 and named - {"user"}):
        raise _missing(table, {"user", "item", "value"} - named)
    if 4 < len(columns) <= FEW and not named and _looks_long(table, columns):
        raise _ambiguous(table)
    return None


def _pair_roles(table: Table, time: Hashable | None) -> Roles | None:
    """The user and the item of a table in which no column is named for the value, if it has them.

    Columns without a name for it are these if there are just two, which can only be ids.
    """
    found = [role(name) for name in table.names]
    if table.pivoted or {"value", "successes", "trials"} & set(found):
        return None
    roles = _named(table, {})
    free = [j for j, r in enumerate(found) if r is None and table.names[j] != time]
    lacking = [r for r in ("user", "item") if r not in roles]
    if not lacking:
        return _without_value(table, roles, time)
    if len(free) != len(lacking) or not all(_only_ids(table, j, None) for j in free):
        return None
    return roles | dict(zip(lacking, free, strict=True))


def _without_value(table: Table, roles: Roles, time: Hashable | None) -> Roles:
    """The roles, if no other column may be the value: a number or a truth value that has no role"""
    for j, name in enumerate(table.names):
        known = j in roles.values() or name == time or _is_time(table, j)
        other = role(name) is None and not known
        if other and column_kind(table.column(j)) in ("number", "bool"):
            raise ColumnsError(
                f"Column {shown(name)} may be the value: a yes or a no.",
                remedy=f"Say so with {_from_long(['value'])}, or leave the column out: then every "
                "row is a yes.",
                shell=f"Say so with {_options(['value'])}, or leave the column out: then every "
                "row is a yes.",
            )
    return roles


def _looks_long(table: Table, columns: list[int]) -> bool:
    """Whether the first columns are numbers that only ids can be, and nothing is missing."""
    user, item, value = columns[:3]
    if any(column_kind(table.column(j)) != "number" for j in columns):
        return False
    if any(np.isnan(_numbers(table, j)).any() for j in columns):
        return False
    return _only_ids(table, user, value) and _only_ids(table, item, value)


def assign(
    table: Table,
    given: Mapping[str, Hashable],
    *,
    valued: bool = True,
    time: Hashable | None = None,
) -> Roles:
    """The roles of the columns of a long table: as given, else by name, else by position."""
    roles = _named(table, given)
    said = {"value", "successes", "trials"} & set(roles)
    if not valued and {"user", "item"} <= roles.keys() and not said:
        return _without_value(table, roles, time)
    filled = _filled(table, roles)
    if filled is None:
        raise _missing(table, set(_lacking(roles)))
    return filled


def _named(table: Table, given: Mapping[str, Hashable]) -> Roles:
    roles = {r: position(table, name) for r, name in given.items()}
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
            names = shown_names(table.names[roles[c]] for c in (r, *counts))
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
    ids = _numbers(table, j)
    if not np.array_equal(ids, np.floor(ids)):
        return False
    low, high = 0.0, 1.0
    if value is not None and column_kind(table.column(value)) == "number":
        lowest, highest = value_range(_numbers(table, value))
        low, high = min(low, lowest), max(high, highest)
    lowest, highest = value_range(ids)
    return lowest < low or highest > high


def _is_time(table: Table, j: int) -> bool:
    """Whether a column holds times: of such a type, or Unix seconds (all after 1973)."""
    kind = column_kind(table.column(j))
    return kind == "time" or (kind == "number" and value_range(_numbers(table, j))[0] >= 1e8)


def _numbers(table: Table, j: int) -> Floats:
    return floats(value_array(table.column(j)))


def user_column(table: Table, user: Hashable | None) -> int | None:
    """The column of the users in a wide table: by name, else the first if it is text or times."""
    if user is not None:
        return position(table, user)
    for named in (with_role(table, "user"), with_role(table, "index")):
        if len(named) > 1:
            raise UserError(
                f"Columns {shown(table.names[named[0]])} and more are named like the user:",
                remedy="say which with Observations.from_wide(data, user=...).",
                shell="say which with --user NAME.",
            )
        if named:
            return named[0]
    if table.index is not None or not table.names:
        return None
    if column_kind(table.column(0)) not in ("other", "time"):
        return None
    if role(table.names[0]) == "item":
        raise UserError(
            f"Column {shown(table.names[0])} is named like an item, but a wide table has a row for "
            "each user and a column for each item: transpose it."
        )
    return 0


def _ambiguous(table: Table) -> ColumnsError:
    needed = ["user", "item", "value"]
    return ColumnsError(
        f"A table of columns {shown_names(table.names)} could be long (user, item, value) or wide "
        "(users x items):",
        remedy=f"say which with {_from_long(needed)}, with weight=... if it has one, or "
        "Observations.from_wide(data).",
        shell=f"say which with {_options(needed)}, --weight NAME if it has one, or say --wide.",
    )


def _missing(table: Table, missing: set[str]) -> ColumnsError:
    order: list[str] = [r for r in ("user", "item", "value", "successes", "trials") if r in missing]
    to_name = f"the columns are {shown_names(table.names)}. For a long table, name it:"
    remedy = f"{to_name} {_from_long(order)}; for a wide one (users x items) use "
    remedy += "Observations.from_wide(data)."
    shell = f"{to_name} {_options(order)}; for a wide one (users x items) say --wide."
    if order == ["value"]:
        yes = " If each row is a yes, as in visits, clicks and baskets:"
        remedy += f'{yes} Observations.of(data, missing="no").'
        shell += f"{yes} --missing no."
    return ColumnsError(
        f"No column is named like the {' or the '.join(order)}:", remedy=remedy, shell=shell
    )


def _from_long(roles: list[str]) -> str:
    """How Python names the columns of these roles."""
    return f"Observations.from_long(data, {', '.join(f'{r}=...' for r in roles)})"


def _options(roles: list[str]) -> str:
    """How the command line names them."""
    return ", ".join(f"--{r} NAME" for r in roles)
