"""The measures of a rule: under the model's joint law, in the data, and against chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Floats
from eventspace.logic.space import SHRINKAGE

Z = 1.959964  # 95 % of a normal law lies within this many standard deviations


def model_measures(
    p_if: Floats, p_then: Floats, support: Floats, proved: NDArray[np.bool_]
) -> dict[str, Floats]:
    """What the joint law of two items, averaged over users, says of "if one, then the other"."""
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence = np.where(proved, 1.0, support / p_if)
        conviction = (1 - p_then) / (1 - confidence)
        return {
            "antecedent support": p_if,
            "consequent support": p_then,
            "support": support,
            "confidence": confidence,
            "lift": confidence / p_then,
            "leverage": support - p_if * p_then,
            "conviction": np.where(confidence < 1, conviction, np.inf),
        }


def evidence_measures(counts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What the ratings of the users who rated both say (a Comparison); NaN where they are none."""
    low, high = wilson(counts["like_both"], counts["like"])
    with np.errstate(invalid="ignore"):
        return {
            "users": np.asarray(counts["both"], dtype=np.int64),
            "agreement": counts["le"] / counts["both"],
            "like_rate": counts["like_both"] / counts["like"],
            "base_rate": counts["like_other"] / counts["both"],
            "like_low": low,
            "like_high": high,
        }


def surprise(
    log_chance: Floats, correlation: Floats, users: NDArray[np.int64], stability: Floats
) -> Floats:
    """How surprising a rule is: a product of three numbers.

    They are: how unlikely such an overlap is by the sizes of the sets alone, in powers of ten; the
    correlation of the two items' ratings beyond the means of items and users, shrunk towards zero
    if few users rated both; and the stability, if it is known.
    """
    shrunk = np.maximum(correlation, 0) * users / (users + SHRINKAGE)
    stable = np.where(np.isnan(stability), 1.0, stability)
    return np.asarray(np.abs(log_chance) * shrunk * stable)


def wilson(successes: NDArray[Any], trials: NDArray[Any]) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval for a proportion; from 0 to 1 where nothing was tried."""
    n = np.maximum(trials, 1)
    p = successes / n
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    low = np.where(trials > 0, np.maximum(centre - half, 0.0), 0.0)
    return low, np.where(trials > 0, np.minimum(centre + half, 1.0), 1.0)


def log_chance(
    n_events: int, lower: NDArray[np.int64], upper: NDArray[np.int64], common: NDArray[np.int64]
) -> Floats:
    """log10 of the chance that two random sets of these sizes have this much in common.

    The tail of the hypergeometric law: for an inclusion C(upper, lower) / C(n_events, lower).
    """
    if not len(lower):
        return np.zeros(0)
    log_factorial = np.array([math.lgamma(n) for n in range(1, n_events + 2)])

    def log_choose(n: Any, k: Any) -> Floats:
        possible = (k >= 0) & (k <= n)
        k = np.where(possible, k, 0)
        ways = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
        return np.where(possible, ways, -np.inf)

    most = np.minimum(lower, upper)
    total = np.zeros(len(lower))
    for extra in range(int((most - common).max()) + 1):
        k = np.minimum(common + extra, most)
        one = log_choose(upper, k) + log_choose(n_events - upper, lower - k)
        total += np.where(common + extra <= most, np.exp(one - log_choose(n_events, lower)), 0.0)
    return np.minimum(np.log10(total), 0.0)
