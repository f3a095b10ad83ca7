"""Instances of the two half-steps: random, degenerate, and made to be tied."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
from numpy.typing import NDArray

from eventspace._base.rows import wide
from eventspace.indicators.relaxation import mix, rank_for, scatter
from tests import naive

Floats = NDArray[np.float64]
INTERPRETED = bool(vars(numba.config)["DISABLE_JIT"])


def quadratic(theta: Floats, p: Floats, w: Floats | None = None) -> tuple[Floats, Floats, float]:
    """S, v and energy of one item that all rows of theta rated p."""
    return naive.sums(theta, np.arange(len(p)), p, np.ones(len(p)) if w is None else w)


def relaxed(S: Floats, v: Floats, seed: int, max_sweeps: int, tol: float) -> tuple[Floats, Floats]:
    """The unit vectors of the relaxation, that of the axis last, and the dual solution of each."""
    n_events = len(v)
    A, V = wide(n_events, n_events), wide(rank_for(n_events + 1), n_events)
    A[:, :n_events] = S
    scatter(np.uint64(seed), V, n_events)
    diagonal = np.empty(n_events)
    mix(A, v, V, np.empty_like(V), diagonal, max_sweeps, tol)
    assert not V[:, n_events:].any()
    vectors = np.column_stack([V[:, :n_events], np.eye(len(V))[0]])
    last = np.linalg.norm(vectors[:, :-1] @ (S.sum(axis=1) - 2.0 * v))
    return vectors, np.append(diagonal, last) / 4.0


def items(n_events: int, seed: int) -> Iterator[tuple[str, tuple[Floats, Floats, float]]]:
    """Named instances (S, v, energy) of the indicator step."""
    rng = np.random.default_rng(seed)

    def pmf(n: int, concentration: float = 1.0) -> Floats:
        return rng.dirichlet(np.full(n_events, concentration), n)

    yield "well rated", quadratic(pmf(40), rng.random(40))
    yield "weighted", quadratic(pmf(30), rng.random(30), rng.gamma(1.0, 50.0, 30))
    yield "nearly uniform PMFs", quadratic(pmf(40, 200.0), rng.random(40))
    yield "sparse PMFs", quadratic(pmf(15, 0.05), rng.random(15))
    yield "fewer ratings than events", quadratic(pmf(3), rng.random(3))
    yield "one rating", quadratic(pmf(1), rng.random(1))
    yield "unrated", quadratic(pmf(0), rng.random(0))
    yield "all ones", quadratic(pmf(5), np.ones(5))
    yield "all zeros", quadratic(pmf(5), np.zeros(5))
    yield "tied: uniform PMFs", quadratic(np.full((4, n_events), 1 / n_events), rng.random(4))
    theta = pmf(20)
    twins = np.repeat(theta[:, : (n_events + 1) // 2], 2, axis=1)[:, :n_events]
    twins /= twins.sum(axis=1, keepdims=True)
    yield "tied: events in twins", quadratic(twins, rng.random(20))
    planted = pmf(30) @ (rng.random(n_events) < 0.5)
    yield "planted, no noise", quadratic(pmf(30), planted)
    yield (
        "vertices only",
        quadratic(np.eye(n_events)[rng.integers(0, n_events, 12)], rng.random(12)),
    )
    S, v, energy = quadratic(pmf(25), rng.random(25))
    yield "penalised", (S, v - 0.2, energy)
    yield "penalised beyond measure", (S, v - 1e6, energy)
    yield "barely rated", quadratic(pmf(2), rng.random(2), np.array([1e-6, 1e6]))
    theta = pmf(1)
    theta[0, : n_events // 2] *= 1e-8  # a shift in proportion would take too long to help these
    yield "one rating, tiny masses", quadratic(theta / theta.sum(), np.array([0.8961958]))
    yield "the same rater again", quadratic(np.repeat(pmf(1), 9, axis=0), rng.random(9))


def many(compiled: int, interpreted: int) -> int:
    """How many draws: interpreted kernels are some hundred times slower."""
    return interpreted if INTERPRETED else compiled
