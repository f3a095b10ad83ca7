"""Rules: users who like one item also like another, by the sets; and the evidence in the data.

If the set of j lies inside the set of i, then X_j = 1 implies X_i = 1 for every user: the rule
"if j then i". (The paper states the converse: ``convention="paper"`` restates the rules so.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import inside, masses, sizes
from eventspace._base.jit import njit
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.frames import DataFrame, data_frame
from eventspace.logic.inclusion import Classes
from eventspace.logic.space import Space
from eventspace.rules.evidence import Evidence
from eventspace.rules.measures import evidence_measures, log_chance, model_measures, surprise

CONVENTIONS = ("model", "paper")
SORTS = ("surprise", "lift", "leverage", "confidence", "support", "correlation", "stability")
IMPLIES, EQUIVALENT, SOFT = range(3)
POOL = 10_000  # rules held beyond those that are wanted, before the last are let go


COUNTS = ("both", "le", "ge", "like", "like_other", "like_both")  # of a Comparison
# A rule: positions of the items, what is needed to rank it, and the counts of the data
RULE = np.dtype(
    [
        ("if_item", np.int64),
        ("then_item", np.int64),
        ("kind", np.int64),
        ("support", np.float64),
        ("correlation", np.float64),
        ("log_chance", np.float64),
        ("stability", np.float64),
        ("surprise", np.float64),
        *((name, np.int64) for name in COUNTS),
    ]
)
Rules = np.ndarray[tuple[int], np.dtype[np.void]]  # of RULEs


@dataclass(frozen=True, eq=False)
class Miner:
    """Finds the rules of a space, from one class of equivalent items after another."""

    space: Space
    evidence: Evidence
    restarts: list[Codes]  # the items' sets in other fits
    sort: str
    min_evidence: int
    min_support: float
    min_confidence: float
    fold: bool
    items: NDArray[np.bool_] | None = None  # those that may take part, if not all

    @cached_property
    def _listed(self) -> NDArray[np.bool_]:
        """The items that take part: the users of a pair are at most the raters of either."""
        enough = self.space.ratings >= self.min_evidence
        return enough if self.items is None else enough & self.items

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return sizes(self.space.sets)

    @cached_property
    def _classes(self) -> Classes:
        return Classes(self.space.sets)

    @property
    def classes(self) -> Iterator[Positions]:
        """The items that take part, those with the same set together."""
        ptr, items = self._classes.members
        for c in range(len(self._classes)):
            members = items[ptr[c] : ptr[c + 1]]
            yield members[self._listed[members]]

    @property
    def n_classes(self) -> int:
        """How many sets the items have."""
        return len(self._classes)

    def of_class(self, members: Positions) -> Iterator[Rules]:
        """The rules from the items of a class; folded, those that say something of their own.

        These are one for each class of consequents, if no third listed one lies between, and the
        first of those among the members.
        """
        if not members.size:
            return
        partners = self._partners(int(members[0]))
        held = np.zeros(0, RULE)
        for item in members.tolist():
            rules = self._ranked(self._from(item, *partners))
            if not self.fold:
                yield rules
                continue
            # of two equivalent items, the one with the lower ratings is to imply the other
            rules = rules[(rules["kind"] != EQUIVALENT) | (rules["le"] >= rules["ge"])]
            held = np.concatenate([held, rules])
            if len(held) > POOL:
                held = self._firsts(held, "then_item")
        if self.fold:
            yield self._least(self._firsts(held, "then_item"), "then_item")

    def of_item(self, item: int) -> Rules:
        """The rules from an item and those to it, with all of its equivalents."""
        above = self._ranked(self._from(item, *self._partners(item)))
        below = self._from(item, *self._partners(item, swapped=True), swapped=True)
        below = self._ranked(below)
        if self.fold:
            equal = above[above["kind"] == EQUIVALENT]
            above, below = (part[part["kind"] != EQUIVALENT] for part in (above, below))
            above = self._least(self._firsts(above, "then_item"), "then_item")
            below = self._least(self._firsts(below, "if_item"), "if_item")
            above = np.concatenate([equal, above])
        return np.concatenate([above, below])

    def order(self, rules: Rules) -> Positions:
        """The rules from the first to the last: by what they are sorted by, then by evidence."""
        measures = {name: rules[name] for name in ("surprise", "correlation", "stability")}
        value = (measures | self.measures(rules))[self.sort]
        return np.lexsort((rules["then_item"], rules["if_item"], -rules["both"], -value))

    def measures(self, rules: Rules) -> dict[str, Floats]:
        """The rules under the joint law."""
        p = self.space.probability
        p_if, p_then = p[rules["if_item"]], p[rules["then_item"]]
        return model_measures(p_if, p_then, rules["support"], rules["kind"] != SOFT)

    def _partners(
        self, item: int, *, swapped: bool = False
    ) -> tuple[Positions, Floats, NDArray[np.bool_]]:
        """The items that a rule from an item (swapped: to it) may lead to (come from).

        With the probability of both together, and whether the one set lies inside the other.
        """
        sets, here, probability = self.space.sets, self.space.sets[item], self.space.probability
        included = inside(sets, here) if swapped else inside(here, sets)
        least = max(self.min_support, np.finfo(np.float64).tiny)
        if self.min_confidence == 1:
            listed = np.flatnonzero(included & self._listed)
            support = probability[listed] if swapped else np.full(len(listed), probability[item])
        else:
            listed = np.flatnonzero(self._listed)
            support = masses(sets[listed] & here, self.space.mass)
            lower = probability[listed] if swapped else probability[item]
            sure = included[listed] | (support >= self.min_confidence * lower)
            listed, support = listed[sure], support[sure]
        enough = support >= least
        return listed[enough], support[enough], included[listed[enough]]

    def _from(
        self,
        item: int,
        others: Positions,
        support: Floats,
        included: NDArray[np.bool_],
        *,
        swapped: bool = False,
    ) -> Rules:
        """The rules from an item to its partners (swapped: from them), to be ranked yet."""
        compared = self.evidence.compare(item, others)
        if swapped:
            compared = compared.swapped()
        rules = np.zeros(len(others), RULE)
        rules["if_item"], rules["then_item"] = (others, item) if swapped else (item, others)
        for name in COUNTS:
            rules[name] = getattr(compared, name)
        rules["correlation"] = compared.correlation
        equal = included & (self._sizes[others] == self._sizes[item])
        rules["kind"] = np.where(equal, EQUIVALENT, np.where(included, IMPLIES, SOFT))
        rules["support"] = support
        listed = (compared.both >= self.min_evidence) & (others != item)
        return np.asarray(rules[listed])

    def _ranked(self, rules: Rules) -> Rules:
        """The rules with what they are ranked by."""
        lower, upper = rules["if_item"], rules["then_item"]
        rules["log_chance"] = log_chance(
            int(sizes(self.space.occurring)),
            self._sizes[lower],
            self._sizes[upper],
            sizes(self.space.sets[lower] & self.space.sets[upper]),
        )
        rules["stability"] = self._stability(rules)
        rules["surprise"] = surprise(
            rules["log_chance"], rules["correlation"], rules["both"], rules["stability"]
        )
        return rules

    def _stability(self, rules: Rules) -> Floats:
        """The share of other fits in which a rule, or an equivalence, holds; NaN without any."""
        if not self.restarts:
            return np.full(len(rules), np.nan)
        lower, upper, equal = rules["if_item"], rules["then_item"], rules["kind"] == EQUIVALENT
        held = [
            inside(sets[lower], sets[upper])
            & (inside(sets[upper], sets[lower]) | ~equal)
            & sets[lower].any(axis=1)
            for sets in self.restarts
        ]
        return np.asarray(np.mean(held, axis=0))

    def _firsts(self, rules: Rules, side: str) -> Rules:
        """Of each kind, the first rule of each class of the items on a side."""
        rules = rules[self.order(rules)]
        keys = rules["kind"] * self.n_classes + self._classes.of_item[rules[side]]
        return np.asarray(rules[np.sort(np.unique(keys, return_index=True)[1])])

    def _least(self, rules: Rules, side: str) -> Rules:
        """The rules without implications that another one's class lies between."""
        sets = self.space.sets[rules[side]]
        proved = np.flatnonzero(rules["kind"] == IMPLIES)
        kept = rules["kind"] != IMPLIES
        kept[proved] = _minimal(sets[proved] if side == "then_item" else ~sets[proved])
        return np.asarray(rules[kept])


