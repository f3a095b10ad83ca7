"""A fitted average: samples of the posterior as one model, with what only many of them can say."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_choice, check_share, check_whole
from eventspace._base.codes import WORD, pack
from eventspace._base.errors import UserError
from eventspace._base.threads import run_together
from eventspace._base.types import Bits, Floats
from eventspace.data.factors import dot_products, squared_error
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.newcomers import news
from eventspace.data.observations import Observations
from eventspace.data.pairs import read_pairs
from eventspace.engines.cpu import CPU
from eventspace.fitted.fit import AverageFit, DescentFit, heaviest_first
from eventspace.fitted.model import FittedModel
from eventspace.fitted.prediction import UNITS, UNKNOWN, Unit, Unknown
from eventspace.fitted.summary import Summary, summary_of_average
from eventspace.fitting import compression
from eventspace.fitting.descent import new_pmfs
from eventspace.fitting.settings import DescentSettings, checked_threads
from eventspace.indicators import Exact
from eventspace.pmf import Pairwise
from eventspace.rules.evidence import Evidence, held_out_evidence, liked_from
from eventspace.rules.of_averages import SORTS, AverageMiner
from eventspace.sampling.chain import NOISE_SHAPE, Laws
from eventspace.sampling.diagnostics import effective_size, split_rhat
from eventspace.sampling.newcomers import Newcomers
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.settings import SamplingSettings
from eventspace.sampling.weighing import Joint


class FittedAverage(FittedModel):
    """The mean of many models: itself one, with the events of all.

    Every prediction, event and explanation of a single model holds for it, word by word. But its
    events are hundreds: to read one, or an explanation, :meth:`to_model` with few is better.
    """

    fit: AverageFit  # type: ignore[assignment]
    settings: SamplingSettings  # type: ignore[assignment]

    def samples(self) -> Iterator[tuple[Floats, Bits]]:
        """Each sample: its PMFs, users x events, and its indicators, items x events."""
        fit = self.fit
        for events in fit.sample_events:
            yield fit.pmf[:, events] * fit.n_samples, fit.indicators[:, events]

    # how sure it is

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        *,
        unit: Unit = "probability",
        unknown: Unknown = "error",
    ) -> DataFrame:
        """Where an observation will lie: a DataFrame with a row a pair.

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
        known, noise = self.observations, self.fit.noise
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
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(X, pandas.DataFrame) and known.library == "pandas":
            table.index = X.index
        return table

    def moments(self, users: NDArray[Any], items: NDArray[Any]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of theta_u . psi_i.

        The variance is that of single draws: a sample of several, whose indicators are drawn apart,
        varies so many times less; to it comes what is not seen between samples. For -1 the mean is
        that of the population, over which the deviation goes as well.
        """
        fit = self.fit
        total, square = np.zeros(len(users)), np.zeros(len(users))
        who, u = np.unique(users, return_inverse=True)
        what, i = np.unique(items, return_inverse=True)
        pmf = fit.pmf[who] * fit.n_samples
        if who.size and who[0] < 0:
            pmf[0] = fit.pmf_mean * fit.n_samples
        anyone, anything = users < 0, items < 0
        rated_users, rated_items = fit.observations.by_user.rated, fit.observations.by_item.rated
        for events in fit.sample_events:
            theta, psi = pmf[:, events], self.indicators_or_mean(events, what)
            p = dot_products(theta, psi, u, i)
            total += p
            if not (anyone.any() or anything.any()):
                square += p * p
                continue
            P = mean_square(fit.pmf[rated_users, events] * fit.n_samples)
            S = mean_square(fit.indicators[rated_items, events])
            of_anyone = np.einsum("id,id->i", psi @ P, psi)[i]
            of_anything = np.einsum("ud,ud->u", theta @ S, theta)[u]
            both = np.where(anything, np.sum(P * S), of_anyone)
            square += np.where(anyone, both, np.where(anything, of_anything, p * p))
        mean = total / fit.n_samples
        variance = np.maximum(square / fit.n_samples - mean * mean, 0.0)
        variance[~(anyone | anything)] *= fit.n_together
        variance += np.append(fit.open, fit.open[rated_users].mean())[users]
        return mean, np.sqrt(variance)

    def diagnostics(self) -> DataFrame:
        """R-hat and effective sample size of the cost and of predictions: a DataFrame.

        R-hat near one says that the chains agree. Usually they do not quite: each finds events of
        its own and stays with them, however long it runs, and the average over chains is what
        predicts well. Where R-hat is far above one, more chains help, longer ones hardly. Of the
        predictions of some observed entries, the median and the worst (95 %) are given, as the
        chains draw them.
        """
        cost, watched = self.fit.cost, self.fit.watched
        rhat, size = split_rhat(watched), effective_size(watched)
        columns = {
            "quantity": ["cost", "predictions, median", "predictions, worst 5 %"],
            "rhat": np.array(
                [split_rhat(cost), np.median(rhat), np.quantile(rhat, 0.95, method="higher")]
            ),
            "effective_size": np.array(
                [effective_size(cost), np.median(size), np.quantile(size, 0.05)]
            ),
        }
        return data_frame(columns, self.observations.library)

    # what it takes in

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve a row and a sample.

        Gives rows x events, the events of all samples; the items must be the model's own.
        """
        fit, aligned = self.fit, self.aligned(X)
        found = self._weighed(aligned) if fit.covariance.size else self._solved(aligned)
        return np.tile(np.hstack(found), fit.n_samples // len(found)) / fit.n_samples

    def _solved(self, aligned: Observations) -> list[Floats]:
        """In each sample, around the mean of its PMFs."""
        fit, by_user = self.fit, aligned.by_user
        rated = fit.observations.by_user.rated
        engine = CPU(Exact(), Pairwise(), 0.0, fit.pmf_penalty)
        found: list[Floats] = [fit.pmf] * fit.n_samples

        def solve(k: int, pmf: Floats, bits: Bits) -> Iterator[int]:
            mean = pmf[rated].mean(axis=0)
            found[k] = new_pmfs(engine, by_user, pack(bits)[:, 0], mean, "mean").pmf
            yield 1

        tasks = [solve(k, *sample) for k, sample in enumerate(self.samples())]
        self._together("new users", tasks)
        return found

    def _weighed(self, aligned: Observations) -> list[Floats]:
        """Over the events of each group of chains, with the law that its users have."""
        fit = self.fit
        by_user = aligned.with_unit_weight(fit.observations.mean_weight).by_user
        rated = fit.observations.by_user.rated
        rate = NOISE_SHAPE / float(np.mean(1.0 / np.square(fit.noise[rated])))
        found = []
        for (pmf, chances), covariance in zip(fit.groups(), fit.covariance, strict=True):
            centres = np.tile(pmf[rated].mean(axis=0), (len(by_user.ptr) - 1, 1))
            joint = Joint(by_user, chances, checked_threads(self.settings), self.settings.verbose)
            found.append(joint.settle(covariance, centres, rate).pmf)
        return found

    def _together(self, title: str, tasks: list[Iterator[int]]) -> None:
        run_together(title, tasks, 1, checked_threads(self.settings), self.settings.verbose)

    def fold_in(self, X: Any, *, user_attributes: Any = None, item_attributes: Any = None) -> Self:
        """The model with the new users and the new items of a table, and the rest as it was.

        Each entry needs a new user and a known item, or a known user and a new item. A known item
        that nobody had rated is taken as a new one. Tables of attributes hold those of the new;
        of what is known already they are not read.
        """
        fit, new = self.fit, news(self.fit.observations, X)
        of_users, of_items = fit.attributes
        of_users = of_users.extended(user_attributes, new.merged.user_ids, "user_attributes")
        of_items = of_items.extended(item_attributes, new.merged.item_ids, "item_attributes")
        unit = fit.observations.mean_weight
        scaled = new._replace(
            entries=new.entries.with_unit_weight(unit), merged=new.merged.with_unit_weight(unit)
        )
        sampler = Sampler.of(self.settings, of_users, of_items)
        laws = Laws(fit.concentration, fit.user_spread**2, fit.item_spread**2)
        newcomers = Newcomers(scaled, sampler, laws, 1.0 / np.square(fit.noise))
        groups = newcomers.weigh(fit.groups(), fit.covariance, fit.seed)
        # another seed for the next time
        rngs = np.random.default_rng([fit.seed, new.merged.n_users, new.merged.n_items])
        found: list[Any] = [None] * fit.n_samples

        def fold(k: int, pmf: Floats, bits: Bits, rng: np.random.Generator) -> Iterator[int]:
            if groups:
                found[k] = newcomers.draw_weighed(groups[k % len(groups)], pmf, bits, rng)
            else:
                found[k] = newcomers.draw(pmf, bits, rng)
            yield 1

        samples = zip(self.samples(), rngs.spawn(fit.n_samples), strict=True)
        self._together("fold in", [fold(k, *s, rng) for k, (s, rng) in enumerate(samples)])
        pmf = np.hstack([chain.pmf for chain in found]) / fit.n_samples
        bits = np.hstack([chain.indicators > 0.5 for chain in found])
        variance = np.mean([1.0 / chain.precision[len(fit.pmf) :] for chain in found], axis=0)
        left_open = np.zeros(len(pmf) - len(fit.pmf))
        if groups:
            left_open = np.mean([weighed.variance for weighed, _ in groups], axis=0)
        folded = replace(
            fit,
            observations=new.merged,
            pmf=pmf,
            codes=pack(bits),
            error=fit.error + squared_error(new.entries, pmf, bits),  # of the known as it was
            noise=np.append(fit.noise, np.sqrt(variance)),
            open=np.append(fit.open, left_open),
            user_attributes=of_users.values,
            item_attributes=of_items.values,
        )
        return type(self)(folded, self.settings)

    # one model of it

    def to_model(self, n_events: int | None = None) -> FittedModel:
        """One model to hold and to read: with all the events, or compressed to ``n_events``.

        None gives the average itself as a model, its events numbered by mass. It predicts, proves
        and explains; it takes in nobody new. A number, at most 64, gives a model that was fitted to
        the average's predictions; its ``loss`` says how far it is from them. Either way an item
        without ratings has the mean indicator of the others.
        """
        fit, order = self.fit, heaviest_first(self.fit)
        if n_events is None:
            parts = DescentFit.of_parts(
                fit.observations, fit.pmf[:, order], fit.indicators[:, order]
            )
            return FittedModel(parts, DescentSettings(fit.n_events))
        check_whole("n_events", n_events, 1, WORD)
        settings = DescentSettings(
            n_events,
            pmf_penalty=fit.pmf_penalty,  # for those who are folded in
            indicator_solver=compression.SOLVER,
            n_jobs=self.settings.n_jobs,
            verbose=self.settings.verbose,
        )
        rng = np.random.default_rng([fit.seed, n_events])
        descent = compression.compress(self, n_events, rng)
        small = FittedModel(DescentFit.of(fit.observations, descent), settings)
        pairs = rng.integers(
            0, (fit.observations.n_users, fit.observations.n_items), (compression.COMPARED, 2)
        ).T
        apart = small.predict_positions(*pairs) - self.predict_positions(*pairs)
        small.fit = replace(
            small.fit,
            error=squared_error(fit.observations, small.fit.pmf, small.fit.indicators),
            loss=float(np.sqrt(np.mean(np.square(apart)))),
        )
        return small

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        n_events: int = 16,
        title: str | None = None,
        tags: Any = None,
        users: Any = None,
        restarts: int = 0,
    ) -> Path:
        """Write the page of :meth:`to_model` with ``n_events``: all of them are too many to read.

        ``X`` and the other options are those of :meth:`FittedModel.report`; the page tells how far
        the model's predictions are from those of the average.
        """
        model = self.to_model(n_events)
        return model.report(path, X, title=title, tags=tags, users=users, restarts=restarts)

    def rules(  # type: ignore[override]
        self,
        X: Any = None,
        *,
        item: Any = None,
        top: int | None = 100,
        sort: str = "surprise",
        min_probability: float = 0.5,
        min_evidence: int = 1,
        like: float | None = None,
    ) -> DataFrame:
        """Rules "whoever likes if_item likes then_item" with the probability that they hold.

        A DataFrame as that of :meth:`FittedModel.rules`, with ``probability``, the part of the
        draws in which the one set lies inside the other, at least ``min_probability``, in place of
        kind and stability; the surprise is multiplied by it. The other options are as there.
        """
        check_whole("top", 1 if top is None else top, 1)
        check_choice("sort", sort, SORTS)
        check_share("min_probability", min_probability)
        check_whole("min_evidence", min_evidence, 1)
        seen = self.observations
        threshold = liked_from(seen, like)
        miner = AverageMiner(
            self.space,
            Evidence(seen, threshold),
            restarts=[
                pack(drawn)
                for _, bits in self.samples()
                for drawn in np.split(bits, self.fit.n_together, axis=1)
            ],
            sort=sort,
            min_evidence=min_evidence,
            min_support=0.0,
            min_confidence=min_probability,
            fold=False,
        )
        given = None if X is None else held_out_evidence(X, seen, threshold)
        return miner.table(item, top, given, self.settings.verbose)

    def iter_rules(self, *arguments: Any, **options: Any) -> Any:
        """Of an average all rules are found at once: :meth:`rules` with ``top=None``."""
        raise UserError("An average has no stream of rules: rules(top=None) gives them all.")

    def summary(self) -> Summary:
        """What was drawn, how well it fits, and whether the chains agree, in a few lines."""
        return summary_of_average(self.fit)


def mean_square(rows: NDArray[Any]) -> Floats:
    """The mean of x x' over the rows x."""
    x = rows.astype(np.float64)
    return np.asarray(x.T @ x / len(x))
