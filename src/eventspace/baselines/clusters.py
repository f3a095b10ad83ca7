"""K-means of the items, over what is observed.

An item is in one cluster: its indicator is one-hot, and p_ui is the user's number for that cluster.
In K-means each of these numbers is free: it is the mean of the user's ratings there. In the paper's
special case, ``KolmogorovDescent(indicators="one-hot")``, they are a PMF and add up to one:
another problem. Assigning items to clusters and then updating the users' numbers is both Lloyd's
algorithm and the model's own descent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Codes, Floats
from eventspace.baselines.base import Alternating
from eventspace.data.observations import Observations
from eventspace.fitting.descent import Descent
from eventspace.fitting.half_steps import PmfStep
from eventspace.indicators.one_hot import OneHot, event_of, one_hot


@dataclass(frozen=True)
class Means:
    """The pmf step without a simplex, for one-hot indicators, where Q is diagonal.

    Each number is the mean of the user's ratings in the cluster. If there are none, it is the mean
    of all the user's ratings.
    """

    guarantee: ClassVar[str] = "exact"

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Write the means to ``pmf``; return the cost of each row, and a gap of zero."""
        weight = np.broadcast_to(np.einsum("udd->ud", Q), r.shape)
        total = weight.sum(axis=1, keepdims=True)
        np.divide(r.sum(axis=1, keepdims=True), total, out=pmf, where=total > 0)
        np.divide(r, weight, out=pmf, where=weight > 0)
        return np.einsum("ud,ud->u", pmf, weight * pmf - 2.0 * r), np.zeros(len(pmf))


class ItemKMeans(Alternating):
    """K-means of the items, over the observed entries only.

    The centre of a cluster has one number per user: the mean of the user's ratings in it, pulled
    towards the mean over the users as by ``pmf_penalty`` ratings. If a user has no rating in a
    cluster, and the penalty is zero, the mean of all the user's ratings stands in.

    Parameters
    ----------
    n_events : int, default 8
        The number of clusters, 1 to 64.
    pmf_penalty : float, default 1.0
        How strongly each number of a centre is pulled towards the mean over the users, in ratings;
        0 is proper K-means.
    n_iter : int, default 20
        The most iterations.
    tol : float, default 1e-4
        Stop when an iteration lowers the cost by less than this part of it.
    n_init : int, default 1
        Random starts, of which the one with the least cost is kept.
    n_jobs : int or None, default -1
        Threads; the result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same model.

    Attributes
    ----------
    pmf_ : array of users x clusters
        The centres: p_ui = pmf_[u, labels_[i]]. These are not PMFs: they do not add up to one.
    labels_ : array of items
        The cluster of each item.
    history_ : array
        The cost after each iteration: it never rises.
    error_ : float
        The (weighted) squared error over the observed entries.
    observations_ : Observations
        What was learnt from.
    """

    def _solvers(self) -> tuple[OneHot, Means]:
        return OneHot(), Means()

    def _start(
        self, observations: Observations, update_pmfs: PmfStep, rng: np.random.Generator
    ) -> Descent:
        """Items in clusters at random, and what the users make of these."""
        codes = one_hot(rng.integers(self.n_events, size=observations.n_items))
        mean = np.full(self.n_events, 1.0 / self.n_events)
        pmf = np.tile(mean, (observations.n_users, 1))
        solved = update_pmfs(observations.by_user, pmf, codes, mean)
        return Descent(solved.pmf, codes)

    @property
    def labels_(self) -> NDArray[np.int64]:
        """The cluster of each item."""
        return event_of(self._psi)

    @property
    def codes_(self) -> Codes:
        """The cluster of each item as a set of one event."""
        return np.asarray(self._psi[:, None])
