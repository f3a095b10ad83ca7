"""An average compressed: one model of few events, fitted to all that many of them say together.

Where every cell of a table counts alike, all items share one quadratic and all users another, and
the linear terms are products of an average's factors with the small model's: the table itself, an
average's prediction of every cell, is never held. So no cell has to be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.codes import WORD
from eventspace._base.progress import bar
from eventspace._base.threads import one_blas_thread, run_together
from eventspace._base.types import Floats
from eventspace.engines.protocol import Product
from eventspace.fitting.descent import Descent, best_descent, random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.fitting.settings import checked_engine
from eventspace.indicators import Local
from eventspace.pmf import Pairwise

N_ITER, TOL = 30, 1e-3
SOLVER = Local(3)  # with its random starts the descent ends lower than with the exact one
ROWS = 256  # that a thread takes at a time
COMPARED = 10_000  # random pairs on which the loss is taken


class WholeTable(NamedTuple):
    """The prediction ``theta @ psi.T`` of every cell, in both orders."""

    by_user: Product
    by_item: Product


def whole_table(theta: Floats, psi: Floats, n_threads: int, show: bool | None) -> WholeTable:
    """The predictions of an average with PMFs theta and indicators psi, as numbers."""
    energy = np.empty(len(theta))

    def measure(rows: slice) -> Iterator[int]:
        p = theta[rows] @ psi.T
        energy[rows] = np.einsum("ui,ui->u", p, p)
        yield 1

    parts = [slice(first, first + ROWS) for first in range(0, len(theta), ROWS)]
    run_together("compress", [measure(rows) for rows in parts], 1, n_threads, show)
    # of items nobody asks how far they are: the costs lack what no code changes
    return WholeTable(Product(theta, psi, energy), Product(psi, theta, np.zeros(len(psi))))


def compress(average: Any, n_events: int, rng: np.random.Generator) -> Descent:
    """PMFs and sets of ``n_events`` events that say, as nearly as they can, what an average says.

    Of several descents the one that comes nearest is kept; with few events they cost little.
    """
    engine, show, n_starts = (
        checked_engine(average.settings),
        average.settings.verbose,
        WORD // n_events,
    )
    items = np.arange(average.observations.n_items)
    psi = np.hstack([average.indicators_or_mean(events, items) for events in average.blocks])
    table = whole_table(average.pmf, psi, engine.n_threads, show)
    with one_blas_thread(), bar("compress", N_ITER * n_starts, show) as update:
        descent = best_descent(
            (random_start(average.observations, n_events, rng) for _ in range(n_starts)),
            table,
            HalfSteps.on(engine, SOLVER, Pairwise()),
            prior="zero",
            n_iter=N_ITER,
            tol=TOL,
            rng=rng,
            update=update,
        )
    if descent.interrupted:
        raise KeyboardInterrupt
    return descent
