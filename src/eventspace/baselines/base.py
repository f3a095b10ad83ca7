"""What baselines have in common, and the alternation of those that are fitted as the model is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eventspace._base.checks import check_number, check_whole
from eventspace._base.codes import WORD
from eventspace._base.types import Floats
from eventspace.data.invariants import InvariantError
from eventspace.data.observations import Observations, to_learn_from
from eventspace.fitted.prediction import Prediction
from eventspace.fitting.descent import Descent, best_descent, population_centre
from eventspace.fitting.half_steps import HalfSteps, PmfStep, new_pmfs
from eventspace.fitting.settings import checked_engine


class Baseline(Prediction, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Predictions theta_u . psi_i by whatever ``pmf_`` and ``indicators_`` a baseline has."""

    _FOR_NEW_IDS = "Fit again with them"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "pmf_"):
            seen = self.observations_
            shapes = len(self.pmf_), *self.indicators_.shape
            if shapes != (seen.n_users, seen.n_items, self.pmf_.shape[1]):
                raise InvariantError("pmf_ or indicators_ does not fit the observations")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class Solved(Baseline, ABC):
    """Whose rows of ``pmf_`` a pmf step solves for, given the indicators."""

    @abstractmethod
    def _pmf_step(self) -> PmfStep:
        """The step for checked parameters."""

    def transform(self, X: Any) -> Floats:
        """The row of ``pmf_`` that each user of a table would have, taken as new.

        The items must be those of the fit. Gives rows x events, in the order of the table's rows.
        """
        check_is_fitted(self)
        by_user = self._aligned(X).by_user
        return new_pmfs(self._pmf_step(), by_user, self._psi(), self.pmf_mean_).pmf

    def _psi(self) -> NDArray[Any]:
        """The indicators in the form that the step takes."""
        return self.codes_[:, 0]


class Alternating(Solved):
    """Indicators and PMFs in turn, each with a solver of its own, by the model's own descent."""

    def __init__(
        self,
        n_events: int = 8,
        *,
        pmf_penalty: float = 1.0,
        n_iter: int = 20,
        tol: float = 1e-4,
        n_init: int = 1,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.n_events = n_events
        self.pmf_penalty = pmf_penalty
        self.n_iter = n_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _solvers(self) -> tuple[Any, Any]:
        """Of the indicator step and of the pmf step."""

    @abstractmethod
    def _start(
        self, observations: Observations, update_pmfs: PmfStep, rng: np.random.Generator
    ) -> Descent:
        """Where a descent begins."""

    def _keep(self, descent: Descent) -> None:
        """Keep the indicators of the descent."""
        self.codes_ = descent.codes[:, None]

    def _steps(self) -> HalfSteps:
        check_whole("n_events", self.n_events, 1, WORD)
        check_whole("n_iter", self.n_iter, 1)
        check_whole("n_init", self.n_init, 1)
        check_number("pmf_penalty", self.pmf_penalty)
        check_number("tol", self.tol)
        penalty = float(self.pmf_penalty)
        return HalfSteps.on(checked_engine(self), *self._solvers(), pmf_penalty=penalty)

    def _pmf_step(self) -> PmfStep:
        return self._steps().update_pmfs

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
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        best = best_descent(
            (start(rng) for _ in range(self.n_init)),
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
        self.observations_, self.pmf_ = observations, best.pmf
        self._keep(best)
        self.history_ = np.array(best.history)
        self.error_, self.n_iter_ = best.error, len(best.history)
        self.converged_ = best.converged
        self.n_features_in_ = observations.n_items
        return self
