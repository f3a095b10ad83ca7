"""What an elementary event is like: the items, or their tags, that tell it from the others.

A label begins with the breadth of the event: how much comes true in it. If that is nearly
everything or nearly nothing, the event is a leaning and not a taste, and this is its whole name.

All good films come true in most events, so sets alone say little. An event differs from others in
how the ratings of an item rise with the mass that its raters give to the event, beyond what the
means of items and users explain. The measure is the t-statistic of that slope, kept where the set
agrees.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.cached import cached_property
from eventspace._base.codes import unpack
from eventspace._base.errors import UserError
from eventspace._base.jit import njit
from eventspace._base.printable import encoded, shown
from eventspace._base.types import Floats
from eventspace.data.column import missing
from eventspace.data.deviations import deviations
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.logic.space import SHRINKAGE, Space

LABELS = 2, 1  # how many likes and dislikes make a label
LEANING = 0.05  # an event is a leaning if less than this comes true in it, or does not
SIGNIFICANT = 1.0  # the least t-statistic that is worth a word


@dataclass(frozen=True, eq=False)
class EventLabels:
    """The character of each event of a space, in items or in the tags that the caller gives them.

    ``tags`` maps items to a tag, to some, or to text such as "Drama|War".
    """

    space: Space
    tags: Any = None

    @classmethod
    def of(cls, space: Space, tags: Any) -> EventLabels:
        """Those in the caller's tags, if there are any and they are tags of these items."""
        ids = space.observations.item_ids
        if tags is not None and not (hasattr(tags, "keys") and getattr(tags, "ndim", 1) == 1):
            raise UserError(
                f"tags is a {type(tags).__name__}: it maps items to tags, as a dict does, or a "
                "Series with the items as its index."
            )
        if tags is not None and not any(item in tags.keys() for item in ids):  # noqa: SIM118
            raise UserError(
                f"tags has none of the model's items as a key, such as {shown(ids[0])}."
            )
        return cls(space, tags)

    @cached_property
    def slopes(self) -> Floats:
        """Items x events: t-statistics of how ratings rise with the event's mass."""
        seen = self.space.observations
        if seen.missing:
            return _slopes_of_yes(seen, self.space.pmf)
        slopes = np.zeros((seen.n_items, self.space.n_events))
        _slopes(*seen.by_item[:2], deviations(seen).by_item.value, self.space.pmf, slopes)
        return slopes

    @cached_property
    def _distinctions(self) -> tuple[list[Hashable], Floats]:
        """Names of items or of tags, and how much each distinguishes each event, 0 if hardly."""
        ids, inside = self.space.observations.item_ids, unpack(self.space.sets, self.space.n_events)
        if self.tags is None:
            told = np.abs(self.slopes) > SIGNIFICANT
            agreeing = told & (inside == (self.slopes > 0))
            known = self.space.ratings / (self.space.ratings + SHRINKAGE)
            return list(ids), np.where(agreeing, self.slopes * known[:, None], 0.0)
        members: dict[Hashable, list[int]] = {}
        tags = dict(self.tags.items())
        for position in np.flatnonzero(self.space.ratings).tolist():
            for tag in _tags_of(tags.get(ids[position])):
                members.setdefault(tag, []).append(position)
        sums = [
            self.slopes[tagged].sum(axis=0) / np.sqrt(len(tagged)) for tagged in members.values()
        ]
        distinctions = np.reshape(sums, (len(members), self.space.n_events))
        return list(members), np.where(np.abs(distinctions) > SIGNIFICANT, distinctions, 0.0)

    def likes(self, event: int, n: int) -> list[Hashable]:
        """The n items or tags that the event likes most, in comparison."""
        return self._first(event, n, 1.0)

    def dislikes(self, event: int, n: int) -> list[Hashable]:
        """The n items or tags that it dislikes most."""
        return self._first(event, n, -1.0)

    def _first(self, event: int, n: int, sign: float) -> list[Hashable]:
        names, distinctions = self._distinctions
        value = sign * distinctions[:, event]
        best = np.argsort(-value, kind="stable")[:n]
        return [names[k] for k in best if value[k] > 0]

    @cached_property
    def labels(self) -> list[str]:
        """Breadth and taste of each event; events of one taste also say what tells them apart."""
        breadth = [_breadth_in_words(share) for share in self.space.breadth.tolist()]
        tastes = [self._taste(d) for d in range(self.space.n_events)]
        names = [taste or words for words, taste in zip(breadth, tastes, strict=True)]
        return [
            (f"{breadth[d]}: {taste}" if taste else breadth[d])
            + self._apart(d, [e for e, name in enumerate(names) if name == names[d] and e != d])
            for d, taste in enumerate(tastes)
        ]

    def _taste(self, event: int) -> str:
        """What it likes and dislikes in comparison; nothing for a leaning."""
        if not LEANING < self.space.breadth[event] < 1 - LEANING:
            return ""
        likes, dislikes = self.likes(event, LABELS[0]), self.dislikes(event, LABELS[1])
        parts = [", ".join(map(str, likes))] if likes else []
        parts += ["not " + ", ".join(map(str, dislikes))] if dislikes else []
        return "; ".join(parts)

    def _apart(self, event: int, alike: list[int]) -> str:
        """The best-known item that the event has and those like it lack, or the other way round."""
        if not alike:
            return ""
        inside, ratings = unpack(self.space.sets, self.space.n_events), self.space.ratings
        sides = (("with", True), ("without", False))
        for word, own in reversed(sides) if self.space.breadth[event] >= 1 - LEANING else sides:
            apart = (inside[:, event] == own) & (inside[:, alike] != own).all(axis=1)
            if (apart & (ratings > 0)).any():
                item = self.space.observations.item_ids[int(np.argmax(np.where(apart, ratings, 0)))]
                return f"; {word} {item}"
        return ""

    def table(self, n: int = 5) -> DataFrame:
        """One row per event: mass, how many items come true, breadth, label, n most telling."""
        space = self.space
        events = range(space.n_events)
        columns = {
            "event": np.arange(space.n_events),
            "mass": space.mass,
            "items": space.sizes,
            "breadth": space.breadth,
            "label": self.labels,
            "likes": [self.likes(d, n) for d in events],
            "dislikes": [self.dislikes(d, n) for d in events],
        }
        return data_frame(columns, space.observations.library)


