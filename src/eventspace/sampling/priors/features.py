"""Features of items and users for the regressions: who rated what, and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from eventspace._base.types import Floats
from eventspace.data.entries import Entries

ROUNDING = 1e-9  # smaller values count as zero
RIDGE_OF_CONSTANT = 0.1

# features of all items, given the PMFs, or of all users, given the bits
Features = Callable[[Floats], Floats]


def incidence(entries: Entries, n_columns: int) -> Any:
    """Who rated what, as a sparse matrix, each row over the square root of its number of ones.

    Where what is missing says no, this is what is to be learnt: nobody is told.
    """
    sizes = entries.sizes
    if entries.missing.size:
        return sparse.csr_array((len(sizes), n_columns))
    ones = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return sparse.csr_array((ones, entries.index, entries.ptr), shape=(len(sizes), n_columns))


def features(rated: Any, attributes: Floats, of_other: Floats) -> Floats:
    """A constant, the log of the number of ratings, the sum of the others' deviations, attributes.

    The attributes are of mean zero already, as the deviations are.
    """
    sizes = np.log1p(np.diff(rated.indptr))
    deviations = rated @ (of_other - of_other.mean(axis=0))
    columns = np.hstack([(sizes - sizes.mean())[:, None], deviations, attributes])
    scale = np.sqrt(np.mean(np.square(columns), axis=0))
    columns[:, scale < ROUNDING] = 0.0
    return np.hstack([np.ones((len(sizes), 1)), columns / np.maximum(scale, ROUNDING)])


def ridge_of(n_features: int, ridge: float) -> Floats:
    """The penalty of each weight: little on the constant."""
    return np.array([RIDGE_OF_CONSTANT, *np.full(n_features - 1, ridge)])
