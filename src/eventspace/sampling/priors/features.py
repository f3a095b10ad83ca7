"""Features of items and users for the regressions: who rated what, and attributes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.gram import sums_of_rows

ROUNDING = 1e-6  # smaller values count as zero: sums are of numbers with 32 bits
RIDGE_OF_CONSTANT = 0.1

# features of all items, given the PMFs, or of all users, given the bits
Features = Callable[[Floats], Floats]


def features(entries: Entries, attributes: Floats, of_other: Floats) -> Floats:
    """A constant, the log of the number of ratings, the sum of the others' deviations, attributes.

    The sum is over the square root of the number. The attributes are of mean zero already, as the
    deviations are. Where what is missing says no, who rated is what is to be learnt: not told here.
    """
    sizes, deviations = entries.sizes, of_other - of_other.mean(axis=0)
    if entries.missing.size:
        sizes, summed = np.zeros_like(sizes), np.zeros((len(sizes), of_other.shape[1]))
    else:
        summed = sums_of_rows(entries.ptr, entries.index, deviations)
    logs = np.log1p(sizes)
    summed /= np.sqrt(np.maximum(sizes, 1))[:, None]
    columns = np.hstack([(logs - logs.mean())[:, None], summed, attributes])
    scale = np.sqrt(np.mean(np.square(columns), axis=0))
    columns[:, scale < ROUNDING] = 0.0
    return np.hstack([np.ones((len(sizes), 1)), columns / np.maximum(scale, ROUNDING)])


def ridge_of(n_features: int, ridge: float) -> Floats:
    """The penalty of each weight: little on the constant."""
    return np.array([RIDGE_OF_CONSTANT, *np.full(n_features - 1, ridge)])
