"""An average of Kolmogorov models: itself one, with the events of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eventspace._base.checks import check_choice, check_share, check_whole
from eventspace._base.codes import WORD, pack, unpack
from eventspace._base.errors import UserError
from eventspace._base.threads import run_together
from eventspace._base.types import Bits, Codes, Floats
from eventspace.data.entries import Entries
from eventspace.data.frames import data_frame
from eventspace.data.newcomers import News
from eventspace.data.observations import Observations
from eventspace.data.pairs import read_pairs
from eventspace.estimators.model import KolmogorovModel
from eventspace.fitted.prediction import (
    UNITS,
    UNKNOWN,
    Prediction,
    Unit,
    Unknown,
    dot_products,
    positions,
    squared_error,
)
from eventspace.fitted.reasoning import Reasoning
from eventspace.fitted.summary import Summarised
from eventspace.fitting.compression import compressed
from eventspace.fitting.half_steps import PmfStep, new_pmfs
from eventspace.fitting.settings import checked_engine, checked_threads
from eventspace.pmf import Pairwise
from eventspace.rules.evidence import Evidence, held_out_evidence, liked_from
from eventspace.rules.of_averages import SORTS, AverageMiner
from eventspace.storage.models import check_fitted, load_model, save_model


class Folded(NamedTuple):
    """A sample with new users and items, and the variance of the new users' noise."""

    pmf: Floats
    bits: Bits
    variance: Floats


