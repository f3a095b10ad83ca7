"""Fitted models, and all that they can say; nothing here needs scikit-learn."""

from __future__ import annotations

import os

from eventspace.fitted.average import FittedAverage
from eventspace.fitted.ensemble import FittedEnsemble
from eventspace.fitted.files import load_fit
from eventspace.fitted.fit import DescentFit, EnsembleFit, Fit, PosteriorFit
from eventspace.fitted.model import FittedModel
from eventspace.fitted.posterior import FittedPosterior

__all__ = ["FittedAverage", "FittedEnsemble", "FittedModel", "FittedPosterior", "load"]

_KINDS: dict[type[Fit], type[FittedModel]] = {
    DescentFit: FittedModel,
    EnsembleFit: FittedEnsemble,
    PosteriorFit: FittedPosterior,
}


def load(path: str | os.PathLike[str], estimator: str | None = None) -> FittedModel:
    """Read a model that ``save`` wrote, of whatever kind it is, or of this estimator's."""
    fit, settings = load_fit(path, estimator)
    return _KINDS[type(fit)](fit, settings)
