"""Choosing a model on held-out entries: a search along paths of ever weaker penalties."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eventspace import settings
from eventspace.codes import Codes
from eventspace.engines.cpu import Pmfs
from eventspace.entries import Entries, transpose
from eventspace.ids import as_column
from eventspace.metrics import rmse
from eventspace.model import KolmogorovModel
from eventspace.observations import Observations
from eventspace.parameters import check_whole, is_real, is_whole
from eventspace.progress import bar
from eventspace.summary import Summary
from eventspace.tables.frames import data_frame
from eventspace.tables.pairs import read_pairs

Bools = NDArray[np.bool_]
Positions = NDArray[np.integer[Any]]

EVENTS = (4, 8, 16, 32)  # tried for "auto", until one is no better than those before
PENALTIES = tuple(640 / 2.0**k for k in range(20))  # likewise, until two in a row are no better
PATIENCE = 2
SMALL = 10_000  # entries: below, five folds cost next to nothing
CHOSEN = ("n_events", "pmf_prior", "indicator_penalty", "pmf_penalty")
_SEED = 1 << 30  # of the first restart: hardly the one that the search drew


class EntryKFold:
    """K folds of the entries of a table, for scikit-learn's ``GridSearchCV`` and the like.

    It splits the rows of a long table (a DataFrame with a row an entry), as ``KFold`` would, but an
    entry stays in the training part if its user or its item would have none there otherwise. The
    rows of a wide table, an array or a sparse matrix are users, who must not be held out as a
    whole: make a long table of it with :func:`long_table`.
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None) -> None:
        check_whole("n_splits", n_splits, 2)
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The rows for training and those held out, fold by fold."""
        pairs = read_pairs(X)
        if pairs is None:
            raise ValueError("Not a long table: rows here are users. Split long_table(X) instead.")
        users, items = (pd.factorize(as_column(ids))[0] for ids in pairs)
        fold = check_random_state(self.random_state).permutation(len(users)) % self.n_splits
        for k in range(self.n_splits):
            held = _spared(fold == k, users, items)
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are."""
        return self.n_splits


def long_table(X: Any) -> Any:
    """The observed entries of any table as a DataFrame: ``user``, ``item``, ``value``, ``weight``.

    Weights are there if the table has them. The rows come by user and then by item.
    """
    seen = Observations.of(X)
    users, items, p = seen.coo()
    columns = {
        "user": seen.user_ids.values[users],
        "item": seen.item_ids.values[items],
        "value": seen.from_unit(p),
    }
    if seen.weighted:
        columns["weight"] = seen.by_user.weight
    return data_frame(columns, seen.library)


