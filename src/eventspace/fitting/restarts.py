"""Descents from many starts, several at a time, with penalties that a few of them can choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.checks import check_number, check_whole
from eventspace._base.codes import WORD, unpack
from eventspace._base.types import Bits, Floats
from eventspace.data.factors import dot_products
from eventspace.data.invariants import MOST_SAMPLES
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.fitting.descent import Descent, descend, random_start
from eventspace.fitting.folds import Fold
from eventspace.fitting.half_steps import HalfSteps
from eventspace.fitting.settings import check_machine
from eventspace.indicators import Local
from eventspace.pmf import Pairwise
from eventspace.pmf.population import population_centre

TOL = 1e-4  # of the cost: a descent that gains less is at its end
PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3)  # of PMFs, from strong to weak
TRIAL_MODELS = 4
SOLVER = Local(3)  # averages are as good with it as with the exact one, in half the time


@dataclass(eq=False, repr=False)
class EnsembleSettings:
    """How models are averaged; :class:`eventspace.KolmogorovEnsemble` says what each means."""

    n_events: int = 16
    _: KW_ONLY
    n_models: int = 16
    pmf_penalty: float | str = "auto"
    indicator_penalty: float | str = "auto"
    n_iter: int = 5
    engine: str = "auto"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool | None = None


def check_settings(settings: EnsembleSettings) -> None:
    """Refuse a bad setting."""
    check_whole("n_events", settings.n_events, 1, WORD)
    check_whole("n_models", settings.n_models, 1, MOST_SAMPLES)
    check_whole("n_iter", settings.n_iter, 1)
    check_machine(settings)
    for name in ("pmf_penalty", "indicator_penalty"):
        if getattr(settings, name) != "auto":
            check_number(name, getattr(settings, name))


class Trial(NamedTuple):
    """Penalties, and how well a few models with these, averaged, predict what is held out."""

    pmf_penalty: float
    indicator_penalty: float
    error: float  # RMSE, in the unit of the table
    noise: float  # of it what the spread of the models does not explain, in probability


@dataclass
class Restarts:
    """Models of ``n_events``, fitted with ``n_iter`` iterations at each penalty of a path."""

    n_events: int
    n_iter: int
    engine: Engine
    show: bool | None  # a progress bar

    def fitted(
        self, observations: Observations, trial: Trial, seed: int, n_models: int
    ) -> tuple[list[tuple[Floats, Bits]], bool]:
        """The PMFs and indicators of n models, each down the path to the penalty.

        Also whether Ctrl-C came: then these are the models that have begun, where they stand. If
        none has, the interrupt goes on.
        """
        starts, one = self._starts(observations, seed, n_models), self.engine.with_threads(1)
        interrupted = False
        try:
            for penalty in path_to(trial.pmf_penalty):
                steps = HalfSteps.on(one, SOLVER, Pairwise(), trial.indicator_penalty, penalty)
                self._go_on(f"penalty {penalty:g}", starts, observations, steps)
        except KeyboardInterrupt:
            starts, interrupted = [start for start in starts if start.descent.history], True
            if not starts:
                raise
        return [self._model(start.descent, observations) for start in starts], interrupted

    def best(self, fold: Fold, penalty: float | None, sizes: list[float], seed: int) -> Trial:
        """The penalties with which a few models predict what is held out best.

        Each path of pmf penalties is followed until the models predict worse than one step before,
        or to its end if it leads to a given ``penalty``.
        """
        path = list(PENALTIES) if penalty is None else path_to(penalty)
        tried = []
        for size in sizes:
            last = np.inf
            for trial in self._trials(fold, path, size, seed):
                if penalty is None or trial.pmf_penalty == penalty:
                    tried.append(trial)
                if penalty is None and trial.error > last:
                    break
                last = trial.error
        return min(tried, key=lambda trial: trial.error)

    def _trials(self, fold: Fold, path: list[float], size: float, seed: int) -> Iterator[Trial]:
        starts, one = self._starts(fold.train, seed, TRIAL_MODELS), self.engine.with_threads(1)
        low, high = fold.train.scale
        for penalty in path:
            steps = HalfSteps.on(one, SOLVER, Pairwise(), size, penalty)
            self._go_on(f"trial of {penalty:g}", starts, fold.train, steps)
            models = [self._model(start.descent, fold.train) for start in starts]
            p = np.array([dot_products(*model, fold.users, fold.items) for model in models])
            error = fold.error(p.mean(axis=0))
            rest = (error / (high - low)) ** 2 - p.var(axis=0).mean()
            yield Trial(penalty, size, error, float(np.sqrt(max(rest, 0.0))))

    def _starts(self, observations: Observations, seed: int, n: int) -> list[_Start]:
        rngs = np.random.default_rng(seed).spawn(n)
        return [_Start(random_start(observations, self.n_events, rng), rng) for rng in rngs]

    def _go_on(
        self, title: str, starts: list[_Start], observations: Observations, steps: HalfSteps
    ) -> None:
        """Let each descent run for some more iterations."""
        jobs = [_Descending(start, observations, steps, self.n_iter) for start in starts]
        self.engine.together(title, jobs, self.n_iter, self.show, starts.__setitem__)

    def _model(self, descent: Descent, observations: Observations) -> tuple[Floats, Bits]:
        rated = observations.by_user.rated
        pmf = descent.pmf.copy()
        pmf[~rated] = population_centre(pmf, rated, "mean")
        return pmf, unpack(descent.codes[:, None], self.n_events)


class _Start(NamedTuple):
    descent: Descent
    rng: np.random.Generator


@dataclass
class _Descending:
    """Some more iterations of a descent."""

    found: _Start
    observations: Observations
    half_steps: HalfSteps
    n_iter: int

    def steps(self) -> Iterator[int]:
        """Go on until it gains no more."""
        descent, rng = self.found
        descent.converged = False  # with this penalty
        for k in range(self.n_iter):
            descend(
                descent,
                self.observations,
                self.half_steps,
                prior="mean",
                n_iter=1,
                tol=TOL,
                rng=rng,
            )
            yield k + 1
            if descent.converged:
                return


def path_to(penalty: float) -> list[float]:
    """Ever weaker penalties down to one: descents that begin with strong ones end better."""
    return [strong for strong in PENALTIES if strong > penalty] + [penalty]
