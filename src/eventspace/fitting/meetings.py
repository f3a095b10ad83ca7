"""Who meets what: which pairs are in a table at all, whatever was said of them.

Few of the items that somebody would like are ever met. So what is recommended is ranked by
P[meets and likes]. The first of the two has models of its own: Kolmogorov models of the table that
says yes where anything is stored, and no elsewhere. For the sets of items, users of many entries
weigh less. The models come from short descents. Each is poor, but their mean M is not: their
errors differ.

The population keeps the PMFs of the descents. What a user has more or less than the population is
then solved without the simplex, with a penalty: a few meetings say of most events only that they
are a little more, or a little less, likely. For that a meeting counts the more, the better it was
liked. So a user has *weights*, of either sign, and M is cut to [0, 1].

M has learnt from pairs that are not met that they are not. Whether one of these is met next is
another question: ``next_chance`` answers it, as it was where part of MovieLens was held out.

Where what is missing says no, to meet is to say yes: there the stored values count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event as Signal
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checkpoint import Checkpoint
from eventspace._base.codes import WORD, unpack
from eventspace._base.records import plain
from eventspace._base.threads import one_blas_thread
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.entries import Entries
from eventspace.data.missing import that_speak
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.fitting.descent import descend, random_start
from eventspace.fitting.half_steps import FreeIndicators, HalfSteps, PmfStep, new_pmfs
from eventspace.indicators import Local
from eventspace.pmf import Pairwise

N_MODELS, N_EVENTS, N_ITER = 20, WORD, 6
FEW = 5.0  # entries that a user's number of them is taken to be more
DISLIKED = 0.5  # what a meeting counts for weights where nothing was liked; 1 where all was
PENALTY = 20.0  # of what a user has more or less than the population
SOLVER, NEARLY = Local(1), Pairwise(1e-3)

Float32s = NDArray[np.float32]
BLOCK = 4096  # items at a time
NO_WEIGHT = np.empty(0, np.float32)


def next_chance(met: Float32s) -> Float32s:
    """P[meets next] of a pair that is not met, given M: 2 M^1.8, where M is at least 0.02."""
    found = 2 * np.maximum(met, np.float32(0.02)) ** np.float32(1.8)
    return np.minimum(found, np.float32(1))


class Meetings(NamedTuple):
    """All the models side by side; weights and masses are divided by their number."""

    weights: Float32s  # users x events
    codes: Codes  # items x words
    mass: Float32s  # events: the PMFs of the population

    @classmethod
    def none(cls, n_users: int, n_items: int) -> Meetings:
        """Nothing is known of who meets what."""
        nothing = np.zeros((n_users, 0), np.float32), np.zeros((n_items, 0), np.uint64)
        return cls(*nothing, np.zeros(0, np.float32))

    def __bool__(self) -> bool:
        return bool(self.mass.size)

    def fields(self) -> dict[str, NDArray[Any]]:
        """The arrays by the names that they have in a fit."""
        return {f"met_{name}": array for name, array in self._asdict().items()}

    def chances(self, users: Positions) -> Float32s:
        """M of all items for some users, -1 for the population: users x items."""
        weights = self.weights[users]
        weights[users < 0] = self.mean
        found = np.empty((len(users), len(self.codes)), np.float32)
        for start in range(0, len(self.codes), BLOCK):
            items = slice(start, start + BLOCK)
            bits = unpack(self.codes[items], len(self.mass)).astype(np.float32)
            found[:, items] = weights @ bits.T
        np.clip(found, 0.0, 1.0, out=found)
        return found

    @property
    def mean(self) -> Float32s:
        """The weights of the population."""
        return np.asarray(self.weights.mean(axis=0, dtype=np.float64), np.float32)

    def together(self, item: int, others: Positions) -> tuple[float, Floats]:
        """Of all users how many meet an item; and how many of those who meet each of some others.

        The latter is P[meets both] / P[meets the other], in the population.
        """
        mass = self.mass.astype(np.float64)
        bits = unpack(self.codes[[item, *others]], len(mass)).astype(np.float64)
        both, one = bits[1:] @ (mass * bits[0]), bits[1:] @ mass
        of_others = np.divide(both, one, out=np.zeros_like(both), where=one > 0)
        return float(mass @ bits[0]), of_others

    def solved(
        self, now: Observations, users: Positions, items: Positions, engine: Engine
    ) -> Meetings:
        """The same with some users and items solved anew, given what they have met now.

        All that came since must be among them. Users are solved given the sets so far, which new
        items do not have; then items given all weights.
        """
        (n_users, n_events), n_items = self.weights.shape, len(self.codes)
        if not (users.size or items.size) and (n_users, n_items) == now.shape:
            return self
        found = Meetings(
            np.zeros((now.n_users, n_events), np.float32),
            np.zeros((now.n_items, n_events // WORD), np.uint64),
            self.mass,
        )
        found.weights[:n_users], found.codes[:n_items] = self.weights, self.codes
        if not self:
            return found
        met = Met.of(now, DISLIKED)
        by_user, by_item = met.by_user.taken(users), met.by_item.taken(items)
        step, seeds = FreeIndicators(engine, SOLVER), np.zeros(len(items), np.uint64)
        n_models = self.codes.shape[1]
        with one_blas_thread():
            for k in range(n_models):
                sets, events = found.codes[:, k], slice(k * N_EVENTS, (k + 1) * N_EVENTS)
                mass = self.mass[events] * np.float64(n_models)
                found.weights[users, events] = _weights(engine, by_user, sets, mass) / n_models
                if items.size:
                    weights = found.weights[:, events] * np.float64(n_models)
                    sets[items] = step(by_item, weights, sets[items], seeds).codes
        found.weights[users[by_user.sizes == 0]] = self.mean
        return found


@dataclass(frozen=True)
class Met:
    """The table of who met what: where nothing is stored, it says no."""

    by_user: Entries
    by_item: Entries

    @classmethod
    def of(cls, seen: Observations, disliked: float = 1.0) -> Met:
        """In both orders; by item, with the weights of users."""
        of_user = np.float64(1) / np.sqrt(seen.by_user.sizes + FEW)
        of_user /= np.average(of_user, weights=seen.by_user.sizes)
        least = 0.0 if seen.missing else disliked
        of_users, of_items = (_met(part, least) for part in (seen.by_user, seen.by_item))
        by_user, by_item = that_speak(of_users, of_items, 1.0)
        weight = of_user[by_item.index].astype(np.float32)
        return cls(by_user, by_item._replace(weight=weight, missing=of_user))


def _met(entries: Entries, least: float) -> Entries:
    """The same entries, each a yes of at least so much."""
    value = np.float32(least) + np.float32(1 - least) * entries.value
    return Entries(entries.ptr, entries.index, value, NO_WEIGHT)


class Free:
    """In place of a PMF the solution of Q theta = r, wherever it lies; all users share Q."""

    guarantee: ClassVar[str] = "exact"

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Solve; there is no gap."""
        pmf[:] = np.linalg.solve(Q[0], r.T).T
        return -np.einsum("ud,ud->u", r, pmf), np.zeros(len(pmf))


