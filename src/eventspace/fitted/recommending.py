"""What to recommend: for each of some users, the items that appeal most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_whole
from eventspace._base.errors import UserError, warn
from eventspace._base.progress import bar
from eventspace._base.types import Bits, Floats, Positions
from eventspace.data.column import as_column, plain_array
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.data.pairs import is_column, read_pairs
from eventspace.logic.space import known_position, known_positions

if TYPE_CHECKING:
    from eventspace.fitted.prediction import Predictor

BLOCK = 1 << 22  # pairs that are held at a time
REMEDY = (
    "recommend(..., unknown='population') gives what is best for anyone.",
    "--unknown population gives what is best for anyone.",
)


@dataclass(frozen=True)
class Wanted:
    """Which items may be recommended; :meth:`Predictor.recommend` explains it."""

    n: int
    items: Positions  # the most rated first, so that ties go to them
    seen: bool
    excluded: dict[int, Positions]  # items by user

    @classmethod
    def of(
        cls,
        known: Observations,
        n: int,
        candidates: Any,
        exclude: Any,
        min_evidence: int,
        seen: bool,
    ) -> Wanted:
        """Checked."""
        check_whole("n", n, 1)
        check_whole("min_evidence", min_evidence, 0)
        evidence = known.by_item.sizes
        may = evidence >= min_evidence
        if candidates is not None:
            ids = as_column(candidates)
            if not len(ids):
                raise UserError("is empty: nothing may be recommended.", parameter="candidates")
            among = np.zeros_like(may)
            among[known_positions(known.item_ids, ids, "item", "Leave them out.")] = True
            may &= among
        excluded = {} if exclude is None else _excluded(exclude, known, may)
        items = np.flatnonzero(may)
        return cls(n, items[np.argsort(-evidence[items], kind="stable")], seen, excluded)

    def allowed(self, score: Floats, known: Observations, users: Positions) -> Floats:
        """The scores of the items that may be recommended, minus infinity for a user's own."""
        ptr, index = known.by_user.ptr, known.by_user.index
        for row, user in zip(score, users.tolist(), strict=True):
            if user >= 0 and not self.seen:
                row[index[ptr[user] : ptr[user + 1]]] = -np.inf
            if user in self.excluded:
                row[self.excluded[user]] = -np.inf
        return score[:, self.items]


def _excluded(exclude: Any, known: Observations, may: Bits) -> dict[int, Positions]:
    """Items that are out for everybody are taken from ``may``; those of pairs are given by user."""
    if not isinstance(exclude, (tuple, Observations, dict)) and not hasattr(exclude, "columns"):
        items = sorted(exclude, key=str) if isinstance(exclude, (set, frozenset)) else exclude
        out = known.item_ids.positions(as_column(items if is_column(items) else [items]))
        _warn_if_unknown(out >= 0, "items")
        may[out[out >= 0]] = False
        return {}
    columns = not isinstance(exclude, tuple) or all(is_column(part) for part in exclude)
    pairs = read_pairs(exclude, known) if columns and not isinstance(exclude, dict) else None
    if pairs is None:
        raise UserError(
            "holds no pairs: pass (users, items), two columns; a table with both; or a list of "
            "items.",
            parameter="exclude",
        )
    users = known.user_ids.positions(as_column(pairs.users))
    items = known.item_ids.positions(as_column(pairs.items))
    of_known = (users >= 0) & (items >= 0)
    _warn_if_unknown(of_known, "pairs")
    users, items = users[of_known], items[of_known]
    order = np.argsort(users, kind="stable")
    who, first = np.unique(users[order], return_index=True)
    return dict(zip(who.tolist(), np.split(items[order], first)[1:], strict=True))


def _warn_if_unknown(of_known: Bits, what: str) -> None:
    """What is excluded may be unknown in part; if all of it is, it was hardly meant."""
    if of_known.size and not of_known.any():
        n = of_known.size
        warn(
            f"The model knows none of the {n:,} {what} to exclude: nothing is excluded.",
        )


def recommended(
    model: Predictor,
    user: Any,
    wanted: Wanted,
    *,
    unknown: str,
    unit: str,
    show: bool | None,
    **how: Any,
) -> DataFrame:
    """The table of what is recommended; ``how`` is said to :meth:`Predictor.appeal`."""
    if hasattr(user, "columns"):
        raise UserError("is a table: pass a column of users.", parameter="user")
    known, many = model.observations, user is None or is_column(user)
    ids = known.user_ids.values if user is None else as_column(user if many else [user])
    if unknown == "population":
        users = known.user_ids.positions(ids)
    elif many:
        users = known_positions(known.user_ids, ids, "user", *REMEDY)
    else:
        users = np.array([known_position(known.user_ids, user, "user", *REMEDY)])
    step, blocks = max(1, BLOCK // known.n_items), []
    with bar("recommend", len(users), show) as update:
        for start in range(0, max(len(users), 1), step):
            found = _best(model, wanted, users[start : start + step], how)
            found["row"] += start
            blocks.append(found)
            update(start + step, "")
    told = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    row, item, p = told.pop("row"), told.pop("item"), told.pop("p")
    columns = {"user": plain_array(ids)[row]} if many else {}
    columns |= {"item": known.item_ids.values[item], **told}
    columns |= {"probability": p} if unit == "probability" else {"value": known.from_unit(p)}
    columns |= {"ratings": known.by_item.sizes[item]}
    return data_frame(columns, known.library)


def _best(
    model: Predictor, wanted: Wanted, users: Positions, how: dict[str, Any]
) -> dict[str, NDArray[Any]]:
    """The best items of some users: rows, items, chances, and what else is told of them."""
    p = model.all_chances(users)
    told = model.appeal(users, p, **how)
    score = np.array(next(iter(told.values()), p), dtype=np.float64)
    rows, at = _first(wanted.allowed(score, model.observations, users), wanted.n)
    items = wanted.items[at]
    found = {name: np.asarray(part[rows, items]) for name, part in told.items()}
    return {"row": rows, "item": items, "p": p[rows, items], **found}


def _first(score: Floats, n: int) -> tuple[Positions, Positions]:
    """The n greatest of each row, the greatest first, ties in the order of the columns."""
    n_rows, n_columns = score.shape
    n = min(n, n_columns)
    if not n or not n_rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    least = np.partition(score, n_columns - n, axis=1)[:, n_columns - n]
    columns = []
    for row, bound in zip(score, least, strict=True):
        at = np.flatnonzero((row >= bound) & (row > -np.inf))
        columns.append(at[np.argsort(-row[at], kind="stable")[:n]])
    rows = np.repeat(np.arange(n_rows), [len(at) for at in columns])
    return rows, np.concatenate(columns)
