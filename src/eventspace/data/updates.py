"""The next day: a table of changes beside what is known, and whom and what they concern."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError, warn
from eventspace._base.printable import shown
from eventspace._base.types import Floats, Positions
from eventspace.data.entries import Entries, group, merge_repeats, revised, transpose
from eventspace.data.factors import squared_error, sum_of_squares
from eventspace.data.forgetting import (
    Forgetting,
    check_jump,
    time_in_words,
    warn_if_faded,
    warn_of_old,
)
from eventspace.data.ids import Ids
from eventspace.data.missing import that_speak
from eventspace.data.observations import Observations
from eventspace.data.pairs import is_positional, read_pairs

Factors = tuple[Floats, NDArray[Any]]  # theta and psi


class Update(NamedTuple):
    """Observations before and after some changes, and the users and items with any, or new.

    Where weights fade, both are as they count at the later time: what was known is ``faded``.
    """

    known: Observations
    now: Observations
    users: Positions
    items: Positions
    faded: float = 1.0

    @property
    def new_users(self) -> Positions:
        """The users of whom nothing was known: no rating, or not even the name."""
        return _unrated(self.users, self.known.by_user)

    @property
    def new_items(self) -> Positions:
        """The items of which nothing was known."""
        return _unrated(self.items, self.known.by_item)

    def error(self, before: float, old: Factors, new: Factors) -> float:
        """The squared error now: only the entries of these users and items are summed."""
        if self.now.missing:  # then all pairs have a say
            return squared_error(self.now, *new)
        gone, come = self._concerned(self.known), self._concerned(self.now)
        before *= self.faded
        now = before - sum_of_squares(*old, *gone) + sum_of_squares(*new, *come)
        # what is left of a sum has the rounding of the whole: halved often, it is nothing else
        return now if now > before / 2 else squared_error(self.now, *new)

    def _concerned(self, seen: Observations) -> tuple[NDArray[Any], ...]:
        """Users, items, values and weights of the entries of these users, and of these items."""
        users, items = self.users[self.users < seen.n_users], self.items[self.items < seen.n_items]
        mine, theirs = seen.by_user.taken(users), seen.by_item.taken(items)
        others = ~np.isin(theirs.index, users)
        return (
            np.append(np.repeat(users, mine.sizes), theirs.index[others]),
            np.append(mine.index, np.repeat(items, theirs.sizes)[others]),
            np.append(mine.value, theirs.value[others]),
            np.append(mine.weight, theirs.weight[others[: theirs.weight.size]]),
        )


def read_update(known: Observations, X: Any, forget: Any) -> Update:
    """What is known with the changes of a table made: its values hold, and pairs are forgotten.

    The pairs go first, so that a value in the table holds also for one of them.
    """
    if X is None and forget is None:
        raise UserError(
            "There is nothing to update:",
            remedy="pass a table of ratings, or pairs to forget=.",
            shell="name a table of ratings, or pairs with --forget.",
        )
    new = read_new(known, X, known.forgetting if X is not None else None)
    _warn_of_spelling("user", known.user_ids, new.user_ids)
    _warn_of_spelling("item", known.item_ids, new.item_ids)
    known, new, factor = _at_once(known, new)
    gone = _pairs(known, forget)
    weighted = known.weighted or new.weighted
    changes = _changes(new, *gone, weighted=weighted)
    by_user, by_item = known.by_user, known.by_item
    if weighted and not known.weighted:
        ones = np.ones(known.n_observed, np.float32)
        by_user, by_item = by_user._replace(weight=ones), by_item._replace(weight=ones)
    of_items = transpose(changes, new.n_items)
    by_user, by_item = that_speak(
        revised(by_user, changes), revised(by_item, of_items), known.missing
    )
    now = replace(
        known, user_ids=new.user_ids, item_ids=new.item_ids, by_user=by_user, by_item=by_item
    )
    if not now.n_observed:
        raise UserError("This would leave no rating at all, and nothing to tell of anybody.")
    users, items = _concerned(changes, known.n_users), _concerned(of_items, known.n_items)
    return Update(known, now, users, items, factor)


def read_new(known: Observations, X: Any, clock: Forgetting | None = None) -> Observations:
    """The ratings of a table, on the scale of what is known, whose ids come first."""
    if X is not None and is_positional(X):
        raise UserError(
            "The rows and columns of an array have no ids, and an update is about whom and what: "
            "pass (users, items, values), or a table with ids."
        )
    table = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)) if X is None else X
    return Observations.of(
        table,
        scale=known.scale,
        duplicates="last",
        missing=known.missing,
        half_life=clock,
        users=known.user_ids,
        items=known.item_ids,
    )


def _at_once(known: Observations, new: Observations) -> tuple[Observations, Observations, float]:
    """Both as they count at the later of their times, and what the known have faded by."""
    if new.forgetting is None:  # or there is nothing new
        return known, new, 1.0
    if known.forgetting is None:
        raise UserError(
            "These ratings fade and the model's do not: state no half_life, or fit again with one."
        )
    clock, newest = known.forgetting, new.forgetting.now
    check_jump(clock, newest, "The newest time")
    warn_of_old(clock, newest)
    now = max(clock.now, newest)
    counted = float(known.by_user.weight.sum(dtype=np.float64)) / clock.unit_weight
    factor = clock.by(now)
    warn_if_faded(
        f"The newest time is {time_in_words(now)}. Beside it the ratings of the model",
        counted,
        factor * counted,
        f" Before, it had {clock.words}. If the newest time is wrong, go back to the model of "
        "before, or fit again.",
    )
    return known.at(now), new.at(now), factor


def _warn_of_spelling(what: str, known: Ids, now: Ids) -> None:
    """Warn of new ids that are known ones but for their kind, as after a detour through JSON."""
    alike = known.spelt_otherwise(Ids(now.values[len(known) :]))
    if alike:
        new, old = alike[0]
        more = f", and {len(alike) - 1:,} more like it," * (len(alike) > 1)
        verb = "are" if more else "is"
        warn(
            f"The new {what} {shown(new)}{more} {verb} not the known {what} {shown(old)}: a number "
            "and a text are two ids. If one is meant, write it as in the fit."
        )


def _unrated(rows: Positions, known: Entries) -> Positions:
    named = rows[rows < len(known.ptr) - 1]
    return np.append(named[~known.rated[named]], rows[len(named) :])


def _concerned(changes: Entries, n_known: int) -> Positions:
    """The rows with a change, and the new ones."""
    sizes = changes.sizes
    return np.flatnonzero((sizes > 0) | (np.arange(len(sizes)) >= n_known))


def _changes(new: Observations, users: Positions, items: Positions, *, weighted: bool) -> Entries:
    """The new entries by user, and pairs that are to go, whose value is NaN."""
    u, i, p = new.coo()
    weight = np.empty(0, np.float32)
    if weighted:
        given = new.by_user.weight if new.weighted else np.ones(len(p), np.float32)
        weight = np.append(np.ones(len(users), np.float32), given)
    by_item = group(
        np.append(items, i).astype(np.int32),
        np.append(users, u).astype(np.int32),
        np.append(np.full(len(users), np.nan, np.float32), p),
        weight,
        new.n_items,
    )
    return merge_repeats(transpose(by_item, new.n_users), mean=False)


def _pairs(known: Observations, forget: Any) -> tuple[Positions, Positions]:
    """The positions of the users and items in pairs, each of which has a rating."""
    if forget is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    pairs = read_pairs(forget, known)
    if pairs is None:
        raise UserError(
            "holds no pairs: pass (users, items), or a DataFrame with both columns.",
            parameter="forget",
        )
    users, items = known.user_ids.positions(pairs.users), known.item_ids.positions(pairs.items)
    theirs, at = np.unique(users, return_inverse=True)
    rated = known.by_user.taken(np.maximum(theirs, 0))
    keys = np.repeat(np.arange(len(theirs)), rated.sizes) * known.n_items + rated.index
    unrated = (users < 0) | (items < 0) | ~np.isin(at * known.n_items + items, keys)
    if unrated.any():
        k = int(np.argmax(unrated))
        user, item = Ids(pairs.users)[k], Ids(pairs.items)[k]
        raise UserError(
            f"holds a pair without a rating: user {shown(user)}, item {shown(item)}. "
            "Leave out what the model has no rating of.",
            parameter="forget",
        )
    return users, items
