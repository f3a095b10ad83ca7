"""A fitted average: samples of a model as one, and the questions that only many samples answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.checks import check_choice, check_share, check_whole
from eventspace._base.codes import WORD, pack
from eventspace._base.errors import UserError
from eventspace._base.foreign import is_a
from eventspace._base.threads import blas_alike, run_together
from eventspace._base.types import Bits, Codes, Floats, Positions
from eventspace.data.entries import Entries
from eventspace.data.factors import dot_products
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.data.pairs import read_pairs
from eventspace.data.updates import Update
from eventspace.fitted.by_id import as_in, in_order
from eventspace.fitted.compressed import CompressedModel, compressed
from eventspace.fitted.fit import AverageFit, DescentFit, heaviest_first, padded
from eventspace.fitted.model import FittedModel
from eventspace.fitted.prediction import UNITS, UNKNOWN, Unit, Unknown
from eventspace.fitting.compression import Part
from eventspace.fitting.half_steps import PmfStep, new_pmfs
from eventspace.fitting.settings import DescentSettings, checked_engine, checked_threads
from eventspace.logic.explain import Explanation
from eventspace.logic.space import Space
from eventspace.pmf import Pairwise
from eventspace.sampling.settings import ModelSettings

T = TypeVar("T")
READABLE = 16  # events that people still read


class FittedAverage(FittedModel):
    """The mean of many models: itself one, with the events of all.

    It predicts and measures events as a single model does. But it has hundreds of events. So
    :meth:`events` and :meth:`explain` show its readable model instead, which is made once by
    :meth:`to_model` with 16 events.
    """

    record: AverageFit  # type: ignore[assignment]
    settings: Any

    def samples(self) -> Iterator[tuple[Floats, Bits]]:
        """Each sample: its PMFs, users x events, and its indicators, items x events."""
        fit, bits = self.record, self.record.indicators
        for events in fit.sample_events:
            yield fit.pmf[:, events] * fit.n_samples, bits[:, events]

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """Those of the chances: of the parts that are averaged, which share much."""
        theta, psi = self.record.factors
        psi[self.record.unsaid] = psi[self.observations.by_item.rated].mean(axis=0)
        return theta, psi

    def all_chances(self, users: Positions) -> Floats:
        """The chances of all items for some users, -1 for the population: users x items."""
        theta, psi = self._factors
        pmf = theta[users]
        pmf[users < 0] = theta[self.observations.by_user.rated].mean(axis=0)
        with blas_alike(len(pmf)):
            return self.kept_within(pmf @ psi.T)

    # how sure it is

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        *,
        unit: Unit = "probability",
        unknown: Unknown = "error",
    ) -> DataFrame:
        """Where an observation will lie: a DataFrame with one row per pair.

        ``mean``, ``std`` of the mean's posterior, and ``low`` and ``high``, between which a new
        value lies with probability ``level``: the posterior's spread and the user's own noise
        taken together, as a normal law cut off at the ends of the scale. For an unknown id the
        spread is that of the population. For values that are yes or no such an interval says
        little: there the mean is what counts. ``X`` holds pairs, as in :meth:`predict`; of a pandas
        DataFrame the index is kept.
        """
        from scipy.special import ndtri

        check_share("level", level)
        check_choice("unit", unit, UNITS)
        check_choice("unknown", unknown, UNKNOWN)
        known, noise = self.observations, self.record.noise
        pairs = read_pairs(X, known)
        if pairs is None:
            raise UserError(
                "An interval is for pairs: a tuple (users, items) of two columns, or a DataFrame "
                "with a column of each. tuple(zip(*data)) makes columns of a list of pairs."
            )
        users, items = self.positions(pairs.users, pairs.items, unknown)
        mean, std = self.moments(users, items)
        own = np.append(noise, np.sqrt(np.mean(np.square(noise))))[users]
        half = float(ndtri(0.5 + level / 2)) * np.hypot(std, own)
        columns = {
            "mean": mean,
            "std": std,
            "low": np.clip(mean - half, 0, 1),
            "high": np.clip(mean + half, 0, 1),
        }
        if unit == "original":
            columns = {name: known.from_unit(p) for name, p in columns.items()}
            columns["std"] = std * (known.scale[1] - known.scale[0])
        table = data_frame(columns, known.library)
        if is_a(X, "pandas.DataFrame") and known.library == "pandas":
            table.index = X.index
        return table

    def moments(self, users: NDArray[Any], items: NDArray[Any]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of theta_u . psi_i.

        The variance is that of single draws: a sample of several, whose indicators are drawn apart,
        varies ``n_together`` times less; to it comes what is not seen between samples. For -1 the
        mean is the population's, and the deviation is taken over the population. The same holds
        for items of which the samples say nothing.
        """
        fit = self.record
        total, square = np.zeros(len(users)), np.zeros(len(users))
        who, u = np.unique(users, return_inverse=True)
        what, i = np.unique(items, return_inverse=True)
        pmf = fit.pmf[who] * fit.n_samples
        if who.size and who[0] < 0:
            pmf[0] = fit.pmf_mean * fit.n_samples
        anyone, anything = users < 0, (items < 0) | fit.unsaid[items]
        rated_users = fit.observations.by_user.rated
        rated_items = np.flatnonzero(fit.observations.by_item.rated)
        for events in fit.sample_events:
            theta, psi = pmf[:, events], self.indicators_or_mean(events, what)
            p = dot_products(theta, psi, u, i)
            total += p
            if not (anyone.any() or anything.any()):
                square += p * p
                continue
            P = mean_square(fit.pmf[rated_users, events] * fit.n_samples)
            S = mean_square(self.indicators_in(events, rated_items))
            of_anyone = np.einsum("id,id->i", psi @ P, psi)[i]
            of_anything = np.einsum("ud,ud->u", theta @ S, theta)[u]
            both = np.where(anything, np.sum(P * S), of_anyone)
            square += np.where(anyone, both, np.where(anything, of_anything, p * p))
        mean = self.kept_within(total / fit.n_samples)
        variance = np.maximum(square / fit.n_samples - mean * mean, 0.0)
        variance[~(anyone | anything)] *= fit.n_together
        variance += np.append(fit.left_open, fit.left_open[rated_users].mean())[users]
        return mean, np.sqrt(variance)

    def doubt(self, users: Positions, items: Positions, noisier: Floats) -> Floats:
        """The variance of new ratings around the predictions: noise, and what samples differ by."""
        noise = noisier * np.square(self.record.noise)[users]
        return np.asarray(noise + np.square(self.moments(users, items)[1]))

    # what it takes in

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve per row and sample.

        Gives rows x events, the events of all samples; the items must be the model's own.
        """
        by_user, seen = self.aligned(X).by_user, self.observations

        def solve(k: int, part: Part, rng: np.random.Generator) -> Floats:
            return self.new_pmfs(by_user, part.pmf, pack(part.chances > 0.5)[:, 0])

        return np.hstack(self.in_each_part(seen, solve)) / self.record.n_samples

    def new_pmfs(self, by_user: Entries, pmf: Floats, codes: Codes) -> Floats:
        """(Q1) for users in a sample, around the mean of its PMFs."""
        mean = pmf[self.observations.by_user.rated].mean(axis=0)
        engine = checked_engine(self.settings).with_threads(1)
        step = PmfStep(engine, Pairwise(), self.record.pmf_penalty)
        return new_pmfs(step, by_user, codes, mean).pmf

    def in_each_part(
        self, seen: Observations, work: Callable[[int, Part, np.random.Generator], T]
    ) -> list[T]:
        """What is done in each part, several at a time, each with its own generator.

        The generators are others after the next update.
        """
        parts, found = self.record.parts(), dict[int, T]()
        seeds = [self.record.seed, seen.n_users, seen.n_items, seen.n_observed]
        rngs = np.random.default_rng(seeds).spawn(len(parts))

        def task(k: int) -> Generator[int, None, None]:
            found[k] = work(k, parts[k], rngs[k])
            yield 1

        tasks = [task(k) for k in range(len(parts))]
        run_together("update", tasks, 1, checked_threads(self.settings), self.settings.verbose)
        return [found[k] for k in range(len(parts))]

    def revised(
        self, change: Update, pmfs: Sequence[Floats], bits: Sequence[Bits], **more: Any
    ) -> Self:
        """The average with the users and items of a change as each part has them.

        ``bits`` are items x samples of the part x events.
        """
        fit, seen = self.record, change.now
        pmf, codes = padded(fit.pmf, seen.n_users), padded(fit.codes, seen.n_items)
        n_each = fit.n_samples // len(pmfs)
        pmf[change.users] = np.tile(np.hstack(pmfs), n_each) / fit.n_samples
        codes[change.items] = pack(np.hstack([part[:, k] for k in range(n_each) for part in bits]))
        updated = replace(fit, observations=seen, pmf=pmf, codes=codes, **more)
        error = change.error(fit.error, fit.factors, updated.factors)
        return type(self)(replace(updated, error=error), self.settings)

    # one model of it, to read

    @cached_property
    def _readable(self) -> Space:
        return self.space if self.record.n_events <= READABLE else self.to_model(READABLE).space

    def explain(self, user: Any, item: Any, tags: Any = None) -> Explanation:
        """Why a prediction is what it is, told by the events of the readable model.

        The probability is that of the average; the explanation's ``readable`` is that of the
        readable model. ``tags`` as in :meth:`events`.
        """
        why = super().explain(user, item, tags)
        if self._readable is self.space:
            return why
        p = self.predict_positions(np.array([why.user_at, -1]), np.full(2, why.item_at))
        return replace(why, average=(float(p[0]), float(p[1])))

    def to_model(self, n_events: int | str | None = None) -> FittedModel:
        """One model to hold and to read: with all the events, or compressed to ``n_events``.

        None gives the average itself as a model, its events numbered by mass. It predicts, proves
        and explains; it takes in nobody new. A number, at most 64, gives a model whose predictions
        are as near to the average's as possible; its ``loss`` says how near. "auto" takes the least
        number of events whose expected RMSE on new ratings is at most 1 % above the average's.
        Either way an item without ratings has the mean indicator of the others.
        """
        fit, order = self.record, heaviest_first(self.record)
        if n_events is None:
            parts = DescentFit.of_parts(
                fit.observations, fit.pmf[:, order], fit.indicators[:, order]
            )
            return FittedModel(parts, DescentSettings(fit.n_events))
        if n_events != "auto":
            check_whole("n_events", n_events, 1, WORD)
        settings = ModelSettings(
            n_events, n_jobs=self.settings.n_jobs, verbose=self.settings.verbose
        )
        by_id = as_in(in_order(fit.observations), fit)
        small = compressed(
            by_id.observations,
            by_id.parts(),
            by_id.noise,
            by_id.left_open,
            n_events,
            settings,
            by_id.meetings,
        )
        if small.interrupted:
            raise KeyboardInterrupt
        return CompressedModel(as_in(fit.observations, small), settings)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        n_events: int = READABLE,
        title: str | None = None,
        tags: Any = None,
        users: Any = None,
        restarts: int = 0,
    ) -> Path:
        """Write the page of :meth:`to_model` with ``n_events``: all of them are too many to read.

        ``X`` and the other options are as in :meth:`FittedModel.report`; the page tells how far
        the model's predictions are from those of the average.
        """
        model = self.to_model(n_events)
        return model.report(path, X, title=title, tags=tags, users=users, restarts=restarts)

    def _other_fits(self, n: int) -> list[Codes]:
        """The items' sets in all draws."""
        if n:
            raise UserError(
                "is for single models: an average has its own draws, and",
                parameter="restarts",
                value=n,
                remedy="restarts=0 is right.",
                shell="leaving it out is right.",
            )
        return [
            pack(drawn)
            for _, bits in self.samples()
            for drawn in np.split(bits, self.record.n_together, axis=1)
        ]


def mean_square(rows: NDArray[Any]) -> Floats:
    """The mean of x x' over the rows x."""
    x = rows.astype(np.float64)
    return np.asarray(x.T @ x / len(x))
