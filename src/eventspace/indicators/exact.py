"""The exact solver: enumeration where there are few events, else a sphere decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_whole
from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace.indicators.quadratic import half_gradient, read_code, tolerance, write_code
from eventspace.indicators.sphere import room_for_sphere, sphere

ENUMERATED = 10  # up to this many events a table of all 2^D costs is quicker


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
    room = room_for_sphere(n_events)
    x = np.empty(n_events)
    slope = np.empty(n_events)
    for i in range(n_items):
        A = S[min(i, S.shape[0] - 1)]
        read_code(codes[i], x)
        nodes[i] = sphere(A, v[i], energy[i], x, node_budget, room)
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
