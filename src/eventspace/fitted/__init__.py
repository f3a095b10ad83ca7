"""Fitted models, and all that they can say; nothing here needs scikit-learn."""

from __future__ import annotations

import os

from eventspace.fitted.average import FittedAverage
from eventspace.fitted.files import load_fit
from eventspace.fitted.fit import AverageFit
from eventspace.fitted.model import FittedModel

__all__ = ["FittedAverage", "FittedModel", "load"]


def load(path: str | os.PathLike[str], estimator: str | None = None) -> FittedModel:
    """Read a model that ``save`` wrote, of whatever kind it is, or of this estimator's."""
    fit, settings = load_fit(path, estimator)
    return (FittedAverage if isinstance(fit, AverageFit) else FittedModel)(fit, settings)
