"""How much a page holds, so that it opens at once and can be mailed: some ten megabytes at most.

Items, users and rules that do not fit are left out, the least rated items first, and the page says
so.
"""

from __future__ import annotations

import numpy as np

from eventspace._base.types import Positions
from eventspace.logic.space import Space

NAME = 200  # characters of an id
ITEMS = 150_000
ITEM_TEXT = 4_000_000  # characters of all the items' ids together
RULE_ITEMS = 1_000  # the best known, among which rules are looked for
RULES = 2_000
USER_NUMBERS = 500_000  # of PMFs and ratings
TELLING = 12  # items for each event and side
ENTRIES = 1_000_000  # predicted to see how well the model fits


def chosen_items(space: Space) -> Positions:
    """The rated items, the best known first, as many as fit."""
    order = np.argsort(-space.ratings, kind="stable")[: min(np.count_nonzero(space.ratings), ITEMS)]
    lengths = [len(name_of(space.observations.item_ids[i])) for i in order]
    return order[: np.searchsorted(np.cumsum(lengths), ITEM_TEXT, side="right")]


def chosen_users(space: Space) -> Positions:
    """All users with ratings or, where they are too many, some from the busiest to the idlest."""
    ratings = space.observations.by_user.sizes
    order = np.argsort(-ratings, kind="stable")[: np.count_nonzero(ratings)]
    if not order.size:
        return order
    numbers = space.n_events + 2 * ratings[order].mean()
    n = min(len(order), max(1, int(USER_NUMBERS / numbers)))
    return np.asarray(order[np.linspace(0, len(order) - 1, n).round().astype(np.int64)])


def name_of(id_: object) -> str:
    """An id as text; a very long one is cut in the middle, for its end may tell it apart."""
    text, half = str(id_), NAME // 2
    return text if len(text) <= NAME else f"{text[:half]}…{text[1 - half :]}"
