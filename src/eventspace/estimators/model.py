"""The estimator to begin with: one model that predicts well and can be read."""

from __future__ import annotations

import os
from typing import Any, Self

from eventspace.estimators.base import Estimator, answered
from eventspace.fitted.compressed import CompressedModel
from eventspace.fitted.drawing import learnt, readable
from eventspace.sampling.settings import ModelSettings, check_model_settings


class KolmogorovModel(ModelSettings, Estimator):
    """A finite probability space that explains a table of yes/no chances.

    Every user has a distribution over ``n_events`` elementary events, every item is the set of
    events in which it comes true, and P[X_ui = 1] is the mass that the user gives to that set.

    ``fit`` draws a short posterior, an average of many such models, and compresses it to one: a
    model with few events whose predictions are as near to the average's as possible. For the
    paper's descent, its variants and given parts see :class:`KolmogorovDescent`. For the average
    itself, which predicts a little better and cannot be read, see :class:`KolmogorovPosterior`.

    Parameters
    ----------
    n_events : int or "auto", default 16
        D, the number of elementary events, 1 to 64. "auto": the least of 2, 4, 8, 16, 24 and 32
        whose expected RMSE on new ratings is at most 1 % above the average's.
    meets : bool, default True
        Whether who meets what is learnt as well, by which :meth:`recommend` ranks. It takes longer
        than the rest of the default fit on 100,000 ratings. A full table has nothing to learn.
    n_chains : int or "auto", default "auto"
        Chains of the posterior. "auto": 24 for tables of less than 2,000 entries, else 6. The first
        two, the guides, do not depend on ``random_state``: events begin there, so two seeds find
        nearly the same events. Take an even number: chains are weighed in pairs.
    n_warmup, n_draws : int or "auto", default "auto"
        Sweeps of each chain that are thrown away, and those after that. "auto": 60 each for tables
        of less than 10,000 entries, else 20 each.
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
    fitted_ : CompressedModel
        What was learnt: it answers all questions, and needs no scikit-learn. Its attributes are
        also attributes here.
    pmf_ : array of users x events
        theta. The events are numbered by their mass in the population, the heaviest first.
    codes_ : uint64 array of items x words
        psi, packed 64 events to a word; ``indicators_`` is the same as bools.
    observations_ : Observations
        What was learnt from: ids, scale, and the ratings by user and by item.
    error_ : float
        The (weighted) squared error over the observed entries.
    expected_rmse_ : float
        The RMSE that is expected on new ratings of these users and items, in probability. It
        follows from ``noise_``, ``unsure_`` and ``loss_``. It is a little optimistic (2 to 5 % on
        ratings), more so if many items have few ratings.
    loss_ : float
        The root mean square of the difference between the model's predictions and the average's,
        weighted by how many ratings users and items have.
    unsure_ : float
        How far the average itself may be from the truth: a standard deviation, in probability.
    effective_events_ : array of users
        How many events of equal mass a user's PMF is worth: exp(entropy).
    proved_ : bool array of items
        Whether the item's set is proved optimal, given the PMFs.
    noise_ : array of users
        Each user's noise: a standard deviation, in probability.
    same_bits_, same_pmf_ : arrays of events
        How far halves of the chains find the same events; see :meth:`diagnostics`.
    interrupted_ : bool
        Whether Ctrl-C ended the chains, or the compression: the model is made of the draws, and has
        the events, that there were.
    """

    fitted_: CompressedModel
    _learnt_with = ModelSettings

    rules = answered(CompressedModel.rules)
    iter_rules = answered(CompressedModel.iter_rules)
    report = answered(CompressedModel.report)
    diagnostics = answered(CompressedModel.diagnostics)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        user_attributes: Any = None,
        item_attributes: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from a table of chances.

        Parameters
        ----------
        X : table
            An :class:`Observations` or anything that ``Observations.of`` reads: a long or wide
            DataFrame, an array with NaN for missing, a sparse matrix, ``(users, items, values)``,
            or the path of a CSV or Parquet file.
        y : ignored
        user_attributes, item_attributes : tables, optional
            Numbers known about users, or items: a DataFrame with the ids in its index or in its
            first column. The rows of an array are in the order of the rows, or columns, of a wide
            ``X``, and in that of the sorted ids for a long one. Items without any rating have the
            mean indicator all the same.
        checkpoint : path, optional
            A file in which the fit keeps how far it is. Killed at any moment, it goes on from there
            when it is run again, and ends with the same model. Delete the file afterwards.
        """
        check_model_settings(self)
        settings, attributes = self._settings(), (user_attributes, item_attributes)
        self.engine_, fit = learnt(readable, X, settings, *attributes, checkpoint)
        self.fitted_ = CompressedModel(fit, settings)
        return self
