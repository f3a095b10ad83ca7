"""An ensemble: descents from many starts, averaged into one model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from eventspace._base.errors import warn
from eventspace._base.types import Floats
from eventspace.data.factors import squared_error, squared_errors
from eventspace.data.learnable import to_tell_apart
from eventspace.data.observations import Observations
from eventspace.estimators.average import AverageEstimator
from eventspace.fitted.by_id import as_in, in_order
from eventspace.fitted.ensemble import FittedEnsemble
from eventspace.fitted.fit import EnsembleFit, stacked
from eventspace.fitting.descent import INTERRUPTED
from eventspace.fitting.folds import held_out
from eventspace.fitting.restarts import EnsembleSettings, Restarts, Trial, check_settings
from eventspace.fitting.settings import engine_to_learn, engine_told

SIZES = [0.3, 0.0]  # tried for "auto" of indicator_penalty
HELD_OUT = 0.1
MIDDLE = 3.0  # the penalty where nothing can be held out
TYPICAL = 10.0  # ratings that the noise of all users is worth beside a user's own


class KolmogorovEnsemble(EnsembleSettings, AverageEstimator):
    """The mean of Kolmogorov models from different starts: itself one, with the events of all.

    Each model is its own descent on all observed entries. Their errors differ, so their mean
    predicts better than any of them. :class:`KolmogorovPosterior` predicts better still, and takes
    longer.

    Parameters
    ----------
    n_events : int, default 16
        D, the number of elementary events of a model, 1 to 64.
    n_models : int, default 16
        How many models are averaged.
    pmf_penalty : float or "auto", default "auto"
        How strongly each PMF is drawn to the population's, in ratings; an average needs less than
        a single model. Descents go down a path of ever weaker penalties to it. "auto": the best of
        30, 10, 3, 1 and 0.3 for a small ensemble on a held-out tenth of the entries.
    indicator_penalty : float or "auto", default "auto"
        The cost of each event in an item's set. "auto": 0.3 or none, chosen in the same way.
    n_iter : int, default 5
        The most iterations of each descent at each penalty.
    engine : {"auto", "cpu", "cuda", "dask"}, default "auto"
        Where it is learnt: on the cores of this machine, on a GPU, or on the workers of a Dask
        cluster. "auto": the cores. ``engine_`` says what it was, and why.
    n_jobs : int or None, default -1
        Threads, over which the models are spread. The result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same ensemble.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Attributes
    ----------
    engine_ : str
        Where it was learnt, and why there.
    fitted_ : FittedEnsemble
        What was learnt: it answers all questions, and needs no scikit-learn. Its attributes are
        also attributes here.
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
        Each user's noise: a standard deviation, in probability. It is that of the held-out entries,
        adjusted by the size of the user's errors on the training data.
    error_ : float
        The (weighted) squared error over the observed entries.
    seed_ : int
        Of the descents, and of later draws.
    interrupted_ : bool
        Whether Ctrl-C ended the descents: these are the models so far, where they stood.
    observations_ : Observations
        What was learnt from.
    """

    fitted_: FittedEnsemble
    _learnt_with = EnsembleSettings

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the models from a table: anything that ``Observations.of`` reads."""
        check_settings(self)
        table = to_tell_apart(X)
        observations = in_order(table)
        random = check_random_state(self.random_state)
        # a yes that is held out would be a no
        fold = None if observations.missing else held_out(observations, HELD_OUT, random)
        seed = int(random.randint(2**31))
        penalty = None if self.pmf_penalty == "auto" else float(self.pmf_penalty)
        sizes = SIZES if self.indicator_penalty == "auto" else [float(self.indicator_penalty)]
        with engine_to_learn(self) as engine:
            restarts = Restarts(self.n_events, self.n_iter, engine, self.verbose)
            if fold is not None:
                best = restarts.best(fold, penalty, sizes, seed)
            else:
                if not observations.missing:
                    said = "no entry can be held out: intervals are too narrow"
                    warn(said)
                best = Trial(MIDDLE if penalty is None else penalty, sizes[-1], np.nan, np.nan)
            models, interrupted = restarts.fitted(observations, best, seed, self.n_models)
        if interrupted:
            warn(f"{INTERRUPTED}, {len(models)} of {self.n_models}")
        pmfs, bits = zip(*models, strict=True)
        pmf, codes = stacked(pmfs, bits)
        psi = np.hstack(bits)
        fit = EnsembleFit(
            observations,
            pmf,
            codes,
            squared_error(observations, pmf, psi),
            n_samples=len(pmfs),
            n_together=1,
            noise=noise_of(observations, pmf, psi, best.noise),
            pmf_penalty=best.pmf_penalty,
            seed=seed,
            interrupted=interrupted,
            indicator_penalty=best.indicator_penalty,
            held_out_error=best.error,
        )
        self.engine_ = engine_told(self)
        self.fitted_ = FittedEnsemble(as_in(table, fit), self._settings())
        return self


def noise_of(seen: Observations, pmf: Floats, indicators: Any, noise: float) -> Floats:
    """The noise of all users, adjusted by the size of a user's own errors."""
    seen = seen.with_unit_weight()
    errors, counts = squared_errors(seen, pmf, indicators), seen.by_user.counts(seen.fades)
    mean = errors.sum() / counts.sum()
    if np.isnan(noise):  # nothing could be held out
        noise = float(np.sqrt(mean))
    own = errors / mean if mean > 0 else counts
    return np.asarray(noise * np.sqrt((own + TYPICAL) / (counts + TYPICAL)))
