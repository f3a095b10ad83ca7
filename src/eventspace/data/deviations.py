"""What a rating says beyond the means: how far it is from what item and user alone suggest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.data.observations import Observations

DAMPING = 5.0  # a mean of few ratings is drawn to zero as by this many


class Deviations(NamedTuple):
    """The observations in both orders, the values over what the means explain."""

    by_user: Entries
    by_item: Entries


def deviations(observations: Observations) -> Deviations:
    """Each value less the mean, the item's and the user's damped deviation from it."""
    by_user, by_item = observations.by_user, observations.by_item
    mean = float(by_user.value.mean(dtype=np.float64))
    item_mean = _damped_means(by_item, np.zeros(observations.n_users), mean)
    user_mean = _damped_means(by_user, item_mean, mean)
    return Deviations(
        by_user._replace(value=_less(by_user, user_mean, item_mean, mean)),
        by_item._replace(value=_less(by_item, item_mean, user_mean, mean)),
    )


def _damped_means(entries: Entries, of_other: Floats, mean: float) -> Floats:
    """Each row's mean, over what the mean of all and the others' means explain."""
    sizes = entries.sizes
    rest = entries.value - mean - of_other[entries.index]
    sums = np.bincount(np.repeat(np.arange(len(sizes)), sizes), rest, len(sizes))
    return np.asarray(sums / (sizes + DAMPING))


def _less(entries: Entries, of_row: Floats, of_other: Floats, mean: float) -> NDArray[np.float32]:
    of_rows = np.repeat(of_row, entries.sizes)
    return (entries.value - mean - of_rows - of_other[entries.index]).astype(np.float32)
