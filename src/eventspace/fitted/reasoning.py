"""What a fitted model means: the algebra of events, the order of items, reasons."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Codes
from eventspace.data.observations import Observations
from eventspace.logic.algebra import Event
from eventspace.logic.event_labels import Characters
from eventspace.logic.explain import Explanation
from eventspace.logic.expressions import event_of
from eventspace.logic.order import Order
from eventspace.logic.space import Space


class Reasoning:
    """Logic and reasons from ``pmf_``, ``codes_`` and ``observations_``."""

    pmf_: Any
    codes_: Codes
    observations_: Observations

    def event(self, item: Any) -> Event:
        """The event that an item comes true: a set that can be combined and compared.

        ``&``, ``|``, ``~``, ``-`` and ``^`` combine events, ``<=`` asks whether one implies the
        other, ``.probability(user)`` measures one, ``.given(other)`` conditions it.
        """
        check_is_fitted(self)
        return Event.of_item(self._space(), item)

    def query(self, expression: str) -> Event:
        """The event that a text describes, such as ``"Alien & ~(Heat | Fargo)"``.

        The operators are those of :meth:`event` and bind as in Python. Titles with operators,
        parentheses or quotes in them need quotes: ``'"Toy Story (1995)" - Heat'``.
        """
        check_is_fitted(self)
        return event_of(self._space(), expression)

    def order(self, min_evidence: int = 1) -> Order:
        """Which items imply which: adjacency, influence, classes, Hasse diagram.

        Items with fewer than ``min_evidence`` ratings take no part.
        """
        check_is_fitted(self)
        return Order.of(self._space(), min_evidence)

    def events(self, tags: Any = None) -> Any:
        """The elementary events: a DataFrame with their mass, label and most telling items.

        An event's label names the items whose ratings most rise with its mass, beyond the means
        of items and users, and the one that most falls. ``tags`` maps items to tags (a dict or a
        Series; one tag, several, or text such as "Drama|War"), which then take the place of items.
        """
        check_is_fitted(self)
        return self._characters(tags).table()

    def explain(self, user: Any, item: Any, tags: Any = None) -> Explanation:
        """Why a prediction is what it is, as text and tables; ``tags`` as in :meth:`events`."""
        check_is_fitted(self)
        return Explanation.of(self._characters(tags), user, item)

    def _characters(self, tags: Any) -> Characters:
        ids = self.observations_.item_ids
        if tags is not None and not (hasattr(tags, "keys") and getattr(tags, "ndim", 1) == 1):
            raise UserError(
                f"tags is a {type(tags).__name__}: it maps items to tags, as a dict does, or a "
                "Series with the items as its index."
            )
        if tags is not None and not any(item in tags.keys() for item in ids):  # noqa: SIM118
            raise UserError(
                f"tags has none of the model's items as a key, such as {shown(ids[0])}."
            )
        return Characters(self._space(), tags)

    def _space(self) -> Space:
        """The space of this fit, made once: it keeps what is worked out from it."""
        space: Space | None = self.__dict__.get("_made_space")
        if space is None or space.pmf is not self.pmf_ or space.codes is not self.codes_:
            space = self._made_space = Space(self.pmf_, self.codes_, self.observations_)
        return space
