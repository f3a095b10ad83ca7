"""The order of the items: if one set lies inside another, the first item implies the second."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.checks import check_whole
from eventspace._base.codes import inside, masses, unpack
from eventspace._base.errors import UserError
from eventspace._base.printable import shown
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.frames import DataFrame, data_frame
from eventspace.logic.context import write_context
from eventspace.logic.inclusion import Classes, covers, influence
from eventspace.logic.space import Space


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """The inclusions among the sets of some items. Make one with `of`.

    Item j implies item i if j's set lies inside i's, as far as events occur at all. Items with the
    same set imply each other: they are one class, and the classes are partially ordered.
    """

    space: Space
    min_evidence: int

    @cached_property
    def items(self) -> Positions:
        """Those that take part, in their order in the space."""
        return np.flatnonzero(self.space.ratings >= self.min_evidence)

    @classmethod
    def of(cls, space: Space, min_evidence: int = 1) -> Self:
        """The order of the items with at least ``min_evidence`` ratings."""
        check_whole("min_evidence", min_evidence, 1)
        return cls(space, min_evidence)

    def adjacency(self) -> NDArray[np.bool_]:
        """The paper's A, items x items: A[i, j] if j implies i. Every item implies itself.

        This is quadratic in the number of items; nothing else here is.
        """
        sets = self._sets
        A = np.empty((len(sets), len(sets)), dtype=np.bool_)
        for i in range(len(sets)):
            A[i] = inside(sets, sets[i])
        return A

    def influence(self) -> DataFrame:
        """The paper's beta: the part of the items that imply each item, itself not counted.

        A DataFrame: item, influence, ratings, class (of `classes`); the most influential first.
        """
        beta = influence(self._classes)
        ratings = self.space.ratings[self.items]
        order = np.lexsort((-ratings, -beta))
        return self._frame(
            item=self._ids(order),
            influence=beta[order],
            ratings=ratings[order],
            **{"class": self._classes.of_item[order]},
        )

    def maximal(self) -> NDArray[Any]:
        """The paper's M: the ids of the items that come true in every event that occurs."""
        return self._ids(np.flatnonzero((self._sets == self.space.occurring).all(axis=1)))

    def classes(self) -> DataFrame:
        """The classes of items with the same set: a DataFrame, none before one that it contains.

        class, item (the member with the most ratings), size, n_events in the set, and probability,
        that of the set in the population.
        """
        return self._frame(
            **{"class": np.arange(len(self._classes))},
            item=self._ids(self._representatives),
            size=self._classes.sizes,
            n_events=self._classes.n_events,
            probability=self._probabilities,
        )

    def hasse(self) -> DataFrame:
        """The Hasse diagram: the inclusions between classes that do not follow from others.

        A DataFrame: lower, upper (of `classes`) and lower_item, upper_item, which stand for them.
        """
        lower, upper = covers(self._classes)
        return self._frame(
            lower=lower,
            upper=upper,
            lower_item=self._ids(self._representatives[lower]),
            upper_item=self._ids(self._representatives[upper]),
        )

    def consequents(self, item: Hashable) -> DataFrame:
        """All that ``item`` implies: the items whose sets contain its set.

        A DataFrame: item, probability (of its set in the population), ratings, and equivalent:
        whether the two sets are the same. The closest in probability come first.
        """
        at = self._place(item)
        return self._related(at, inside(self._sets[at], self._classes.codes))

    def antecedents(self, item: Hashable) -> DataFrame:
        """All that imply ``item``: the items whose sets lie inside its set.

        A DataFrame as that of `consequents`.
        """
        at = self._place(item)
        return self._related(at, inside(self._classes.codes, self._sets[at]))

    def context(self, path: str | os.PathLike[str] | None = None) -> DataFrame:
        """The formal context: items as objects, events as attributes, True where one comes true.

        A bool DataFrame with a column for each event and the items in pandas' index, elsewhere in
        the column ``item``. Item j implies item i if j's attributes are among i's. With a ``path``
        it is also written there in Burmeister's format (.cxt), which tools of formal concept
        analysis read.
        """
        bits = unpack(self._sets, self.space.n_events)
        events = [f"event{d}" for d in range(self.space.n_events)]
        ids = self.space.observations.item_ids.values[self.items]
        if path is not None:
            write_context(path, ids.tolist(), events, bits)
        table = self._frame(item=ids, **dict(zip(events, bits.T, strict=True)))
        pandas = self.space.observations.library == "pandas"
        return table.set_index("item") if pandas else table

    def __repr__(self) -> str:
        return f"Order({len(self.items)} items in {len(self._classes)} classes)"

    @cached_property
    def _sets(self) -> Codes:
        return self.space.sets[self.items]

    @cached_property
    def _classes(self) -> Classes:
        return Classes(self._sets)

    @cached_property
    def _representatives(self) -> Positions:
        """Of each class the member with the most ratings, the first of several."""
        order = np.lexsort((-self.space.ratings[self.items], self._classes.of_item))
        return order[self._classes.members[0][:-1]]

    @cached_property
    def _probabilities(self) -> Floats:
        """Of each class's set."""
        return masses(self._classes.codes, self.space.mass)

    def _related(self, at: int, related: NDArray[np.bool_]) -> DataFrame:
        """The members of the related classes but for the item itself, the closest first."""
        class_of = self._classes.of_item
        chosen = np.flatnonzero(related[class_of])
        chosen = chosen[chosen != at]
        p, ratings = self._probabilities[class_of[chosen]], self.space.ratings[self.items[chosen]]
        order = np.lexsort((-ratings, np.abs(p - self._probabilities[class_of[at]])))
        return self._frame(
            item=self._ids(chosen[order]),
            probability=p[order],
            ratings=ratings[order],
            equivalent=class_of[chosen[order]] == class_of[at],
        )

    def _place(self, item: Hashable) -> int:
        """Where an item is among those that take part."""
        position = self.space.item(item)
        at = int(np.searchsorted(self.items, position))
        if at == len(self.items) or self.items[at] != position:
            raise UserError(
                f"Item {shown(item)} takes no part in this order: it has "
                f"{self.space.ratings[position]} ratings, min_evidence is {self.min_evidence}."
            )
        return at

    def _ids(self, places: Positions) -> NDArray[Any]:
        ids: NDArray[Any] = self.space.observations.item_ids.values[self.items[places]]
        return ids

    def _frame(self, **columns: Any) -> DataFrame:
        return data_frame(columns, self.space.observations.library)
