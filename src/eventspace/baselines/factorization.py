"""Matrix factorisation with binary components, of Slawski, Hein and Lutsik (2013)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from eventspace._base.checks import check_whole
from eventspace._base.codes import pack
from eventspace._base.types import Codes, Floats
from eventspace.baselines.bias import BiasModel
from eventspace.baselines.vertices import affine_hull, nearest_vertices, select
from eventspace.data.entries import Entries
from eventspace.data.learnable import to_learn_from
from eventspace.data.observations import Observations
from eventspace.estimators.base import Holder
from eventspace.fitted.prediction import Factors
from eventspace.fitting.half_steps import PmfStep, new_pmfs
from eventspace.fitting.settings import checked_engine
from eventspace.pmf import Pairwise

MOST_EVENTS = 20  # 2^19 candidates
POOL = 2  # candidates that are looked at more closely, for each event
MOST_POOL = 64  # if more lie in the hull itself, which few items may let happen


class BinaryFactorization(Holder):
    """Events are vertices of the cube in the affine hull of the users; PMFs are least squares.

    A full table that some Kolmogorov model explains without error is factorised exactly, up to the
    order of the events, if its PMFs span the hull and no other vertices lie in it. With noise, the
    hull is that of the leading singular vectors. Two sets of vertices are tried: those nearest to
    the hull, as in the original, and those left of twice as many after dropping one after another.
    The set that explains the table better is kept. Nothing is iterated.

    The method needs a full table. For the search of the hull and its vertices, missing entries are
    filled with the predictions of a :class:`BiasModel`. The PMFs are then fitted to the observed
    entries only. The table is held as users x items.

    Parameters
    ----------
    n_events : int, default 8
        D, the number of elementary events, 1 to 20: 2^(D - 1) candidates are tried.
    n_jobs : int or None, default -1
        Threads of the pmf step; the result does not depend on it.

    Attributes
    ----------
    pmf_ : array of users x events
        The PMFs.
    codes_ : uint64 array of items x 1
        The sets, packed; ``indicators_`` is the same as bools. Where the hull has fewer vertices
        than ``n_events``, the last events are in no item's set.
    distance_ : array of events
        How far each vertex is from the hull: the root mean square over the items. It is zero, up to
        rounding, if the factorisation is exact.
    gap_ : array of users
        The duality gap of each user's solve.
    error_ : float
        The (weighted) squared error over the observed entries.
    observations_ : Observations
        What was learnt from.
    """

    def __init__(self, n_events: int = 8, *, n_jobs: int | None = -1) -> None:
        self.n_events = n_events
        self.n_jobs = n_jobs

    def _pmf_step(self) -> PmfStep:
        check_whole("n_events", self.n_events, 1, MOST_EVENTS)
        return PmfStep(checked_engine(self), Pairwise())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table: anything that ``Observations.of`` reads. ``y`` is ignored."""
        update_pmfs, observations = self._pmf_step(), to_learn_from(X)
        table = filled(observations)
        hull = affine_hull(table, self.n_events)
        vertices, distance = nearest_vertices(hull, POOL * self.n_events, MOST_POOL)
        chosen = select(table, vertices, self.n_events)
        indicators = np.zeros((observations.n_items, self.n_events), dtype=np.bool_)
        indicators[:, : len(chosen)] = vertices[chosen].T
        self.distance_ = np.zeros(self.n_events)
        self.distance_[: len(chosen)] = np.sqrt(distance[chosen] / observations.n_items)
        self._codes = pack(indicators)[:, 0]
        pmf = np.full((observations.n_users, self.n_events), 1.0 / self.n_events)
        solved = update_pmfs(observations.by_user, pmf, self._codes, pmf[0])
        self.gap_, self.error_ = solved.gap, float(solved.error.sum())
        rated = observations.by_user.rated
        solved.pmf[~rated] = solved.pmf[rated].mean(axis=0)
        self.fitted_ = Factors(
            type(self).__name__, observations, solved.pmf, indicators, self._solve
        )
        return self

    @property
    def codes_(self) -> Codes:
        """The sets, packed."""
        return self._codes[:, None]

    def _solve(self, by_user: Entries) -> Floats:
        mean = self.fitted_.pmf_mean
        return new_pmfs(self._pmf_step(), by_user, self._codes, mean).pmf


def filled(observations: Observations) -> Floats:
    """The table, users x items, with the predictions of biases where entries are missing."""
    u, i, p = observations.coo()
    full = observations.n_observed == observations.n_users * observations.n_items
    table = np.empty((observations.n_users, observations.n_items))
    if not full:
        table[:] = BiasModel().fit(observations).predict()
    table[u, i] = p
    return table
