"""Non-negative models: the indicators of a Kolmogorov model relaxed to the unit hypercube."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from eventspace._base.errors import UserError
from eventspace.baselines.base import Alternating
from eventspace.baselines.box import Box
from eventspace.data.factors import checked_parts
from eventspace.data.learnable import to_learn_from
from eventspace.data.observations import Observations
from eventspace.fitting.constraints import read_given
from eventspace.fitting.descent import Descent, random_start
from eventspace.fitting.half_steps import PmfStep
from eventspace.pmf import Pairwise


@dataclass(eq=False, repr=False)
class HypercubeModel(Alternating):
    """The paper's NNM: psi_i in [0, 1]^D, where psi_i[d] is P[X_i = 1] in the event d.

    Both steps are convex, and each is solved to a certified gap. Any Kolmogorov model is a point of
    the hypercube, so a fit that starts from its parts (``init``) has at most its cost. From the
    same random start this need not be so.

    Parameters
    ----------
    n_events : int, default 8
        D, the number of elementary events, 1 to 64.
    pmf_penalty : float, default 1.0
        How strongly each PMF is pulled towards the population's mean, in ratings.
    n_iter : int, default 20
        The most iterations, each a box step and a pmf step.
    tol : float, default 1e-4
        Stop when an iteration lowers the cost by less than this part of it.
    n_init : int, default 1
        Random starts, of which the one with the least cost is kept.
    init : (pmf, indicators) or None, default None
        Where to begin, users x events and items x events, such as ``(model.pmf_,
        model.indicators_)`` of a model of the same table. None: from random PMFs.
    n_jobs : int or None, default -1
        Threads; the result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same model.

    Attributes
    ----------
    pmf_ : array of users x events
        The PMFs.
    indicators_ : array of items x events
        psi, numbers from zero to one.
    given_ : {"pmf", "indicators"} or None
        The side that was given to :meth:`fit`, and not learnt.
    history_ : array
        The cost after each iteration: it never rises.
    error_ : float
        The (weighted) squared error over the observed entries.
    observations_ : Observations
        What was learnt from.
    """

    _: KW_ONLY
    init: Any = None

    def fit(self, X: Any, y: Any = None, *, pmf: Any = None, indicators: Any = None) -> Self:
        """Learn from a table: anything that ``Observations.of`` reads. ``y`` is ignored.

        Given PMFs (users x events) or indicators (items x events, numbers from 0 to 1) are kept,
        and only the other side is learnt, as in ``KolmogorovDescent.fit``.
        """
        self.given_ = None
        if pmf is None and indicators is None:
            return super().fit(X)
        steps, observations = self._steps(), to_learn_from(X)
        given = read_given(observations, pmf, indicators, self.n_events)
        self.given_ = given.side
        uniform = np.full((observations.n_users, self.n_events), 1.0 / self.n_events)
        nothing = np.zeros((observations.n_items, self.n_events))
        theta = uniform if given.pmf is None else given.pmf
        psi = nothing if given.indicators is None else given.indicators
        return self._descend(observations, given.steps(steps), lambda rng: Descent(theta, psi))

    def _solvers(self) -> tuple[Box, Pairwise]:
        return Box(), Pairwise()

    def _start(
        self, observations: Observations, update_pmfs: PmfStep, rng: np.random.Generator
    ) -> Descent:
        if self.init is None:
            pmf = random_start(observations, self.n_events, rng).pmf
            return Descent(pmf, np.zeros((observations.n_items, self.n_events)))
        if not isinstance(self.init, tuple) or len(self.init) != 2:
            raise UserError(
                f"init must be None or (pmf, indicators), not a {type(self.init).__name__}."
            )
        pmf, psi = checked_parts(self.init[0], self.init[1], observations)
        if pmf.shape[1] != self.n_events:
            raise UserError(f"init has {pmf.shape[1]} events, but n_events={self.n_events}.")
        if not ((psi >= 0) & (psi <= 1)).all():
            raise UserError("The indicators in init must be numbers from 0 to 1.")
        return Descent(pmf, psi.astype(np.float64))
