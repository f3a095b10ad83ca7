"""An average compressed: one model of few events, fitted to all that many of them say together.

Where every cell of a table counts alike, all items share one quadratic and all users another, and
the linear terms are products of an average's factors with the small model's: the table itself, an
average's prediction of every cell, is never held. So no cell has to be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import WORD, unpack
from eventspace._base.progress import bar
from eventspace._base.threads import one_blas_thread
from eventspace._base.types import Codes, Floats
from eventspace.data.entries import Entries
from eventspace.engines.cpu import Indicators, Pmfs
from eventspace.fitting.descent import Descent, descend, random_start
from eventspace.fitting.settings import checked_threads
from eventspace.indicators import Local
from eventspace.pmf import Pairwise

N_ITER, TOL = 30, 1e-3
SOLVER = Local(3)  # with its random starts the descent ends lower than with the exact one
ROWS = 256  # that a thread takes at a time
COMPARED = 10_000  # random pairs on which the loss is taken


def compress(average: Any, n_events: int, rng: np.random.Generator) -> Descent:
    """The PMFs and sets of so many events that say, as nearly as they can, what an average says.

    Of several descents the one that comes nearest is kept; of few events they cost little.
    """
    seen, show, n_starts = average.observations, average.settings.verbose, WORD // n_events
    found = []
    with one_blas_thread(), bar("compress", N_ITER * n_starts, show) as update:
        table = WholeTable(average)
        for k in range(n_starts):
            descent = descend(
                random_start(seen, n_events, rng),
                seen,
                table,
                prior="zero",
                n_iter=N_ITER,
                tol=TOL,
                rng=rng,
                on_iteration=lambda now, done=k * N_ITER: update(  # type: ignore[misc]
                    done + len(now.history), f"cost {now.cost:,.2f}"
                ),
            )
            if descent.interrupted:
                raise KeyboardInterrupt
            found.append(descent)
    return min(found, key=lambda descent: descent.cost)


class WholeTable:
    """An engine whose table is an average's prediction of every cell."""

    indicator_penalty = pmf_penalty = 0.0

    def __init__(self, average: Any) -> None:
        self.theta, items = average.pmf, np.arange(average.observations.n_items)
        blocks = [average.indicators_or_mean(events, items) for events in average.blocks]
        self.psi = np.hstack(blocks)
        self.n_threads = checked_threads(average.settings)
        self.energy = np.empty(len(self.theta))

        def measure(rows: slice) -> None:
            p = self.theta[rows] @ self.psi.T
            self.energy[rows] = np.einsum("ui,ui->u", p, p)

        self._each_part(len(self.energy), measure)

    def update_indicators(
        self, by_item: Entries, pmf: Floats, codes: Codes, seeds: NDArray[np.uint64]
    ) -> Indicators:
        """(Q2) for every item; the costs lack what no code changes."""
        codes, S = codes.copy(), (pmf.T @ pmf)[None]
        v = self.psi @ (self.theta.T @ pmf)
        cost, proved = np.empty(len(codes)), np.empty(len(codes), dtype=np.bool_)
        energy = np.zeros(len(codes))

        def solve(rows: slice) -> None:
            cost[rows], proved[rows] = SOLVER(S, v[rows], energy[rows], codes[rows], seeds[rows])

        self._each_part(len(codes), solve)
        return Indicators(codes, cost, proved)

    def update_pmfs(self, by_user: Entries, pmf: Floats, codes: Codes, centre: Floats) -> Pmfs:
        """(Q1) for every user."""
        pmf, bits = pmf.copy(), unpack(codes[:, None], pmf.shape[1]).astype(np.float64)
        r = self.theta @ (self.psi.T @ bits)
        Q = (bits.T @ bits)[None]
        error, gap = np.empty(len(pmf)), np.empty(len(pmf))

        def solve(rows: slice) -> None:
            cost, gap[rows] = Pairwise()(Q, r[rows], pmf[rows])
            error[rows] = np.maximum(cost + self.energy[rows], 0.0)

        self._each_part(len(pmf), solve)
        return Pmfs(pmf, error, gap)

    def _each_part(self, n_rows: int, work: Callable[[slice], None]) -> None:
        """Some rows after the other, on several threads; each writes its own rows only."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(work, (slice(k, k + ROWS) for k in range(0, n_rows, ROWS))))
