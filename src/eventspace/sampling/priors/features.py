"""Features of items and users for the regressions: who rated what, and attributes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.workbench import Held, Workbench

ROUNDING = 1e-6  # smaller values count as zero: sums are of numbers with 32 bits
RIDGE_OF_CONSTANT = 0.1


@dataclass
class Features:
    """A constant, the log of the number of ratings, attributes, the sum of others' deviations.

    The sum is over the square root of the number. All but the constant are of unit variance. The
    attributes are of mean zero already, as the deviations are. Where what is missing says no, who
    rated is what is to be learnt, and is not told here. If nothing is ``told``, there is only the
    constant.
    """

    entries: Entries
    attributes: Floats  # rows x attributes
    bench: Workbench
    told: bool = True
    _fixed: Held = field(init=False)  # what does not change with the others
    _share: Held = field(init=False)  # one over the square root of the number

    def __post_init__(self) -> None:
        sizes = self.entries.sizes
        constant = np.ones((len(sizes), 1))
        if not self.told:
            self._fixed = self.bench.hold(constant)
            return
        self._share = self.bench.hold(1.0 / np.sqrt(np.maximum(sizes, 1))[:, None])
        logs = np.log1p(np.zeros_like(sizes) if self.entries.missing.size else sizes)
        columns = np.hstack([(logs - logs.mean())[:, None], self.attributes])
        self._fixed = self.bench.hold(np.hstack([constant, of_unit_variance(columns)]))

    def number(self, n_events: int) -> int:
        """How many there are."""
        return int(self._fixed.shape[1]) + (n_events if self.of_raters else 0)

    @property
    def of_raters(self) -> bool:
        """Whether who rated is told."""
        return self.told and not self.entries.missing.size

    def __call__(self, others: Held) -> Held:
        """Of all items, given the PMFs of users, or of all users, given the bits of items."""
        fixed = np.broadcast_to(self._fixed, (*others.shape[:-2], *self._fixed.shape))
        if not self.of_raters:
            return fixed
        deviations = others - others.mean(axis=-2, keepdims=True)
        summed = of_unit_variance(self.bench.sums_of_rows(self.entries, deviations) * self._share)
        return np.concatenate([fixed, summed], axis=-1)


def of_unit_variance(columns: Held) -> Held:
    """Columns whose mean square is one, or zero if they are rounding."""
    scale = np.sqrt(np.mean(np.square(columns), axis=-2, keepdims=True))
    return columns * ((scale >= ROUNDING) / np.maximum(scale, ROUNDING))


def ridge_of(n_features: int, ridge: float) -> Floats:
    """The penalty of each weight: little on the constant."""
    return np.array([RIDGE_OF_CONSTANT, *np.full(n_features - 1, ridge)])
