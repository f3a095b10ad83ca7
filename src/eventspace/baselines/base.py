"""The alternation of baselines that are fitted as the model is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from eventspace._base.checks import check_number, check_whole
from eventspace._base.codes import WORD, numbers
from eventspace._base.randomness import seed_of
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.data.learnable import to_learn_from
from eventspace.data.observations import Observations
from eventspace.estimators.base import Holder
from eventspace.fitted.prediction import Factors
from eventspace.fitting.descent import Descent, best_descent
from eventspace.fitting.half_steps import HalfSteps, PmfStep, new_pmfs
from eventspace.fitting.settings import checked_engine
from eventspace.pmf.population import population_centre


@dataclass(eq=False, repr=False)
class Alternating(Holder, ABC):
    """Indicators and PMFs in turn, each with a solver of its own, by the model's own descent."""

    n_events: int = 8
    _: KW_ONLY
    pmf_penalty: float = 1.0
    n_iter: int = 20
    tol: float = 1e-4
    n_init: int = 1
    n_jobs: int | None = -1
    random_state: Any = None

    @abstractmethod
    def _solvers(self) -> tuple[Any, Any]:
        """Of the indicator step and of the pmf step."""

    @abstractmethod
    def _start(
        self, observations: Observations, update_pmfs: PmfStep, rng: np.random.Generator
    ) -> Descent:
        """Where a descent begins."""

    def _solve(self, by_user: Entries) -> Floats:
        """theta of new users."""
        step = self._steps().update_pmfs
        return new_pmfs(step, by_user, self._psi, self.fitted_.pmf_mean).pmf

    def _steps(self) -> HalfSteps:
        check_whole("n_events", self.n_events, 1, WORD)
        check_whole("n_iter", self.n_iter, 1)
        check_whole("n_init", self.n_init, 1)
        check_number("pmf_penalty", self.pmf_penalty)
        check_number("tol", self.tol)
        penalty = float(self.pmf_penalty)
        return HalfSteps.on(checked_engine(self), *self._solvers(), pmf_penalty=penalty)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table: anything that ``Observations.of`` reads. ``y`` is ignored."""
        steps, observations = self._steps(), to_learn_from(X)
        start = partial(self._start, observations, steps.update_pmfs)
        return self._descend(observations, steps, start)

    def _descend(
        self,
        observations: Observations,
        steps: HalfSteps,
        start: Callable[[np.random.Generator], Descent],
    ) -> Self:
        """Keep the best of the descents from ``n_init`` starts."""
        rng = np.random.default_rng(seed_of(self.random_state))
        best = best_descent(
            [partial(start, rng)] * self.n_init,
            observations,
            steps,
            prior="mean",
            n_iter=self.n_iter,
            tol=self.tol,
            rng=rng,
        )
        if best.interrupted:
            raise KeyboardInterrupt
        rated = observations.by_user.rated
        best.pmf[~rated] = population_centre(best.pmf, rated, "mean")
        self._psi = best.codes  # in the form that the steps take
        psi = numbers(best.codes, self.n_events)
        self.fitted_ = Factors(type(self).__name__, observations, best.pmf, psi, self._solve)
        self.history_ = np.array(best.history)
        self.error_, self.n_iter_ = best.error, len(best.history)
        self.converged_ = best.converged
        return self
