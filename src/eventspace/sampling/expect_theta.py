"""The normal law of a user's theta given the ratings: its mean, and what follows from it.

With the prior's inverse covariance A and mean A^-1 b, noise of precision tau and the quadratic
Q, r, e of the ratings, where each event's bits are in doubt by so much, the covariance is
``V = (tau (Q + diag(doubt)) + A)^-1`` and the mean ``V (tau r + b)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eventspace._base.functions import QUICK
from eventspace._base.jit import njit
from eventspace.engines.gram import sum_up


@njit(cache=True, nogil=True)
def sum_and_expect(
    ptr: Any,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    n_events: int,
    rated: Any,
    doubt: Any,
    tau: Any,
    b: Any,
    theta: Any,
    error: Any,
    variance: Any,
    A: Any,
    square: Any,
) -> Any:
    """As ``expect_all``, from the entries of each user."""
    n_columns, total = factors.shape[1], np.zeros((n_events, n_events))
    Q, r, V = np.empty((n_columns, n_columns)), np.empty(n_columns), np.empty_like(total)
    for u in range(len(theta)):
        e = sum_up(ptr[u], ptr[u + 1], index, value, weight, factors, Q, r)
        error[u], variance[u] = expect(Q, r, e, A, square, doubt[u], tau[u], b[u], V, theta[u])
        if rated[u]:
            total += V
    return total


@njit(cache=True, nogil=True)
def expect_all(
    Q: Any,
    r: Any,
    e: Any,
    A: Any,
    square: Any,
    total: Any,
    rated: Any,
    doubt: Any,
    tau: Any,
    b: Any,
    theta: Any,
    error: Any,
    variance: Any,
) -> None:
    """Write each user's mean, expected squared error and variance; add up covariances of rated."""
    V = np.empty_like(total)
    for u in range(len(theta)):
        error[u], variance[u] = expect(
            Q[u], r[u], e[u], A, square, doubt[u], tau[u], b[u], V, theta[u]
        )
        if rated[u]:
            total += V


@njit(**QUICK)
def expect(
    Q: Any,
    r: Any,
    e: float,
    A: Any,
    square: Any,
    doubt: Any,
    tau: float,
    b: Any,
    V: Any,
    theta: Any,
) -> tuple[float, float]:
    """Write V and the mean; gives what ratings are expected to miss, and the chances' variance.

    Q may be padded.
    """
    n_events = theta.size
    for d in range(n_events):
        for k in range(n_events):
            V[d, k] = tau * Q[d, k] + A[d, k]
        V[d, d] += tau * doubt[d]
    invert(V)
    for d in range(n_events):
        mean = 0.0
        for k in range(n_events):
            mean += V[d, k] * (tau * r[k] + b[k])
        theta[d] = mean
    missed = open_ = 0.0
    for d in range(n_events):
        row = shared = spread = 0.0
        for k in range(n_events):
            row += Q[d, k] * theta[k]
            shared += Q[d, k] * V[d, k]
            spread += V[d, k] * square[d, k]
        row += doubt[d] * theta[d]
        shared += doubt[d] * V[d, d]
        missed += theta[d] * (row - 2.0 * r[d]) + shared
        open_ += spread
    return e + missed, open_


@njit(**QUICK)
def invert(M: Any) -> None:
    """Write the inverse of a positive definite matrix in its place (Gauss and Jordan)."""
    n = len(M)
    for k in range(n):
        pivot = 1.0 / M[k, k]
        M[k, k] = 1.0
        for j in range(n):
            M[k, j] *= pivot
        for i in range(n):
            if i != k:
                factor = M[i, k]
                M[i, k] = 0.0
                for j in range(n):
                    M[i, j] -= factor * M[k, j]
