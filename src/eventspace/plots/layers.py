"""Where the nodes of a Hasse diagram stand, and how its edges go around them (Sugiyama's layers).

An edge that passes rows has a bend in each: a narrow node that takes its place among the others.
Edges that share an end share bends too. A trunk has one end above or one below, so it suggests no
edge that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from eventspace._base.types import Floats, Positions

Pairs = list[tuple[int, int]]

SWEEPS = 60  # of the search for places with few crossings; after half of them the order stays
LANE = 0.14  # the room of a bend, in rooms of a node
STRAIGHT = 8.0  # how much more a bend is worth than a node: long edges are straight


@dataclass(frozen=True)
class Layers:
    """Places of nodes (first) and bends; of each edge the nodes and bends from lower to upper."""

    x: Floats
    row: Positions
    ways: list[list[int]]


def layers(n: int, edges: Pairs) -> Layers:
    """Places of ``n`` nodes, numbered so that the lower end of an edge has the smaller number."""
    row, ways = _bent(_rows(n, edges), edges)
    return Layers(_placed(n, row, ways), row, ways)


def _rows(n: int, edges: Pairs) -> list[int]:
    """The length of the longest way up to each node."""
    row = [0] * n
    for a, b in sorted(edges):
        row[b] = max(row[b], row[a] + 1)
    return row


def _bent(row: list[int], edges: Pairs) -> tuple[Positions, list[list[int]]]:
    """Rows of nodes and bends, and the way of each edge."""
    row, bends, ways = row.copy(), {}, []
    degree = np.bincount(np.ravel(edges).astype(np.int64), minlength=len(row))
    for a, b in edges:
        trunk = a if degree[a] > degree[b] else b
        way = [a]
        for r in range(row[a] + 1, row[b]):
            if (trunk, r) not in bends:
                bends[trunk, r] = len(row)
                row.append(r)
            way.append(bends[trunk, r])
        ways.append([*way, b])
    return np.array(row, dtype=np.int64), ways


def _placed(n: int, row: Positions, ways: list[list[int]]) -> Floats:
    """Across: near those that a node is linked to, and no two in one place.

    Sweeps up and down first put each row in the order of what lies on the side they come from,
    then move what stands in that order towards both sides.
    """
    below, above = _linked(len(row), ways)
    node = np.arange(len(row)) < n
    room, weight = np.where(node, 1.0, LANE), np.where(node, 1.0, STRAIGHT)
    rows = [np.flatnonzero(row == r) for r in range(row.max(initial=-1) + 1)]
    widest = max((room[here].sum() for here in rows), default=0.0)
    x = np.zeros(len(row))
    for sweep in range(-1, SWEEPS):  # the first finds nothing to go by, and sets rows out
        up, ordered = sweep % 2 == 0, sweep >= SWEEPS // 2
        for here in rows if up else reversed(rows):
            near = [above[k] * (ordered or not up) + below[k] * (ordered or up) for k in here]
            wanted = np.array([_mean(x, weight, o, x[k]) for k, o in zip(here, near, strict=True)])
            order = np.argsort(x[here] if ordered else wanted, kind="stable")
            at = here[order]
            x[at] = _apart(wanted[order], weight[at], room[at], widest)
    return x


def _linked(n: int, ways: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """What each node or bend is linked to in the rows below and above, once each."""
    below: list[list[int]] = [[] for _ in range(n)]
    above: list[list[int]] = [[] for _ in range(n)]
    for a, b in sorted({pair for way in ways for pair in pairwise(way)}):
        below[b].append(a)
        above[a].append(b)
    return below, above


def _mean(x: Floats, weight: Floats, near: list[int], otherwise: float) -> float:
    return float(np.average(x[near], weights=weight[near])) if near else otherwise


def _apart(wanted: Floats, weight: Floats, room: Floats, widest: float) -> Floats:
    """Places in this order, each with its room, as near to those wanted as the width allows."""
    offset = np.cumsum(room) - 0.5 * room
    start = isotonic_regression(wanted - offset, weights=weight).x
    return offset + np.clip(start, -0.5 * widest, 0.5 * widest - room.sum())
