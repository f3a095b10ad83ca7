"""The paper's algorithm: a Kolmogorov model learnt by descent, or made of given parts."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np

from eventspace._base.errors import UserError
from eventspace.data.factors import checked_parts
from eventspace.data.learnable import to_learn_from
from eventspace.data.observations import Observations
from eventspace.data.shards import Shards
from eventspace.estimators.base import Estimator, answered
from eventspace.fitted import FittedModel
from eventspace.fitted.by_id import as_in, in_order
from eventspace.fitted.fit import DescentFit
from eventspace.fitting.constraints import Given, read_given
from eventspace.fitting.descent import Descent
from eventspace.fitting.going_on import checkpoint_of
from eventspace.fitting.learning import learn
from eventspace.fitting.settings import DescentSettings, check_settings, engine_told
from eventspace.fitting.sources import gathered, learning_from


class KolmogorovDescent(DescentSettings, Estimator):
    """A Kolmogorov model learnt by the paper's block-coordinate descent.

    Use it to reproduce the paper, for variants of the model, or if one side of the model, or both,
    are given. :class:`KolmogorovModel` predicts better.

    Every user has a distribution over ``n_events`` elementary events, every item is the set of
    events in which it comes true, and P[X_ui = 1] is the mass that the user gives to that set.

    Parameters
    ----------
    n_events : int, default 8
        D, the number of elementary events, 1 to 64.
    pmf_penalty : float, default 1.0
        lambda: how strongly each PMF is drawn to ``pmf_prior``, in ratings. Noisy tables need more:
        on film ratings 30 to 60 predict best.
    pmf_prior : {"mean", "zero"}, default "mean"
        Draw PMFs towards the population's mean, or towards zero as the paper does, which is towards
        the uniform PMF.
    indicators : {"free", "shared", "one-hot"}, default "free"
        What an item's set may be: any, the same for all items (random variables with a common
        support), or one event (K-means of the items, with a PMF for the centres).
    indicator_penalty : float, default 0.0
        mu: the cost of each event in an item's set.
    indicator_solver : {"exact", "sdr", "local"} or a solver, default "exact"
        ``Exact(node_budget)``, ``SDR(n_roundings)`` and ``Local(n_starts)`` of
        ``eventspace.indicators`` set the details. One-hot sets are compared, all of them.
    pmf_solver : {"pairwise", "frank-wolfe"} or a solver, default "pairwise"
        "frank-wolfe" is the paper's procedure with its own step, which hardly converges: it is
        there for comparison. ``FrankWolfe(step)`` of ``eventspace.pmf`` has better steps, "jaggi"
        and "line-search".
    n_iter : int, default 20
        The most iterations, each an indicator step and a pmf step.
    tol : float, default 1e-4
        Stop when an iteration lowers the cost by less than this part of it.
    n_init : int or "auto", default "auto"
        Random starts; the descent with the least cost is kept. "auto": ten for tables of less than
        10,000 entries and up to 16 events, where they cost next to nothing, else one.
    warm_start : bool, default False
        Go on from the last fit where the ids and ``n_events`` are the same.
    engine : {"auto", "cpu", "cuda", "dask"}, default "auto"
        Where it is learnt: on the cores of this machine, on a GPU, or on the workers of a Dask
        cluster. "auto": the cores, or a GPU if there is one and the table is large. ``engine_``
        says what it was, and why.
    n_jobs : int or None, default -1
        Threads; -1 means every core, None one. The result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same model.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Attributes
    ----------
    engine_ : str
        Where it was learnt, and why there.
    fitted_ : FittedModel
        What was learnt: it answers all questions, and needs no scikit-learn. Its attributes are
        also attributes here.
    pmf_ : array of users x events
        theta. A user without ratings has the mean PMF of the others. The events are numbered by
        their mass in the population, the heaviest first, or as they were given.
    codes_ : uint64 array of items x words
        psi, packed 64 events to a word; ``indicators_`` is the same as bools.
    observations_ : Observations
        What was learnt from: ids, scale, and the ratings by user and by item.
    history_ : array
        The cost after each iteration: it never rises.
    error_ : float
        The (weighted) squared error over the observed entries.
    n_iter_ : int
        Iterations of the descent that was kept.
    proved_ : bool array of items
        Whether the last solve of the item was proved optimal.
    gap_ : array of users
        The duality gap of each user's last solve: its cost is at most this far above the least.
    converged_ : bool
        Whether the cost no longer fell before ``n_iter`` iterations were done.
    interrupted_ : bool
        Whether Ctrl-C ended the descent.
    given_ : {"pmf", "indicators"} or None
        The side that was given to :meth:`fit`, and not learnt.
    """

    fitted_: FittedModel
    _learnt_with = DescentSettings

    rules = answered(FittedModel.rules)
    iter_rules = answered(FittedModel.iter_rules)
    report = answered(FittedModel.report)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        pmf: Any = None,
        indicators: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn PMFs and indicators from a table of chances, or one of them given the other.

        Parameters
        ----------
        X : table
            An :class:`Observations` or anything that ``Observations.of`` reads: a long or wide
            DataFrame, an array with NaN for missing, a sparse matrix, ``(users, items, values)``,
            or the path of a CSV or Parquet file, or of a folder of Parquet files. With the engine
            "dask", workers read such a folder, or a Dask DataFrame, piece by piece.
        y : ignored
        pmf : table of users x events, optional
            Known PMFs, such as measured mixtures: they are kept, and only indicators are learnt.
        indicators : table of items x events, optional
            Known indicators, zeros and ones, such as a reference: they are kept, and only PMFs are
            learnt. Given tables have their ids in the index or in the first column; the rows of an
            array are in the order of the rows, or columns, of a wide ``X``, and in that of the
            sorted ids for a long one.
        checkpoint : path, optional
            A file in which the fit keeps how far it is. Killed at any moment, it goes on from there
            when it is run again, and ends with the same model. Delete the file afterwards.
        """
        check_settings(self)
        settings = self._settings()
        with learning_from(X, settings) as (table, machine):
            given = read_given(table, pmf, indicators, self.n_events)
            by_id = table if isinstance(table, Shards) else in_order(table)
            given = given.taken(table.user_ids.order, table.item_ids.order)
            last, engine = self._last(by_id), self._told(table, given)
            parts = [*given, *(() if last is None else (last.pmf, last.codes))]
            with checkpoint_of(checkpoint, by_id, settings, engine, *parts) as kept:
                descent = learn(by_id, settings, machine, given, last, kept)
            fit = DescentFit.of(gathered(by_id), descent, given.side)
            self.engine_ = engine
        self.fitted_ = FittedModel(as_in(gathered(table), fit), settings)
        return self

    def _told(self, table: Observations | Shards, given: Given) -> str:
        """Where it is learnt, and why there."""
        reasons = {
            "what is missing says no": bool(table.missing),
            "indicators are given": given.indicators is not None,
            "indicators are shared": self.indicators == "shared",
        }
        why_here = next((reason for reason, holds in reasons.items() if holds), "")
        return engine_told(self, table.n_observed, why_here=why_here)

    def _last(self, observations: Observations | Shards) -> Descent | None:
        """Where the last fit ended, if the next is to go on from there and can."""
        if not self.warm_start or not hasattr(self, "fitted_"):
            return None
        before = self.fitted_.record
        ids = before.observations.user_ids, before.observations.item_ids
        users, items = (own.order for own in ids)
        same = (
            before.n_events == self.n_events
            and np.array_equal(ids[0].values[users], observations.user_ids.values)
            and np.array_equal(ids[1].values[items], observations.item_ids.values)
        )
        return Descent(before.pmf[users].copy(), before.codes[items, 0]) if same else None

    @classmethod
    def from_parts(cls, pmf: Any, indicators: Any, X: Any) -> Self:
        """A model with given PMFs and indicators, for the users and items of a table.

        ``pmf`` is users x events, ``indicators`` items x events, both in the order of the table's
        users and items: of its rows and columns if it is wide, sorted if it is long. Nothing is
        learnt. There may be more than 64 events.
        """
        observations = to_learn_from(X)
        theta, psi = checked_parts(pmf, indicators, observations)
        if not np.isin(psi, (0, 1)).all():
            raise UserError("indicators must be 0 or 1.")
        parts = DescentFit.of_parts(observations, theta, psi)
        return cls.holding(FittedModel(parts, DescentSettings(theta.shape[1])))
