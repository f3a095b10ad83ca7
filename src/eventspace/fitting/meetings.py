"""Who meets what: which pairs are in a table at all, whatever was said of them.

Few of the items that somebody would like are ever met. So what is recommended is ranked by
P[meets and likes]. The first of the two has a model of its own: the mean of Kolmogorov models of
the table that says yes where anything is stored, and no, with less weight, elsewhere. For the
sets of items, users of many entries weigh less. The models come from short descents. Each is poor,
but their mean M is not: their errors differ.

M has learnt from pairs that are not met that they are not. Whether one of these is met next is
another question. Where part of a table was held out, the chance was that of M squared: 2.0 is the
slope of its logarithm on MovieLens 100K, 2.2 on 1M, 1.9 on latest-small, 1.5 on groceries.

Where what is missing says no, to meet is to say yes: there the stored values count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import WORD, pack, unpack
from eventspace._base.threads import run_together
from eventspace._base.types import Bits, Codes, Floats, Positions
from eventspace.data.entries import Entries
from eventspace.data.missing import that_speak
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.fitting.descent import descend, random_start
from eventspace.fitting.half_steps import HalfSteps, new_pmfs
from eventspace.indicators import Local
from eventspace.pmf import Pairwise

N_MODELS, N_EVENTS, N_ITER = 16, WORD, 6
WEIGHT = 0.5  # of a pair that is not stored: it may still be met
PENALTY = 3.0  # of PMFs around the population's
FEW = 5.0  # entries that a user's number of them is taken to be more
SOLVER, NEARLY = Local(1), Pairwise(1e-3)

Float32s = NDArray[np.float32]
BLOCK = 4096  # items at a time
NO_WEIGHT = np.empty(0, np.float32)


class Meetings(NamedTuple):
    """PMFs and sets of all the models side by side, the PMFs divided by their number."""

    pmf: Float32s  # users x events
    codes: Codes  # items x words

    @classmethod
    def none(cls, n_users: int, n_items: int) -> Meetings:
        """Nothing is known of who meets what."""
        return cls(np.zeros((n_users, 0), np.float32), np.zeros((n_items, 0), np.uint64))

    def __bool__(self) -> bool:
        return bool(self.pmf.shape[1])

    def chances(self, users: Positions) -> Float32s:
        """P[meets next] of all items for some users, -1 for the population: users x items."""
        pmf = self.pmf[users]
        pmf[users < 0] = self.pmf.mean(axis=0)
        found = np.empty((len(users), len(self.codes)), np.float32)
        for start in range(0, len(self.codes), BLOCK):
            items = slice(start, start + BLOCK)
            bits = unpack(self.codes[items], pmf.shape[1]).astype(np.float32)
            found[:, items] = pmf @ bits.T
        return np.square(np.minimum(found, 1.0))

    def together(self, item: int, others: Positions) -> tuple[float, Floats]:
        """Of all users how many meet an item; and how many of those who meet each of some others.

        The latter is P[meets both] / P[meets the other], in the population.
        """
        mass = self.pmf.mean(axis=0, dtype=np.float64)
        bits = unpack(self.codes[[item, *others]], len(mass)).astype(np.float64)
        both, one = bits[1:] @ (mass * bits[0]), bits[1:] @ mass
        of_others = np.divide(both, one, out=np.zeros_like(both), where=one > 0)
        return float(mass @ bits[0]), of_others

    def solved(
        self, now: Observations, users: Positions, items: Positions, engine: Engine
    ) -> Meetings:
        """The same with some users and items solved anew, given what they have met now.

        All that came since must be among them. Users are solved given the sets of the other items,
        where empty ones say nothing; then items given all PMFs.
        """
        (n_users, n_events), n_items = self.pmf.shape, len(self.codes)
        if not (users.size or items.size) and (n_users, n_items) == now.shape:
            return self
        found = Meetings(
            np.zeros((now.n_users, n_events), np.float32),
            np.zeros((now.n_items, n_events // WORD), np.uint64),
        )
        found.pmf[:n_users], found.codes[:n_items] = self
        if not self:
            return found
        found.codes[items] = 0
        met, steps, n_models = Met.of(now), _steps(engine), self.codes.shape[1]
        by_user, by_item = met.by_user.taken(users), met.by_item.taken(items)
        seeds = np.zeros(len(items), np.uint64)
        for k in range(n_models):
            sets, events = found.codes[:, k], slice(k * N_EVENTS, (k + 1) * N_EVENTS)
            mean = self.pmf[:, events].mean(axis=0, dtype=np.float64) * n_models
            new = new_pmfs(steps.update_pmfs, by_user, sets, mean).pmf
            found.pmf[users, events] = new / n_models
            pmf = found.pmf[:, events] * np.float64(n_models)
            sets[items] = steps.update_indicators(by_item, pmf, sets[items], seeds).codes
        return found


@dataclass(frozen=True)
class Met:
    """The table of who met what: yes where anything is stored, else no with less weight."""

    by_user: Entries
    by_item: Entries

    @classmethod
    def of(cls, seen: Observations) -> Met:
        """In both orders; by item, with the weights of users."""
        of_user = np.float64(1) / np.sqrt(seen.by_user.sizes + FEW)
        of_user /= np.average(of_user, weights=seen.by_user.sizes)
        of_users, of_items = (_met(part, seen.missing) for part in (seen.by_user, seen.by_item))
        by_user, by_item = that_speak(of_users, of_items, WEIGHT)
        weight = of_user[by_item.index].astype(np.float32)
        return cls(by_user, by_item._replace(weight=weight, missing=WEIGHT * of_user))


def _met(entries: Entries, missing: float) -> Entries:
    """The same entries, all of them a yes, unless what is missing says no."""
    value = entries.value if missing else np.ones_like(entries.value)
    return Entries(entries.ptr, entries.index, value, NO_WEIGHT)


def learn_meetings(
    observations: Observations, engine: Engine, rng: np.random.Generator, show: bool | None
) -> Meetings:
    """The mean of descents, several at a time; none where all is stored."""
    n_users, n_items = observations.n_users, observations.n_items
    if observations.n_observed == n_users * n_items:
        return Meetings.none(n_users, n_items)
    met, rngs = Met.of(observations), rng.spawn(N_MODELS)
    steps = _steps(engine.with_threads(1))
    pmfs: list[Floats] = [np.empty(0)] * N_MODELS
    bits: list[Bits] = [np.empty(0, np.bool_)] * N_MODELS

    def descents(k: int) -> Iterator[int]:
        now = random_start(observations, N_EVENTS, rngs[k])
        for done in range(N_ITER):
            now = descend(now, met, steps, prior="mean", n_iter=1, tol=0.0, rng=rngs[k])
            if now.interrupted:
                raise KeyboardInterrupt
            yield done + 1
        pmfs[k], bits[k] = now.pmf, unpack(now.codes[:, None], N_EVENTS)

    tasks = [descents(k) for k in range(N_MODELS)]
    run_together("who meets what", tasks, N_ITER, engine.n_threads, show)
    return _side_by_side(pmfs, bits)


def _steps(engine: Engine) -> HalfSteps:
    return HalfSteps.on(engine, SOLVER, NEARLY, 0.0, PENALTY)


def _side_by_side(pmfs: list[Floats], bits: list[Bits]) -> Meetings:
    return Meetings((np.hstack(pmfs) / len(pmfs)).astype(np.float32), pack(np.hstack(bits)))
