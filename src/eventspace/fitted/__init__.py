"""Fitted models, and all that they can say; nothing here needs scikit-learn."""

from __future__ import annotations

import os

from eventspace.fitted.average import FittedAverage
from eventspace.fitted.compressed import CompressedModel
from eventspace.fitted.files import load_fit
from eventspace.fitted.fit import CompressedFit, EnsembleFit, PosteriorFit
from eventspace.fitted.model import FittedModel

__all__ = ["CompressedModel", "FittedAverage", "FittedModel", "load"]


def load(path: str | os.PathLike[str], estimator: str | None = None) -> FittedModel:
    """Read a model that ``save`` wrote: of any kind, or of this estimator's.

    It needs no scikit-learn, and it is not changed: its ``update`` gives a new model.
    """
    fit, settings = load_fit(path, estimator)
    if isinstance(fit, PosteriorFit):
        from eventspace.fitted.posterior import FittedPosterior  # which imports SciPy

        return FittedPosterior(fit, settings)
    if isinstance(fit, EnsembleFit):
        from eventspace.fitted.ensemble import FittedEnsemble

        return FittedEnsemble(fit, settings)
    if isinstance(fit, CompressedFit):
        return CompressedModel(fit, settings)
    return FittedModel(fit, settings)
