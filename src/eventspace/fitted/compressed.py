"""The one model that an average is compressed to: it has few events and can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import pack, unpack
from eventspace._base.progress import bar
from eventspace._base.threads import one_blas_thread
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.entries import Entries
from eventspace.data.factors import dot_products, squared_error
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.newcomers import news
from eventspace.data.observations import Observations
from eventspace.fitted.fit import CompressedFit
from eventspace.fitted.model import FittedModel
from eventspace.fitted.summary import Summary, summary_of_compressed
from eventspace.fitting.compression import SOLVER, Compression, Part, Target
from eventspace.fitting.meetings import Meetings
from eventspace.fitting.settings import checked_engine
from eventspace.pmf import Pairwise
from eventspace.sampling.settings import ModelSettings

SIZES = (2, 4, 8, 16, 24, 32)  # numbers of events that "auto" tries
COMPARED = 10_000  # cells
ENOUGH = 1.01  # times the average's RMSE is what "auto" is content with


def compressed(
    observations: Observations,
    parts: Sequence[Part],
    noise: Floats,
    left_open: Floats,
    n_events: int | str,
    settings: Any,
    meetings: Meetings,
    n_guides: int = 0,
) -> CompressedFit:
    """One model that predicts what the mean of the parts predicts.

    Its events are grown on the first ``n_guides`` parts, or on all of them. ``noise`` is that of
    each user, ``left_open`` the variance of their chances in each part. "auto" takes the least
    number of events whose expected RMSE on new ratings is hardly above the average's.
    """
    of_user, of_item = observations.by_user.counts + 1, observations.by_item.counts + 1
    rated = observations.by_user.rated
    variance = float(np.mean(np.square(noise[rated])))
    unsure = float(np.mean(left_open[rated])) + _spread(parts, of_user, of_item)
    engine = checked_engine(settings)

    def to(some: Sequence[Part]) -> Compression:
        noise = float(np.mean([part.noise for part in some]))
        return Compression(Target.of(some, of_user, of_item), engine, noise)

    sizes = SIZES if n_events == "auto" else (int(n_events),)
    with one_blas_thread(), bar("compress", sizes[-1], settings.verbose) as update:
        whole = to(parts)
        guide = to(parts[:n_guides]) if n_guides else whole
        begun = guide.grown(sizes[0], update=update)
        for size in sizes:
            begun = begun if begun[0].shape[1] == size else guide.grown(size, begun, update)
            whole = replace(whole, before=begun[1])
            found = whole.proved(*whole.settled(*begun))
            if found.loss**2 <= (ENOUGH**2 - 1) * (variance + unsure):
                break
        halves = _halves(parts[n_guides:] if len(parts) > n_guides + 1 else parts)
        repeated = [replace(to(half), before=begun[1]).settled(*begun) for half in halves]
    order = np.argsort(-found.pmf[rated].mean(axis=0), kind="stable")
    half_codes = [_reordered(codes, order) for _, codes in repeated]
    pmf = np.ascontiguousarray(found.pmf[:, order])
    bits = unpack(found.codes[:, None], len(order))[:, order]
    same_bits = same_pmf = np.full(len(order), np.nan)
    if repeated:
        same_bits, same_pmf = _agreement(repeated, of_user, of_item)
    return CompressedFit(
        observations,
        pmf,
        pack(bits),
        squared_error(observations, pmf, bits),
        proved=found.proved,
        loss=found.loss,
        unsure=float(np.sqrt(unsure)),
        noise=noise,
        same_bits=same_bits[order],
        same_pmf=same_pmf[order],
        n_learnt_users=observations.n_users,
        n_learnt_items=observations.n_items,
        half_codes=np.array(half_codes, np.uint64).reshape(-1, len(bits)).T.copy(),
        met_pmf=meetings.pmf,
        met_codes=meetings.codes,
    )


def _spread(parts: Sequence[Part], of_user: Floats, of_item: Floats) -> float:
    """The variance of chances between the parts, on some cells that are met as often as any."""
    rng = np.random.default_rng(0)
    u, i = (rng.choice(len(w), COMPARED, p=w / w.sum()) for w in (of_user, of_item))
    chances = [dot_products(part.pmf, part.chances, u, i) for part in parts]
    return float(np.var(chances, axis=0, ddof=1).mean()) if len(parts) > 1 else 0.0


def _halves(parts: Sequence[Part]) -> list[Sequence[Part]]:
    """Two halves, of different chains if there are enough; none if there is only one part."""
    middle = len(parts) // 2
    return [parts[:middle], parts[middle:]] if middle else []


def _reordered(codes: Codes, order: Positions) -> Codes:
    """The same sets, their events numbered in another order."""
    return pack(unpack(codes[:, None], len(order))[:, order])[:, 0]


def _agreement(
    models: Sequence[tuple[Floats, Codes]], of_user: Floats, of_item: Floats
) -> tuple[Floats, Floats]:
    """For each event: the share of bits on which two models agree, and the correlation of masses.

    The models begin with the same events, so events need no matching.
    """
    (pmf, codes), (other_pmf, other_codes) = models
    n_events = pmf.shape[1]
    same = unpack(codes[:, None], n_events) == unpack(other_codes[:, None], n_events)
    apart = [p - np.average(p, axis=0, weights=of_user) for p in (pmf, other_pmf)]
    squares = [np.average(p**2, axis=0, weights=of_user) for p in apart]
    product = np.average(apart[0] * apart[1], axis=0, weights=of_user)
    size = np.sqrt(squares[0] * squares[1])
    correlation = np.divide(product, size, out=np.zeros(n_events), where=size > 0)
    share = np.average(same, axis=0, weights=of_item)
    return np.clip(share, 0.0, 1.0), np.clip(correlation, -1.0, 1.0)  # beyond by rounding


def _with_new(half_codes: Codes, codes: Codes, items: Positions) -> Codes:
    """The sets of both halves, with those of new items, which are the same in both."""
    n_more = len(codes) - len(half_codes)
    found = np.vstack([half_codes, np.zeros((n_more, half_codes.shape[1]), dtype=np.uint64)])
    found[items] = codes[items, None]
    return found


@dataclass(frozen=True)
class SolveNewIndicators:
    """Sets of new items, drawn to the mean item: x'Gx - 2h'x is added."""

    G: Floats
    h: Floats
    constant: float  # with which the quadratic is never below zero

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Any, proved: Any, seeds: Any
    ) -> None:
        """Write the optimal sets."""
        S += self.G
        v += self.h
        energy += self.constant
        _, proved[:] = SOLVER(S, v, energy, codes, seeds)


@dataclass(frozen=True)
class SolveNewPmfs:
    """PMFs of new users, drawn to what is expected of a user: x'Gx - 2h'x is added."""

    G: Floats
    h: Floats

    def __call__(self, Q: Floats, r: Floats, energy: Floats, pmf: Any) -> None:
        """Write the optimal PMFs."""
        Q += self.G
        r += self.h
        Pairwise()(Q, r, pmf)


class CompressedModel(FittedModel):
    """A model with few events that was compressed from an average."""

    record: CompressedFit  # type: ignore[assignment]
    settings: ModelSettings  # type: ignore[assignment]

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve for each row.

        The items must be the model's own. Gives rows x events, in the order of the table's rows (of
        first appearance in a long one). Nothing is kept: to add users to the model, use
        :meth:`fold_in`.
        """
        return self._new_pmfs(self.aligned(X).by_user)

    def _new_pmfs(self, by_user: Entries) -> Floats:
        """PMFs of new users; without ratings, the population's."""
        fit = self.record
        pmf = np.tile(fit.pmf_mean, (len(by_user.ptr) - 1, 1))
        step = SolveNewPmfs(*fit.expected_user)
        bits = fit.indicators.astype(np.float64)
        checked_engine(self.settings).run(step, by_user, bits, pmf)
        pmf[~by_user.rated] = fit.pmf_mean
        return pmf

    def fold_in(self, X: Any) -> Self:
        """The model with the new users and the new items of a table, and the rest as it was.

        Each entry needs a new user and a known item, or a known user and a new item. New users are
        drawn to the mean PMF, new items to the mean item. A known item that nobody had rated is
        solved as a new one.
        """
        fit, new = self.record, news(self.record.observations, X)
        by_user = new.entries.by_user.rows(new.n_users)
        new_pmf = self._new_pmfs(by_user)
        pmf = np.vstack([fit.pmf, new_pmf])
        n_more = new.merged.n_items - len(fit.codes)
        codes = np.append(fit.codes[:, 0], np.zeros(n_more, dtype=np.uint64))
        proved = np.append(fit.proved, np.zeros(n_more, dtype=np.bool_))
        of_new: list[NDArray[Any]] = [codes[new.items], proved[new.items]]
        checked_engine(self.settings).run(
            SolveNewIndicators(*fit.expected_item),
            new.entries.by_item.taken(new.items),
            pmf,
            *of_new,
            np.zeros(len(new.items), dtype=np.uint64),
        )
        codes[new.items], proved[new.items] = of_new
        typical = np.sqrt(fit.variance)
        folded = replace(
            fit,
            observations=new.merged,
            pmf=pmf,
            codes=codes[:, None],
            error=squared_error(new.merged, pmf, unpack(codes[:, None], fit.n_events)),
            proved=proved,
            noise=np.append(fit.noise, np.full(len(new_pmf), typical)),
            half_codes=_with_new(fit.half_codes, codes, new.items),
        )
        return type(self)(folded, self.settings)

    def diagnostics(self) -> DataFrame:
        """How far another run would find the same events: a DataFrame with one row per event.

        Two models are compressed, one from each half of the chains. ``bits`` is the share of the
        event's bits, weighted by ratings, on which they agree. ``pmf`` is the correlation of the
        masses that users give to the event in the two. One is perfect. Both are NaN if there is
        only one group of chains.
        """
        fit = self.record
        columns = {
            "event": np.arange(fit.n_events),
            "mass": fit.pmf_mean,
            "bits": fit.same_bits,
            "pmf": fit.same_pmf,
        }
        return data_frame(columns, fit.observations.library)

    def _other_fits(self, n: int) -> list[Codes]:
        """The sets in both halves of the chains, and in n models more."""
        halves = [codes[:, None] & self.space.occurring for codes in self.record.half_codes.T]
        return halves + super()._other_fits(n)

    def _sets_of_another(self, observations: Observations, seed: int) -> Codes:
        """The sets of another posterior, compressed to as many events."""
        from eventspace.data.attributes import read_attributes
        from eventspace.fitted.drawing import readable  # which imports SciPy

        settings = replace(
            self.settings,
            n_events=self.record.n_events,
            meets=False,
            random_state=seed,
            verbose=False,
        )
        nothing = [
            read_attributes(None, ids, "attributes")
            for ids in (observations.user_ids, observations.item_ids)
        ]
        return CompressedModel(readable(observations, settings, *nothing), settings).space.sets

    def summary(self) -> Summary:
        """What was fitted, how well, how much of it is proved, and how far it repeats itself."""
        return summary_of_compressed(self.record)
