"""Why a prediction is what it is: the events that carry it, the rules nearby, the evidence."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.codes import inside, masses, unpack
from eventspace._base.html import in_html
from eventspace._base.printable import printable
from eventspace._base.types import Floats, Positions
from eventspace.data.frames import DataFrame, data_frame
from eventspace.logic.event_labels import EventLabels
from eventspace.logic.space import Space

SHOWN = 4  # events of a side, and
SHOWN_RULES = 3  # rules of a kind, that the text names
KINDS = ("equivalent", "implies", "implied")
TEXTS = {
    "equivalent": "{other} is equivalent to it",
    "implies": "{other} implies it: at least {p:.1%}",
    "implied": "it implies {other}: at most {p:.1%}",
}


@dataclass(frozen=True)
class Meeting:
    """How probable it is that the user meets the item next, and what the user met that says so."""

    chance: float
    population: float
    base: float  # of all users how many have met it, by the models of who meets what
    reasons: tuple[tuple[Hashable, float], ...]  # items met; of those who meet one, how many do

    def lines(self, who: str) -> list[str]:
        """In words."""
        return [
            f"{who} meets it next with a chance of {self.chance:.1%}. In the population: "
            f"{self.population:.1%}.",
            *(
                f"  {p:>6.1%}  of those who met {other} met it ({self.base:.1%} of all)"
                for other, p in self.reasons
            ),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """A prediction and its reasons: prints as text, and has them as tables and numbers."""

    named: EventLabels
    user_at: int
    item_at: int
    average: tuple[float, float] | None = None  # its probability and population, if it predicts
    meeting: Meeting | None = None  # if it is known who meets what

    @classmethod
    def of(cls, named: EventLabels, user: Hashable, item: Hashable) -> Explanation:
        """The explanation for a user and an item, by their ids."""
        return cls(named, named.space.user(user), named.space.item(item))

    @property
    def _space(self) -> Space:
        return self.named.space

    @property
    def _pmf(self) -> Floats:
        return np.asarray(self._space.pmf[self.user_at])

    @cached_property
    def _comes_true(self) -> NDArray[np.bool_]:
        return np.asarray(unpack(self._space.codes[[self.item_at]], self._space.n_events)[0])

    @property
    def probability(self) -> float:
        """What is predicted, by the model or, for an average, by the average."""
        return self.readable if self.average is None else self.average[0]

    @property
    def population(self) -> float:
        """The same for the population."""
        if self.average is not None:
            return self.average[1]
        return float(self._space.mass @ self._comes_true)

    @property
    def readable(self) -> float:
        """The user's mass of the events in which the item comes true.

        For one model this is the probability. The explanation of an average has the events of its
        readable model, which may be a little off.
        """
        return float(self._pmf @ self._comes_true)

    @property
    def value(self) -> float:
        """The prediction in the unit of the table."""
        return float(self._space.observations.from_unit(self.probability))

    @property
    def user_ratings(self) -> int:
        """How many ratings the user has given."""
        return len(self._ratings)

    @property
    def item_ratings(self) -> int:
        """How many ratings the item has."""
        return int(self._space.ratings[self.item_at])

    @cached_property
    def events(self) -> DataFrame:
        """One row per event: the user's mass, the population's, whether the item comes true."""
        heaviest = self._heaviest
        columns = {
            "event": heaviest,
            "mass": self._pmf[heaviest],
            "population": self._space.mass[heaviest],
            "comes_true": self._comes_true[heaviest],
            "label": [self.named.labels[d] for d in heaviest],
        }
        return data_frame(columns, self._space.observations.library)

    @cached_property
    def rules(self) -> DataFrame:
        """The rules that link the item to what the user has rated, the nearest first.

        What implies the item bounds its probability from below, what it implies from above.
        ``speaks`` says what the user's own rating makes of a rule. What implies the item speaks
        "for" it if the user rates it above the middle of the scale; what the item implies speaks
        "against" it if rated below. What is equivalent speaks either way. Any other rule has
        "", and the text leaves it out.
        """
        kinds, others = self._rules
        ids, own = self._space.observations.item_ids, self._ratings
        columns = {
            "other_item": ids.values[others],
            "kind": np.array(KINDS, dtype=object)[kinds],
            "value": np.array([own[int(other)] for other in others], dtype=np.float64),
            "probability": unpack(self._space.codes[others], self._space.n_events) @ self._pmf,
            "ratings": self._space.ratings[others],
            "speaks": self._speaks.astype(object),
        }
        return data_frame(columns, self._space.observations.library)

    @cached_property
    def _heaviest(self) -> Positions:
        return np.argsort(-self._pmf, kind="stable")

    @cached_property
    def _ratings(self) -> dict[int, float]:
        """What the user has rated, and how, in the unit of the table."""
        seen, u = self._space.observations, self.user_at
        own = slice(seen.by_user.ptr[u], seen.by_user.ptr[u + 1])
        values = seen.from_unit(seen.by_user.value[own])
        return dict(zip(seen.by_user.index[own].tolist(), values.tolist(), strict=True))

    @cached_property
    def _rules(self) -> tuple[Positions, Positions]:
        """Numbers of KINDS, and the other items; sets that are empty or full say nothing."""
        space, item = self._space, self.item_at
        others = np.array([other for other in self._ratings if other != item], dtype=np.int64)
        sets, code = space.sets[others], space.sets[item]
        implies, implied = inside(sets, code), inside(code, sets)
        distance = masses(sets ^ code, space.mass)
        kinds = np.where(implies & implied, 0, np.where(implies, 1, 2))
        telling = sets.any(axis=1) & (sets != space.occurring).any(axis=1)
        order = np.lexsort((-space.ratings[others], distance, kinds))
        order = order[(telling & (implies | implied))[order]]
        return kinds[order], others[order]

    @cached_property
    def _speaks(self) -> NDArray[np.str_]:
        kinds, others = self._rules
        middle = sum(self._space.observations.scale) / 2
        rated = np.array([self._ratings[int(other)] for other in others], dtype=np.float64)
        liked, disliked = rated > middle, rated < middle
        equivalent, implies, implied = (kinds == number for number in range(len(KINDS)))
        speak = [liked & (equivalent | implies), disliked & (equivalent | implied)]
        return np.select(speak, ["for", "against"], "")

    def __str__(self) -> str:
        seen = self._space.observations
        user, item = seen.user_ids[self.user_at], seen.item_ids[self.item_at]
        who = user if isinstance(user, str) else f"user {user}"
        what = item if isinstance(item, str) else f"item {item}"
        lo, hi = seen.scale
        unit = f", or {self.value:.2f} on the scale from {lo:g} to {hi:g}"
        lines = [
            f"{who} and {what}: {self.probability:.1%}{'' if (lo, hi) == (0, 1) else unit}. "
            f"In the population: {self.population:.1%}.",
            *self._line_of_average(),
            *self._lines_of_events("It comes true in these events", f" of {who}'s mass", True),
            *self._lines_of_events("It does not come true in these", "", False),
            *self._lines_of_rules("for", who),
            *self._lines_of_rules("against", who),
            *([] if self.meeting is None else self.meeting.lines(who)),
            f"Evidence: {self.user_ratings:,} rating{'s' * (self.user_ratings != 1)} by {who}, "
            f"{self.item_ratings:,} of {what}",
        ]
        own = self._ratings.get(self.item_at)
        lines[-1] += "." if own is None else f"; {who} gave it {own:g}."
        return printable("\n".join(lines), own="\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_html(str(self))

    def _line_of_average(self) -> list[str]:
        if self.average is None:
            return []
        return [
            f"The average says {self.probability:.1%}. Its readable model, with the "
            f"{self._space.n_events} events below, says {self.readable:.1%}."
        ]

    def _lines_of_events(self, title: str, whose: str, comes_true: bool) -> list[str]:
        side = self._heaviest[self._comes_true[self._heaviest] == comes_true]
        if not side.size:
            return []
        mass, population = self._pmf, self._space.mass
        lines = [
            f"  {mass[d]:>6.1%}  event {d} ({population[d]:.1%} of the population): "
            f"{self.named.labels[d]}"
            for d in side[:SHOWN]
        ]
        rest = side[SHOWN:]
        lines += [f"  {mass[rest].sum():>6.1%}  {len(rest)} more"] if rest.size else []
        return [f"{title} ({mass[side].sum():.1%}{whose}):", *lines]

    def _lines_of_rules(self, side: str, who: str) -> list[str]:
        kinds, others = self._rules
        ids = self._space.observations.item_ids
        p = unpack(self._space.codes[others], self._space.n_events) @ self._pmf
        own = self._speaks == side
        lines = [
            f"  {TEXTS[name].format(other=ids[others[k]], p=p[k])}"
            f" ({who} gave it {self._ratings[int(others[k])]:g})"
            for number, name in enumerate(KINDS)
            for k in np.flatnonzero(own & (kinds == number))[:SHOWN_RULES].tolist()
        ]
        return [f"{side.capitalize()} it, from what {who} has rated:", *lines] if lines else []
