"""The exact solver: enumeration where there are few events, else a sphere decoder.

The sphere decoder is a depth-first search whose bound is the unconstrained least squares of the
bits still open. On the bare S_i that bound is weak, and useless if an item has fewer ratings than
there are events. But x_d^2 = x_d, so ``S - diag(c)`` with ``v - c/2`` is the same problem. The c
with the best bound is the dual solution of the semidefinite relaxation. A few sweeps of the mixing
method come near enough, and the tree shrinks from thousands of nodes to tens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_whole
from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.types import Floats
from eventspace.indicators.local import descend_by_flips
from eventspace.indicators.quadratic import (
    half_gradient,
    read_code,
    sum_of_weights,
    tolerance,
    write_code,
)
from eventspace.indicators.relaxation import lift, mix, project, rank_for, scatter

ENUMERATED = 10  # up to this many events a table of all 2^D costs is quicker
ROUGH, FINE = 8, 100  # sweeps of the mixing method
SHORT = 1000  # nodes of the first search
RESTARTS = 20  # of the local search, before the second


@dataclass(frozen=True)
class Exact:
    """Proves each set best; a search of more than ``node_budget`` nodes ends without a proof."""

    node_budget: int = 2_000_000
    guarantee: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        check_whole("node_budget", self.node_budget, 1)

    def __call__(
        self,
        S: Floats,
        v: Floats,
        energy: Floats,
        codes: NDArray[np.uint64],
        seeds: NDArray[np.uint64],
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Improve ``codes`` in place; return each item's cost and whether it is proved least."""
        cost, nodes = np.empty(len(v)), np.empty(len(v), dtype=np.int64)
        exact(S, v, energy, codes, self.node_budget, cost, nodes)
        return cost, nodes >= 0


@njit(cache=True, nogil=True)
def exact(
    S: Floats,
    v: Floats,
    energy: Floats,
    codes: NDArray[np.uint64],
    node_budget: int,
    cost: Floats,
    nodes: NDArray[np.int64],
) -> None:
    """Find the best code of each item, to within ``TOLERANCE`` in its mean squared error.

    The incumbent stays unless some code is better by more than the tolerance, and the bits of
    events of which no rater has mass stay in any case. Among better codes enumeration takes the
    lowest cost, and of equal ones the first in numerical order; the sphere decoder takes the first
    that its search, in a fixed order, cannot improve by more than the tolerance. ``nodes`` counts
    the nodes visited; an item that would need more than ``node_budget`` keeps the best code found
    and is marked by a negative count: not proved.
    """
    if v.shape[1] <= ENUMERATED:
        _enumerate_items(S, v, energy, codes, cost)
        for i in range(nodes.size):
            nodes[i] = 1 << v.shape[1]
    else:
        _decode_items(S, v, energy, codes, node_budget, cost, nodes)


@njit(cache=True, nogil=True)
def _enumerate_items(
    S: Floats, v: Floats, energy: Floats, codes: NDArray[np.uint64], cost: Floats
) -> None:
    n_items, n_events = v.shape
    table = np.empty(1 << n_events)
    row = np.empty(1 << n_events)
    for i in range(n_items):
        A = S[min(i, S.shape[0] - 1)]
        enumerate_costs(A, v[i], table, row)
        least = 0
        for c in range(table.size):
            if table[c] < table[least]:
                least = c
        if table[np.int64(codes[i])] > table[least] + tolerance(A):
            codes[i] = _with_free_bits(A, v[i], np.uint64(least), codes[i])
        cost[i] = table[np.int64(codes[i])] + energy[i]


@njit(cache=True, nogil=True)
def _decode_items(
    S: Floats,
    v: Floats,
    energy: Floats,
    codes: NDArray[np.uint64],
    node_budget: int,
    cost: Floats,
    nodes: NDArray[np.int64],
) -> None:
    n_items, n_events = v.shape
    start = np.empty((rank_for(n_events + 1), n_events + 1))
    scatter(np.uint64(1), start)
    x = np.empty(n_events)
    slope = np.empty(n_events)
    for i in range(n_items):
        A = S[min(i, S.shape[0] - 1)]
        read_code(codes[i], x)
        nodes[i] = sphere(A, v[i], energy[i], x, node_budget, start)
        codes[i] = _with_free_bits(A, v[i], write_code(x), codes[i])
        cost[i] = half_gradient(A, v[i], x, slope) + energy[i]


