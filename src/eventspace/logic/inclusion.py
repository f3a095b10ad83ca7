"""Which sets lie inside which: the order of codes, counted and drawn without all pairs of items.

Items with the same set are one class, and only classes are compared. If few events tell them apart,
a table over all sets of these events answers; otherwise pairs of classes are compared. Events that
all of the sets have, or none, change nothing and are left aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.codes import WORD, unpack
from eventspace._base.jit import njit
from eventspace._base.types import Bits, Codes, Positions

TABLE_EVENTS = 20  # a table over the sets of more events than this is not made


class Classes:
    """The distinct codes, and the items that have each.

    A set comes before every other that contains it: by number of events, then by words.
    """

    def __init__(self, codes: Codes) -> None:
        distinct, found = _distinct(codes)
        ones = np.bitwise_count(distinct).sum(axis=1, dtype=np.int64)
        order = np.argsort(ones, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.codes: Codes = distinct[order]  # classes x words
        self.of_item: Positions = place[found]
        self.n_events: Positions = ones[order]

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def sizes(self) -> Positions:
        """How many items each class has."""
        return np.bincount(self.of_item, minlength=len(self))

    @cached_property
    def members(self) -> tuple[Positions, Positions]:
        """(ptr, items): class c has ``items[ptr[c] : ptr[c + 1]]``, in the order of the items."""
        ptr = np.concatenate([[0], np.cumsum(self.sizes)])
        return ptr, np.argsort(self.of_item, kind="stable")

    @cached_property
    def bits(self) -> Bits:
        """Classes x events, of the events that tell classes apart."""
        some = np.bitwise_or.reduce(self.codes, axis=0, initial=0)
        every = np.bitwise_and.reduce(self.codes, axis=0, initial=~np.uint64(0))
        n_bits = WORD * self.codes.shape[1]
        varying = unpack((some & ~every)[None, :], n_bits)[0]
        return unpack(self.codes, n_bits)[:, varying]


def influence(classes: Classes) -> NDArray[np.float64]:
    """The paper's beta: the part of the items that imply each item, itself not counted."""
    return (below(classes)[classes.of_item] - 1) / len(classes.of_item)


def below(classes: Classes) -> Positions:
    """How many items lie inside each class, its own among them.

    By a table in D 2^D / 2 additions, or by pairs of classes: the quicker by estimate.
    Sixteen pairs, compared several at a time, take as long as an addition.
    """
    n_events = classes.bits.shape[1]
    if n_events <= TABLE_EVENTS and 16 * (n_events << n_events) < len(classes) ** 2:
        return below_by_table(classes)
    return below_by_pairs(classes)


def covers(classes: Classes) -> tuple[Positions, Positions]:
    """The Hasse diagram (lower, upper): the pairs of classes with no third one in between, sorted.

    By walks through the lattice of sets, of at most a 2^a / 2 steps from a class that lacks a
    events, or by pairs of classes: the quicker by estimate. A step takes as long as two
    pairs.
    """
    n_events = classes.bits.shape[1]
    absent = n_events - classes.bits.sum(axis=1)
    if n_events <= TABLE_EVENTS and 2 * (absent << absent).sum() < len(classes) ** 2:
        return covers_by_walk(classes)
    return covers_by_pairs(classes)


def below_by_table(classes: Classes) -> Positions:
    """`below` by the sums over subsets of all the sets of the events that tell classes apart."""
    n_events = classes.bits.shape[1]
    at = _numbers(classes.bits)
    table = np.zeros(1 << n_events, dtype=np.int64)
    table[at] = classes.sizes
    for d in range(n_events):
        halves = table.reshape(-1, 2, 1 << d)
        halves[:, 1] += halves[:, 0]
    return table[at]


def below_by_pairs(classes: Classes) -> Positions:
    """`below` by comparing each class with all that come before it."""
    total: Positions = _sum_inside(np.ascontiguousarray(classes.codes.T), classes.sizes)
    return total


def covers_by_walk(classes: Classes) -> tuple[Positions, Positions]:
    """`covers` by adding events to each set, one at a time, until it is another class's."""
    n_events = classes.bits.shape[1]
    at = _numbers(classes.bits)
    class_of = np.full(1 << n_events, -1, dtype=np.int32)
    class_of[at] = np.arange(len(classes))
    inhabited = class_of >= 0  # a set that is a class's, or lies inside such a one
    for d in range(n_events):
        halves = inhabited.reshape(-1, 2, 1 << d)
        halves[:, 0] |= halves[:, 1]
    return _sorted_pairs(_walk(at, class_of, inhabited, n_events), len(classes))


def covers_by_pairs(classes: Classes) -> tuple[Positions, Positions]:
    """`covers` by comparing the classes that share an event."""
    found = [_least(*sharing, len(classes)) for sharing in _sharing(classes)]
    return _sorted_pairs(np.concatenate(found), len(classes))


def _distinct(codes: Codes) -> tuple[Codes, Positions]:
    if codes.shape[1] == 1:
        values, found = np.unique(codes[:, 0], return_inverse=True)
        return values[:, None], found
    return np.unique(codes, axis=0, return_inverse=True)


