"""Draws of one number from any density."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def slice_draw(
    log_density: Callable[[float], float], x: float, width: float, rng: np.random.Generator
) -> float:
    """The next draw after x: uniform where the density is above a height below its own at x.

    The interval is widened by steps, then narrowed by misses (Neal, 2003).
    """
    height = log_density(x) - rng.exponential()
    if not np.isfinite(height):
        raise ValueError(f"There is no slice at {x}, where the log of the density is {height}.")
    low = x - width * rng.random()
    high = low + width
    while log_density(low) > height:
        low -= width
    while log_density(high) > height:
        high += width
    while True:
        new = rng.uniform(low, high)
        if log_density(new) >= height:
            return new
        low, high = (new, high) if new < x else (low, new)
