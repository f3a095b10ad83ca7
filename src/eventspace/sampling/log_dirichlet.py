"""The log of Dirichlet densities around centres, which the concentration is drawn by."""

from __future__ import annotations

from typing import Any

from eventspace._base.functions import QUICK, log_gamma
from eventspace._base.jit import njit
from eventspace.engines.workbench import RowKernel

LEAST_COUNT = 0.2  # of an event in the Dirichlet law of a PMF


@njit(**QUICK, inline="always")
def log_density(log_pmf: Any, concentration: float, centre: Any) -> float:
    """Of a PMF with the pseudo-counts ``concentration * centre``, at least LEAST_COUNT each."""
    total = powers = gammas = 0.0
    for d in range(centre.size):
        count = max(concentration * centre[d], LEAST_COUNT)
        total += count
        powers += (count - 1.0) * log_pmf[d]
        gammas += log_gamma(count)
    return log_gamma(total) - gammas + powers


@njit(**QUICK)
def write_log_density(
    c: int, u: int, room: Any, centres: Any, log_pmf: Any, found: Any, concentration: Any
) -> None:
    """Write it for user u, with the concentration of chain c."""
    found[u] = log_density(log_pmf[u], concentration[c, 0], centres[u])


@njit(**QUICK)
def write_log_densities(centres: Any, log_pmf: Any, found: Any, concentration: Any) -> None:
    """Write it for all users."""
    for u in range(len(centres)):
        found[u] = log_density(log_pmf[u], concentration[0, 0], centres[u])


LOG_DENSITIES = RowKernel(write_log_density, write_log_densities)
