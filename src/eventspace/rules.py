"""Rules: whoever likes one item likes another, because the sets say so; and what data say of it.

If the set of j lies inside the set of i, then X_j = 1 implies X_i = 1 for every user: the rule
"if j then i". (The paper states the converse: ``convention="paper"`` restates the rules so.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from eventspace.codes import Codes, unpack
from eventspace.evidence import Agreement, Counts, Evidence
from eventspace.inclusion import Classes
from eventspace.measures import evidence_measures, log_chance, model_measures, surprise
from eventspace.space import Space
from eventspace.tables.frames import data_frame

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

CONVENTIONS = ("model", "paper")
SORTS = ("surprise", "lift", "leverage", "confidence", "support", "correlation")
KINDS = np.array(["implies", "equivalent", "soft"], dtype=object)
IMPLIES, EQUIVALENT, SOFT = range(3)
POOL = 10_000  # rules held beyond those that are wanted, before the last are let go


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
        *((name, np.int64) for name in Counts._fields),
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

    @cached_property
    def _agreement(self) -> Agreement:
        return Agreement(self.space.observations)

    @cached_property
    def probability(self) -> Floats:
        """The population's probability of each item."""
        return unpack(self.space.sets, self.space.n_events) @ self.space.mass

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.asarray(np.bitwise_count(self.space.sets).sum(axis=1, dtype=np.int64))

    @cached_property
    def classes(self) -> list[Positions]:
        """The rated items, those with the same set together."""
        rated = np.flatnonzero(self.space.ratings)
        ptr, members = Classes(self.space.sets[rated]).members
        return [rated[members[ptr[c] : ptr[c + 1]]] for c in range(len(ptr) - 1)]

    def of_class(self, members: Positions) -> Rules:
        """The rules from the items of a class; folded, those that say something of their own.

        These are one for each class of consequents, of which none follows from two others, and
        for each item the one with the closest of its equivalents.
        """
        rules = self._ranked(np.concatenate([self._from(int(item)) for item in members]))
        return self._folded(rules, "then_item") if self.fold else rules

    def of_item(self, item: int) -> Rules:
        """The rules from an item and those to it."""
        above, below = self._ranked(self._from(item)), self._ranked(self._from(item, swapped=True))
        if self.fold:
            above = self._folded(above, "then_item")
            below = self._folded(below[below["kind"] != EQUIVALENT], "if_item")  # above has these
        return np.concatenate([above, below])

    def order(self, rules: Rules) -> Positions:
        """The rules from the first to the last: by what they are sorted by, then by evidence."""
        measures = {name: rules[name] for name in ("surprise", "correlation")}
        value = (measures | self.measures(rules))[self.sort]
        return np.lexsort((rules["then_item"], rules["if_item"], -rules["both"], -value))

    def measures(self, rules: Rules) -> dict[str, Floats]:
        """The rules under the joint law."""
        p_if, p_then = self.probability[rules["if_item"]], self.probability[rules["then_item"]]
        return model_measures(p_if, p_then, rules["support"], rules["kind"] != SOFT)

    def _from(self, item: int, *, swapped: bool = False) -> Rules:
        """All rules from an item to others, or (swapped) from others to it, to be ranked yet."""
        others, counts = self.evidence.counts(item)
        sets, here = self.space.sets[others], self.space.sets[item]
        included = ~((sets & ~here) if swapped else (here & ~sets)).any(axis=1)
        listed = counts.both >= self.min_evidence
        if self.min_confidence == 1:
            listed &= included
        others, sets, included = others[listed], sets[listed], included[listed]
        rules = np.zeros(len(others), RULE)
        rules["if_item"], rules["then_item"] = (others, item) if swapped else (item, others)
        counts = counts.swapped() if swapped else counts
        for name, count in counts._asdict().items():
            rules[name] = count[listed]
        equal = included & (self._sizes[others] == self._sizes[item])
        rules["kind"] = np.where(equal, EQUIVALENT, np.where(included, IMPLIES, SOFT))
        rules["support"] = unpack(sets & here, self.space.n_events) @ self.space.mass
        enough = (rules["support"] > 0) & (rules["support"] >= self.min_support)
        enough &= included | (self.measures(rules)["confidence"] >= self.min_confidence)
        rules = rules[enough]
        rules["correlation"] = self._agreement.correlation(item, others[enough])
        return rules

    def _ranked(self, rules: Rules) -> Rules:
        """The rules with what they are ranked by."""
        lower, upper = rules["if_item"], rules["then_item"]
        common = np.bitwise_count(self.space.sets[lower] & self.space.sets[upper])
        rules["log_chance"] = log_chance(
            int(np.bitwise_count(self.space.occurring).sum()),
            self._sizes[lower],
            self._sizes[upper],
            common.sum(axis=1, dtype=np.int64),
        )
        rules["stability"] = self._stability(lower, upper)
        rules["surprise"] = surprise(
            rules["log_chance"], rules["correlation"], rules["both"], rules["stability"]
        )
        return rules

    def _stability(self, lower: Positions, upper: Positions) -> Floats:
        """In what part of the other fits the inclusion holds; NaN where there are none."""
        if not self.restarts:
            return np.full(len(lower), np.nan)
        held = [~(sets[lower] & ~sets[upper]).any(axis=1) for sets in self.restarts]
        return np.asarray(np.mean(held, axis=0))

    def _folded(self, rules: Rules, side: str) -> Rules:
        """The best rule of each class of the items on a side, if no third class lies between."""
        rules = rules[self.order(rules)]
        sets = self.space.sets[rules[side]]
        kept = np.zeros(len(rules), dtype=np.bool_)
        equal = np.flatnonzero(rules["kind"] == EQUIVALENT)
        kept[equal[_closest_pairs(rules[equal])]] = True
        for kind in (IMPLIES, SOFT):
            rows = np.flatnonzero(rules["kind"] == kind)
            rows = rows[np.unique(sets[rows], axis=0, return_index=True)[1]]
            if kind == IMPLIES:
                rows = rows[_minimal(sets[rows] if side == "then_item" else ~sets[rows])]
            kept[rows] = True
        return rules[kept]


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