class Average(Summarised, Prediction, Reasoning, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Samples of a model, stacked side by side, their PMFs divided by their number.

    That is one model with the events of all: every prediction, event and explanation of a single
    model holds for it, word by word. But its events are hundreds: to read one, or an explanation,
    :meth:`to_model` with few events is better. How the samples come about is for those who inherit
    to say, and how one of them takes in new users and items (see :meth:`_fold`).
    """

    pmf_: Floats  # users x (samples x events)
    codes_: Codes  # items x words
    noise_: Floats  # of each user: a standard deviation, in probability
    n_samples_: int
    n_together_: int  # how many draws a sample is made of
    pmf_penalty_: float
    error_: float
    seed_: int  # of whatever is drawn after the fit
    n_jobs: int | None
    verbose: bool | None

    def _stack(
        self,
        observations: Observations,
        pmfs: Sequence[Floats],
        bits: Sequence[Bits],
        n_together: int = 1,
    ) -> None:
        """Make these samples one model."""
        self.n_together_ = n_together
        self.observations_ = observations
        self.n_samples_ = len(pmfs)
        self.pmf_ = np.hstack(pmfs) / self.n_samples_
        self.codes_ = pack(np.hstack(bits))
        self.error_ = squared_error(observations, self.pmf_, self.indicators_)
        self.n_features_in_ = observations.n_items

    def samples(self) -> Iterator[tuple[Floats, Bits]]:
        """Each sample: its PMFs, users x events, and its indicators, items x events."""
        check_is_fitted(self)
        n, bits = self.pmf_.shape[1] // self.n_samples_, self.indicators_
        for k in range(self.n_samples_):
            events = slice(k * n, (k + 1) * n)
            yield self.pmf_[:, events] * self.n_samples_, bits[:, events]

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        *,
        unit: Unit = "probability",
        unknown: Unknown = "error",
    ) -> Any:
        """Where an observation will lie: a DataFrame with a row a pair.

        ``mean``, ``std`` of the mean's posterior, and ``low`` and ``high``, between which a new
        value lies with probability ``level``: the posterior's spread and the user's own noise
        taken together, as a normal law cut off at the ends of the scale. For an unknown id the
        spread is that of the population. For values that are yes or no such an interval says
        little: there the mean is what counts. ``X`` holds pairs, as in :meth:`predict`; of a pandas
        DataFrame the index is kept.
        """
        check_is_fitted(self)
        check_share("level", level)
        check_choice("unit", unit, UNITS)
        check_choice("unknown", unknown, UNKNOWN)
        pairs = read_pairs(X, self.observations_)
        if pairs is None:
            raise UserError(
                "An interval is for pairs: a tuple (users, items) of two columns, or a DataFrame "
                "with a column of each. tuple(zip(*data)) makes columns of a list of pairs."
            )
        known = self.observations_
        users = positions(known.user_ids, pairs.users, "user", unknown)
        items = positions(known.item_ids, pairs.items, "item", unknown)
        mean, std = self._moments(users, items)
        noise = np.append(self.noise_, np.sqrt(np.mean(np.square(self.noise_))))[users]
        half = float(ndtri(0.5 + level / 2)) * np.hypot(std, noise)
        columns = {
            "mean": mean,
            "low": np.clip(mean - half, 0, 1),
            "high": np.clip(mean + half, 0, 1),
        }
        if unit == "original":
            columns = {name: known.from_unit(p) for name, p in columns.items()}
            std = std * (known.scale[1] - known.scale[0])
        table = data_frame({"mean": columns["mean"], "std": std, **columns}, known.library)
        if isinstance(X, pd.DataFrame) and isinstance(table, pd.DataFrame):
            table.index = X.index
        return table

    def _moments(self, users: NDArray[Any], items: NDArray[Any]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of theta_u . psi_i.

        The variance is that of single draws: a sample of several, whose indicators are drawn apart,
        varies so many times less; to it comes what is not seen between samples. For -1 the mean is
        that of the population, over which the deviation goes as well; likewise for items of which
        the samples say nothing.
        """
        total, square = np.zeros(len(users)), np.zeros(len(users))
        who, u = np.unique(users, return_inverse=True)
        what, i = np.unique(items, return_inverse=True)
        pmf = self.pmf_[who] * self.n_samples_
        if who.size and who[0] < 0:
            pmf[0] = self.pmf_mean_ * self.n_samples_
        anyone, anything = users < 0, self._unsaid(what)[i]
        population = self._rated() if anyone.any() or anything.any() else None
        for events, psi in self._indicators_by_sample(what):
            theta = pmf[:, events]
            p = dot_products(theta, psi, u, i)
            total += p
            if population is None:
                square += p * p
            else:
                P, S = (mean_square(rows[:, events]) for rows in population)
                of_anyone = np.einsum("id,id->i", psi @ P, psi)[i]
                of_anything = np.einsum("ud,ud->u", theta @ S, theta)[u]
                both = np.where(anything, np.sum(P * S), of_anyone)
                square += np.where(anyone, both, np.where(anything, of_anything, p * p))
        mean = total / self.n_samples_
        variance = np.maximum(square / self.n_samples_ - mean * mean, 0.0)
        variance[~(anyone | anything)] *= self.n_together_
        variance += self._left_open(users)
        return mean, np.sqrt(variance)

    def _left_open(self, users: NDArray[Any]) -> Floats | float:
        """The variance that is not seen between samples."""
        return 0.0

    def _rated(self) -> tuple[Floats, Bits]:
        """The PMFs of all users with ratings, and the indicators of such items."""
        users, items = (
            entries.rated for entries in (self.observations_.by_user, self.observations_.by_item)
        )
        return self.pmf_[users] * self.n_samples_, self.indicators_[items]

    def _indicators_by_sample(self, items: NDArray[Any]) -> Iterator[tuple[slice, Floats]]:
        """The events of each sample, and psi of some items there, as numbers."""
        bits, unsaid = unpack(self.codes_[items], self.pmf_.shape[1]), self._unsaid(items)
        mean = self.indicator_mean_ if unsaid.any() else np.empty(self.pmf_.shape[1])
        n = self.pmf_.shape[1] // self.n_samples_
        for k in range(self.n_samples_):  # one at a time: all would be large
            events = slice(k * n, (k + 1) * n)
            psi = bits[:, events].astype(np.float64)
            psi[unsaid] = mean[events]
            yield events, psi

    def _unsaid(self, items: NDArray[Any]) -> NDArray[np.bool_]:
        """Of which items the samples say nothing, so that the mean indicator stands in."""
        return np.asarray((items < 0) | (self.observations_.by_item.sizes[items] == 0))

    def _predict_positions(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        return self._moments(users, items)[0]

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve a row and a sample.

        Gives rows x events, the events of all samples; the items must be the model's own.
        """
        check_is_fitted(self)
        by_user = self._aligned(X).by_user
        found: list[Floats] = [self.pmf_] * self.n_samples_

        def solve(k: int, pmf: Floats, bits: Bits) -> Iterator[int]:
            found[k] = self._new_pmfs(by_user, pmf, bits)
            yield 1

        tasks = [solve(k, *sample) for k, sample in enumerate(self.samples())]
        run_together("new users", tasks, 1, checked_threads(self), self.verbose)
        return np.hstack(found) / self.n_samples_

    def _new_pmfs(self, by_user: Entries, pmf: Floats, bits: Bits) -> Floats:
        """(Q1) for new users, given a sample's indicators and the mean of its PMFs."""
        rated = self.observations_.by_user.rated
        mean = pmf[rated].mean(axis=0)
        step = PmfStep(checked_engine(self).with_threads(1), Pairwise(), self.pmf_penalty_)
        return new_pmfs(step, by_user, pack(bits)[:, 0], mean).pmf

    def inverse_transform(self, X: Any) -> Floats:
        """P[X_i = 1] of every item under each of the PMFs in ``X``: rows x items."""
        check_is_fitted(self)
        pmf = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if pmf.shape[1] != self.pmf_.shape[1]:
            raise UserError(
                f"A PMF here has {self.pmf_.shape[1]} events, X has {pmf.shape[1]} columns."
            )
        p = np.zeros((len(pmf), len(self.codes_)))
        for events, psi in self._indicators_by_sample(np.arange(len(self.codes_))):
            p += pmf[:, events] @ psi.T
        return p

    def _fold(
        self, new: News, folded: Callable[[int, Floats, Bits, np.random.Generator], Folded]
    ) -> Self:
        """Take in what is new, sample by sample; nothing is changed until all have."""
        rngs = np.random.default_rng(
            [self.seed_, new.merged.n_users, new.merged.n_items]  # another for the next time
        ).spawn(self.n_samples_)
        found: list[Folded] = [()] * self.n_samples_  # type: ignore[list-item]

        def fold(k: int, pmf: Floats, bits: Bits) -> Iterator[int]:
            found[k] = folded(k, pmf, bits, rngs[k])
            yield 1

        tasks = [fold(k, *sample) for k, sample in enumerate(self.samples())]
        run_together("fold in", tasks, 1, checked_threads(self), self.verbose)
        pmf = np.hstack([f.pmf for f in found]) / self.n_samples_
        bits = np.hstack([f.bits for f in found])
        self.error_ += squared_error(new.entries, pmf, bits)  # of the known ones it is what it was
        self.observations_, self.pmf_, self.codes_ = new.merged, pmf, pack(bits)
        self.n_features_in_ = new.merged.n_items
        variance = np.mean([f.variance for f in found], axis=0)
        self.noise_ = np.append(self.noise_, np.sqrt(variance))
        return self

    def to_model(self, n_events: int | None = None) -> KolmogorovModel:
        """One model to hold and to read: with all the events, or compressed to ``n_events``.

        None gives the average itself as a :class:`KolmogorovModel`, its events numbered by mass.
        It predicts, proves and explains; it takes in nobody new. A number, at most 64, gives a
        model that was fitted to the average's predictions; its ``loss_`` says how far it is from
        them. Either way an item without ratings has the mean indicator of the others.
        """
        check_is_fitted(self)
        if n_events is None:
            heaviest = np.argsort(-self.pmf_mean_, kind="stable")
            indicators = self.indicators_[:, heaviest]
            return KolmogorovModel.from_parts(
                self.pmf_[:, heaviest], indicators, self.observations_
            )
        check_whole("n_events", n_events, 1, WORD)
        return compressed(self, n_events)

    def rules(
        self,
        X: Any = None,
        *,
        item: Any = None,
        top: int | None = 100,
        sort: str = "surprise",
        min_probability: float = 0.5,
        min_evidence: int = 1,
        like: float | None = None,
    ) -> Any:
        """Rules "whoever likes if_item likes then_item" with the probability that they hold.

        A DataFrame as that of :meth:`KolmogorovModel.rules`, with ``probability``, the part of
        the draws in which the one set lies inside the other, at least ``min_probability``, in
        place of kind and stability; the surprise is multiplied by it. The other options are as
        there.
        """
        check_is_fitted(self)
        check_whole("top", 1 if top is None else top, 1)
        check_choice("sort", sort, SORTS)
        check_share("min_probability", min_probability)
        check_whole("min_evidence", min_evidence, 1)
        seen = self.observations_
        threshold = liked_from(seen, like)
        samples = [
            pack(drawn)
            for _, bits in self.samples()
            for drawn in np.split(bits, self.n_together_, axis=1)
        ]
        evidence = Evidence(seen, threshold)
        miner = AverageMiner(
            self._space(),
            evidence,
            restarts=samples,
            sort=sort,
            min_evidence=min_evidence,
            min_support=0.0,
            min_confidence=min_probability,
            fold=False,
        )
        given = None if X is None else held_out_evidence(X, seen, threshold)
        return miner.table(item, top, given, self.verbose)

    def report(
        self, path: str | os.PathLike[str], X: Any = None, *, n_events: int = 16, **options: Any
    ) -> Path:
        """Write the page of :meth:`to_model` with ``n_events``: all of them are too many to read.

        ``X`` and the options are those of :meth:`KolmogorovModel.report`; the page tells how far
        the model's predictions are from those of the average.
        """
        return self.to_model(n_events).report(path, X, **options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "observations_"):
            check_fitted(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one file: parameters, PMFs, codes, ids, scale and observations."""
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote."""
        return load_model(cls, path)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self.pmf_.shape[1])], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def mean_square(rows: NDArray[Any]) -> Floats:
    """The mean of x x' over the rows x."""
    x = rows.astype(np.float64)
    return np.asarray(x.T @ x / len(x))
