"""Raw entries checked, scaled and put in both orders."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.progress import bar
from eventspace.data import scale as units
from eventspace.data.entries import (
    Entries,
    Repeats,
    are_sorted,
    find_repeats,
    group,
    merge_repeats,
    pointers,
    transpose,
)
from eventspace.data.forgetting import Forgetting
from eventspace.data.ids import Ids
from eventspace.data.missing import scale_of_yes, that_speak
from eventspace.data.readers.cleaning import clean
from eventspace.data.readers.clock import Clock
from eventspace.data.readers.raw_entries import RawEntries
from eventspace.data.scale import ScaleOption

Duplicates = Literal["error", "mean", "last"]


class Ordered(NamedTuple):
    """What observations are made of."""

    user_ids: Ids
    item_ids: Ids
    by_user: Entries
    by_item: Entries
    scale: units.Scale
    library: str
    missing: float
    forgetting: Forgetting | None


def ordered(
    raw: RawEntries,
    option: ScaleOption,
    duplicates: Duplicates,
    missing: float,
    clock: Clock | None = None,
) -> Ordered:
    """Check the entries, scale the values and put the entries in both orders.

    With a clock they fade by their times; the last of a repeated pair is then the latest.
    """
    if duplicates not in ("error", "mean", "last"):
        raise UserError(f"duplicates={duplicates!r}; allowed are 'error', 'mean' and 'last'.")
    if missing:
        option = (0.0, 1.0) if raw.counts else scale_of_yes(raw.values, option)
    if not raw.valued:
        duplicates = "last"
    raw, scale = clean(raw, option)
    forgetting = None if clock is None else clock.known  # of no rows, as what they come to
    if clock is not None and raw.times is not None and raw.times.size:
        forgetting = clock.forgetting(raw)
        weights = forgetting.weights(raw.times, raw.weights)
        raw = replace(raw, weights=weights).kept(np.argsort(raw.times, kind="stable"))
    user_ids, item_ids, library = raw.user_ids, raw.item_ids, raw.library
    users, items = raw.users, raw.items
    p = units.stored(raw.values, scale)
    weight = np.empty(0, np.float32) if raw.weights is None else raw.weights
    del raw  # here and below: what is let go is memory that the next step can have
    with bar("order", 4, None) as update:
        update(1, "")
        if are_sorted(users, items):  # as the entries of any matrix are
            by_user = Entries(pointers(users, len(user_ids)), items, p, weight)
            del users
        else:
            by_item = group(items, users, p, weight, len(item_ids))
            update(2, "")
            del users, items, p, weight
            by_user = transpose(by_item, len(user_ids))
            del by_item
        update(3, "")
        by_user = _without_repeats(by_user, user_ids, item_ids, duplicates)
        both = that_speak(by_user, transpose(by_user, len(item_ids)), missing)
    return Ordered(user_ids, item_ids, *both, scale, library, missing, forgetting)


def _without_repeats(
    by_user: Entries, user_ids: Ids, item_ids: Ids, duplicates: Duplicates
) -> Entries:
    """The entries with each pair once; an error if that is not allowed."""
    repeats = find_repeats(by_user)
    if repeats.pairs and duplicates == "error":
        raise repeated(repeats, user_ids, item_ids)
    if repeats.pairs:
        by_user = merge_repeats(by_user, mean=duplicates == "mean")
    return by_user


def repeated(repeats: Repeats, user_ids: Ids, item_ids: Ids) -> UserError:
    """The error for pairs that occur more than once."""
    user, item = user_ids[repeats.first[0]], item_ids[repeats.first[1]]
    return UserError(
        f"User {shown(user)} has item {shown(item)} {repeats.times} times; {repeats.pairs} "
        "pairs in all occur more than once.",
        remedy='Observations.of(data, duplicates="mean"), or "last", accepts them.',
        shell="--duplicates mean, or last, accepts them.",
    )
