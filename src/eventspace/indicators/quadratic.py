"""What every solver of the indicator step needs of ``g(x) = x'S x - 2 v'x``, x in {0, 1}^D."""

from __future__ import annotations

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.types import Floats

# Costs of an item that differ by less than this times its sum of weights count as equal: a
# difference of 1e-7 in the mean squared error of its values, which lie in [0, 1].
TOLERANCE = 1e-7


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def sum_of_weights(S: Floats) -> float:
    """The item's sum of weights is 1'S1, for PMFs sum to one.

    What rounding has made negative counts, too: no sum is less than its rounding.
    """
    total = 0.0
    for a in range(S.shape[0]):
        for b in range(S.shape[0]):
            total += abs(S[a, b])
    return total


@njit(cache=True, nogil=True)
def tolerance(S: Floats) -> float:
    """TOLERANCE in units of cost."""
    return TOLERANCE * sum_of_weights(S)


@njit(cache=True, nogil=True)
def half_gradient(S: Floats, v: Floats, x: Floats, slope: Floats) -> float:
    """Write ``S x - v`` to ``slope`` and return g(x); S is symmetric, and its rows are added up."""
    for a in range(v.size):
        slope[a] = -v[a]
    for b in range(v.size):
        if x[b] != 0.0:
            row, y = S[b], x[b]
            for a in range(v.size):
                slope[a] += row[a] * y
    cost = 0.0
    for a in range(v.size):
        cost += x[a] * (slope[a] - v[a])
    return cost


@njit(cache=True, nogil=True)
def read_code(code: np.uint64, x: Floats) -> None:
    """Write the bits of ``code`` to ``x``."""
    for d in range(x.size):
        x[d] = np.float64((code >> np.uint64(d)) & np.uint64(1))


@njit(cache=True, nogil=True)
def write_code(x: Floats) -> np.uint64:
    """Return the code whose bits are ``x``."""
    code = np.uint64(0)
    for d in range(x.size):
        if x[d] > 0.5:
            code |= np.uint64(1) << np.uint64(d)
    return code
