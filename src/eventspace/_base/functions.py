"""Logs, powers and waves for kernels: unlike libm's, loops over them run in vectors.

They take what kernels give them, without checks: finite numbers, in the range that is stated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eventspace._base.jit import njit

# what lets the compiler add up in vectors, and divide without asking whether by zero
QUICK: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": {"contract", "reassoc", "arcp"},
    "error_model": "numpy",
}

SQRT_2, LOG_2 = math.sqrt(2.0), math.log(2.0)
LOG_2_HIGH = 0.693147180369123816490  # the first digits: times a whole number it is exact
LOG_2_LOW = 1.90821492927058770002e-10  # the rest
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
BITS, BIAS = 52, 1023  # of a mantissa, and of an exponent
MANTISSA = (1 << BITS) - 1
SHIFT = 7.0  # Stirling's series begins at x + 7: eleven digits are right


@njit(**QUICK, inline="always")
def log(x: float) -> float:
    """The log of a positive number that is not denormal, to fourteen digits."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits >> BITS) - BIAS
    m = np.int64((bits & MANTISSA) | (BIAS << BITS)).view(np.float64)  # from 1 to 2
    large = m > SQRT_2
    m = 0.5 * m if large else m
    exponent = exponent + 1 if large else exponent
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    series = t * (1 / 9 + t * (1 / 11 + t * (1 / 13 + t / 15)))
    series = t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + series)))
    return exponent * LOG_2 + 2.0 * s * (1.0 + series)


@njit(**QUICK, inline="always")
def exp(x: float) -> float:
    """The exponential, to fourteen digits; beyond 700 it stays where it is there."""
    x = min(max(x, -700.0), 700.0)
    k = math.floor(x * (1.0 / LOG_2) + 0.5)
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    series = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r / 39916800)))
    series = 1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * series)))
    power = np.int64((np.int64(k) + BIAS) << BITS).view(np.float64)
    return power * (1.0 + r * (1.0 + r * (0.5 + r * series)))


@njit(**QUICK, inline="always")
def wave(x: float) -> float:
    """The cosine of x turns, 0 <= x < 1, to twelve digits."""
    folded = abs(x - 0.5)  # cos(2 pi x) = -cos(2 pi folded), folded at most 1/2
    high = folded > 0.25
    t = 2.0 * math.pi * (0.5 - folded if high else folded)
    t = t * t
    series = 1 / 40320 - t * (
        1 / 3628800 - t * (1 / 479001600 - t * (1 / 87178291200 - t / 20922789888000))
    )
    cosine = 1.0 - t * (1 / 2 - t * (1 / 24 - t * (1 / 720 - t * series)))
    return cosine if high else -cosine


@njit(**QUICK, inline="always")
def log_gamma(x: float) -> float:
    """The log of gamma(x), x > 0, to eleven digits: gamma(x) is gamma(x + SHIFT) over a product."""
    product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0)
    y = x + SHIFT
    z = 1.0 / (y * y)
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680))) / y
    return (y - 0.5) * log(y) - y + HALF_LOG_2_PI + series - log(product)
