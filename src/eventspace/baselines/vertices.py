"""Binary vertices of an affine hull: Slawski, Hein and Lutsik (2013), algorithms 1 and 3.

If P = theta psi' with PMFs in the rows of theta, then every row of P lies in the affine hull of the
D columns of psi, which are vertices of the cube {0, 1}^items. It has at most D - 1 dimensions,
so that a point of it is given by its values on D - 1 items that are independent: the vertices in it
are among 2^(D - 1) points, however many items there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd

from eventspace.pmf import Pairwise

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

NOISE = 1e-6  # of an entry: directions in which the table varies by less are none
_BLOCK = 1 << 20  # numbers held of candidates


class Hull(NamedTuple):
    """The points ``origin + Z b``; on the items ``chosen`` such a point has the values b."""

    origin: Floats
    Z: Floats
    chosen: NDArray[np.int64]

    def points(self, numbers: NDArray[np.int64]) -> Floats:
        """The points whose b are the bits of these numbers: one a row."""
        bits = numbers[:, None] >> np.arange(len(self.chosen)) & 1
        return self.origin + bits @ self.Z.T


def affine_hull(table: Floats, n_events: int) -> Hull:
    """The hull of at most ``n_events`` - 1 dimensions that is nearest to the rows of a table."""
    mean = table.mean(axis=0)
    _, sizes, directions = svd(table - mean, full_matrices=False)
    rank = min(n_events - 1, int((sizes > NOISE * np.sqrt(table.size)).sum()))
    basis = directions[:rank]
    _, pivots = qr(basis, mode="r", pivoting=True)  # independent items, well so
    chosen = pivots[:rank]
    Z = np.linalg.solve(basis[:, chosen], basis).T
    return Hull(mean - Z @ mean[chosen], Z, chosen)


def nearest_vertices(hull: Hull, n: int) -> tuple[Bits, Floats]:
    """The n candidates that are nearest to a vertex: those vertices, and the distances squared."""
    n_candidates = 1 << len(hull.chosen)
    distance = np.empty(n_candidates)
    step = max(1, _BLOCK // len(hull.origin))
    for start in range(0, n_candidates, step):
        numbers = np.arange(start, min(start + step, n_candidates))
        points = hull.points(numbers)
        distance[numbers] = np.square(points - (points > 0.5)).sum(axis=1)
    best = np.argsort(distance, kind="stable")[:n]
    return hull.points(best) > 0.5, distance[best]


def select(table: Floats, vertices: Bits, n_events: int) -> NDArray[np.int64]:
    """Which ``n_events`` of the vertices have mixtures nearest to the rows of a table.

    From all of them those go, one after another, without which the least squares are least.
    """
    T = vertices.astype(np.float64)
    G, H, solve = T @ T.T, table @ T.T, Pairwise()
    kept = np.arange(len(T))
    pmf = np.full((len(table), len(T)), 1.0 / len(T))
    while len(kept) > n_events:
        trials = []
        for k in range(len(kept)):
            rest = np.delete(kept, k)
            theta = np.delete(pmf, k, axis=1) + pmf[:, k : k + 1] / len(rest)
            cost, _ = solve(G[np.ix_(rest, rest)][None], H[:, rest], theta)
            trials.append((float(cost.sum()), rest, theta))
        _, kept, pmf = min(trials, key=lambda trial: trial[0])
    return kept
