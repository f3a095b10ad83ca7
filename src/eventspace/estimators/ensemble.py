"""An ensemble: descents from many starts, averaged into one model."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eventspace._base.checks import check_number, check_whole
from eventspace._base.codes import WORD, pack, unpack
from eventspace._base.randomness import streams
from eventspace._base.types import Bits, Floats
from eventspace.data.invariants import MOST_SAMPLES
from eventspace.data.newcomers import News, news
from eventspace.data.observations import to_learn_from
from eventspace.estimators.average import Average, Folded
from eventspace.fitted.summary import Summary
from eventspace.fitting.half_steps import FreeIndicators
from eventspace.fitting.restarts import TRIAL_MODELS, Restarts, Trial
from eventspace.fitting.settings import checked_engine, checked_threads
from eventspace.indicators import Exact
from eventspace.splits import folds

SIZES = [0.3, 0.0]  # tried for "auto" of indicator_penalty
HELD_OUT = 0.1
MIDDLE = 3.0  # the penalty where nothing can be held out
TYPICAL = 10.0  # ratings that the noise of all users is worth beside a user's own


class KolmogorovEnsemble(Average):
    """The mean of Kolmogorov models from different starts: itself one, with the events of all.

    Each model is a descent of its own to all that is observed. They fit alike and err apart, so
    that their mean predicts better than any of them: for those who have no time for
    :class:`KolmogorovPosterior`, which predicts better still.

    Parameters
    ----------
    n_events : int, default 16
        D, the number of elementary events of a model, 1 to 64.
    n_models : int, default 16
        How many models are averaged.
    pmf_penalty : float or "auto", default "auto"
        How strongly each PMF is drawn to the population's, in ratings; an average wants less than
        a single model. Descents go down a path of ever weaker penalties to it. "auto": the best of
        30, 10, 3, 1 and 0.3 for a small ensemble on a held-out tenth of the entries.
    indicator_penalty : float or "auto", default "auto"
        The cost of each event in an item's set. "auto": 0.3 or none, chosen likewise.
    n_iter : int, default 5
        The most iterations of each descent at each penalty.
    n_jobs : int or None, default -1
        Threads, over which the models are spread. The result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same ensemble.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Attributes
    ----------
    pmf_ : array of users x (models x events)
        The PMFs of all models, divided by their number.
    codes_ : uint64 array of items x words
        The indicators of all models, packed.
    n_samples_ : int
        How many models there are.
    pmf_penalty_, indicator_penalty_ : float
        The penalties that were used.
    held_out_error_ : float
        The RMSE on a held-out tenth, in the unit of the table, of four models fitted to the rest:
        the ensemble itself, of more models and all entries, should do a little better. NaN where
        nothing can be held out.
    noise_ : array of users
        Each user's noise: a standard deviation, in probability. That of the held-out entries,
        more or less as the user's errors on what was learnt from are greater or smaller.
    error_ : float
        The (weighted) squared error over the observed entries.
    seed_ : int
        Of the descents, and of whatever is drawn later.
    observations_ : Observations
        What was learnt from.
    """

    # what a file holds of a fit, beside its parameters and observations
    _SAVED_ARRAYS = ("pmf_", "codes_", "noise_")
    _SAVED_NUMBERS = (
        "error_",
        "n_samples_",
        "n_together_",
        "pmf_penalty_",
        "indicator_penalty_",
        "held_out_error_",
        "seed_",
    )

    def __init__(
        self,
        n_events: int = 16,
        *,
        n_models: int = 16,
        pmf_penalty: float | str = "auto",
        indicator_penalty: float | str = "auto",
        n_iter: int = 5,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_events = n_events
        self.n_models = n_models
        self.pmf_penalty = pmf_penalty
        self.indicator_penalty = indicator_penalty
        self.n_iter = n_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the models from a table: anything that ``Observations.of`` reads."""
        self._check_parameters()
        observations = to_learn_from(X)
        random = check_random_state(self.random_state)
        parts = folds(observations, HELD_OUT, random)
        self.seed_ = int(random.randint(2**31))
        restarts = Restarts(self.n_events, self.n_iter, checked_threads(self), self.verbose)
        penalty = None if self.pmf_penalty == "auto" else float(self.pmf_penalty)
        sizes = SIZES if self.indicator_penalty == "auto" else [float(self.indicator_penalty)]
        if parts:
            best = restarts.best(parts[0], penalty, sizes, self.seed_)
        else:
            warnings.warn("no entry can be held out: intervals are too narrow", stacklevel=2)
            best = Trial(MIDDLE if penalty is None else penalty, sizes[-1], np.nan, np.nan)
        self.pmf_penalty_, self.indicator_penalty_ = best.pmf_penalty, best.indicator_penalty
        self.held_out_error_ = best.error
        models = restarts.fitted(observations, best, self.seed_, self.n_models)
        pmfs, bits = zip(*models, strict=True)
        self._stack(observations, pmfs, bits)
        self._estimate_noise(best.noise)
        return self

    def _estimate_noise(self, noise: float) -> None:
        """That of all users, more or less as a user's own errors are greater or smaller."""
        seen = self.observations_
        u, i, p = seen.coo()
        error = np.square(self._predict_positions(u, i) - p)
        if seen.weighted:
            error *= seen.by_user.weight
        mean, counts = error.mean(), seen.by_user.sizes
        if np.isnan(noise):  # nothing could be held out
            noise = float(np.sqrt(mean))
        own = np.bincount(u, error, seen.n_users) / mean if mean > 0 else counts
        self.noise_ = noise * np.sqrt((own + TYPICAL) / (counts + TYPICAL))

    def _check_parameters(self) -> None:
        check_whole("n_events", self.n_events, 1, WORD)
        check_whole("n_models", self.n_models, 1, MOST_SAMPLES)
        check_whole("n_iter", self.n_iter, 1)
        checked_threads(self)
        for name in ("pmf_penalty", "indicator_penalty"):
            if getattr(self, name) != "auto":
                check_number(name, getattr(self, name))

    def fold_in(self, X: Any) -> Self:
        """Add the new users and the new items of a table, without touching the rest.

        Each entry needs a new user and a known item, or a known user and a new item. A known item
        that nobody had rated is taken as a new one.
        """
        check_is_fitted(self)
        new = news(self.observations_, X)
        return self._fold(new, partial(self._folded, new))

    def _folded(
        self, new: News, k: int, pmf: Floats, bits: Bits, rng: np.random.Generator
    ) -> Folded:
        """A new user is a convex solve, a new item an exact one; the noise is the typical one."""
        users = self._new_pmfs(new.entries.by_user.rows(new.n_users), pmf, bits)
        pmf = np.vstack([pmf, users])
        codes = np.zeros(new.merged.n_items, dtype=np.uint64)
        codes[: len(bits)] = pack(bits)[:, 0]
        engine = checked_engine(self).with_threads(1)
        items = FreeIndicators(engine, Exact(), self.indicator_penalty_)(
            new.entries.by_item.taken(new.items),
            pmf,
            codes[new.items],
            streams(rng, len(new.items)),
        )
        codes[new.items] = items.codes
        typical = np.full(len(users), np.mean(np.square(self.noise_)))
        return Folded(pmf, unpack(codes[:, None], bits.shape[1]), typical)

    def summary(self) -> Summary:
        """What was fitted, how well, and how well it predicts, in a few lines of text."""
        check_is_fitted(self)
        seen = self.observations_
        rmse = float(np.sqrt(self.error_ / seen.total_weight))
        lo, hi = seen.scale
        return Summary(
            f"Ensemble of Kolmogorov models: {self.n_samples_} models of "
            f"{self.pmf_.shape[1] // self.n_samples_} events, {seen.n_users:,} users, "
            f"{seen.n_items:,} items\n"
            f"  observed   {seen.n_observed:,}, scale {lo:g} to {hi:g}\n"
            f"  fit        RMSE {rmse:.4f} in probability, {rmse * (hi - lo):.4f} in the original "
            "unit, on the training data\n"
            f"  held out   RMSE {self.held_out_error_:.4f} in the original unit, on a tenth, with "
            f"{TRIAL_MODELS} models\n"
            f"  noise      {np.median(self.noise_):.3f}, a user's median standard deviation\n"
            f"  penalties  {self.pmf_penalty_:g} on PMFs, {self.indicator_penalty_:g} on indicators"
        )
