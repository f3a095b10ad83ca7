"""PMFs of all users together: the point that a penalty draws them to, and how far they are."""

from __future__ import annotations

import numpy as np

from eventspace._base.types import Bits, Floats


def population_centre(pmf: Floats, rated: Bits, prior: str) -> Floats:
    """The mean of the PMFs of users with ratings, or zero."""
    if prior == "mean" and rated.any():
        return np.asarray(pmf[rated].mean(axis=0))
    return np.zeros(pmf.shape[1])


def population_spread(pmf: Floats, rated: Bits, centre: Floats) -> float:
    """The sum of ``|theta_u - centre|^2`` over the users with ratings."""
    return float(np.square(pmf[rated] - centre).sum())
