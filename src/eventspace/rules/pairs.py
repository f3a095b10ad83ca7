"""Two items and the users who rated both: counts, and sums of the model's chances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.types import Floats, Positions
from eventspace.rules.likes import Likes


class Sums(NamedTuple):
    """Sums over the users who rated both an item and another, for each of some others."""

    users: Floats
    like: Floats  # of the item
    like_other: Floats
    like_both: Floats
    chance: Floats  # of a like of the item, by the model
    chance_other: Floats
    chance_both: Floats  # the product of the two
    value: Floats
    value_other: Floats
    value_both: Floats
    value_square: Floats
    other_square: Floats
    p: Floats  # what the model predicts
    p_other: Floats
    p_both: Floats


N_SUMS = len(Sums._fields)


class Workspace:
    """Room for the sums of one item against all others; a thread needs its own."""

    def __init__(self, n_items: int) -> None:
        self.sums = np.zeros((n_items, N_SUMS))
        self.touched = np.empty(n_items, dtype=np.int64)
        self.wanted = np.zeros(n_items, dtype=np.bool_)


def compare(likes: Likes, item: int, room: Workspace) -> tuple[Positions, Sums]:
    """The other items, among those wanted, that somebody rated with this one."""
    n = _compare(
        item,
        likes.item_ptr,
        likes.item_index,
        likes.item_facts,
        likes.ptr,
        likes.index,
        likes.facts,
        room.wanted,
        room.sums,
        room.touched,
    )
    others = np.sort(room.touched[:n])
    found = Sums(*np.ascontiguousarray(room.sums[others].T))
    room.sums[others] = 0.0
    return others, found if likes.everyone is None else _of_everyone(likes, item, others, found)


def _of_everyone(likes: Likes, item: int, others: Positions, found: Sums) -> Sums:
    """The sums over all users, where those who are not stored say no."""
    everyone, totals = likes.everyone, likes.totals
    assert everyone is not None
    n = np.full(len(others), float(everyone.n_users))
    both = everyone.together(item, others)
    like, chance = (np.full(len(others), totals[item, k]) for k in (1, 2))
    like_other, chance_other = totals[others, 1], totals[others, 2]
    likes_and_chances = (like, like_other, found.like_both, chance, chance_other, both)
    values = (like, like_other, found.like_both, like, like_other)  # yes is 1, no is 0
    return Sums(n, *likes_and_chances, *values, chance, chance_other, both)


def compare_pairs(likes: Likes, items: Positions, others: Positions) -> Sums:
    """The sums of each of some pairs, one row each."""
    room, found = Workspace(likes.n_items), np.zeros((N_SUMS, len(items)))
    order = np.argsort(items, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(items[order])) + 1):
        if not rows.size:
            continue
        room.wanted[others[rows]] = True
        known, sums = compare(likes, int(items[rows[0]]), room)
        room.wanted[others[rows]] = False
        at = np.searchsorted(known, others[rows])
        at = np.minimum(at, max(len(known) - 1, 0))
        seen = known[at] == others[rows] if len(known) else np.zeros(len(rows), dtype=np.bool_)
        found[:, rows[seen]] = np.array(sums)[:, at[seen]]
        if likes.everyone is not None and not seen.all():  # nobody said yes to both
            none, far = Sums(*np.zeros((N_SUMS, int((~seen).sum())))), others[rows[~seen]]
            found[:, rows[~seen]] = _of_everyone(likes, int(items[rows[0]]), far, none)
    return Sums(*found)


@njit(cache=True, nogil=True)
def _compare(
    item: int,
    item_ptr: Any,
    item_user: Any,
    item_facts: Any,
    user_ptr: Any,
    user_item: Any,
    user_facts: Any,
    wanted: Any,
    sums: Any,
    touched: Any,
) -> int:
    """Add the ratings of the item's raters to the sums of the wanted; O(their ratings)."""
    n = 0
    for k in range(item_ptr[item], item_ptr[item + 1]):
        value, like = np.float64(item_facts[k, 0]), np.float64(item_facts[k, 1])
        chance, p = np.float64(item_facts[k, 2]), np.float64(item_facts[k, 3])
        user = item_user[k]
        for m in range(user_ptr[user], user_ptr[user + 1]):
            other = user_item[m]
            if not wanted[other] or other == item:
                continue
            row = sums[other]
            if row[0] == 0.0:
                touched[n] = other
                n += 1
            other_value, other_like = np.float64(user_facts[m, 0]), np.float64(user_facts[m, 1])
            other_chance, q = np.float64(user_facts[m, 2]), np.float64(user_facts[m, 3])
            row[0] += 1.0
            row[1] += like
            row[2] += other_like
            row[3] += like * other_like
            row[4] += chance
            row[5] += other_chance
            row[6] += chance * other_chance
            row[7] += value
            row[8] += other_value
            row[9] += value * other_value
            row[10] += value * value
            row[11] += other_value * other_value
            row[12] += p
            row[13] += q
            row[14] += p * q
    return n