def _numbers(bits: Bits) -> Positions:
    """Each row as a number, event d being worth 2^d."""
    return bits @ (1 << np.arange(bits.shape[1], dtype=np.int64))


def _sorted_pairs(keys: Positions, n: int) -> tuple[Positions, Positions]:
    """Pairs (k // n, k % n) in order: the same whichever way they were found."""
    keys.sort()
    return keys // n, keys % n


def _sharing(classes: Classes) -> Iterator[tuple[Codes, Positions, Positions]]:
    """For each event the classes that have it (words x members, and which), and from which to look.

    These have no rarer event, so that whatever contains one of them is among the members. The
    empty set has the event that all have.
    """
    words = np.ascontiguousarray(classes.codes.T)
    by_rarity = classes.bits[:, np.argsort(classes.bits.sum(axis=0))]
    by_rarity = np.column_stack([by_rarity, np.ones(len(classes), dtype=np.bool_)])
    rarest = by_rarity.argmax(axis=1)
    for event in range(by_rarity.shape[1]):
        members = np.flatnonzero(by_rarity[:, event])
        yield words.take(members, axis=1), members, np.flatnonzero(rarest[members] == event)


@njit(cache=True, nogil=True)
def _sum_inside(words: Any, sizes: Any) -> Any:
    first = words[0]
    totals = np.empty(first.size, np.int64)
    for y in range(first.size):
        total = 0
        if len(words) == 1:  # without a branch: several at a time
            for x in range(y + 1):
                total += sizes[x] if first[x] & ~first[y] == 0 else 0
        else:
            for x in range(y + 1):
                if not first[x] & ~first[y] and _rest_is_inside(words, x, y):
                    total += sizes[x]
        totals[y] = total
    return totals


@njit(cache=True, nogil=True)
def _least(words: Any, members: Any, starts: Any, n_classes: int) -> Any:
    """Keys (lower * n_classes + upper) of the sets above each start that contain no other such."""
    first = words[0]
    above = np.empty(first.size, np.int64)  # what contains x; of these, the least go to the front
    least_first = np.empty(first.size, np.uint64)
    keys = np.empty(1024, np.int64)
    n = 0
    for x in starts:
        n_above, n_least = 0, 0
        for y in range(x + 1, first.size):
            above[n_above] = y
            n_above += first[x] & ~first[y] == 0  # no branch, which would be foretold badly
        for k in range(n_above):
            y = above[k]
            least = _rest_is_inside(words, x, y)
            for m in range(n_least):
                if not least_first[m] & ~first[y] and _rest_is_inside(words, above[m], y):
                    least = False
                    break
            if least:
                above[n_least], least_first[n_least] = y, first[y]
                n_least += 1
                keys = _with_room(keys, n)
                keys[n] = members[x] * n_classes + members[y]
                n += 1
    return keys[:n]


@njit(cache=True, nogil=True)
def _rest_is_inside(words: Any, x: int, y: int) -> bool:
    outside = np.uint64(0)
    for w in range(1, len(words)):  # none where all the events fit one word
        outside |= words[w, x] & ~words[w, y]
    return bool(outside == 0)


@njit(cache=True, nogil=True)
def _with_room(keys: Any, n: int) -> Any:
    if n < keys.size:
        return keys
    larger = np.empty(2 * n, np.int64)
    for k in range(n):
        larger[k] = keys[k]
    return larger


@njit(cache=True, nogil=True)
def _walk(sets: Any, class_of: Any, inhabited: Any, n_events: int) -> Any:
    """Keys (lower * classes + upper) of the covers.

    From x on, a set is open if no class lies above x and inside or on it. A set all of whose
    subsets with one event less are open is the next open one, or a cover.
    """
    ones = np.zeros(class_of.size, np.int8)
    for s in range(1, class_of.size):
        ones[s] = ones[s >> 1] + (s & 1)
    ways = np.zeros(class_of.size, np.int8)  # how many of these subsets are open
    seen = np.empty(class_of.size, np.int32)  # the sets with such
    todo = np.empty(class_of.size, np.int32)  # open sets
    keys = np.empty(1024, np.int64)
    n = 0
    for x in range(sets.size):
        todo[0] = sets[x]
        n_todo, n_seen = 1, 0
        while n_todo > 0:
            n_todo -= 1
            s = todo[n_todo]
            for d in range(n_events):
                t = s | (1 << d)
                if t == s or not inhabited[t]:
                    continue
                if ways[t] == 0:
                    seen[n_seen] = t
                    n_seen += 1
                ways[t] += 1
                if ways[t] < ones[t] - ones[sets[x]]:
                    continue
                if class_of[t] < 0:
                    todo[n_todo] = t
                    n_todo += 1
                else:
                    keys = _with_room(keys, n)
                    keys[n] = x * sets.size + class_of[t]
                    n += 1
        for k in range(n_seen):
            ways[seen[k]] = 0
    return keys[:n]