def _closest_pairs(rules: Rules) -> Positions:
    """Of equivalences in their order, the first from each item, and each pair once."""
    rows = np.sort(np.unique(rules["if_item"], return_index=True)[1])
    pairs = np.sort(np.column_stack([rules["if_item"][rows], rules["then_item"][rows]]), axis=1)
    return rows[np.unique(pairs, axis=0, return_index=True)[1]]


def table(rules: Rules, miner: Miner, evidence: Evidence | None, convention: str) -> Any:
    """Rules as a DataFrame of the caller's library, with evidence from another table if given."""
    space = miner.space
    ids = space.observations.item_ids
    if_item, then_item = rules["if_item"], rules["then_item"]
    counts = Counts(*(rules[name] for name in Counts._fields))
    if evidence is not None:
        counts = evidence.counts_of_pairs(if_item, then_item)
    measures = miner.measures(rules)
    if convention == "paper":  # the same inclusions, read the other way round
        if_item, then_item, counts = then_item, if_item, counts.swapped()
        measures = model_measures(
            measures["consequent support"],
            measures["antecedent support"],
            measures["support"],
            rules["kind"] == EQUIVALENT,
        )
    columns = {
        "if_item": ids.values[if_item],
        "then_item": ids.values[then_item],
        "kind": KINDS[rules["kind"]],
        "surprise": rules["surprise"],
        **measures,
        **evidence_measures(counts),
        "correlation": rules["correlation"],
        "chance": 10 ** rules["log_chance"],
    }
    if miner.restarts:
        columns["stability"] = rules["stability"]
    return data_frame(columns, space.observations.library)


def _minimal(codes: Codes) -> NDArray[np.bool_]:
    """Which of some distinct sets contain no other of them."""
    sizes = np.bitwise_count(codes).sum(axis=1, dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
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
