"""Draws from one-dimensional laws by slices, of several chains at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.randomness import each_generator

MOST_STEPS = 50  # that an interval is widened by, in all


def draw_by_slice(
    x: float, width: float, rng: np.random.Generator
) -> Generator[float, float, float]:
    """The next draw after x: uniform where the density is above a height below its own at x.

    It asks for the log of the density at numbers. The interval is widened by steps, then narrowed
    by misses (Neal, 2003).
    """
    height = (yield x) - rng.exponential()
    if not np.isfinite(height):
        raise ValueError(f"There is no slice at {x}, where the log of the density is {height}.")
    low = x - width * rng.random()
    high = low + width
    n_low = int(MOST_STEPS * rng.random())  # shared by chance, or the draws would not be reversible
    n_high = MOST_STEPS - 1 - n_low
    while n_low > 0 and (yield low) > height:
        low, n_low = low - width, n_low - 1
    while n_high > 0 and (yield high) > height:
        high, n_high = high + width, n_high - 1
    while True:
        new = rng.uniform(low, high)
        if (yield new) >= height:
            return new
        low, high = (new, high) if new < x else (low, new)


def draw_by_slices(
    log_density: Callable[[NDArray[Any]], NDArray[Any]],
    x: NDArray[Any] | float,
    width: float,
    rng: Any,
) -> NDArray[Any]:
    """The next draw of one chain, or of each of several, whose densities are asked for at once."""
    now = np.array(x, dtype=np.float64)
    found, at = now.copy(), now.copy()
    draws = dict(zip(np.ndindex(now.shape), each_generator(rng), strict=True))
    running = {k: draw_by_slice(float(now[k]), width, own) for k, own in draws.items()}
    for draw in running.values():
        next(draw)
    while running:
        density = np.asarray(log_density(at))
        for k, draw in list(running.items()):
            try:
                at[k] = draw.send(float(density[k]))
            except StopIteration as end:
                found[k] = at[k] = end.value
                del running[k]
    return found
