"""The estimator: a Kolmogorov model learnt from a table of chances."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eventspace._base.codes import WORD, pack, unpack
from eventspace._base.errors import UserError
from eventspace._base.progress import bar
from eventspace._base.randomness import streams
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.data.newcomers import news
from eventspace.data.observations import Observations, to_learn_from
from eventspace.fitted.prediction import Prediction, checked_parts, squared_error
from eventspace.fitted.proving import Proving
from eventspace.fitted.summary import Summarised, Summary, summarise
from eventspace.fitting import settings
from eventspace.fitting.constraints import Given, given_indicators, given_start, read_given
from eventspace.fitting.descent import Descent, best_descent, population_centre, random_start
from eventspace.fitting.half_steps import HalfSteps, Pmfs, new_pmfs
from eventspace.storage.models import check_fitted, load_model, save_model


class KolmogorovModel(Summarised, Prediction, Proving, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A finite probability space that explains a table of yes/no chances.

    Every user has a distribution over ``n_events`` elementary events, every item is the set of
    events in which it comes true, and P[X_ui = 1] is the mass that the user gives to that set.

    Parameters
    ----------
    n_events : int, default 8
        D, the number of elementary events, 1 to 64.
    pmf_penalty : float, default 1.0
        lambda: how strongly each PMF is drawn to ``pmf_prior``, in ratings. Noisy tables want more:
        on film ratings 30 to 60 predict best.
    pmf_prior : {"mean", "zero"}, default "mean"
        Draw PMFs towards the population's mean, or towards zero (so to the uniform one), as the
        paper does.
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
    n_jobs : int or None, default -1
        Threads; -1 means every core, None one. The result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same model.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Attributes
    ----------
    pmf_ : array of users x events
        theta. A user without ratings has the mean PMF of the others. The events are numbered by
        their mass in the population, the heaviest first, or as they were given.
    codes_ : uint64 array of items x words
        psi, packed 64 events a word; ``indicators_`` is the same as bools.
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
        Whether the cost stood still before ``n_iter`` iterations were done.
    interrupted_ : bool
        Whether Ctrl-C ended the descent.
    given_ : {"pmf", "indicators"} or None
        The side that was given to :meth:`fit`, and not learnt.
    loss_ : float or None
        Of a model that an average was compressed to: the root mean square of the difference
        between its predictions and those of the average.
    """

    # what a file holds of a fit, beside its parameters and observations
    _SAVED_ARRAYS = ("pmf_", "codes_", "history_", "proved_", "gap_")
    _SAVED_NUMBERS = ("error_", "converged_", "interrupted_", "n_iter_", "loss_", "given_")

    def __init__(
        self,
        n_events: int = 8,
        *,
        pmf_penalty: float = 1.0,
        pmf_prior: str = "mean",
        indicators: str = "free",
        indicator_penalty: float = 0.0,
        indicator_solver: Any = "exact",
        pmf_solver: Any = "pairwise",
        n_iter: int = 20,
        tol: float = 1e-4,
        n_init: int | str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_events = n_events
        self.pmf_penalty = pmf_penalty
        self.pmf_prior = pmf_prior
        self.indicators = indicators
        self.indicator_penalty = indicator_penalty
        self.indicator_solver = indicator_solver
        self.pmf_solver = pmf_solver
        self.n_iter = n_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, pmf: Any = None, indicators: Any = None) -> Self:
        """Learn PMFs and indicators from a table of chances, or one of them given the other.

        Parameters
        ----------
        X : table
            An :class:`Observations` or anything that ``Observations.of`` reads: a long or wide
            DataFrame, an array with NaN for missing, a sparse matrix, ``(users, items, values)``,
            or the path of a CSV or Parquet file.
        y : ignored
        pmf : table of users x events, optional
            Known PMFs, such as measured mixtures: they are kept, and only indicators are learnt.
        indicators : table of items x events, optional
            Known indicators, zeros and ones, such as a reference: they are kept, and only PMFs are
            learnt. Given tables have their ids in the index or in the first column; the rows of an
            array are in the order of first appearance in ``X``.
        """
        steps = settings.checked_steps(self)
        observations = to_learn_from(X)
        given = read_given(observations, pmf, indicators, self.n_events)
        if given.indicators is not None:
            settings.check_allowed(self.indicators, given.indicators)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        starts, n_starts = self._starts(observations, given, rng)
        with bar("fit", self.n_iter * n_starts, self.verbose) as update:
            best = best_descent(
                starts,
                observations,
                given.steps(steps),
                prior=self.pmf_prior,
                n_iter=self.n_iter,
                tol=self.tol,
                rng=rng,
                update=update,
            )
        if best.interrupted:
            warnings.warn("interrupted: this is the model so far", stacklevel=2)
        self._keep(observations, best, given.side)
        self.interrupted_ = best.interrupted
        return self

    def _starts(
        self, observations: Observations, given: Given, rng: np.random.Generator
    ) -> tuple[Iterable[Descent], int]:
        """Where to begin: what is given, the last fit, or random PMFs, drawn when needed."""
        if given.side is not None:
            return [given_start(observations, given, self.n_events)], 1
        if self.warm_start and hasattr(self, "pmf_"):
            before = self.observations_
            if (
                self.pmf_.shape[1] == self.n_events
                and before.user_ids == observations.user_ids
                and before.item_ids == observations.item_ids
            ):
                return [Descent(self.pmf_, self.codes_[:, 0])], 1
        n_init = self.n_init
        if n_init == "auto":
            n_init = 10 if observations.n_observed < 10_000 and self.n_events <= 16 else 1
        draws = (random_start(observations, self.n_events, rng) for _ in range(int(n_init)))
        return draws, int(n_init)

    def _keep(self, observations: Observations, descent: Descent, given: str | None = None) -> None:
        rated = observations.by_user.rated
        mass = population_centre(descent.pmf, rated, "mean")
        if given != "pmf":
            descent.pmf[~rated] = mass
        heaviest = np.argsort(-mass, kind="stable") if given is None else np.arange(len(mass))
        self.given_ = given
        self.observations_ = observations
        self.pmf_ = np.ascontiguousarray(descent.pmf[:, heaviest])
        self.codes_ = pack(unpack(descent.codes[:, None], len(mass))[:, heaviest])
        self.history_ = np.array(descent.history)
        self.error_ = descent.error
        self.n_iter_ = len(descent.history)
        self.proved_ = descent.proved
        self.gap_ = descent.gap
        self.converged_ = descent.converged
        self.loss_: float | None = None
        self.n_features_in_ = observations.n_items

    @classmethod
    def from_parts(cls, pmf: Any, indicators: Any, X: Any) -> Self:
        """A model with given PMFs and indicators, for the users and items of a table.

        ``pmf`` is users x events, ``indicators`` items x events, both in the order of the table's
        users and items; nothing is learnt. There may be more than 64 events.
        """
        observations = to_learn_from(X)
        theta, psi = checked_parts(pmf, indicators, observations)
        if not np.isin(psi, (0, 1)).all():
            raise UserError("indicators must be 0 or 1.")
        model = cls(n_events=theta.shape[1])
        model.observations_, model.given_ = observations, None
        model.pmf_, model.codes_ = theta, pack(psi.astype(np.bool_))
        model.error_ = squared_error(observations, theta, model.indicators_)
        model.history_, model.n_iter_ = np.array([model.error_]), 1
        model.proved_ = np.zeros(observations.n_items, dtype=np.bool_)
        model.gap_ = np.full(observations.n_users, np.inf)
        model.converged_ = model.interrupted_ = False
        model.loss_ = None
        model.n_features_in_ = observations.n_items
        return model

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve a row.

        The items must be the model's own. Gives rows x events, in the order of the table's rows (of
        first appearance in a long one). Nothing is kept: to add users to the model, use
        :meth:`fold_in`.
        """
        check_is_fitted(self)
        return self._solve_pmfs(self._aligned(X).by_user).pmf

    def _solve_pmfs(self, by_user: Entries) -> Pmfs:
        codes, mean = self.codes_[:, 0], self.pmf_mean_
        return new_pmfs(self._steps().update_pmfs, by_user, codes, mean, self.pmf_prior)

    def fold_in(self, X: Any) -> Self:
        """Add the new users and the new items of a table, without touching the rest.

        Each entry needs a new user and a known item, or a known user and a new item. A new user is
        one convex solve, a new item one binary one. A known item that nobody had rated is solved
        as a new one, once its new raters are, unless its indicator was given.
        """
        check_is_fitted(self)
        steps, new = self._steps(), news(self.observations_, X)
        items = new.items
        if self.given_ == "indicators":
            items = items[items >= len(self.codes_)]
        users = self._solve_pmfs(new.entries.by_user.rows(new.n_users))
        pmf = np.vstack([self.pmf_, users.pmf])
        n_more = new.merged.n_items - len(self.codes_)
        first = self.codes_[0, 0] if self.indicators == "shared" else np.uint64(0)
        codes = np.append(self.codes_[:, 0], np.full(n_more, first))
        proved = np.append(self.proved_, np.zeros(n_more, dtype=np.bool_))
        found = steps.update_indicators(
            new.entries.by_item.taken(items),
            pmf,
            codes[items],
            streams(np.random.default_rng(0), len(items)),
        )
        codes[items], proved[items] = found.codes, found.proved

        self.pmf_, self.codes_, self.proved_ = pmf, codes[:, None], proved
        self.gap_ = np.append(self.gap_, users.gap)
        self.observations_ = new.merged
        self.error_ = squared_error(new.merged, pmf, self.indicators_)
        self.n_features_in_ = new.merged.n_items
        return self

    def _steps(self) -> HalfSteps:
        """The half-steps for new users and items; its solves have at most 64 events."""
        if self.pmf_.shape[1] > WORD:
            raise UserError(
                f"This model has {self.pmf_.shape[1]:,} events, and takes in no new users or items:"
                f" a solve has at most {WORD}. Do it with the average that it was made of, or with "
                f"its to_model(n_events={WORD})."
            )
        steps = settings.checked_steps(self)
        return given_indicators(steps) if self.indicators == "shared" else steps

    def _check_parameters(self) -> None:
        """Check the parameters of a fitted model; from_parts allows more than 64 events."""
        settings.check_settings(self, max(WORD, self.pmf_.shape[1]))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "observations_"):
            check_fitted(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file: parameters, PMFs, codes, ids, scale and observations."""
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote."""
        return load_model(cls, path)

    def summary(self) -> Summary:
        """What was fitted, how well, and how much of it is proved, in a few lines of text."""
        check_is_fitted(self)
        return summarise(self)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        title: str | None = None,
        tags: Any = None,
        users: Any = None,
        restarts: int = 0,
    ) -> Path:
        """Write one self-contained page on which the model is looked at, and give its path.

        Events, the lattice of items, rules, every item, users with their predictions and the
        reasons, and the fit. It opens from disk in any browser and loads nothing.

        Parameters
        ----------
        path : path
            Where to write it, such as "films.html".
        X : table, optional
            Held-out observations: the rules' evidence is counted there, and predictions are
            compared with it.
        title : str, optional
            What the page is headed with; without it, the name of the file.
        tags : dict or Series, optional
            Items to tags, which then name the events, as in :meth:`events`.
        users : ids, optional
            Whose distributions and ratings the page holds; ``[]``: nobody's. None: all users, or
            as many as fit.
        restarts : int, default 0
            Fit so many times more, to see which rules last, as in :meth:`rules`.
        """
        check_is_fitted(self)
        from eventspace import report

        return report.write(self, path, X, title=title, tags=tags, users=users, restarts=restarts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self.pmf_.shape[1])], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
