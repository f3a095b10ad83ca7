"""Rules: "of those who like one item, so many like another; of all, so many"."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.codes import inside
from eventspace._base.types import Codes, Floats, Positions
from eventspace.logic.space import Space
from eventspace.rules.law import Law, NextUser
from eventspace.rules.pairs import Sums, Workspace, compare

SORTS = ("gain", "gain_low", "confidence", "lift", "support", "agreement_gain", "inclusion")
IMPLIES, EQUIVALENT, SOFT = range(3)
KINDS = ("implies", "equivalent", "soft")
BLOCK = 16  # items whose rules a thread looks for at a time
POOL = 10_000  # rules held beyond those that are wanted, before the last are let go
NAMED = 0.95  # what a rule is worth for each of its items that a list has named before

COUNTS = Sums._fields[:4]
RULE = np.dtype(
    [
        ("if_item", np.int64),
        ("then_item", np.int64),
        *((name, np.int64) for name in COUNTS),
        *((name, np.float64) for name in Law._fields),
        ("agreement", np.float64),
        ("agreement_gain", np.float64),
        ("sorted_by", np.float64),
    ]
)
Rules = np.ndarray[tuple[int], np.dtype[np.void]]  # of RULEs


@dataclass(frozen=True, eq=False)
class Inclusions:
    """Which sets lie inside which: in the readable model, and in other fits or draws."""

    space: Space  # of the readable model
    sets: Codes  # the items' sets there; after them, those of compound conditions
    others: list[Codes]  # the same in other fits

    @classmethod
    def of(cls, space: Space, others: list[Codes]) -> Inclusions:
        """Those of the items."""
        return cls(space, space.sets, others)

    def with_compounds(self, code: Callable[[Codes], list[Codes]]) -> Inclusions:
        """With the sets of compound conditions, which follow from the items'."""
        sets, *others = (np.vstack([sets, *code(sets)]) for sets in (self.sets, *self.others))
        return Inclusions(self.space, sets, others)

    def kinds(self, if_item: Any, then_item: Any) -> NDArray[np.int64]:
        """What the readable model proves of pairs; items that never come true prove nothing."""
        lower, upper = self.sets[if_item], self.sets[then_item]
        proved = inside(lower, upper) & lower.any(axis=-1)
        return np.where(proved, np.where(inside(upper, lower), EQUIVALENT, IMPLIES), SOFT)

    def share(self, if_item: Positions, then_item: Positions) -> Floats:
        """In what share of the other fits the one set lies inside the other; NaN without any."""
        if not self.others:
            return np.full(len(if_item), np.nan)
        held = [
            inside(sets[if_item], sets[then_item]) & sets[if_item].any(axis=1)
            for sets in self.others
        ]
        return np.asarray(np.mean(held, axis=0))


