"""Binary vertices of an affine hull: Slawski, Hein and Lutsik (2013), algorithms 1 and 3.

If P = theta psi' with PMFs in the rows of theta, then every row of P lies in the affine hull of the
D columns of psi, which are vertices of the cube {0, 1}^items. The hull has at most D - 1
dimensions, so D - 1 independent items determine a point of it. The vertices in it are therefore
among 2^(D - 1) points, however many items there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd

from eventspace._base.types import Bits, Floats
from eventspace.pmf import Pairwise

NOISE = 1e-6  # of an entry: directions in which the table varies by less are none
IN_THE_HULL = 1e-9  # a squared distance
_BLOCK = 1 << 20  # numbers held of candidates


class Hull(NamedTuple):
    """The points ``origin + Z b``; on the items ``chosen`` such a point has the values b."""

    origin: Floats
    Z: Floats
    chosen: NDArray[np.int64]

    def points(self, numbers: NDArray[np.int64]) -> Floats:
        """The points whose b are the bits of these numbers: one per row."""
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


def nearest_vertices(hull: Hull, n: int, most: int = 0) -> tuple[Bits, Floats]:
    """The n candidates that are nearest to a vertex: those vertices, and the distances squared.

    All that are vertices themselves are among them, up to ``most``.
    """
    n_candidates = 1 << len(hull.chosen)
    distance = np.empty(n_candidates)
    step = max(1, _BLOCK // len(hull.origin))
    for start in range(0, n_candidates, step):
        numbers = np.arange(start, min(start + step, n_candidates))
        points = hull.points(numbers)
        distance[numbers] = np.square(points - (points > 0.5)).sum(axis=1)
    n_exact = int((distance <= IN_THE_HULL).sum())
    best = np.argsort(distance, kind="stable")[: max(n, min(n_exact, most))]
    return hull.points(best) > 0.5, distance[best]


def select(table: Floats, vertices: Bits, n_events: int) -> NDArray[np.int64]:
    """Which ``n_events`` of the vertices, the nearest first, have mixtures nearest to the rows.

    Two choices are compared, and the one that explains the table better is taken: the nearest
    vertices, and those left when one after another is dropped, always the one whose loss raises the
    least squares least. If the nearest lie in the hull, they are the better choice; elimination may
    drop one of them, because a larger pool can do without it.
    """
    T = vertices.astype(np.float64)
    G, H, solve = T @ T.T, table @ T.T, Pairwise()

    def mixed(rows: NDArray[np.int64], pmf: Floats) -> tuple[float, NDArray[np.int64], Floats]:
        cost, _ = solve(G[np.ix_(rows, rows)][None], H[:, rows], pmf)
        return float(cost.sum()), rows, pmf

    def evenly(rows: NDArray[np.int64]) -> Floats:
        return np.full((len(table), len(rows)), 1.0 / len(rows))

    nearest = np.arange(min(n_events, len(T)))
    left = np.arange(len(T))
    pmf = evenly(left)
    while len(left) > n_events:
        trials = (
            mixed(np.delete(left, k), np.delete(pmf, k, axis=1) + pmf[:, [k]] / (len(left) - 1))
            for k in range(len(left))
        )
        _, left, pmf = min(trials, key=_cost)
    return min(mixed(nearest, evenly(nearest)), mixed(left, pmf), key=_cost)[1]


def _cost(trial: tuple[float, NDArray[np.int64], Floats]) -> float:
    return trial[0]