@njit(cache=True, nogil=True)
def _with_free_bits(S: Floats, v: Floats, code: np.uint64, incumbent: np.uint64) -> np.uint64:
    """Return ``code``, but with the incumbent's bits for the events of which no rater has mass."""
    for d in range(v.size):
        if S[d, d] == 0.0 and v[d] == 0.0:
            bit = np.uint64(1) << np.uint64(d)
            code = (code & ~bit) | (incumbent & bit)
    return code


@njit(cache=True, nogil=True)
def enumerate_costs(S: Floats, v: Floats, table: Floats, row: Floats) -> None:
    """Write g of every code to ``table``, by doubling: two additions per code.

    Adding event b to a code c < 2^b costs ``S_bb - 2 v_b + 2 sum_{q in c} S_bq``, which is itself
    tabulated by doubling, in ``row``.
    """
    table[0] = 0.0
    for b in range(v.size):
        row[0] = S[b, b] - 2.0 * v[b]
        for q in range(b):
            half = 1 << q
            for c in range(half):
                row[half + c] = row[c] + 2.0 * S[b, q]
        half = 1 << b
        for c in range(half):
            table[half + c] = table[c] + row[c]


@njit(cache=True, nogil=True)
def sphere(S: Floats, v: Floats, energy: float, x: Floats, node_budget: int, start: Floats) -> int:
    """Improve ``x`` to the minimiser of g; return the nodes visited, negative if not proved.

    ``start`` is where the relaxation begins. A first, short search on a rough dual solution settles
    most items; the others get a better one.
    """
    n_events = v.size
    tol = tolerance(S)
    slope = np.empty(n_events)
    best = half_gradient(S, v, x, slope)
    floor = tol - energy  # g + energy is a sum of squares: nothing can be lower than zero
    trial = x.copy()
    best = _try(S, v, trial, slope, tol, best, x)
    if best <= floor:
        return 0

    C = np.empty((n_events + 1, n_events + 1))
    V = start.copy()
    y = np.zeros(n_events + 1)
    L = np.zeros((n_events, n_events))
    centre = np.empty(n_events)
    along = np.empty(n_events + 1)
    order = _by_weight(S)
    lift(S, v, C)
    state = np.uint64(1)
    nodes = 0
    for sweeps, budget in ((ROUGH, min(SHORT, node_budget)), (FINE, node_budget)):
        mix(C, V, y, sweeps, 1e-6)
        project(V, V[:, n_events].copy(), along)
        for d in range(n_events):
            trial[d] = 1.0 if along[d] > 0.0 else 0.0
        best = _try(S, v, trial, slope, tol, best, x)
        square = _factorise(S, v, y, order, L, centre)
        if best + square <= tol:
            return nodes
        visited = _search(L, centre, order, best + square, floor + square, tol, budget, x)
        if visited >= 0:
            return nodes + visited
        nodes -= visited
        best = half_gradient(S, v, x, slope)
        # An item with few ratings has many codes that fit them all, spread over the whole tree.
        for _ in range(RESTARTS):
            for d in range(n_events):
                state = next_random(state)
                trial[d] = 1.0 if uniform(state) < 0.5 else 0.0
            best = _try(S, v, trial, slope, tol, best, x)
            if best <= floor:
                return nodes
    return -nodes


@njit(cache=True, nogil=True)
def _by_weight(S: Floats) -> NDArray[np.int64]:
    """The events in ascending order of S_dd.

    The search fixes the last coordinate first. The events with the most weight go there. The others
    come when the radius has shrunk, and only fine-tune.
    """
    order = np.empty(S.shape[0], dtype=np.int64)
    for d in range(order.size):
        k = d
        while k > 0 and S[order[k - 1], order[k - 1]] > S[d, d]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = d
    return order


