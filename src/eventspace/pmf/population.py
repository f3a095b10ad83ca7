"""PMFs of all users together: the point that a penalty draws them to, and how far they are.

While these sums are formed, other threads wait: each is one pass over the PMFs.
"""

from __future__ import annotations

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.types import Bits, Floats


def population_centre(pmf: Floats, rated: Bits, prior: str) -> Floats:
    """The mean of the PMFs of users with ratings, or zero."""
    zero = np.zeros(pmf.shape[1])
    if prior != "mean" or not rated.any():
        return zero
    return np.asarray(_column_sums(pmf, rated, zero, False) / np.count_nonzero(rated))


def population_spread(pmf: Floats, rated: Bits, centre: Floats) -> float:
    """The sum of ``|theta_u - centre|^2`` over the users with ratings."""
    return float(_column_sums(pmf, rated, centre, True).sum())


@njit(cache=True, nogil=True)
def _column_sums(pmf: Floats, rated: Bits, centre: Floats, squared: bool) -> Floats:
    """Of ``theta_u - centre``, or of its squares, over the users with ratings, in their order."""
    total = np.zeros(centre.size)
    for u in range(len(pmf)):
        if rated[u]:
            for d in range(centre.size):
                apart = pmf[u, d] - centre[d]
                total[d] += apart * apart if squared else apart
    return total
