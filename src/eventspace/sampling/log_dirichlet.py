"""The log of Dirichlet densities, which priors ask for again and again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.types import Floats

SHIFT = 7  # Stirling's series begins at x + 7: eleven digits are right, far more than a draw needs
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
SQRT_2, LOG_2 = math.sqrt(2.0), math.log(2.0)
EXPONENT_BITS, MANTISSA = 52, (1 << 52) - 1
BIAS = 1023
QUICK = {"contract", "reassoc", "arcp"}  # what lets the compiler add up in vectors


def log_dirichlet(counts: Floats, log_pmf: Floats) -> Floats:
    """The log of each PMF's density, given its pseudo-counts, all above zero."""
    found = np.empty(len(counts))
    _log_dirichlet(np.ascontiguousarray(counts), np.ascontiguousarray(log_pmf), found)
    return found


@njit(cache=True, nogil=True, fastmath=QUICK, error_model="numpy")
def _log_dirichlet(counts: Any, log_pmf: Any, found: Any) -> None:
    for u in range(len(counts)):
        total = powers = gammas = 0.0
        for d in range(counts.shape[1]):
            total += counts[u, d]
            powers += (counts[u, d] - 1.0) * log_pmf[u, d]
            gammas += log_gamma(counts[u, d])
        found[u] = log_gamma(total) - gammas + powers


@njit(cache=True, nogil=True, fastmath=QUICK, error_model="numpy", inline="always")
def log_gamma(x: float) -> float:
    """The log of gamma(x), x > 0: gamma(x) is gamma(x + SHIFT) over a product."""
    product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0)
    y = x + SHIFT
    z = 1.0 / (y * y)
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680))) / y
    return (y - 0.5) * log(y) - y + HALF_LOG_2_PI + series - log(product)


@njit(cache=True, nogil=True, fastmath=QUICK, error_model="numpy", inline="always")
def log(x: float) -> float:
    """The log of a positive number, to fifteen digits; unlike libm's, in vectors."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits >> EXPONENT_BITS) - BIAS
    m = np.int64((bits & MANTISSA) | (BIAS << EXPONENT_BITS)).view(np.float64)  # from 1 to 2
    large = m > SQRT_2
    m = 0.5 * m if large else m
    exponent = exponent + 1 if large else exponent
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    series = t * (1 / 9 + t * (1 / 11 + t * (1 / 13 + t / 15)))
    series = t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + series)))
    return exponent * LOG_2 + 2.0 * s * (1.0 + series)