def best(blocks: Iterable[Rules], miner: Miner, top: int | None) -> Rules:
    """The first of all rules, holding few more than these at a time."""
    pool, held = [np.zeros(0, RULE)], 0
    for block in blocks:
        pool.append(block)
        held += len(block)
        if top is not None and held > 2 * top + POOL:
            rules = np.concatenate(pool)
            pool, held = [rules[miner.order(rules)[:top]]], top
    rules = np.concatenate(pool)
    return rules[miner.order(rules)[:top]]


def table(rules: Rules, miner: Miner, evidence: Evidence | None, convention: str) -> DataFrame:
    """Rules as a DataFrame of the caller's library, with evidence from another table if given."""
    library = miner.space.observations.library
    return data_frame(columns(rules, miner, evidence, convention), library)


def columns(
    rules: Rules, miner: Miner, evidence: Evidence | None, convention: str
) -> dict[str, NDArray[Any]]:
    """The columns of that table."""
    ids = miner.space.observations.item_ids
    if_item, then_item = rules["if_item"], rules["then_item"]
    counts = {name: rules[name] for name in COUNTS}
    if evidence is not None:
        counts = evidence.compare_pairs(if_item, then_item)._asdict()
    measures = miner.measures(rules)
    kinds = np.array(["implies", "equivalent", "soft"], dtype=object)
    if convention == "paper":  # the same inclusions, read the other way round
        if_item, then_item = then_item, if_item
        counts["le"], counts["like"], counts["like_other"] = (
            counts[name] for name in ("ge", "like_other", "like")
        )
        measures = model_measures(
            measures["consequent support"],
            measures["antecedent support"],
            measures["support"],
            rules["kind"] == EQUIVALENT,
        )
        kinds[IMPLIES] = "converse"
    found = {
        "if_item": ids.values[if_item],
        "then_item": ids.values[then_item],
        "kind": kinds[rules["kind"]],
        "surprise": rules["surprise"],
        **measures,
        **evidence_measures(counts),
        "correlation": rules["correlation"],
        "chance": 10 ** rules["log_chance"],
    }
    if miner.restarts:
        found["stability"] = rules["stability"]
    return found


def _minimal(codes: Codes) -> NDArray[np.bool_]:
    """Which of some distinct sets contain no other of them."""
    order = np.argsort(sizes(codes), kind="stable")
    minimal = np.zeros(len(codes), dtype=np.bool_)
    minimal[order] = _first_of_chains(np.ascontiguousarray(codes[order]))
    return minimal


@njit(cache=True, nogil=True)
def _first_of_chains(codes: Any) -> Any:
    """Of sets by their size, those that contain none before them."""
    minimal = np.zeros(codes.shape[0], np.bool_)
    for i in range(codes.shape[0]):
        alone = True
        for j in range(i):
            if not minimal[j]:
                continue
            inside = True
            for w in range(codes.shape[1]):
                if codes[j, w] & ~codes[i, w]:
                    inside = False
                    break
            if inside:
                alone = False
                break
        minimal[i] = alone
    return minimal
