"""The log of Dirichlet densities, which priors ask for again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventspace._base.functions import QUICK, log_gamma
from eventspace._base.jit import njit
from eventspace._base.types import Floats


def log_dirichlet(counts: Floats, log_pmf: Floats) -> Floats:
    """The log of each PMF's density, given its pseudo-counts, all above zero."""
    found = np.empty(len(counts))
    _log_dirichlet(np.ascontiguousarray(counts), np.ascontiguousarray(log_pmf), found)
    return found


@njit(**QUICK)
def _log_dirichlet(counts: Any, log_pmf: Any, found: Any) -> None:
    for u in range(len(counts)):
        total = powers = gammas = 0.0
        for d in range(counts.shape[1]):
            total += counts[u, d]
            powers += (counts[u, d] - 1.0) * log_pmf[u, d]
            gammas += log_gamma(counts[u, d])
        found[u] = log_gamma(total) - gammas + powers
