"""The probability space of a fitted model: what its rules, algebra and explanations are made of."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.codes import masses, pack, unpack
from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Codes, Floats
from eventspace.data.column import plain_array
from eventspace.data.ids import Ids
from eventspace.data.observations import Observations

NO_MASS = 1e-12  # an event that nobody gives more mass than this never occurs
SHRINKAGE = 20  # ratings that say nothing, which draw to zero what few ratings say
_SEARCHED = 10_000  # ids among which a misspelt one is looked for


@dataclass(frozen=True, eq=False)
class Space:
    """D elementary events, the users' distributions over them, the items' sets of them.

    An item without ratings has no set that the data speak of: it takes no part in what follows.
    """

    pmf: Floats  # users x events
    codes: Codes  # items x words
    observations: Observations

    @property
    def n_events(self) -> int:
        """D, with the events that never occur."""
        return int(self.pmf.shape[1])

    @cached_property
    def mass(self) -> Floats:
        """The population: the mean PMF of the users with ratings."""
        rated = self.observations.by_user.rated
        return np.asarray(self.pmf[rated].mean(axis=0))

    @cached_property
    def occurring(self) -> Codes:
        """The events that someone gives mass, as one code: the others break no inclusion."""
        occurring: Codes = pack((self.pmf.max(axis=0) > NO_MASS)[None, :])[0]
        return occurring

    @cached_property
    def sets(self) -> Codes:
        """The items' sets of events that occur."""
        return self.codes & self.occurring

    @cached_property
    def probability(self) -> Floats:
        """The population's probability of each item."""
        return masses(self.sets, self.mass)

    @cached_property
    def ratings(self) -> NDArray[np.int64]:
        """How many ratings each item has."""
        return self.observations.by_item.sizes

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many of the rated items come true in each event."""
        return np.asarray(unpack(self.codes[self.ratings > 0], self.n_events).sum(axis=0))

    @cached_property
    def breadth(self) -> Floats:
        """How much comes true in each event: the share of items, weighted by their ratings.

        Weighted, because sets of items with few ratings are mostly noise; and because the mean
        breadth of the events then is about the mean rating.
        """
        within = unpack(self.codes, self.n_events)
        return np.asarray(self.ratings @ within / max(int(self.ratings.sum()), 1))

    def user(self, user: Hashable) -> int:
        """The position of a user."""
        return known_position(self.observations.user_ids, user, "user")

    def item(self, item: Hashable) -> int:
        """The position of an item whose set is known."""
        position = known_position(self.observations.item_ids, item, "item")
        if not self.ratings[position]:
            raise UserError(f"Item {shown(item)} has no ratings, so that its set is not known.")
        return position


def known_position(
    ids: Ids, wanted: Any, what: str, remedy: str = "", shell: str | None = None
) -> int:
    """The position of one id; an unknown one is an error that names the nearest, and the remedy."""
    if not isinstance(wanted, Hashable):
        raise UserError(f"The id of one {what} is wanted, not {shown(wanted)}.")
    position = int(ids.positions([wanted])[0])
    if position < 0:
        raise UserError(
            f"The model knows no {what} {shown(wanted)}{_nearest(ids, wanted)}",
            remedy=remedy,
            shell=shell,
        )
    return position


def known_positions(
    ids: Ids, wanted: Any, what: str, remedy: str, shell: str | None = None
) -> NDArray[np.int64]:
    """The positions of many ids; unknown ones are an error that names some, and the remedy."""
    positions = ids.positions(wanted)
    if (positions < 0).any():
        missing = list(dict.fromkeys(plain_array(wanted)[positions < 0].tolist()))
        some = ", ".join(shown(id_) for id_ in missing[:5]) + (", ..." if len(missing) > 5 else "")
        near = _nearest(ids, missing[0]) if len(missing) == 1 else "."
        raise UserError(
            f"The model does not know {len(missing)} of these {what}s: {some}{near}",
            remedy=remedy,
            shell=shell,
        )
    return positions


def _nearest(ids: Ids, wanted: Any) -> str:
    if not isinstance(wanted, str) or len(ids) > _SEARCHED:
        return "."
    names = {str(id_).casefold(): id_ for id_ in ids}
    close = difflib.get_close_matches(wanted.casefold(), names, n=3)
    close = close or [name for name in names if wanted and wanted.casefold() in name][:3]
    return f": did you mean {' or '.join(shown(names[name]) for name in close)}?" if close else "."
