"""Which sets lie inside which: the order of codes, counted and drawn without all pairs of items.

Items with the same set are one class, and only classes are compared. If few events tell them apart,
a table over all sets of these events answers; otherwise a class is compared with those that share
its rarest event. Events that all of the sets have, or none, change nothing and are left aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from eventspace.codes import WORD, Codes, pack, unpack

Positions = NDArray[np.int64]
Bits = NDArray[np.bool_]

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


def influence(codes: Codes) -> NDArray[np.float64]:
    """The paper's beta: the part of the items that imply each item, itself not counted."""
    classes = Classes(codes)
    return (below(classes)[classes.of_item] - 1) / len(codes)


def below(classes: Classes) -> Positions:
    """How many items lie inside each class, its own among them.

    By a table in D 2^D additions, or by pairs of classes, whichever are fewer.
    """
    n_events = classes.bits.shape[1]
    if n_events <= TABLE_EVENTS and n_events << n_events < len(classes) ** 2:
        return below_by_table(classes)
    return below_by_pairs(classes)


def covers(classes: Classes) -> tuple[Positions, Positions]:
    """The Hasse diagram (lower, upper): pairs of classes with no third one in between.

    By walks through the lattice of sets, whose steps are at most the sum over the classes of
    2^a a / 2 with a events absent, or by pairs of classes, whichever are fewer.
    """
    absent = classes.bits.shape[1] - classes.bits.sum(axis=1)
    if classes.bits.shape[1] <= TABLE_EVENTS:
        if (absent << absent).sum() < len(classes) ** 2:
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
    """`below` by comparing the classes that share an event."""
    total = np.zeros(len(classes), dtype=np.int64)
    for codes, members, starts in _sharing(classes.bits):
        inside = np.zeros(len(members), dtype=np.int64)
        _add_inside(codes, starts, classes.sizes[members], inside)
        total[members] += inside
    return total


def covers_by_walk(classes: Classes) -> tuple[Positions, Positions]:
    """`covers` by adding events to each set, one at a time, until it is another class's."""
    n_events = classes.bits.shape[1]
    at = _numbers(classes.bits)
    class_of = np.full(1 << n_events, -1, dtype=np.int32)
    class_of[at] = np.arange(len(classes))
    inhabited = class_of >= 0
    for d in range(n_events):
        halves = inhabited.reshape(-1, 2, 1 << d)
        halves[:, 0] |= halves[:, 1]
    edges = _walk(at, class_of, inhabited, n_events)
    return edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)


def covers_by_pairs(classes: Classes) -> tuple[Positions, Positions]:
    """`covers` by comparing the classes that share an event."""
    found = [members[_minimal(codes, starts)] for codes, members, starts in _sharing(classes.bits)]
    edges = np.concatenate(found)
    return edges[:, 0], edges[:, 1]


def _distinct(codes: Codes) -> tuple[Codes, Positions]:
    if codes.shape[1] == 1:
        values, found = np.unique(codes[:, 0], return_inverse=True)
        return values[:, None], found
    return np.unique(codes, axis=0, return_inverse=True)


def _numbers(bits: Bits) -> Positions:
    """Each row as a number, event d being worth 2^d."""
    return bits @ (1 << np.arange(bits.shape[1], dtype=np.int64))


def _sharing(bits: Bits) -> Iterator[tuple[Codes, Positions, Positions]]:
    """For each event the classes that have it, and which of them have no rarer one.

    Whatever contains one of the latter is among the former. The empty set has the event that
    always occurs.
    """
    by_rarity = bits[:, np.argsort(bits.sum(axis=0))]
    by_rarity = np.column_stack([by_rarity, np.ones(len(bits), dtype=np.bool_)])
    rarest = by_rarity.argmax(axis=1)
    codes = pack(bits)
    for event in range(by_rarity.shape[1]):
        members = np.flatnonzero(by_rarity[:, event])
        yield codes[members], members, np.flatnonzero(rarest[members] == event)


@njit(cache=True, nogil=True)
def _inside(lower: Any, upper: Any) -> bool:
    for w in range(lower.size):
        if lower[w] & ~upper[w]:
            return False
    return True


@njit(cache=True, nogil=True)
def _add_inside(codes: Any, starts: Any, sizes: Any, inside: Any) -> None:
    for x in starts:
        inside[x] += sizes[x]
        for y in range(x + 1, len(codes)):
            if _inside(codes[x], codes[y]):
                inside[y] += sizes[x]


@njit(cache=True, nogil=True)
def _minimal(codes: Any, starts: Any) -> Any:
    edges = np.empty((1024, 2), np.int32)
    n = 0
    for x in starts:
        first = n
        for y in range(x + 1, len(codes)):
            if not _inside(codes[x], codes[y]):
                continue
            minimal = True
            for k in range(first, n):
                if _inside(codes[edges[k, 1]], codes[y]):
                    minimal = False
                    break
            if minimal:
                edges = _with_room(edges, n)
                edges[n, 0], edges[n, 1] = x, y
                n += 1
    return edges[:n]


@njit(cache=True, nogil=True)
def _with_room(edges: Any, n: int) -> Any:
    if n < len(edges):
        return edges
    larger = np.empty((2 * n, 2), np.int32)
    for k in range(n):
        larger[k, 0], larger[k, 1] = edges[k, 0], edges[k, 1]
    return larger


@njit(cache=True, nogil=True)
def _walk(sets: Any, class_of: Any, inhabited: Any, n_events: int) -> Any:
    n_sets = len(class_of)
    ways = np.zeros(n_sets, np.int8)  # free sets one event smaller
    reached = np.empty(n_sets, np.int32)
    free = np.empty(n_sets, np.int32)  # sets above x without a class in between or on them
    ones = np.zeros(n_sets, np.int8)
    for s in range(1, n_sets):
        ones[s] = ones[s >> 1] + (s & 1)
    edges = np.empty((1024, 2), np.int32)
    n = 0
    for x in range(len(sets)):
        n_reached = 0
        free[0] = sets[x]
        n_free = 1
        while n_free:
            n_free -= 1
            s = free[n_free]
            for d in range(n_events):
                t = s | (1 << d)
                if t == s or not inhabited[t]:
                    continue
                if ways[t] == 0:
                    reached[n_reached] = t
                    n_reached += 1
                ways[t] += 1
                if ways[t] < ones[t] - ones[sets[x]]:
                    continue
                if class_of[t] < 0:
                    free[n_free] = t
                    n_free += 1
                else:
                    edges = _with_room(edges, n)
                    edges[n, 0], edges[n, 1] = x, class_of[t]
                    n += 1
        for k in range(n_reached):
            ways[reached[k]] = 0
    return edges[:n]
