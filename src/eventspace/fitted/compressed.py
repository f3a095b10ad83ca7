"""The one model that an average is compressed to: it has few events and can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.codes import numbers, pack, unpack
from eventspace._base.errors import UserError
from eventspace._base.progress import bar
from eventspace._base.threads import one_blas_thread
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.entries import Entries
from eventspace.data.factors import dot_products, squared_error
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.data.updates import Update, read_update
from eventspace.fitted.by_id import as_in, in_order
from eventspace.fitted.fit import CompressedFit, as_the_population, padded
from eventspace.fitted.model import FittedModel
from eventspace.fitted.summary import Summary, summary_of_compressed
from eventspace.fitting.compression import SOLVER, Compressed, Compression, Part, Target
from eventspace.fitting.meetings import Meetings
from eventspace.fitting.settings import checked_engine
from eventspace.pmf import Pairwise
from eventspace.sampling.settings import ModelSettings

SIZES = (2, 4, 8, 16, 24, 32)  # numbers of events that "auto" tries
COMPARED = 10_000  # cells
STAY = 0.5  # log odds, for each bit of a known item, that it is still what it was
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
    *,
    interrupted: bool = False,
    checkpoint: Checkpoint = NOWHERE,
) -> CompressedFit:
    """One model that predicts what the mean of the parts predicts.

    Its events are grown on the first ``n_guides`` parts, or on all of them. ``noise`` is that of
    each user, ``left_open`` the variance of their chances in each part. "auto" takes the least
    number of events whose expected RMSE on new ratings is hardly above the average's. If Ctrl-C
    comes once there are events, they are what the model has.
    """
    of_user, of_item = observations.by_user.counts() + 1, observations.by_item.counts() + 1
    rated = observations.by_user.rated
    variance = float(np.mean(np.square(noise[rated])))
    unsure = float(np.mean(left_open[rated])) + _spread(parts, of_user, of_item)
    engine = checked_engine(settings)

    def to(some: Sequence[Part]) -> Compression:
        noise = float(np.mean([part.noise for part in some]))
        return Compression(Target.of(some, of_user, of_item), engine, noise)

    sizes = SIZES if n_events == "auto" else (int(n_events),)
    found: Compressed | None = None
    repeated: list[tuple[Floats, Codes]] = []
    with one_blas_thread(), bar("compress", sizes[-1], settings.verbose) as update:
        whole = to(parts)
        guide = to(parts[:n_guides]) if n_guides else whole
        begun = guide.begun(sizes[0])
        try:
            for size in sizes:
                for grown in guide.growing(size, *begun, checkpoint):
                    begun = grown if grown[0].shape[1] <= size else begun
                    update(min(grown[0].shape[1], size), "")
                whole = replace(whole, before=begun[1])
                found = whole.proved(*whole.settled(*begun))
                if found.loss**2 <= (ENOUGH**2 - 1) * (variance + unsure):
                    break
            halves = _halves(parts[n_guides:] if len(parts) > n_guides + 1 else parts)
            repeated = [replace(to(half), before=begun[1]).settled(*begun) for half in halves]
        except KeyboardInterrupt:
            interrupted = True
        found = found or whole.proved(*begun)
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
        interrupted=interrupted,
        **meetings.fields(),
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


def _with_moved(half_codes: Codes, codes: Codes, items: Positions) -> Codes:
    """The sets of both halves, with those of items that moved, which are the same in both."""
    n_more = len(codes) - len(half_codes)
    found = np.vstack([half_codes, np.zeros((n_more, half_codes.shape[1]), dtype=np.uint64)])
    found[items] = codes[items, None]
    return found


@dataclass(frozen=True)
class Pull:
    """What draws rows x to where they are: with the sums so far and x'Gx, (Q + G) x - r.

    With these sums, and the pull h added as -2h'x, x is the solution.
    """

    G: Floats

    def __call__(self, Q: Floats, r: Floats, energy: Floats, x: Any, pulls: Any) -> None:
        """Write the pulls."""
        pulls[:] = np.einsum("...de,...e->...d", Q + self.G, x) - r


@dataclass(frozen=True)
class SolvePulledPmfs:
    """PMFs of users, drawn to what is expected of each: x'Gx - 2h'x is added."""

    G: Floats

    def __call__(self, Q: Floats, r: Floats, energy: Floats, pulls: Any, pmf: Any) -> None:
        """Write the optimal PMFs, given h of each user."""
        Q += self.G
        r += pulls
        Pairwise()(Q, r, pmf)


@dataclass(frozen=True)
class SolvePulledIndicators:
    """Sets of items, drawn to what is expected of each: x'Gx - 2h'x is added."""

    G: Floats

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, pulls: Any, codes: Any, proved: Any, seeds: Any
    ) -> None:
        """Write the optimal sets, given h of each item."""
        S += self.G
        v += pulls
        energy[:] = 2.0 * np.maximum(v, 0.0).sum(axis=1)  # with it the cost is never below zero
        _, proved[:] = SOLVER(S, v, energy, codes, seeds)


class CompressedModel(FittedModel):
    """A model with few events that was compressed from an average."""

    record: CompressedFit  # type: ignore[assignment]
    settings: ModelSettings  # type: ignore[assignment]

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve for each row.

        The items must be the model's own. Gives rows x events, in the order of the table's rows (of
        the sorted ids for a long one). Nothing is kept: to add users to the model, use
        :meth:`update`.
        """
        return self._new_pmfs(self.aligned(X).by_user, self.record.codes[:, 0])

    def _new_pmfs(self, by_user: Entries, codes: Codes) -> Floats:
        """PMFs of new users; without ratings, the population's."""
        G, h = self.record.expected_user
        return self._solved(by_user, codes, G, np.tile(h, (len(by_user.ptr) - 1, 1)))

    def _solved(self, by_user: Entries, codes: Codes, G: Floats, pulls: Floats) -> Floats:
        """PMFs that minimise the squared error and x'Gx - 2h'x, with the pull h of each user."""
        pmf = np.tile(self.record.pmf_mean, (len(pulls), 1))
        bits = numbers(codes, pmf.shape[1])
        checked_engine(self.settings).run(SolvePulledPmfs(G), by_user, bits, pulls, pmf)
        pmf[~by_user.rated] = self.record.pmf_mean
        return pmf

    def update(self, X: Any = None, *, forget: Any = None) -> Self:
        """The model with the ratings of a table, and without the pairs in ``forget``.

        Users and items may be known or new. A value for a pair that is rated already replaces it.
        ``forget`` holds pairs, as in :meth:`predict`, whose ratings go. The items of these ratings
        are solved anew, given all their raters, then the users. New ones are drawn to the mean
        item, and to the mean PMF. Those of the fit are drawn to where they are, as firmly as the
        ratings so far determine it. Where ratings fade, so does this.
        """
        fit, change = self.record, read_update(self.record.observations, X, forget)
        seen, users, items = change.now, change.users, change.items
        engine = checked_engine(self.settings)
        # those of whom the fit had nothing
        come, new_to_it = (
            rows[~padded(known.rated[:n], size)[rows]]
            for rows, known, n, size in (
                (users, fit.observations.by_user, fit.n_learnt_users, seen.n_users),
                (items, fit.observations.by_item, fit.n_learnt_items, seen.n_items),
            )
        )
        pmf, codes = padded(fit.pmf, seen.n_users), padded(fit.codes[:, 0], seen.n_items)
        codes[change.new_items] = 0  # which tells nothing of users
        new = change.new_users
        pmf[new] = self._new_pmfs(seen.by_user.taken(new), codes)
        found: list[NDArray[Any]] = [codes[items], np.zeros(len(items), dtype=np.bool_)]
        G, pulls = self._item_pulls(change)
        seeds = np.zeros(len(items), dtype=np.uint64)
        step = SolvePulledIndicators(G)
        engine.run(step, seen.by_item.taken(items), pmf, pulls, *found, seeds)
        moved = np.union1d(new_to_it, items[codes[items] != found[0]])
        codes[items] = found[0]
        G, pulls = self._user_pulls(change, codes)
        pmf[users] = self._solved(seen.by_user.taken(users), codes, G, pulls)
        as_the_population(pmf, users, seen.by_user.rated)
        proved, noise = padded(fit.proved, seen.n_items), np.sqrt(fit.variance)
        proved[items] = found[1]
        now = pmf, unpack(codes[:, None], fit.n_events)
        updated = replace(
            fit,
            observations=seen,
            pmf=pmf,
            codes=codes[:, None],
            error=change.error(fit.error, (fit.pmf, fit.indicators), now),
            proved=proved,
            noise=padded(fit.noise, seen.n_users, noise),
            half_codes=_with_moved(fit.half_codes, codes, moved),
            **fit.met_now(seen, come, new_to_it, engine),
        )
        if not updated.learnt_from_some:
            raise UserError(
                "This would leave no rating of the users, or of the items, that the model was "
                "learnt from: fit again."
            )
        return type(self)(updated, self.settings)

    def _item_pulls(self, change: Update) -> tuple[Floats, Floats]:
        """What draws the items of a change beside their ratings: x'Gx - 2h'x, with the h of each.

        New ones are drawn to the mean item, those of the fit to their sets.
        """
        fit = self.record
        G, h = fit.expected_item
        learnt = change.items[change.items < fit.n_learnt_items]
        learnt = learnt[fit.observations.by_item.rated[learnt]]
        pulls = np.tile(h, (len(change.items), 1))
        own = np.empty((len(learnt), fit.n_events))
        sets = fit.indicators[learnt].astype(np.float64)
        by_item = change.known.by_item.taken(learnt)
        checked_engine(self.settings).run(Pull(G), by_item, fit.pmf, sets, own)
        own += fit.weighed_noise * STAY * (2.0 * sets - 1.0)
        pulls[np.searchsorted(change.items, learnt)] = own
        return G, pulls

    def _user_pulls(self, change: Update, codes: Codes) -> tuple[Floats, Floats]:
        """The same for the users of a change, given the sets as they are now.

        New ones are drawn to the mean PMF, those of the fit to their PMFs: so what the average knew
        of a user beyond the ratings is kept.
        """
        fit = self.record
        G, h = fit.expected_user
        pulls = np.tile(h, (len(change.users), 1))
        learnt = change.users[change.users < fit.n_learnt_users]  # the first of them
        bits = numbers(codes[: change.known.n_items], fit.n_events)
        by_user, rows = change.known.by_user.taken(learnt), (fit.pmf[learnt], pulls[: len(learnt)])
        checked_engine(self.settings).run(Pull(G), by_user, bits, *rows)
        return G, pulls

    def doubt(self, users: Positions, items: Positions, noisier: Floats) -> Floats:
        """The variance of new ratings around the predictions: noise, and what is not known."""
        fit = self.record
        return np.asarray(noisier * np.square(fit.noise)[users] + fit.unsure**2 + fit.loss**2)

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
        of_users, of_items = (
            read_attributes(None, ids, "attributes")
            for ids in (observations.user_ids, observations.item_ids)
        )
        fit = readable(in_order(observations), settings, of_users, of_items)
        if fit.interrupted:
            raise KeyboardInterrupt
        return CompressedModel(as_in(observations, fit), settings).space.sets

    def summary(self) -> Summary:
        """What was fitted, how well, how much of it is proved, and how far it repeats itself."""
        return summary_of_compressed(self.record)
