"""Rules with several conditions, "A and B, but not C", where each condition adds clearly.

All that is compared is compared among the same users, those who rated all the items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from eventspace._base.cached import cached_property
from eventspace._base.types import Codes, Floats, Positions
from eventspace.rules.law import AT_LARGE, Law, NextUser
from eventspace.rules.likes import Likes
from eventspace.rules.mining import COUNTS, RULE, Rules

TRIED = 4  # further conditions of each sign that are counted, the most promising by the model
SHARE = 0.02  # of users must be expected to meet the conditions
CLEARLY = 2.5  # standard deviations by which a condition adds: the best of eight are tried


class Condition(NamedTuple):
    """That an item is liked, or that it is not."""

    item: int
    liked: bool


Conditions = tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Compounds:
    """Rules whose conditions are known by numbers beyond those of the items."""

    rules: Rules
    conditions: list[Conditions]


class Found(NamedTuple):
    """A rule with several conditions."""

    conditions: Conditions
    then: int
    law: Law
    counts: tuple[float, ...]


def raters_of_all(likes: Likes, items: Sequence[int]) -> NDArray[Any]:
    """The facts of each of some items over the users who rated all: items x users x facts."""
    raters = [likes.raters(item) for item in items]
    users = reduce(np.intersect1d, (who for who, _ in raters))
    found = [facts[np.searchsorted(who, users)].astype(np.float64) for who, facts in raters]
    return np.array(found)


def count(likes: Likes, conditions: Conditions, then: int) -> tuple[float, ...]:
    """Of the users who rated all the items: how many there are, and how many like what."""
    facts = raters_of_all(likes, [*(condition.item for condition in conditions), then])
    return _counts(_met(facts[:-1, :, 1], conditions), facts[-1, :, 1])


def _counts(met: Floats, liked: Floats) -> tuple[float, ...]:
    return float(len(liked)), float(met.sum()), float(liked.sum()), float(met @ liked)


def code_of(sets: Codes, conditions: Conditions) -> Codes:
    """The events in which all conditions hold; the first is that an item is liked."""
    held = (sets[item] if liked else ~sets[item] for item, liked in conditions)
    return np.asarray(reduce(np.bitwise_and, held))


def _met(chances: NDArray[Any], conditions: Conditions) -> NDArray[Any]:
    """The chance that all conditions hold, from those of likes: conditions x users."""
    signed = [row if c.liked else 1 - row for row, c in zip(chances, conditions, strict=True)]
    return np.asarray(np.prod(signed, axis=0))


@dataclass(frozen=True, eq=False)
class Extender:
    """Adds conditions to rules."""

    next_user: NextUser
    listed: Positions  # the items that may be conditions
    min_evidence: int

    def extended(
        self, parents: Rules, n_conditions: int, watched: Callable[[int], None]
    ) -> Compounds:
        """What is found by adding conditions to rules, one after another."""
        n_items = self.next_user.likes.n_items
        starts: list[tuple[Conditions, int]] = [
            ((Condition(int(rule["if_item"]), True),), int(rule["then_item"])) for rule in parents
        ]
        found: dict[tuple[frozenset[Condition], int], Found] = {}
        done = 0
        for _ in range(n_conditions - 1):
            longer = []
            for start in starts:
                longer += self._best_extension(*start)
                watched(done := done + 1)
            for one in longer:
                found.setdefault((frozenset(one.conditions), one.then), one)
            starts = [(one.conditions, one.then) for one in longer]
        rules = np.zeros(len(found), RULE)
        for k, one in enumerate(found.values()):
            rules[k]["if_item"], rules[k]["then_item"] = n_items + k, one.then
            for name, number in zip((*COUNTS, *Law._fields), (*one.counts, *one.law), strict=True):
                rules[k][name] = number
        rules["agreement"] = rules["agreement_gain"] = np.nan
        return Compounds(rules, [one.conditions for one in found.values()])

    def _best_extension(self, conditions: Conditions, then: int) -> list[Found]:
        """The condition with which most is gained, if every condition adds clearly."""
        best: list[Found] = []
        for condition in self._promising(conditions, then):
            group = Raters.of(self.next_user, (*conditions, condition), then)
            counts = group.counts
            if counts[3] < self.min_evidence or counts[3] * counts[0] <= counts[1] * counts[2]:
                continue
            law = group.law()
            if best and law.gain_low <= best[0].law.gain_low:
                continue
            added = (group.added(k) for k in reversed(range(len(group.conditions))))
            if all(one.gain > CLEARLY * one.gain_error for one in added):
                best = [Found(group.conditions, then, law, counts)]
        return best

    @cached_property
    def _chances(self) -> NDArray[np.float32]:
        """Of the items that may be conditions, for the users at large."""
        return self.next_user.at_large[self.listed]

    def _promising(self, conditions: Conditions, then: int) -> list[Condition]:
        """Further conditions with which the model finds the consequent likelier, the best first."""
        at_large, listed = self.next_user.at_large, self.listed
        met = _met(at_large[[c.item for c in conditions]], conditions)
        met_and_like = met * at_large[then]
        one, both = (self._chances @ np.column_stack([met, met_and_like])).T
        before = float(met_and_like.sum() / met.sum())
        used = np.isin(listed, [then, *(c.item for c in conditions)])
        found = []
        for liked in (True, False):
            n, n_both = (one, both) if liked else (met.sum() - one, met_and_like.sum() - both)
            score = (n_both / np.maximum(n, 1e-9) - before) * np.sqrt(np.maximum(n, 0.0))
            score[used | (n < SHARE * at_large.shape[1])] = 0.0
            first = np.argsort(-score, kind="stable")[:TRIED]
            found += [Condition(int(listed[k]), liked) for k in first if score[k] > 0]
        return found


@dataclass(frozen=True, eq=False)
class Raters:
    """The users who rated all items of a rule: what they like, and what the model expects."""

    next_user: NextUser
    conditions: Conditions
    likes: Floats  # items x users, the consequent last: 1 or 0
    chances: Floats  # items x users: these users, and those at large
    weight: Floats  # of the latter

    @classmethod
    def of(cls, next_user: NextUser, conditions: Conditions, then: int) -> Raters:
        """Those of a rule."""
        items = [*(condition.item for condition in conditions), then]
        facts = raters_of_all(next_user.likes, items)
        n = facts.shape[1]
        chances = np.hstack([facts[:, :, 2], next_user.at_large[items]])
        chances = expit(logit(chances) + next_user.offset[items][:, None])
        weight = np.ones(chances.shape[1])
        weight[n:] = AT_LARGE / (chances.shape[1] - n)
        return cls(next_user, conditions, facts[:, :, 1], chances, weight / weight.sum())

    @property
    def counts(self) -> tuple[float, ...]:
        """How many there are, and how many like what."""
        return _counts(_met(self.likes[:-1], self.conditions), self.likes[-1])

    def law(self) -> Law:
        """The law of the next user who meets all the items: all conditions, and the consequent."""
        ones = np.ones(self.likes.shape[1]), np.ones(len(self.weight))
        met = (_met(part[:-1], self.conditions) for part in (self.likes, self.chances))
        return self._law_among(*ones, *met)

    def added(self, k: int) -> Law:
        """The law of one condition and the consequent, among those who meet the other conditions.

        Its gain is what the condition adds to the confidence of the shorter rule.
        """
        rest = [m for m in range(len(self.conditions)) if m != k]
        others = tuple(self.conditions[m] for m in rest)
        among = (_met(part[rest], others) for part in (self.likes, self.chances))
        one = (_met(part[[k]], self.conditions[k : k + 1]) for part in (self.likes, self.chances))
        return self._law_among(*among, *one)

    def _law_among(self, counted: Floats, among: Floats, holds: Floats, chance: Floats) -> Law:
        """The law of a condition and the consequent, among some: as counted, and as expected."""
        weight = self.weight * among
        share, liked = weight.sum(), self.chances[-1]
        weight = weight / share
        both = np.atleast_1d(weight @ (chance * liked))
        p, q = (np.atleast_1d(weight @ c) for c in (chance, liked))
        holds = counted * holds
        counts = counted.sum(), holds.sum(), counted @ self.likes[-1], holds @ self.likes[-1]
        law = self.next_user.dirichlet(both, p, q, *counts, share=float(share))
        return Law(*(part[0] for part in law))