@njit(cache=True, nogil=True)
def _try(
    S: Floats, v: Floats, trial: Floats, slope: Floats, tol: float, best: float, x: Floats
) -> float:
    """Descend from ``trial`` by flips and keep the result in ``x`` if it is clearly better."""
    found = descend_by_flips(S, v, trial, slope, tol)
    if found < best - tol:
        for d in range(x.size):
            x[d] = trial[d]
        return found
    return best


@njit(cache=True, nogil=True)
def _factorise(
    S: Floats, v: Floats, y: Floats, order: NDArray[np.int64], L: Floats, centre: Floats
) -> float:
    """Write ``g(x) = |L'x - centre|^2 - |centre|^2``, events in the given order.

    The diagonal is ``4 y (1 + shift) + ridge`` in place of S's own, with the smallest shift of a
    geometric sequence for which the matrix is positive definite and the bound is sane. If none is,
    the ridge grows instead, at the latest until the diagonal dominates. Returns |centre|^2.
    """
    n_events = v.size
    total = sum_of_weights(S)
    size = total
    for d in range(n_events):
        size += abs(v[d])  # a penalty may exceed the weights by far
    shift, ridge = 1e-3, 1e-9 * total
    while True:
        square = 0.0
        for j in range(n_events):
            d = order[j]
            diagonal = 4.0 * y[d] * (1.0 + shift) + ridge
            pivot = diagonal
            h = v[d] - 0.5 * (S[d, d] - diagonal)
            for k in range(j):
                pivot -= L[j, k] * L[j, k]
                h -= L[j, k] * centre[k]
            if pivot <= 1e-10 * total:
                square = np.inf
                break
            L[j, j] = math.sqrt(pivot)
            centre[j] = h / L[j, j]
            square += centre[j] * centre[j]
            for i in range(j + 1, n_events):
                s = S[order[i], d]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                L[i, j] = s / L[j, j]
        # a large centre would drown the tolerance in rounding errors
        if not square > 1e3 * size:
            return square
        if shift < 1.0:
            shift *= 3.0
        else:
            ridge *= 10.0


@njit(cache=True, nogil=True)
def _search(
    L: Floats,
    centre: Floats,
    order: NDArray[np.int64],
    best: float,
    floor: float,
    tol: float,
    node_budget: int,
    x: Floats,
) -> int:
    """Depth-first search for an x with ``|L'x - centre|^2`` below ``best - tol``.

    Row ``level`` of ``rest`` is ``centre - L'x`` over the bits already fixed (those above the
    level), and its squares below the level are the partial distances. The nearer bit goes first.
    """
    n_events = centre.size
    rest = np.empty((n_events + 1, n_events))
    for k in range(n_events):
        rest[n_events, k] = centre[k]
    distance = np.zeros(n_events + 1)
    bits = np.zeros(n_events, dtype=np.int64)
    tried = np.zeros(n_events, dtype=np.int64)
    radius = best - tol
    nodes = 0
    level = n_events - 1
    while level < n_events:
        if tried[level] == 2:
            tried[level] = 0
            level += 1
            continue
        if nodes == node_budget:
            return -nodes
        nodes += 1
        gap, pivot = rest[level + 1, level], L[level, level]
        if tried[level] == 0:
            bits[level] = 1 if 2.0 * gap > pivot else 0
        else:
            bits[level] = 1 - bits[level]
        tried[level] += 1
        gap -= pivot * bits[level]
        reached = distance[level + 1] + gap * gap
        if reached >= radius:
            tried[level] = 2  # the other bit is farther still
        elif level == 0:
            for k in range(n_events):
                x[order[k]] = bits[k]
            if reached <= floor:
                return nodes
            radius = reached - tol
        else:
            distance[level] = reached
            if bits[level] == 1:
                for k in range(level):
                    rest[level, k] = rest[level + 1, k] - L[level, k]
            else:
                for k in range(level):
                    rest[level, k] = rest[level + 1, k]
            level -= 1
    return nodes
