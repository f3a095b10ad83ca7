"""Algorithm 1: indicators and PMFs in turn, from random PMFs, until the cost stands still.

The cost is

    sum w_ui (theta_u . psi_i - p_ui)^2 + lambda sum_u |theta_u - m|^2 + mu sum_i |psi_i|,

with m = 0 (prior ``"zero"``, the paper's) or m the mean of the PMFs (prior ``"mean"``). Each of its
blocks (the codes, the PMFs, m) is set to a minimiser, or to something no worse than it was, so the
cost never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import numbers
from eventspace._base.randomness import streams
from eventspace._base.types import Codes, Floats
from eventspace.data.entries import Entries
from eventspace.data.observations import Observations
from eventspace.engines.cpu import Indicators, Pmfs


class Engine(Protocol):
    """What the descent knows of the machine."""

    @property
    def indicator_penalty(self) -> float:
        """Mu."""

    @property
    def pmf_penalty(self) -> float:
        """Lambda."""

    def update_indicators(
        self, by_item: Entries, pmf: Floats, codes: Codes, seeds: NDArray[np.uint64]
    ) -> Indicators:
        """Improve every item's code."""

    def update_pmfs(self, by_user: Entries, pmf: Floats, codes: Codes, centre: Floats) -> Pmfs:
        """Improve every user's PMF."""


@dataclass
class Descent:
    """Where a descent stands. ``history`` holds the cost after each iteration.

    ``codes`` are numbers, items x events, where indicators need not be binary.
    """

    pmf: Floats
    codes: NDArray[Any]
    proved: NDArray[np.bool_] = field(init=False)
    gap: Floats = field(init=False)
    error: float = np.nan
    history: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.proved = np.zeros(len(self.codes), dtype=np.bool_)
        self.gap = np.full(len(self.pmf), np.inf)

    @property
    def cost(self) -> float:
        """The cost now."""
        return self.history[-1] if self.history else np.inf


def random_start(observations: Observations, n_events: int, rng: np.random.Generator) -> Descent:
    """PMFs drawn uniformly from the simplex, and empty sets."""
    pmf = rng.standard_exponential((observations.n_users, n_events))
    pmf /= pmf.sum(axis=1, keepdims=True)
    return Descent(pmf, np.zeros(observations.n_items, dtype=np.uint64))


def descend(
    descent: Descent,
    observations: Observations,
    engine: Engine,
    *,
    prior: str,
    n_iter: int,
    tol: float,
    rng: np.random.Generator,
    on_iteration: Callable[[Descent], None],
) -> Descent:
    """Run up to ``n_iter`` iterations, or until one lowers the cost by less than ``tol`` of it.

    ``descent`` is changed as a whole after each half-step, so an interrupt (Ctrl-C) leaves it as it
    was after the last one that ended; it is then marked and returned.
    """
    rated = observations.by_user.rated
    try:
        for _ in range(n_iter):
            centre = population_centre(descent.pmf, rated, prior)
            seeds = streams(rng, observations.n_items)
            found = engine.update_indicators(
                observations.by_item, descent.pmf, descent.codes, seeds
            )
            descent.codes, descent.proved = found.codes, found.proved
            solved = engine.update_pmfs(observations.by_user, descent.pmf, descent.codes, centre)
            descent.pmf, descent.gap = solved.pmf, solved.gap
            before, descent.error = descent.cost, float(solved.error.sum())
            centre = population_centre(descent.pmf, rated, prior)
            descent.history.append(
                descent.error
                + engine.pmf_penalty * float(np.square(descent.pmf[rated] - centre).sum())
                + engine.indicator_penalty * float(numbers(descent.codes, centre.size).sum())
            )
            on_iteration(descent)
            if before - descent.cost <= tol * descent.cost:
                descent.converged = True
                break
    except KeyboardInterrupt:
        descent.interrupted = True
    return descent


def population_centre(pmf: Floats, rated: NDArray[np.bool_], prior: str) -> Floats:
    """The point towards which the penalty draws the PMFs."""
    if prior == "mean" and rated.any():
        return np.asarray(pmf[rated].mean(axis=0))
    return np.zeros(pmf.shape[1])


def new_pmfs(
    engine: Engine, by_user: Entries, codes: NDArray[Any], mean: Floats, prior: str
) -> Pmfs:
    """(Q1) for new users, from the population's PMF, which those without ratings keep."""
    centre = mean if prior == "mean" else np.zeros_like(mean)
    start = np.tile(mean, (len(by_user.ptr) - 1, 1))
    solved = engine.update_pmfs(by_user, start, codes, centre)
    solved.pmf[by_user.sizes == 0] = mean
    return solved
