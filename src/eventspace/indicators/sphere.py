"""A sphere decoder: a depth-first search over sets, bounded by least squares.

The bound is the unconstrained least squares of the bits still open. On the bare S_i that bound is
weak, and useless if an item has fewer ratings than there are events. But x_d^2 = x_d, so
``S - diag(c)`` with ``v - c/2`` is the same problem. The c with the best bound is the dual solution
of the semidefinite relaxation. A few sweeps of the mixing method, from the item's own set, come
near enough, and the tree shrinks from thousands of nodes to tens.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.jit import njit
from eventspace._base.randomness import next_random, uniform
from eventspace._base.rows import set_row, wide
from eventspace._base.types import Floats
from eventspace.indicators.local import descend_by_flips
from eventspace.indicators.quadratic import TOLERANCE, half_gradient, sum_of_weights
from eventspace.indicators.relaxation import mix, rank_for, scatter

NEAR, ASIDE = 4, 0.3  # rank of the first relaxation, and how far its start is from the set
ROUGH, FINE = 2, 20  # sweeps of the mixing method
LARGE, SMALL = 0.2, 0.03  # what their diagonal needs on top, as a share of it
SHORT = 1000  # nodes of the first search
RESTARTS = 20  # of the local search, before the second


class Room(NamedTuple):
    """Arrays for ``sphere`` to work with, padded."""

    S: Floats
    start: Floats  # the columns of the first relaxation, but for their signs
    V: Floats
    G: Floats
    diagonal: Floats  # of the convex quadratic
    order: NDArray[np.int64]  # in which events are eliminated; then the linear term
    W: Floats  # what is left of the quadratic, with the linear term as its last row
    L: Floats  # multipliers of the elimination; the last row is the centre
    pivots: Floats
    rest: Floats  # what the search has at each level: this, distances, bits, and how many it tried
    distance: Floats
    bits: NDArray[np.int64]
    tried: NDArray[np.int64]
    slope: Floats
    trial: Floats


@njit(cache=True, nogil=True)
def room_for_sphere(n_events: int) -> Room:
    """The arrays that a search writes on, for a number of events."""
    rank, near = rank_for(n_events + 1), min(NEAR, rank_for(n_events + 1))
    start = wide(near, n_events)
    scatter(np.uint64(1), start[1:], n_events)
    for a in range(n_events):
        start[0, a] = math.sqrt(1.0 - ASIDE * ASIDE)
        for q in range(1, near):
            start[q, a] *= ASIDE
    return Room(
        wide(n_events, n_events),
        start,
        wide(rank, n_events),
        wide(rank, n_events),
        np.empty(n_events),
        np.empty(n_events + 1, dtype=np.int64),
        wide(n_events + 1, n_events),
        wide(n_events + 1, n_events),
        np.empty(n_events),
        wide(n_events + 1, n_events),
        np.zeros(n_events + 1),
        np.empty(n_events, dtype=np.int64),
        np.empty(n_events, dtype=np.int64),
        np.empty(n_events),
        np.empty(n_events),
    )


@njit(cache=True, nogil=True)
def sphere(S: Floats, v: Floats, energy: float, x: Floats, node_budget: int, room: Room) -> int:
    """Improve ``x`` to the minimiser of g; return the nodes visited, negative if not proved.

    A first, short search on a rough dual solution settles most items; the others get a better one.
    """
    n_events, near = v.size, room.start.shape[0]
    total = sum_of_weights(S)
    tol = TOLERANCE * total
    floor = tol - energy  # g + energy is a sum of squares: nothing can be lower than zero
    slope, trial = room.slope, room.trial
    best = descend_by_flips(S, v, x, slope, tol)
    if best <= floor or total == 0.0:  # flips minimise what has no squares left, after rounding
        return 0
    for a in range(n_events):
        for b in range(n_events):
            room.S[a, b] = S[a, b]

    state = np.uint64(1)
    nodes = 0
    for fine in (False, True):
        if fine:
            scatter(np.uint64(1), room.V, n_events)
            mix(room.S, v, room.V, room.G, room.diagonal, FINE, 1e-6)
        else:
            _begin_near(x, room)
            mix(room.S, v, room.V[:near], room.G[:near], room.diagonal, ROUGH, 1e-6)
        changed = False
        for d in range(n_events):
            trial[d] = 1.0 if room.V[0, d] > 0.0 else 0.0
            changed = changed or trial[d] != x[d]
        if changed:
            best = _try(S, v, trial, slope, tol, best, x)
        square = _factorise(v, total, SMALL if fine else LARGE, room)
        if best + square <= tol:
            return nodes
        budget = node_budget if fine else min(SHORT, node_budget)
        visited = _search(room, best + square, floor + square, tol, budget, x)
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
def _begin_near(x: Floats, room: Room) -> None:
    """Begin the relaxation a little aside from the set: exactly there it would stay for ever."""
    for q in range(room.start.shape[0]):
        set_row(room.V, q, room.start, q, 0.0, room.start, q)
    for a in range(x.size):
        if x[a] == 0.0:
            room.V[0, a] = -room.V[0, a]


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
def _factorise(v: Floats, total: float, shift: float, room: Room) -> float:
    """Write g as a sum of squares, one for each event, less a constant, which is returned.

    The diagonal is the relaxation's, times 1 + shift, and a ridge, in place of S's own, with the
    smallest shift of a geometric sequence for which the matrix is positive definite and the bound
    is sane. If none is, the ridge grows instead, at the latest until the diagonal dominates.

    The search fixes the event that is eliminated last first. The events with the most weight go
    there. The others come when the radius has shrunk, and only fine-tune.
    """
    n_events = v.size
    size = total
    order, diagonal = room.order, room.diagonal
    order[n_events] = n_events
    for d in range(n_events):
        size += abs(v[d])  # a penalty may exceed the weights by far
        k = d
        while k > 0 and diagonal[order[k - 1]] > diagonal[d]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = d
    ridge = 1e-9 * total
    while True:
        square = _eliminate(v, shift, ridge, 1e-10 * total, room)
        # a large centre would drown the tolerance in rounding errors
        if not square > 1e3 * size:
            return square
        if shift < 1.0:
            shift *= 2.0
        else:
            ridge *= 10.0


@njit(cache=True, nogil=True, error_model="numpy")
def _eliminate(v: Floats, shift: float, ridge: float, least: float, room: Room) -> float:
    """Eliminate one event after the other: ``g(x) = sum_a pivot_a (x_a - rest_a)^2 - square``.

    ``rest_a = centre_a - sum_i L_ia x_i`` over the events that are eliminated later. Infinite if a
    pivot is less than ``least``.
    """
    n_events = v.size
    S, W, L, order = room.S, room.W, room.L, room.order
    for a in range(n_events):
        set_row(W, a, S, a, 0.0, S, a)
        W[a, a] = room.diagonal[a] * (1.0 + shift) + ridge
        W[n_events, a] = v[a] - 0.5 * (S[a, a] - W[a, a])
    square = 0.0
    for j in range(n_events):
        a = order[j]
        pivot = W[a, a]
        if pivot <= least:
            return np.inf
        room.pivots[a] = pivot
        inverse = 1.0 / pivot
        for k in range(j + 1, n_events + 1):
            i = order[k]
            L[i, a] = W[i, a] * inverse
            set_row(W, i, W, i, -L[i, a], W, a)
        square += pivot * L[n_events, a] * L[n_events, a]
    return square


@njit(cache=True, nogil=True)
def _search(room: Room, best: float, floor: float, tol: float, node_budget: int, x: Floats) -> int:
    """Depth-first search for an x whose sum of squares is below ``best - tol``.

    Row ``level`` of ``rest`` is that of the bits already fixed, those above the level. The nearer
    bit goes first.
    """
    n_events = x.size
    L, rest, pivots, order = room.L, room.rest, room.pivots, room.order
    distance, bits, tried = room.distance, room.bits, room.tried
    set_row(rest, n_events, L, n_events, 0.0, L, n_events)
    for d in range(n_events):
        tried[d] = 0
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
        d = order[level]
        gap = rest[level + 1, d]
        if tried[level] == 0:
            bits[d] = 1 if gap > 0.5 else 0
        else:
            bits[d] = 1 - bits[d]
        tried[level] += 1
        gap -= bits[d]
        reached = distance[level + 1] + pivots[d] * gap * gap
        if reached >= radius:
            tried[level] = 2  # the other bit is farther still
        elif level == 0:
            for k in range(n_events):
                x[k] = bits[k]
            if reached <= floor:
                return nodes
            radius = reached - tol
        else:
            distance[level] = reached
            set_row(rest, level, rest, level + 1, -bits[d], L, d)
            level -= 1
    return nodes
