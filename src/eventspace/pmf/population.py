"""PMFs of all users together: the point that a penalty draws them to, and how far they are."""

from __future__ import annotations

import numpy as np

from eventspace._base.types import Bits, Floats

AT_A_TIME = 4096  # users, whose PMFs stay in the cache


def population_centre(pmf: Floats, rated: Bits, prior: str) -> Floats:
    """The mean of the PMFs of users with ratings, or zero."""
    if prior == "mean" and rated.any():
        return np.asarray((pmf if rated.all() else pmf[rated]).mean(axis=0))
    return np.zeros(pmf.shape[1])


def population_spread(pmf: Floats, rated: Bits, centre: Floats) -> float:
    """The sum of ``|theta_u - centre|^2`` over the users with ratings."""
    pmf, apart = pmf if rated.all() else pmf[rated], 0.0
    for first in range(0, len(pmf), AT_A_TIME):
        block = pmf[first : first + AT_A_TIME] - centre
        apart += float(np.einsum("ud,ud->", block, block))
    return apart
