"""The descent with what validation chooses for it: events and penalties, on a held-out tenth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from eventspace import KolmogorovDescent, Observations
from eventspace.fitted import FittedModel
from eventspace.fitted.fit import DescentFit
from eventspace.fitting.descent import Descent
from eventspace.fitting.folds import held_out
from eventspace.fitting.learning import FEW_ENTRIES, FEW_EVENTS, learn
from eventspace.fitting.settings import DescentSettings, engine_to_learn

PENALTIES = tuple(640 / 2.0**k for k in range(20))  # from strong to weak
PATIENCE = 2  # penalties in a row that are no better end a path
STARTS = 3  # random ones, beside the path, at each penalty on small tables


class ValidatedDescent(BaseEstimator):  # type: ignore[misc]
    """Paths of ever weaker ``pmf_penalty``, each fit going on from the last; then one on all."""

    def __init__(
        self,
        n_events: Sequence[int] = (4, 8, 16),
        *,
        pmf_penalty: Sequence[float] = PENALTIES,
        indicator_penalty: Sequence[float] = (0.0, 0.2),
        n_iter: int = 10,
        n_init: int | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_events = n_events
        self.pmf_penalty = pmf_penalty
        self.indicator_penalty = indicator_penalty
        self.n_iter = n_iter
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """Choose, and fit to all; ``errors_`` are those of what was held out, by what was tried."""
        seen = Observations.of(X)
        random = check_random_state(self.random_state)
        fold = held_out(seen, 0.1, random)
        assert fold is not None  # tables here are not that small
        shared: dict[str, Any] = {"n_iter": self.n_iter, "n_init": self.n_init, "verbose": False}
        shared["random_state"] = int(random.randint(2**31))
        self.errors_: dict[tuple[int, float, float], float] = {}
        for n_events, size in product(self.n_events, self.indicator_penalty):
            settings = DescentSettings(n_events, indicator_penalty=size, **shared)
            fit, least, worse = None, np.inf, 0
            for penalty in self.pmf_penalty:
                settings = replace(settings, pmf_penalty=penalty)
                fit = _go_on(settings, fold.train, fit)
                p = FittedModel(fit, settings).predict_positions(fold.users, fold.items)
                error = self.errors_[n_events, size, penalty] = fold.error(p)
                least, worse = (error, 0) if error < least else (least, worse + 1)
                if worse == PATIENCE:
                    break
        n_events, size, best = min(self.errors_, key=self.errors_.__getitem__)
        fit = None
        for penalty in self.pmf_penalty[: self.pmf_penalty.index(best) + 1]:
            settings = DescentSettings(
                n_events, pmf_penalty=penalty, indicator_penalty=size, **shared
            )
            fit = _go_on(settings, seen, fit)
        assert fit is not None  # a path has a penalty
        self.model_ = KolmogorovDescent.holding(FittedModel(fit, settings))
        self.best_params_ = {"n_events": n_events, "indicator_penalty": size, "pmf_penalty": best}
        return self

    def predict(self, X: Any = None, **options: Any) -> Any:
        """What the model that was chosen predicts."""
        return self.model_.predict(X, **options)


def _go_on(settings: DescentSettings, seen: Observations, last: DescentFit | None) -> DescentFit:
    """Go on from the last fit. On small tables a path may lead astray: try some random starts."""
    start = Descent(last.pmf, last.codes[:, 0]) if last else None
    few = seen.n_observed < FEW_ENTRIES and settings.n_events <= FEW_EVENTS
    with engine_to_learn(settings, seen.n_observed) as machine:
        descents = [learn(seen, settings, machine, start=start)]
        if few and settings.n_init == "auto":
            descents.append(learn(seen, replace(settings, n_init=STARTS), machine))
    if any(descent.interrupted for descent in descents):
        raise KeyboardInterrupt
    return min((DescentFit.of(seen, d) for d in descents), key=lambda fit: float(fit.history[-1]))
