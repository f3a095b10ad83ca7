"""Do rules hold on a table that the model has not seen? An exact test of each, and all at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eventspace._base.jit import njit
from eventspace._base.types import Floats


def p_values(users: Floats, like: Floats, like_then: Floats, like_both: Floats) -> Floats:
    """Fisher's exact test of each rule, one-sided.

    The chance that at least so many like both, if those who like the first like the second as often
    as all who rated both do.
    """
    counts = (np.asarray(count, dtype=np.int64) for count in (users, like, like_then, like_both))
    return np.asarray(_tails(*counts))


def q_values(p: Floats, tested: Any) -> Floats:
    """Benjamini and Yekutieli's: the rules with q < x are wrong at a rate below x, expected.

    This holds however the tests depend on each other, as they do where rules share users. Only
    those ``tested`` count: where nobody likes the one or the other, nothing can be found.
    """
    q, at = np.ones(len(p)), np.flatnonzero(tested)
    if at.size:
        order = at[np.argsort(p[at], kind="stable")]
        rank = np.arange(1, at.size + 1)
        raised = p[order] * at.size * np.sum(1 / rank) / rank
        q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return q


@njit(cache=True, nogil=True)
def _tails(users: Any, like: Any, like_then: Any, like_both: Any) -> Any:
    """The upper tails of hypergeometric laws: each term from the one before, from the greatest on.

    Below the mean the lower tail is summed, downwards, and taken from one.
    """
    found = np.ones(users.size)
    for k in range(users.size):
        n, a, b, both = users[k], like[k], like_then[k], like_both[k]
        least, most = max(0, a + b - n), min(a, b)
        if both <= least:
            continue
        below = both * float(n) < float(a) * b
        both -= below
        term = math.exp(_log_choose(a, both) + _log_choose(n - a, b - both) - _log_choose(n, b))
        total = 0.0
        while least <= both <= most and term > 1e-17 * total:
            total += term
            if below:
                term *= both * (n - a - b + both) / ((a - both + 1.0) * (b - both + 1.0))
                both -= 1
            else:
                term *= (a - both) * (b - both) / ((both + 1.0) * (n - a - b + both + 1.0))
                both += 1
        found[k] = min(1.0 - total if below else total, 1.0)
    return found


@njit(cache=True, nogil=True)
def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
