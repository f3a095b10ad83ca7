"""Ratings that a user enters in the same moment err alike.

A site shows a page of films, the user rates some of them, and all have nearly the same time. What a
model misses of one of them, it misses of the others: of ratings in the same second, errors on
MovieLens 100K have a correlation of 0.12, and beyond some minutes hardly any. So errors that are
known tell something of errors that are not.

The errors of one user have a normal law. Two of them that are d seconds apart share a variance of
``strength * exp(-sqrt(d / seconds))`` times that of the noise. What is expected of an unknown error
is linear in the known ones, in closed form, user by user.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Ratings

Floats = NDArray[np.float64]
Times = NDArray[np.int64]
FOLDS = 10  # of the known ratings, each predicted from the others
DAY = 86_400


class Moments(NamedTuple):
    """The law of errors in time."""

    strength: float  # of what two ratings of the same second share; the noise has a variance of 1
    seconds: float

    def shared(self, times: Times, others: Times) -> Floats:
        """The covariance of errors at these times with errors at others."""
        apart = np.abs(times[:, None] - others)
        return np.asarray(self.strength * np.exp(-np.sqrt(apart / self.seconds)))


class Days(NamedTuple):
    """The same if nothing but the day is known: errors of one day share something."""

    strength: float

    def shared(self, times: Times, others: Times) -> Floats:
        """The covariance of errors at these times with errors at others."""
        same = times[:, None] // DAY == others // DAY
        return np.asarray(self.strength * same)


def expected_errors(
    law: Moments | Days,
    known: tuple[NDArray[np.int32], Times, Floats],
    asked: tuple[NDArray[np.int32], Times],
) -> Floats:
    """The errors expected of the asked ratings (users, times), given known ones with errors."""
    users, times, errors = known
    asked_users, asked_times = asked
    found = np.zeros(len(asked_users))
    for user in np.unique(asked_users):
        rows, wanted = np.flatnonzero(users == user), np.flatnonzero(asked_users == user)
        at = times[rows]
        weights = np.linalg.solve(law.shared(at, at) + np.eye(len(rows)), errors[rows])
        found[wanted] = law.shared(asked_times[wanted], at) @ weights
    return found


def errors_of_others(
    predict_after: Callable[[Ratings], Callable[[Ratings], Floats]], train: Ratings, seed: int = 0
) -> Floats:
    """The error of each known rating, predicted by a model that has not seen it."""
    part = np.random.default_rng(seed).integers(FOLDS, size=len(train.values))
    found = np.empty(len(part))
    for fold in range(FOLDS):
        rows = np.flatnonzero(part == fold)
        predict = predict_after(train.take(np.flatnonzero(part != fold)))
        found[rows] = train.values[rows] - predict(train.take(rows))
    return found
