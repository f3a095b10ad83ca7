"""Entries held out of a table: one part or folds, so that no user and no item is left bare."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Literal, cast, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from eventspace._base.checks import check_choice, check_whole, is_real
from eventspace._base.errors import UserError
from eventspace._base.types import Bits
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.ids import number
from eventspace.data.observations import Observations
from eventspace.data.pairs import Pairs, read_pairs
from eventspace.data.readers.tables import table_of
from eventspace.data.times import ranked_times
from eventspace.fitting.folds import Positions, spared

By = Literal["entries", "users", "time"]


class EntryKFold:
    """K folds of the entries of a table, for scikit-learn's ``GridSearchCV`` and the like.

    It splits the rows of a long table (a DataFrame with one row per entry), as ``KFold`` does. But
    an entry stays in the training part if its user or its item would have no entry there otherwise.
    The rows of a wide table, an array or a sparse matrix are users, and whole users must not be
    held out: make a long table of it with :func:`long_table`.
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None) -> None:
        check_whole("n_splits", n_splits, 2)
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The rows for training and those held out, fold by fold."""
        users, items = _numbered(X)
        fold = check_random_state(self.random_state).permutation(len(users)) % self.n_splits
        for k in range(self.n_splits):
            held = spared(fold == k, users, items)
            if not held.any():
                raise UserError(
                    f"Fold {k} of {self.n_splits} would be empty: too few entries have others of "
                    "their user and of their item. Take fewer folds, or a larger table."
                )
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are."""
        return self.n_splits


def train_test_split(
    X: Any,
    *,
    test_size: float = 0.2,
    by: By = "entries",
    time: Hashable | None = None,
    random_state: Any = None,
) -> tuple[DataFrame, DataFrame]:
    """A long table in two: the rows to learn from, and those held out to test on.

    No user and no item is left without a row to learn from: a row that would be the last of its
    user or item stays. So a little less than ``test_size`` may be held out.

    Parameters
    ----------
    X : DataFrame
        A long table, one row per entry, of any library; both parts are of the same one. Of another
        table take ``long_table(X)``.
    test_size : float, default 0.2
        The share of the rows, or of the users, that is held out: between 0 and 1.
    by : {"entries", "users", "time"}, default "entries"
        "entries" holds out random rows. "users" holds out whole users, with all their rows: people
        to test rules on, ``model.rules(test)``. A user who alone has an item stays. "time" holds
        out the latest rows of each user; rows of the same time are taken as they come.
    time : name, optional
        The column of times, numbers or dates. It is found if it is named ``timestamp``, ``date`` or
        the like. For ``by="time"`` only.
    random_state : int, RandomState or None, default None
        The same number gives the same parts. Times leave nothing to chance.
    """
    check_choice("by", by, get_args(By))
    table = table_of(X)
    if table is None:
        raise UserError(
            f"A {type(X).__name__} has no rows with ids to split: split long_table(X) instead."
        )
    if time is not None and by != "time":
        raise UserError(f"is for by='time', not for by={by!r}.", parameter="time", value=time)
    pairs = _numbered(X)
    times = ranked_times(table, time) if by == "time" else None
    held = held_out_rows(pairs, test_size, by=by, times=times, random_state=random_state)
    train, test = (_rows(table.frame, part) for part in (~held, held))
    return train, test


def held_out_rows(
    pairs: Pairs, test_size: float, *, by: By, times: Positions | None, random_state: Any
) -> Bits:
    """Which rows are held out, of users and items that are numbered from zero."""
    if not is_real(test_size) or not 0 < test_size < 1:
        raise UserError("must be a number between 0 and 1.", parameter="test_size", value=test_size)
    users, items = pairs
    random = check_random_state(random_state)
    if times is not None:
        held = _latest(users, items, times, test_size)
    elif by == "users":
        held = _part(int(users.max(initial=-1)) + 1, test_size, random)[users]
        bare = held & ~spared(held, np.zeros_like(users), items)
        held &= ~np.isin(users, users[bare])
    else:
        held = spared(_part(len(users), test_size, random), users, items)
    if not held.any():
        raise UserError(
            f"Nothing of the {len(users)} entries can be held out: too few have others of their "
            "user and of their item.",
            remedy="Take a larger test_size, or a larger table.",
            shell="Take a larger --test-size, or a larger table.",
        )
    return held


def _part(n: int, part: float, random: np.random.RandomState) -> Bits:
    """A random part of n, as a mask."""
    return np.asarray(random.permutation(n) < part * n)


def _latest(users: Positions, items: Positions, times: Positions, part: float) -> Bits:
    """Which rows are the latest of their users; the earliest of an item is given back first."""
    order = np.lexsort((times, users))
    sizes = np.bincount(users)
    later = np.repeat(np.cumsum(sizes), sizes) - 1 - np.arange(len(users))
    held = np.empty(len(users), dtype=np.bool_)
    held[order] = later + 0.5 < part * np.repeat(sizes, sizes)
    order = np.argsort(times, kind="stable")
    held[order] = spared(held[order], users[order], items[order])
    return held


def _rows(frame: Any, rows: Bits) -> DataFrame:
    """Some rows of a DataFrame, in its own library."""
    part = nw.from_native(frame, eager_only=True, pass_through=False)
    return cast("DataFrame", part[np.flatnonzero(rows)].to_native())


def _numbered(X: Any) -> Pairs:
    """The users and the items of the rows of a long table, numbered from zero."""
    pairs = read_pairs(X)
    if pairs is None:
        raise UserError("Not a long table: rows here are users. Split long_table(X) instead.")
    return Pairs(number(pairs.users, "user")[1], number(pairs.items, "item")[1])


def long_table(X: Any) -> DataFrame:
    """The observed entries of any table as a DataFrame: ``user``, ``item``, ``value``, ``weight``.

    There are weights if the table has them. The rows are sorted by user and then by item.
    """
    seen = Observations.of(X)
    users, items, p = seen.coo()
    columns = {
        "user": seen.user_ids.values[users],
        "item": seen.item_ids.values[items],
        "value": seen.from_unit(p),
    }
    if seen.weighted:
        columns["weight"] = seen.by_user.weight
    return data_frame(columns, seen.library)