def _breadth_in_words(share: float) -> str:
    if LEANING < share < 1 - LEANING:
        return f"{share:.0%} come true"
    nearly = "" if share in (0, 1) else "nearly "
    return f"{nearly}{'everything' if share > LEANING else 'nothing'} comes true"


def _tags_of(value: Any) -> list[Hashable]:
    """The tags in a value: text is split at "|", what is missing has none."""
    if isinstance(value, str):
        return [tag.strip() for tag in encoded(value).decode().split("|") if tag.strip()]
    if isinstance(value, Iterable):
        return [tag for part in value for tag in _tags_of(part)]
    return [] if missing(np.array([value], dtype=object))[0] else [value]


def _slopes_of_yes(seen: Observations, pmf: Floats) -> Floats:
    """The same where all other users say no: how far those who say yes have more of the event."""
    from scipy import sparse

    by_item = seen.by_item
    yes = sparse.csr_array(by_item[2::-1], shape=(seen.n_items, seen.n_users))
    n = np.asarray(yes.sum(axis=1))[:, None]
    spread = np.sqrt(n * np.maximum(1 - n / seen.n_users, 0.0) * pmf.var(axis=0))
    above = yes @ pmf - n * pmf.mean(axis=0)
    return np.asarray(np.divide(above, spread, out=np.zeros_like(above), where=spread > 1e-9))


@njit(cache=True, nogil=True)
def _slopes(ptr: Any, users: Any, deviation: Any, pmf: Any, slopes: Any) -> None:
    n_events = pmf.shape[1]
    variance = 0.0
    for k in range(deviation.size):
        variance += deviation[k] * deviation[k] / deviation.size
    mass, square, product = np.empty(n_events), np.empty(n_events), np.empty(n_events)
    for i in range(ptr.size - 1):
        n, total = ptr[i + 1] - ptr[i], 0.0
        for d in range(n_events):
            mass[d] = square[d] = product[d] = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            total += deviation[k]
            for d in range(n_events):
                theta = pmf[users[k], d]
                mass[d] += theta
                square[d] += theta * theta
                product[d] += theta * deviation[k]
        for d in range(n_events):
            spread = (square[d] - mass[d] * mass[d] / max(n, 1)) * variance
            if spread > 1e-12:
                slopes[i, d] = (product[d] - mass[d] * total / n) / np.sqrt(spread)
