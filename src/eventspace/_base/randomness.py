"""Random numbers inside kernels: one stream for each item, whatever thread it runs on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import is_whole
from eventspace._base.errors import UserError
from eventspace._base.functions import QUICK
from eventspace._base.jit import njit

STRIDE = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def next_random(state: np.uint64) -> np.uint64:
    """Advance a stream: Marsaglia's xorshift64. A state is never zero."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit(cache=True, nogil=True)
def uniform(state: np.uint64) -> float:
    """The number in [0, 1) that belongs to a state."""
    return np.float64(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(**QUICK, inline="always")
def hashed(state: np.uint64, k: int) -> np.uint64:
    """A number for each place after a state (Steele, Lea and Flood's splitmix64)."""
    z = state + np.uint64(k + 1) * STRIDE
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**QUICK)
def fill_uniform(state: np.uint64, out: NDArray[np.float64]) -> np.uint64:
    """Fill ``out`` with numbers in [0, 1), none of which waits for another; give the next state."""
    for k in range(out.size):
        out[k] = np.int64(hashed(state, k) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return next_random(state)


@njit(cache=True, nogil=True)
def fill_normal(state: np.uint64, out: NDArray[np.float64]) -> np.uint64:
    """Fill ``out`` with standard normals (Box-Muller) and return the advanced stream."""
    for k in range(out.size):
        state = next_random(state)
        radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
        state = next_random(state)
        out[k] = radius * math.cos(2.0 * math.pi * uniform(state))
    return state


class Generators:
    """The generators of several chains; what is drawn has a number for each of them."""

    def __init__(self, each: list[np.random.Generator]) -> None:
        self.each = each

    def gamma(self, shape: Any) -> NDArray[np.float64]:
        """From the Gamma law of each chain's shape."""
        shapes = np.broadcast_to(shape, len(self.each))
        return np.array([rng.gamma(own) for rng, own in zip(self.each, shapes, strict=True)])


def each_generator(rng: Any) -> list[np.random.Generator]:
    """The generators of all chains."""
    return rng.each if isinstance(rng, Generators) else [rng]


def streams(rng: Any, n: int) -> NDArray[np.uint64]:
    """Starting states of n streams, or of n for each of several chains."""
    drawn = [own.integers(1, 2**64, size=n, dtype=np.uint64) for own in each_generator(rng)]
    return np.stack(drawn) if isinstance(rng, Generators) else drawn[0]


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state: a number, a generator, or None."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None:
        return int(np.random.randint(2**31))  # noqa: NPY002
    if not is_whole(random_state) or not 0 <= random_state < 2**32:
        raise UserError(
            f"random_state={random_state!r} must be None, a whole number from 0 to {2**32 - 1}, or "
            "a numpy.random.RandomState."
        )
    return int(np.random.RandomState(random_state).randint(2**31))