@dataclass(frozen=True, eq=False)
class Miner:
    """Finds the rules between items of which enough is known together."""

    next_user: NextUser
    inclusions: Inclusions
    sort: str
    min_evidence: int
    proved: bool  # only what the readable model proves
    fold: bool
    n_threads: int
    items: NDArray[np.bool_] | None = None  # those that may take part, if not all

    @cached_property
    def listed(self) -> Positions:
        """The items that take part: no pair has more evidence than either of its items."""
        likes = self.next_user.likes
        raters = np.diff(likes.item_ptr)
        known = raters if self._of_agreement else likes.totals[:, 1]
        enough = (raters > 0) & (known >= self.min_evidence)
        return np.flatnonzero(enough if self.items is None else enough & self.items)

    @property
    def _of_agreement(self) -> bool:
        """Whether all who rated both are evidence, and not only those who like both."""
        return self.sort == "agreement_gain"

    @property
    def n_blocks(self) -> int:
        """How many blocks of rules there are."""
        return -(-len(self.listed) // BLOCK)

    def blocks(self) -> Iterator[Rules]:
        """All rules, those of some items at a time with the items after them."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            starts = iter(range(0, len(self.listed), BLOCK))
            ahead = [pool.submit(self._block, k) for k in islice(starts, 2 * self.n_threads)]
            while ahead:
                yield ahead.pop(0).result()
                ahead.extend(pool.submit(self._block, k) for k in islice(starts, 1))

    def _block(self, start: int) -> Rules:
        room = Workspace(self.next_user.likes.n_items)
        room.wanted[self.listed[start:]] = True
        found = []
        for item in self.listed[start : start + BLOCK].tolist():
            room.wanted[item] = False
            found.append(self._of_pairs(item, room))
        return np.concatenate(found)

    def of_item(self, item: int) -> Rules:
        """The rules from an item and to it."""
        room = Workspace(self.next_user.likes.n_items)
        room.wanted[self.listed] = True
        return self._of_pairs(item, room)

    def _of_pairs(self, item: int, room: Workspace) -> Rules:
        """The rules from an item to the others that are wanted, and back."""
        others, sums = compare(self.next_user.likes, item, room)
        evidence = sums.users if self._of_agreement else sums.like_both
        enough = evidence >= self.min_evidence
        others, sums = others[enough], Sums(*(part[enough] for part in sums))
        law = self.next_user.law(item, others, sums)
        agreement, beyond = self.next_user.agreement(item, others, sums)
        there = np.zeros(len(others), RULE)
        there["if_item"], there["then_item"] = item, others
        for names, values in ((COUNTS, sums), (Law._fields, law)):
            for name in names:
                there[name] = getattr(values, name)
        there["agreement"], there["agreement_gain"] = agreement, beyond
        back = swapped(there)
        there, back = self.sorted_by(there), self.sorted_by(back)
        told, told_back = self.told(there), self.told(back)
        if self.fold:  # of two directions the better one
            better = ~told_back | (there["sorted_by"] >= back["sorted_by"])
            told, told_back = told & better, told_back & ~(told & better)
        return np.concatenate([there[told], back[told_back]])

    def told(self, rules: Rules) -> NDArray[np.bool_]:
        """Which rules are listed: the proved, or those that gain and that the counts affirm."""
        if self.proved:
            kinds = self.inclusions.kinds(rules["if_item"], rules["then_item"])
            return np.asarray(kinds != SOFT)
        if self._of_agreement:
            return np.asarray(rules["agreement_gain"] > 0)
        affirmed = rules["like_both"] * rules["users"] > rules["like"] * rules["like_other"]
        return np.asarray(affirmed & (law_of(rules).gain_low > 0))

    def sorted_by(self, rules: Rules) -> Rules:
        """The rules with what they are sorted by."""
        rules["sorted_by"] = self._value(rules)
        return rules

    def _value(self, rules: Rules) -> Floats:
        """What rules are sorted by."""
        if self.sort == "agreement_gain":
            return np.asarray(rules["agreement_gain"])
        if self.sort == "inclusion":
            return self.inclusions.share(rules["if_item"], rules["then_item"])
        return np.asarray(getattr(law_of(rules), self.sort))


def swapped(rules: Rules) -> Rules:
    """The same pairs the other way round."""
    back = rules.copy()
    for one, other in (("if_item", "then_item"), ("like", "like_other")):
        back[one], back[other] = rules[other], rules[one]
    for name, parameter in law_of(rules).swapped()._asdict().items():
        back[name] = parameter
    back["agreement"], back["agreement_gain"] = 1 - rules["agreement"], -rules["agreement_gain"]
    return back


def law_of(rules: Rules) -> Law:
    """The law of each rule."""
    return Law(*(rules[name] for name in Law._fields))


def ordered(rules: Rules) -> Rules:
    """From the first to the last: by what they are sorted by, then by evidence."""
    ties = rules["then_item"], rules["if_item"], -rules["users"]
    return rules[np.lexsort((*ties, -rules["sorted_by"]))]


def best(
    blocks: Iterable[Rules],
    top: int | None,
    *,
    varied: bool,
    items_of: Callable[[int], tuple[int, ...]] = lambda item: (item,),
) -> Rules:
    """The first of all rules, holding at most twice those that may still be among them.

    In a varied list a rule counts a twentieth less for each of its sides that was named before;
    ``items_of`` are the items of a side. A list of all rules is not varied.
    """
    pool, held, most = [np.zeros(0, RULE)], 0, 0 if top is None else 2 * top + POOL
    for block in blocks:
        pool.append(block)
        held += len(block)
        if top is not None and held > most:
            rules = _possible(np.concatenate(pool), top, varied)
            pool, held, most = [rules], len(rules), 2 * (len(rules) + POOL)
    rules = ordered(np.concatenate(pool))
    if top is None or len(rules) <= 1:
        return rules
    return _varied(_possible(rules, top, varied), top, items_of) if varied else rules[:top]


def _possible(rules: Rules, top: int, varied: bool) -> Rules:
    """The rules that may be among the first of a list: no other is worth as much."""
    if len(rules) <= top:
        return rules
    value = rules["sorted_by"]
    last = np.partition(value, len(value) - top)[len(value) - top]
    return np.asarray(rules[value >= (min(last, last * NAMED**2) if varied else last)])


def _varied(rules: Rules, top: int, items_of: Callable[[int], tuple[int, ...]]) -> Rules:
    """The first rules of a list that prefers items not named before."""
    value = rules["sorted_by"].tolist()
    sides = [
        (items_of(one), items_of(other))
        for one, other in zip(rules["if_item"].tolist(), rules["then_item"].tolist(), strict=True)
    ]
    waiting = [(-v, k, 0) for k, v in enumerate(value)]
    heapq.heapify(waiting)
    named: set[int] = set()
    taken: list[int] = []
    while waiting and len(taken) < top:
        _, k, counted = heapq.heappop(waiting)
        again = sum(not named.isdisjoint(side) for side in sides[k])
        if again > counted and value[k] > 0:
            heapq.heappush(waiting, (-value[k] * NAMED**again, k, again))
            continue
        taken.append(k)
        named.update(*sides[k])
    return np.asarray(rules[taken])