class KolmogorovModelCV(KolmogorovModel):
    """A Kolmogorov model with its parameters chosen on held-out entries.

    Each combination of the other parameters is fitted along a path of ever weaker ``pmf_penalty``,
    every fit going on from the last. This is quicker than fits from random starts, and the models
    predict better. The refit on everything goes down the same path to the best penalty.

    Parameters
    ----------
    n_events : int, sequence of them or "auto", default "auto"
        "auto": 4, 8, 16 and 32, not beyond the number of items, until one is no better than those
        before.
    pmf_penalty : float, sequence of them or "auto", default "auto"
        "auto": 640, 320, 160 and so on, until two in a row are no better than the best.
    pmf_prior : {"mean", "zero"} or both, default "mean"
        As in :class:`KolmogorovModel`.
    indicator_penalty : float or sequence of them, default (0.0, 0.2)
        As in :class:`KolmogorovModel`.
    cv : int, float or "auto", default "auto"
        Folds of the observed entries, or the part of them that is held out once. "auto": five folds
        for tables of less than 10,000 entries, else a tenth. An entry is not held out if its user
        or its item would have none to learn from, so small tables may have fewer folds. If nothing
        can be held out, the first combination is taken, with a warning.
    n_iter : int, default 10
        The most iterations at each penalty.
    indicator_solver, pmf_solver, tol, n_init, n_jobs, random_state, verbose
        As in :class:`KolmogorovModel`; ``n_init`` is for the first fit of a path.

    Attributes
    ----------
    best_model_ : KolmogorovModel
        The model refitted on everything. All its attributes are also here, and :meth:`save` writes
        it to a file that ``load`` reads as a :class:`KolmogorovModel`.
    best_params_ : dict
        The parameters chosen.
    best_score_ : float
        Their held-out RMSE in the unit of the table, the mean over the folds.
    path_ : array
        The penalties of the refit, one after the other: the last is the best.
    cv_results_ : dict of arrays, which ``pandas.DataFrame`` takes
        For each combination ``param_*``, the held-out RMSE in the unit of the table
        (``split0_rmse``, ..., ``mean_rmse``, ``std_rmse``) and the seconds that its fits took,
        ``fit_time``.
    """

    def __init__(
        self,
        n_events: Any = "auto",
        *,
        pmf_penalty: Any = "auto",
        pmf_prior: Any = "mean",
        indicator_penalty: Any = (0.0, 0.2),
        cv: int | float | str = "auto",
        indicator_solver: Any = "exact",
        pmf_solver: Any = "pairwise",
        n_iter: int = 10,
        tol: float = 1e-4,
        n_init: int | str = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_events = n_events
        self.pmf_penalty = pmf_penalty
        self.pmf_prior = pmf_prior
        self.indicator_penalty = indicator_penalty
        self.cv = cv
        self.indicator_solver = indicator_solver
        self.pmf_solver = pmf_solver
        self.n_iter = n_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the parameters on held-out entries of a table, and refit on all of it.

        ``X`` is whatever :meth:`KolmogorovModel.fit` takes. ``y`` is ignored.
        """
        events = _values("n_events", self.n_events, EVENTS)
        priors = _values("pmf_prior", self.pmf_prior)
        sizes = _values("indicator_penalty", self.indicator_penalty)
        penalties = _values("pmf_penalty", self.pmf_penalty, PENALTIES)
        for values in product(events, priors, sizes, penalties):  # refuse any before work begins
            settings.checked_engine(self._model(0, *values))
        penalties.sort(reverse=True)
        patience = PATIENCE if isinstance(self.pmf_penalty, str) else len(penalties)
        observations = Observations.of(X)
        if not observations.n_observed:
            raise ValueError("Nothing is observed: there is no entry to learn from.")
        if isinstance(self.n_events, str):
            events = [n for n in events if n <= max(events[0], observations.n_items)]
        random = check_random_state(self.random_state)
        parts = folds(observations, self.cv, random)
        if not parts:
            warnings.warn("no entry can be held out: the first parameters are taken", stacklevel=2)
        seed = int(random.randint(2**31))

        tried: list[Trial] = []
        with bar("select", len(events) * len(priors) * len(sizes), self.verbose) as update:
            done = 0
            for n_events in events:
                least = min((trial.mean for trial in tried), default=np.inf)
                for prior, size in product(priors, sizes):
                    model = self._model(seed, n_events, prior, size, penalties[0])
                    for trial in _path(model, penalties, patience, parts):
                        tried.append(trial)
                        update(done, f"{n_events} events: {trial.mean:.4f}")
                    done += 1
                if isinstance(self.n_events, str) and not min(t.mean for t in tried) < least:
                    break
        best = tried[int(np.argmin([trial.mean for trial in tried]))]
        self.best_params_ = dict(zip(CHOSEN, best.parameters, strict=True))
        self.best_score_ = best.mean
        self.cv_results_ = _results(tried)
        self.path_ = np.array([p for p in penalties if p >= best.parameters[-1]])
        self.best_model_ = self._refitted(seed, observations)
        return self._shared()

    def _model(self, seed: int, *chosen: Any) -> KolmogorovModel:
        """A model with these of the parameters that are chosen, and the others as they are."""
        names = ("indicator_solver", "pmf_solver", "n_iter", "tol", "n_init", "n_jobs")
        return KolmogorovModel(
            **{name: getattr(self, name) for name in names},
            **dict(zip(CHOSEN, chosen, strict=True)),
            warm_start=True,
            random_state=seed,
            verbose=False,
        )

    def _refitted(self, seed: int, observations: Observations) -> KolmogorovModel:
        """The best model of all observations, down the path from a start of this seed."""
        model = self._model(seed, *self.best_params_.values())
        for penalty in self.path_.tolist():
            _fit(model.set_params(pmf_penalty=penalty), observations)
        model.warm_start = False
        return model

    def _shared(self) -> Self:
        """This, with what the best model has learnt as its own."""
        for name, value in vars(self.best_model_).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def fold_in(self, X: Any) -> Self:
        """Add new users and items, as :meth:`KolmogorovModel.fold_in` does."""
        check_is_fitted(self)
        self.best_model_.fold_in(X)
        return self._shared()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best model to one file, which holds a :class:`KolmogorovModel`."""
        check_is_fitted(self)
        self.best_model_.save(path)

    load = KolmogorovModel.load
    from_parts = KolmogorovModel.from_parts

    def summary(self) -> Summary:
        """What the best model is, as :meth:`KolmogorovModel.summary` says it."""
        check_is_fitted(self)
        return self.best_model_.summary()

    def _solve_pmfs(self, by_user: Entries) -> Pmfs:
        return self.best_model_._solve_pmfs(by_user)

    def _other_fits(self, n: int) -> list[Codes]:
        fits = []
        with bar("restarts", n, self.verbose) as update:
            for k in range(n):
                fits.append(self._refitted(_SEED + k, self.observations_)._space().sets)
                update(k + 1, "")
        return fits


class Trial(NamedTuple):
    """Parameters (in the order of ``CHOSEN``), the RMSE of each fold, and the seconds it took."""

    parameters: tuple[Any, ...]
    errors: list[float]
    seconds: float

    @property
    def mean(self) -> float:
        """The mean RMSE; NaN without any fold."""
        return float(np.mean(self.errors)) if self.errors else np.nan


@dataclass
class Fold:
    """Observations to learn from, with the ids of all, and the entries that are held out."""

    train: Observations
    users: Positions
    items: Positions
    truth: NDArray[np.float64]
    weight: NDArray[np.floating[Any]] | None

    @classmethod
    def of(cls, seen: Observations, held: Bools) -> Fold:
        """The fold with these entries, in the order of ``seen.coo()``, held out."""
        ptr, index, value, weight = seen.by_user
        kept = np.concatenate([[0], np.cumsum(~held)])
        by_user = Entries(kept[ptr], index[~held], value[~held], weight[~held[: weight.size]])
        by_item = transpose(by_user, seen.n_items)
        train = Observations(
            seen.user_ids, seen.item_ids, by_user, by_item, seen.scale, seen.library
        )
        users, items, p = seen.coo()
        return cls(
            train,
            users[held],
            items[held],
            seen.from_unit(p[held]),
            weight[held] if weight.size else None,
        )

    def error(self, model: KolmogorovModel) -> float:
        """The RMSE over what is held out, in the unit of the table, once the model is fitted."""
        p = _fit(model, self.train)._predict_positions(self.users, self.items)
        return rmse(self.truth, self.train.from_unit(p), self.weight)


def folds(seen: Observations, cv: Any, random: np.random.RandomState) -> list[Fold]:
    """The folds that ``cv`` asks for, without those in which nothing can be held out."""
    if cv == "auto":
        cv = 5 if seen.n_observed < SMALL else 0.1
    order = random.permutation(seen.n_observed)
    if is_whole(cv) and cv >= 2:
        choices: Iterable[Bools] = (order % cv == k for k in range(cv))
    elif is_real(cv) and 0 < cv < 1:
        choices = [order < cv * seen.n_observed]
    else:
        raise ValueError(f"cv={cv!r} must be 'auto', at least 2 folds, or a part between 0 and 1.")
    users, items, _ = seen.coo()
    helds = (_spared(held, users, items) for held in choices)
    return [Fold.of(seen, held) for held in helds if held.any()]


def _spared(held: Bools, users: Positions, items: Positions) -> Bools:
    """Of what is to be held out, give one entry back to each user and item with none left."""
    held = held.copy()
    for ids in (users, items):
        left = np.bincount(ids[~held], minlength=int(ids.max(initial=-1)) + 1)
        bare = np.flatnonzero(held & (left[ids] == 0))
        held[bare[np.unique(ids[bare], return_index=True)[1]]] = False
    return held


def _path(
    model: KolmogorovModel, penalties: list[float], patience: int, parts: list[Fold]
) -> Iterator[Trial]:
    """Weaken the penalty step by step, in all folds, until so many in a row are no better."""
    models = [clone(model) for _ in parts]
    least, worse = np.inf, 0
    for penalty in penalties:
        begun = time.perf_counter()
        model.set_params(pmf_penalty=penalty)
        errors = [
            fold.error(mine.set_params(pmf_penalty=penalty))
            for mine, fold in zip(models, parts, strict=True)
        ]
        chosen = tuple(getattr(model, name) for name in CHOSEN)
        trial = Trial(chosen, errors, time.perf_counter() - begun)
        yield trial
        least, worse = (trial.mean, 0) if trial.mean < least else (least, worse + 1)
        if worse == patience:
            return


def _fit(model: KolmogorovModel, observations: Observations) -> KolmogorovModel:
    if model.fit(observations).interrupted_:
        raise KeyboardInterrupt
    return model


def _results(tried: list[Trial]) -> dict[str, NDArray[Any]]:
    """The trials as scikit-learn writes them."""
    columns = zip(*(trial.parameters for trial in tried), strict=True)
    results = {f"param_{name}": np.array(x) for name, x in zip(CHOSEN, columns, strict=True)}
    errors = np.array([trial.errors for trial in tried])
    results |= {f"split{k}_rmse": errors[:, k] for k in range(errors.shape[1])}
    results["mean_rmse"] = np.array([trial.mean for trial in tried])
    if errors.size:
        results["std_rmse"] = errors.std(axis=1)
    results["fit_time"] = np.array([trial.seconds for trial in tried])
    return results


def _values(name: str, value: Any, auto: tuple[float, ...] = ()) -> list[Any]:
    """The values to try for a parameter: one, several, or those for "auto"."""
    if isinstance(value, str):
        return list(auto) if auto and value == "auto" else [value]
    values = list(value) if isinstance(value, Iterable) else [value]
    if not values:
        raise ValueError(f"{name}={value!r} has nothing to try.")
    return values
