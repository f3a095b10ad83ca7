"""Rules with several conditions, "A and B, but not C", where each condition adds clearly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from eventspace._base.types import Codes, Positions
from eventspace.rules.law import AT_LARGE, Law, NextUser, joint
from eventspace.rules.likes import Likes
from eventspace.rules.mining import COUNTS, RULE, Rules

TRIED = 4  # further conditions of each sign that are counted, the most promising by the model
SHARE = 0.02  # of users must be expected to meet the conditions


class Condition(NamedTuple):
    """That an item is liked, or that it is not."""

    item: int
    liked: bool


Conditions = tuple[Condition, ...]
Counts = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Compounds:
    """Rules whose conditions are known by numbers beyond those of the items."""

    rules: Rules
    conditions: list[Conditions]


def raters_of_all(likes: Likes, items: Sequence[int]) -> NDArray[Any]:
    """The facts of each of some items over the users who rated all: items x users x facts."""
    users = reduce(np.intersect1d, (likes.raters(item)[0] for item in items))
    found = []
    for item in items:
        own = likes.item_ptr[item] + np.searchsorted(likes.raters(item)[0], users)
        found.append(likes.item_facts[own].astype(np.float64))
    return np.array(found)


def count(likes: Likes, conditions: Conditions, then: int) -> Counts:
    """Of the users who rated all the items: how many there are, and how many like what."""
    facts = raters_of_all(likes, [condition.item for condition in conditions] + [then])
    met, liked = _met(facts[:-1, :, 1], conditions), facts[-1, :, 1]
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

    def extended(self, parents: Rules, n_conditions: int) -> Compounds:
        """What is found by adding conditions to rules, one after another."""
        n_items = self.next_user.likes.n_items
        starts = [
            ((Condition(int(rule["if_item"]), True),), int(rule["then_item"])) for rule in parents
        ]
        found: dict[tuple[frozenset[Condition], int], tuple[Conditions, int, Law, Any]] = {}
        for _ in range(n_conditions - 1):
            longer = [one for start in starts for one in self._best_extension(*start)]
            for one in longer:
                found.setdefault((frozenset(one[0]), one[1]), one)
            starts = [(conditions, then) for conditions, then, _, _ in longer]
        rules = np.zeros(len(found), RULE)
        for k, (_, then, law, counts) in enumerate(found.values()):
            rules[k]["if_item"], rules[k]["then_item"] = n_items + k, then
            for name, number in zip((*COUNTS, *Law._fields), (*counts, *law), strict=True):
                rules[k][name] = number
        rules["agreement"] = rules["agreement_gain"] = np.nan
        return Compounds(rules, [conditions for conditions, *_ in found.values()])

    def _best_extension(self, conditions: Conditions, then: int) -> list[Any]:
        """The condition that adds most, if any adds clearly to all the shorter rules."""
        best: list[Any] = []
        for condition in self._promising(conditions, then):
            longer = (*conditions, condition)
            law, counts = self._law(longer, then)
            if counts[3] < self.min_evidence or counts[3] * counts[0] <= counts[1] * counts[2]:
                continue
            if best and law.gain_low <= best[0][2].gain_low:
                continue
            shorter = (longer[:k] + longer[k + 1 :] for k in reversed(range(len(longer))))
            if all(law.gain_low > self._law(less, then)[0].gain for less in shorter):
                best = [(longer, then, law, counts)]
        return best

    def _promising(self, conditions: Conditions, then: int) -> list[Condition]:
        """Further conditions with which the model finds the consequent likelier, the best first."""
        next_user, listed = self.next_user, self.listed
        at_large = next_user.at_large
        met = _met(at_large[[c.item for c in conditions]], conditions)
        both = at_large[listed] @ (met * at_large[then])
        one = at_large[listed] @ met
        before = float(met @ at_large[then] / met.sum())
        used = np.isin(listed, [then, *(c.item for c in conditions)])
        found = []
        for liked in (True, False):
            n, n_both = (one, both) if liked else (met.sum() - one, met @ at_large[then] - both)
            score = (n_both / n - before) * np.sqrt(n)
            score[used | (n < SHARE * at_large.shape[1])] = 0.0
            first = np.argsort(-score, kind="stable")[:TRIED]
            found += [Condition(int(listed[k]), liked) for k in first if score[k] > 0]
        return found

    def _law(self, conditions: Conditions, then: int) -> tuple[Law, Counts]:
        """The law of the next user who meets all the items, and the counts."""
        items = [condition.item for condition in conditions] + [then]
        next_user = self.next_user
        facts = raters_of_all(next_user.likes, items)
        n = facts.shape[1]
        chances = np.hstack([facts[:, :, 2], next_user.at_large[items]])
        chances = expit(logit(chances) + next_user.offset[items][:, None])
        weight = np.ones(chances.shape[1])
        weight[n:] = AT_LARGE / (chances.shape[1] - n)
        weight /= weight.sum()
        met = _met(chances[:-1], conditions)
        p, q, both = (np.atleast_1d(weight @ c) for c in (met, chances[-1], met * chances[-1]))
        odds = both * (1 - p - q + both) / ((p - both) * (q - both))
        counts = count(next_user.likes, conditions, then)
        law = next_user.dirichlet(joint(p, q, odds), p, q, *counts)
        return Law(*(part[0] for part in law)), counts
