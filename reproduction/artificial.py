"""The paper's artificial tables, and the solvers as it prints them, without any safeguard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import unpack
from eventspace.data.observations import Observations
from eventspace.indicators import SDR

Floats = NDArray[np.float64]
Codes = NDArray[np.uint64]

USERS, ITEMS = 20, 40


def uniform_table(seed: int) -> Observations:
    """Chances drawn uniformly and independently, U = 20, I = 40, nothing missing."""
    table = np.random.default_rng(seed).random((USERS, ITEMS))
    return Observations.of(table, scale=(0, 1))


def costs(S: Floats, v: Floats, codes: Codes) -> Floats:
    """g(psi) = psi'S psi - 2 v'psi of each row; one S may stand for all."""
    psi = unpack(codes[:, None], v.shape[1]).astype(np.float64)
    whole = np.broadcast_to(S, (len(v), *S.shape[1:]))
    quadratic = np.einsum("ia,iab,ib->i", psi, whole, psi)
    return np.asarray(quadratic - 2.0 * np.einsum("ia,ia->i", v, psi))


@dataclass(frozen=True)
class Rounded:
    """The relaxation and its roundings alone: what an item had before does not count.

    :class:`eventspace.indicators.SDR` keeps the incumbent where no rounding is better; so it is
    given one that is no good, of all and no events the dearer.
    """

    n_roundings: int = 50
    guarantee: ClassVar[str] = "heuristic"

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Codes, seeds: NDArray[np.uint64]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Write new codes; give the costs, and that nothing is proved."""
        every = np.full(len(v), (1 << v.shape[1]) - 1, dtype=np.uint64)
        codes[:] = np.where(costs(S, v, every) > 0, every, np.uint64(0))
        return SDR(self.n_roundings)(S, v, energy, codes, seeds)


@dataclass(frozen=True)
class PrintedSteps:
    """The paper's Frank-Wolfe: alpha = k/(k+1), and the last iterate is kept, better or not."""

    n_steps: int = 100
    guarantee: ClassVar[str] = "certified gap"

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Move the PMFs in place; give the costs and the duality gaps."""
        whole = np.broadcast_to(Q, (len(pmf), *Q.shape[1:]))
        for _, _ in frank_wolfe(whole, r, pmf, "paper", self.n_steps):
            pass
        return cost_and_gap(whole, r, pmf)


STEPS: dict[str, Callable[[int], float]] = {
    "paper": lambda k: k / (k + 1),
    "jaggi": lambda k: 2 / (k + 2),
}


def frank_wolfe(
    Q: Floats, r: Floats, pmf: Floats, step: str, n_steps: int
) -> Iterator[tuple[Floats, Floats]]:
    """Frank-Wolfe for all users at once, in place; gives the costs and gaps before each step."""
    rows = np.arange(len(pmf))
    for k in range(1, n_steps + 1):
        cost, gap = cost_and_gap(Q, r, pmf)
        yield cost, gap
        slope = np.einsum("uab,ub->ua", Q, pmf) - r
        vertex = slope.argmin(axis=1)
        if step == "line-search":
            away = -pmf.copy()
            away[rows, vertex] += 1.0
            curvature = np.einsum("ua,uab,ub->u", away, Q, away)
            ratio = np.divide(0.5 * gap, curvature, out=np.ones(len(pmf)), where=curvature > 0)
            alpha = np.minimum(ratio, 1.0)
        else:
            alpha = np.full(len(pmf), STEPS[step](k))
        pmf *= (1.0 - alpha)[:, None]
        pmf[rows, vertex] += alpha


def cost_and_gap(Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
    """f(theta) = theta'Q theta - 2 r'theta, and how far above the least it is at most."""
    slope = np.einsum("uab,ub->ua", Q, pmf) - r
    cost = np.einsum("ua,ua->u", pmf, slope - r)
    gap = 2.0 * (np.einsum("ua,ua->u", pmf, slope) - slope.min(axis=1))
    return cost, gap