def _weights(engine: Engine, by_user: Entries, sets: Codes, mass: Floats) -> Floats:
    """Of users, given what they have met."""
    return new_pmfs(PmfStep(engine, Free(), PENALTY), by_user, sets, mass).pmf


@dataclass
class _Meeting:
    """One of the models: it finds codes, masses and weights."""

    observations: Observations
    met: Met
    by_user: Entries  # for weights
    engine: Engine
    rng: np.random.Generator
    found: Any = None

    def steps(self) -> Iterator[int]:
        """A short descent, then the weights of users."""
        half_steps = HalfSteps.on(self.engine, SOLVER, NEARLY, 0.0, PENALTY)
        now = random_start(self.observations, N_EVENTS, self.rng)
        for done in range(N_ITER):
            now = descend(now, self.met, half_steps, prior="mean", n_iter=1, tol=0.0, rng=self.rng)
            if now.interrupted:
                raise KeyboardInterrupt
            yield done + 1
        mean = now.pmf.mean(axis=0)
        weights = _weights(self.engine, self.by_user, now.codes, mean)
        self.found = now.codes, mean / N_MODELS, weights / N_MODELS


def learn_meetings(
    observations: Observations,
    engine: Engine,
    rng: np.random.Generator,
    checkpoint: Checkpoint,
    show: bool | None,
    stop: Signal,
) -> Meetings:
    """The mean of descents, several at a time; none where all is stored, or if it is stopped.

    Those that the checkpoint has are not run again.
    """
    n_users, n_items = observations.n_users, observations.n_items
    if observations.n_observed == n_users * n_items:
        return Meetings.none(n_users, n_items)
    met, some = Met.of(observations), observations.by_user.sizes > 0
    by_user, alone = Met.of(observations, DISLIKED).by_user, engine.with_threads(1)
    n_events = N_MODELS * N_EVENTS
    weights, mass = np.empty((n_users, n_events), np.float32), np.empty(n_events, np.float32)
    codes = np.empty((n_items, N_MODELS), np.uint64)
    rngs, left = rng.spawn(N_MODELS), []

    def place(k: int) -> dict[str, NDArray[Any]]:
        events = slice(k * N_EVENTS, (k + 1) * N_EVENTS)
        return {"codes": codes[:, k], "mass": mass[events], "weights": weights[:, events]}

    for k in range(N_MODELS):
        known = checkpoint.read(f"meeting {k}")
        if known is None:
            left.append(k)
            continue
        with checkpoint.reviving():
            for name, part in place(k).items():
                part[:] = plain(known[name], part)
    jobs = [_Meeting(observations, met, by_user, alone, rngs[k]) for k in left]

    def take(job: int, found: Any) -> None:
        k, jobs[job].found = left[job], None  # so that it is held once
        for part, value in zip(place(k).values(), found, strict=True):
            part[:] = value
        checkpoint.keep_soon(lambda: {f"meeting {k}": place(k)})

    if jobs:
        engine.together("who meets what", jobs, N_ITER, show, take, stop)
    if stop.is_set():
        return Meetings.none(n_users, n_items)
    weights[~some] = weights[some].mean(axis=0)  # who has met nothing is as the population is
    return Meetings(weights, codes, mass)
