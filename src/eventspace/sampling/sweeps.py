"""The way of a chain from its start to its end, or of some side by side, and what is kept of it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.codes import pack
from eventspace._base.randomness import Generators
from eventspace._base.records import Record, plain, plain_codes, plain_pmf, plain_whole
from eventspace._base.types import Codes, Floats
from eventspace.data.observations import Observations
from eventspace.sampling.chain import Chain
from eventspace.sampling.priors import Laws


class Draws(NamedTuple):
    """What is kept of a chain."""

    pmf: list[Floats]
    codes: list[Codes]
    precision: list[Floats]
    laws: list[Laws]
    cost: list[float]  # after each sweep from the warm-up on: the squared error
    watched: list[Floats]  # predictions of some entries, after the same sweeps

    def record(self, n: int) -> Record:
        """The n-th draw."""
        parts = self.pmf[n], self.codes[n], self.precision[n], list(self.laws[n])
        return dict(zip(("pmf", "codes", "precision", "laws"), parts, strict=True))


class Start(Protocol):
    """What makes a chain: a sampler."""

    n_events: int

    def start(self, observations: Observations, rng: Any, *, begun: bool = False) -> Chain:
        """A chain; one that has ``begun`` before is to be restored, and starts anywhere."""


@dataclass
class Sweeps:
    """One chain from its start to its end, or some side by side: a job of an engine."""

    sampler: Start
    observations: Observations
    rngs: list[np.random.Generator]
    n_warmup: int
    n_draws: int
    each: int
    users: NDArray[np.int32]  # of the entries that are watched
    items: NDArray[np.int32]
    name: str  # of its records in the checkpoint
    checkpoint: Checkpoint
    found: list[Draws] = field(init=False)  # of each chain
    done: int = 0  # sweeps
    chain: Chain | None = None

    def __post_init__(self) -> None:
        self.found = [Draws([], [], [], [], [], []) for _ in self.rngs]
        self._begun = self.checkpoint.read(self.name)
        self._n_kept = 0  # draws, in the checkpoint
        if self._begun is not None:
            with self.checkpoint.reviving():
                self._go_back(self._begun)

    def __getstate__(self) -> dict[str, Any]:
        """Without the checkpoint, which stays with this process, and the chain."""
        return {**vars(self), "checkpoint": NOWHERE, "chain": None}

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.done == self.n_warmup + self.n_draws

    def steps(self) -> Generator[int, None, None]:
        """Draw, and keep one draw in ``each``, the last among them."""
        rng = self.rngs[0] if len(self.rngs) == 1 else Generators(self.rngs)
        begun = self._begun
        chain = self.sampler.start(self.observations, rng, begun=begun is not None)
        if begun is not None:
            with self.checkpoint.reviving():
                chain.restore(begun)
        self.chain, self._begun = chain, None
        fetch, users, items = chain.bench.fetch, *map(chain.bench.hold, (self.users, self.items))
        for sweep in range(self.done, self.n_warmup + self.n_draws):
            chain.sweep()
            drawn = sweep - self.n_warmup
            if drawn >= 0:
                theta, psi = chain.pmf, chain.indicators
                cost = fetch(chain.error.sum(axis=-1))
                watched = fetch((theta[..., users, :] * psi[..., items, :]).sum(axis=-1))
                for k, draws in zip(chain.each, self.found, strict=True):
                    draws.cost.append(float(cost[k]))
                    draws.watched.append(watched[k])
                    if (self.n_draws - 1 - drawn) % self.each == 0:
                        draws.pmf.append(fetch(theta[k].copy()))
                        draws.codes.append(pack(fetch(psi[k]) > 0.5)[:, 0])
                        draws.precision.append(fetch(chain.precision[k].copy()))
                        draws.laws.append(chain.priors.laws(k))
            self.done = sweep + 1
            self.keep()
            try:
                yield sweep + 1
            except GeneratorExit:  # stopped, between two sweeps
                self.keep(at_once=True)
                raise
        self.chain = None

    def keep(self, *, at_once: bool = False) -> None:
        """Let the checkpoint know, if it is time, or at once; a draw is written there once."""
        if self.checkpoint.keep(self.name, self._records, at_once=at_once):
            self._n_kept = len(self.found[0].pmf)

    def keep_soon(self) -> None:
        """Let the checkpoint know that it has ended."""
        self.checkpoint.keep_soon(self._records)

    def _records(self) -> dict[str, Record]:
        state = {} if self.chain is None else self.chain.state()
        cost, watched = (
            np.array([getattr(draws, name) for draws in self.found]) for name in ("cost", "watched")
        )
        records = {self.name: {**state, "done": self.done, "cost": cost, "watched": watched}}
        for k, draws in enumerate(self.found):
            for n in range(self._n_kept, len(draws.pmf)):
                records[self._draw(k, n)] = draws.record(n)
        return records

    def _draw(self, k: int, n: int) -> str:
        return f"{self.name}, draw {n} of {k}"

    def _go_back(self, begun: Record) -> None:
        """To where the checkpoint is."""
        self.done = plain_whole(begun["done"], self.n_warmup + self.n_draws)
        drawn = max(self.done - self.n_warmup, 0)
        last = (self.n_draws - 1) % self.each  # the first sweep whose draw is kept
        self._n_kept = len(range(last, drawn, self.each))
        n_users, n_items = self.observations.shape
        pmf, codes = np.empty((n_users, self.sampler.n_events)), np.empty(n_items, np.uint64)
        for k, draws in enumerate(self.found):
            draws.cost.extend(begun["cost"][k].tolist())
            draws.watched.extend(begun["watched"][k] if drawn else [])
            if len(draws.cost) != drawn or len(draws.watched) != drawn:
                raise ValueError
            for n in range(self._n_kept):
                known = self.checkpoint.read(self._draw(k, n)) or {}
                draws.pmf.append(plain_pmf(known["pmf"], pmf))
                draws.codes.append(plain_codes(known["codes"], codes, pmf.shape[1]))
                draws.precision.append(plain(known["precision"], pmf[:, 0]))
                draws.laws.append(Laws(*map(float, known["laws"])))
