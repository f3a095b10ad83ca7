"""The algebra of events: any Boolean expression over items is a set of elementary events."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from eventspace._base.checks import check_whole
from eventspace._base.codes import inside, sizes, unpack
from eventspace._base.errors import UserError, UserTypeError
from eventspace._base.html import in_html, strip
from eventspace._base.printable import printable
from eventspace._base.types import Codes, Floats
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.pairs import is_column
from eventspace.logic.space import Space, known_positions

PRECEDENCE = {"|": 1, "^": 2, "&": 3, "-": 4, "~": 5}  # as in Python: the higher binds tighter
_NAME = 6
_SIMPLE = re.compile(r"\w+(?:[-.']\w+)*")  # a name that needs no quotes
_SHOWN = 60  # characters of an expression in a repr
STRIP = 64  # events that are still seen side by side


class Expression(NamedTuple):
    """How an event is written: pieces of text, joined only when somebody reads them."""

    precedence: int
    pieces: tuple[Any, ...]  # strings, and the pieces of other expressions

    @classmethod
    def of_item(cls, item: Hashable) -> Expression:
        """The name of an item, in quotes unless it is a simple word."""
        name = str(item)
        if not _SIMPLE.fullmatch(name):
            name = '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
        return cls(_NAME, (name,))

    def inverted(self) -> Expression:
        """The expression of the complement."""
        return Expression(PRECEDENCE["~"], ("~", self._within(PRECEDENCE["~"])))

    def joined(self, symbol: str, other: Expression) -> Expression:
        """The expression of two events with an operator between them."""
        precedence = PRECEDENCE[symbol]
        right = precedence + (symbol == "-")  # a - (b - c) is another thing than a - b - c
        pieces = (self._within(precedence), f" {symbol} ", other._within(right))
        return Expression(precedence, pieces)

    def _within(self, precedence: int) -> tuple[Any, ...]:
        return self.pieces if self.precedence >= precedence else ("(", self.pieces, ")")

    def texts(self) -> Iterator[str]:
        """The pieces of text from left to right, however deep the expression is."""
        waiting: list[Any] = [self.pieces]
        while waiting:
            piece = waiting.pop()
            if isinstance(piece, str):
                yield piece
            else:
                waiting.extend(reversed(piece))

    def beginning(self) -> str:
        """As much of it as fits well into a line."""
        text = ""
        for piece in self.texts():
            text += printable(re.sub(r"\s", " ", piece))
            if len(text) > _SHOWN:
                return text[:_SHOWN] + "..."
        return text


@dataclass(frozen=True, eq=False, repr=False)
class Event:
    """A set of elementary events: an item, or what ``& | ~ - ^`` make of several.

    ``a <= b`` says that a implies b: whenever a comes true, b does, for every user of the model.
    ``a < b`` says that b does not imply a besides, ``a == b`` that it does. Of most pairs neither
    implies the other. Elementary events that nobody gives any mass are in no event, so that they
    break no implication. Events of different models are never equal, and can not be combined.
    """

    space: Space
    code: Codes  # words: the events of the space that occur and are in the set
    expression: Expression

    def __post_init__(self) -> None:
        self.code.setflags(write=False)

    @classmethod
    def of_item(cls, space: Space, item: Hashable) -> Event:
        """The event that an item comes true."""
        return cls.at(space, space.item(item))

    @classmethod
    def at(cls, space: Space, position: int) -> Event:
        """The event that the item at a position comes true."""
        item = space.observations.item_ids[position]
        return cls(space, space.sets[position], Expression.of_item(item))

    def __invert__(self) -> Event:
        return Event(self.space, self.space.occurring & ~self.code, self.expression.inverted())

    def __and__(self, other: Event) -> Event:
        return self._joined("&", other, operator.and_)

    def __or__(self, other: Event) -> Event:
        return self._joined("|", other, operator.or_)

    def __xor__(self, other: Event) -> Event:
        return self._joined("^", other, operator.xor)

    def __sub__(self, other: Event) -> Event:
        return self._joined("-", other, lambda a, b: a & ~b)

    def _joined(self, symbol: str, other: object, join: Callable[[Codes, Codes], Codes]) -> Event:
        if not isinstance(other, Event):
            return NotImplemented  # type: ignore[no-any-return]
        if self.space.pmf is not other.space.pmf:
            raise UserError(
                "These events are of different models, or of one that was fitted again or "
                "updated between them: make them anew from one model."
            )
        expression = self.expression.joined(symbol, other.expression)
        return Event(self.space, join(self.code, other.code), expression)

    # >= and > are these with the sides swapped, which Python does by itself
    def __le__(self, other: Event) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return not (self - other).code.any()

    def __lt__(self, other: Event) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self <= other and self != other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self.space.pmf is other.space.pmf and np.array_equal(self.code, other.code)

    def __hash__(self) -> int:
        return hash((id(self.space.pmf), self.code.tobytes()))

    def __bool__(self) -> bool:
        raise UserTypeError(
            "An event is neither true nor false: write & | ~ instead of and, or, not, "
            "and a <= b to ask whether a implies b."
        )

    @overload
    def probability(self, users: Hashable = None) -> float: ...
    @overload
    def probability(self, users: Any) -> Floats: ...
    def probability(self, users: Any = None) -> float | Floats:
        """P[event]: of the population, of one user (a number), or of many (an array).

        A list, an array or a Series are many users; a string or a tuple is the id of one. A larger
        event never has the smaller probability, and the certain event has exactly one.
        """
        return _probability(self.space, self.code, self.space.occurring, users)

    def given(self, condition: Event) -> Conditional:
        """This event among the cases in which another comes true."""
        if not isinstance(condition, Event):
            raise UserTypeError(f"given() takes an event, such as model.event({condition!r}).")
        return Conditional(self, condition, self & condition)

    def items(self, min_evidence: int = 1) -> DataFrame:
        """The items that imply this event: a DataFrame, the likeliest first.

        Those with fewer than ``min_evidence`` ratings are left out.
        Whenever one of them comes true, so does the event. An item that never comes true implies
        everything, which says nothing: it is left out. Ties go to the item with more ratings.
        """
        return self._listed(self.space.sets, self.code, min_evidence)

    def implied_items(self, min_evidence: int = 1) -> DataFrame:
        """The items that this event implies: a DataFrame, the likeliest first.

        Those with fewer than ``min_evidence`` ratings are left out.
        Whenever the event comes true, so do they all. An event that never comes true implies
        everything, which says nothing: no item is listed. Ties go to the item with more ratings.
        """
        return self._listed(self.code, self.space.sets, min_evidence)

    def _listed(self, inner: Codes, outer: Codes, min_evidence: int) -> DataFrame:
        """The items with an inner set, not empty, that lies inside the outer one."""
        check_whole("min_evidence", min_evidence, 1)
        space, known = self.space, self.space.observations
        listed = inner.any(axis=-1) & inside(inner, outer)
        items = np.flatnonzero(listed & (space.ratings >= min_evidence))
        p = _shares(space.mass, space.sets[items], space.occurring)
        order = np.lexsort((-space.ratings[items], -p))
        ids, ratings = known.item_ids.values[items[order]], space.ratings[items[order]]
        columns = {"item": ids, "probability": p[order], "ratings": ratings}
        return data_frame(columns, known.library)

    def __str__(self) -> str:
        return "".join(self.expression.texts())

    def __repr__(self) -> str:
        events = int(sizes(self.code))
        return (
            f"Event({self.expression.beginning()}: {events} of {self.space.n_events} events, "
            f"{self.probability():.1%} of the population)"
        )

    def _repr_html_(self) -> str:
        within = unpack(self.code[None, :], self.space.n_events)[0]
        shown = in_html(repr(self))
        if len(within) > STRIP:
            return shown
        return shown + strip(self.space.mass.tolist(), within.tolist())

    def __reduce__(self) -> tuple[Any, ...]:  # pickle stumbles over deep expressions, not long ones
        return Event, (self.space, self.code, self.expression._replace(pieces=(str(self),)))


@dataclass(frozen=True, eq=False, repr=False)
class Conditional:
    """An event among the cases in which another, the condition, comes true."""

    event: Event
    condition: Event
    both: Event

    @overload
    def probability(self, users: Hashable = None) -> float: ...
    @overload
    def probability(self, users: Any) -> Floats: ...
    def probability(self, users: Any = None) -> float | Floats:
        """P[event | condition], for ``users`` as in :meth:`Event.probability`.

        NaN where the condition has no probability.
        """
        return _probability(self.both.space, self.both.code, self.condition.code, users)

    def __repr__(self) -> str:
        event, condition = (e.expression.beginning() for e in (self.event, self.condition))
        p = self.probability()
        share = "which never occurs" if np.isnan(p) else f"{p:.1%} of its cases in the population"
        return f"Conditional({event} given {condition}: {share})"


def _probability(space: Space, part: Codes, whole: Codes, users: Any) -> float | Floats:
    """P[part] / P[whole] of the population, of one user, or of many."""
    if users is None:
        return float(_shares(space.mass, part, whole)[0])
    if not is_column(users):
        return float(_shares(space.pmf[space.user(users)], part, whole)[0])
    known = space.observations.user_ids
    advice = "Use update to add them.", "Fit again with their ratings."
    positions = known_positions(known, users, "user", *advice)
    return _shares(space.pmf[positions], part, whole)


def _shares(pmf: Floats, parts: Codes, whole: Codes) -> Floats:
    """P[part] / P[whole], for many PMFs or for many parts; NaN where the whole has no mass.

    All sums have the same terms, with zeros for what is outside, in the same order: so a part never
    has more than its whole, the whole has exactly one, and equal sets tie.
    """
    part, total = (
        np.where(unpack(np.atleast_2d(codes), pmf.shape[-1]), pmf, 0.0).sum(axis=-1)
        for codes in (parts, whole)
    )
    return np.asarray(np.divide(part, total, out=np.full_like(part, np.nan), where=total > 0))
