"""The posterior: many models drawn by Gibbs sampling, averaged into one."""

from __future__ import annotations

import os
from typing import Any, Self

from eventspace._base.errors import UserError
from eventspace.estimators.average import AverageEstimator
from eventspace.estimators.base import answered
from eventspace.fitted.drawing import drawn, learnt
from eventspace.fitted.posterior import FittedPosterior
from eventspace.sampling.settings import SamplingSettings, check_settings


class KolmogorovPosterior(SamplingSettings, AverageEstimator):
    """The posterior mean of Kolmogorov models: itself one, with the events of all draws.

    Chains draw PMFs, indicators and each user's noise in turn from their conditional laws. Priors
    know who rated what, and how inclined a user, or an item, is in general; they are fitted again
    in each sweep. The kept draws are stacked side by side, and their PMFs divided by their number.
    That is one model with ``n_events * n_samples`` events: whatever holds for the predictions,
    events and explanations of a single model holds for it. Chains find different events. At the
    end each user's PMF is fitted over the events of several chains together (see ``weigh``).

    Parameters
    ----------
    n_events : int, default 24
        D, the number of elementary events of a draw, 1 to 64.
    concentration : float or "auto", default "auto"
        How closely PMFs follow their centres: the pseudo-counts of their Dirichlet laws,
        at least 0.2 per event. "auto" draws it along with the rest.
    informed : bool, default True
        Whether the priors of an item's bits know who rated it and how many did, and that of a
        user's PMF which items were rated.
    weigh : bool, default True
        Whether each user weighs the events of several chains at the end, with a law that is learnt
        from all users. Chains are weighed in groups of the same size. A group has at most 64
        events, or is of two chains, and at most one event for every four users. Nothing is weighed
        with fewer than twenty ratings per user, one draw per chain, or groups of one chain. If
        chains are weighed, each draw keeps its own indicators, and the draws of a group share their
        PMFs.
    meets : bool, default True
        Whether who meets what is learnt as well, by which :meth:`recommend` ranks. A full
        table has nothing to learn.
    n_chains : int or "auto", default "auto"
        Independent chains, each from its own descent. "auto": 24 for tables of less than 2,000
        entries, where they take less than a minute, else 8.
    n_warmup : int, default 60
        Sweeps of each chain that are thrown away.
    n_draws : int, default 90
        Sweeps of each chain after that.
    n_samples : int, default 128
        At most this many of all draws are kept, evenly thinned, at least one of each chain: this
        bounds the memory.
    engine : {"auto", "cpu", "cuda", "dask"}, default "auto"
        Where it is learnt: on the cores of this machine, on a GPU, or on the workers of a Dask
        cluster. "auto": the cores, or a GPU if there is one and the table is large. ``engine_``
        says what it was, and why.
    n_jobs : int or None, default -1
        Threads, over which the chains are spread. The result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same posterior.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Attributes
    ----------
    engine_ : str
        Where it was learnt, and why there.
    fitted_ : FittedPosterior
        What was learnt: it answers all questions, and needs no scikit-learn. Its attributes are
        also attributes here.
    pmf_ : array of users x (samples x events)
        The PMFs of all kept draws, divided by their number.
    codes_ : uint64 array of items x words
        The indicators of all kept draws, packed.
    n_together_ : int
        How many chains users weigh together; 1 if users, or ratings, are too few to learn how.
    n_samples_ : int
        How many samples the model is made of: each a draw of one chain, or of ``n_together_``.
    concentration_ : float
        The posterior mean of the concentration.
    user_spread_, item_spread_ : float
        How much users, and items, differ in their inclinations: standard deviations. An item's
        inclination is added to the log-odds of all its bits. A user's inclination shifts the centre
        of the PMF towards the events in which much comes true: it is added to the log of an event's
        mass if a quarter more than on average comes true there. Do not compare the two.
    pmf_penalty_ : float
        The penalty around the mean PMF that is as strict as Dirichlet's laws, for
        :meth:`transform` where chains are not weighed, and for newcomers of :meth:`to_model`.
    noise_ : array of users
        The posterior mean of each user's noise: a standard deviation, in probability, for an
        observation of mean weight.
    open_ : array of users
        The variance of a user's chances, mean over the items, that the ratings leave open given the
        events; zero where chains are not weighed.
    covariance_ : array of groups x events x events
        Of the PMFs over the events of each group of chains; empty if nothing is weighed.
    cost_ : array of chains x draws
        The squared error of each draw, for diagnostics.
    watched_ : array of chains x draws x entries
        The predictions of some observed entries in each draw, for diagnostics.
    seed_ : int
        Of the chains, and of later draws.
    user_attributes_, item_attributes_ : arrays of users, or items, x attributes
        What :meth:`fit` was told of them, with the names in ``user_attribute_names_`` and
        ``item_attribute_names_``; NaN where nothing is known.
    interrupted_ : bool
        Whether Ctrl-C ended the chains: these are the draws so far.
    observations_ : Observations
        What was learnt from.
    """

    fitted_: FittedPosterior
    _learnt_with = SamplingSettings

    diagnostics = answered(FittedPosterior.diagnostics)
    to_arviz = answered(FittedPosterior.to_arviz)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        user_attributes: Any = None,
        item_attributes: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Draw from the posterior given a table: anything that ``Observations.of`` reads.

        Tables of attributes add numbers known about users and items: a DataFrame with the ids in
        its index, or in its first column. The rows of an array are in the order of the rows, or
        columns, of a wide ``X``, and in that of the sorted ids for a long one.

        ``checkpoint`` is the path of a file in which the fit keeps how far it is. Killed at any
        moment, it goes on from there when it is run again, and ends with the same posterior. Delete
        the file afterwards.
        """
        check_settings(self)
        attributes = user_attributes, item_attributes
        if not self.informed and any(table is not None for table in attributes):
            raise UserError("Attributes are for informed priors: leave them, or informed=True.")
        settings = self._settings()
        self.engine_, fit = learnt(drawn, X, settings, *attributes, checkpoint)
        self.fitted_ = FittedPosterior(fit, settings)
        return self

    def update(
        self,
        X: Any = None,
        *,
        forget: Any = None,
        user_attributes: Any = None,
        item_attributes: Any = None,
    ) -> Self:
        """Take in the ratings of a table, and let the pairs in ``forget`` go, without a new fit.

        Users and items may be known or new. A value for a pair that is rated already replaces it.
        ``forget`` holds pairs, as in :meth:`predict`. The users and items of these ratings are
        drawn anew. Attributes are read for new users and items only.
        """
        self.fitted_ = self._asked().update(
            X, forget=forget, user_attributes=user_attributes, item_attributes=item_attributes
        )
        return self
