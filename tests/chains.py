"""Chains on small tables, and priors that are given: what the tests of the sampler share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace.data.entries import Entries
from eventspace.data.observations import Observations
from eventspace.engines.cpu import CPU
from eventspace.engines.workbench import Cores, RowKernel
from eventspace.sampling.chain import Chain
from eventspace.sampling.priors import Beforehand, Priors
from eventspace.sampling.priors.noise import NoisePrior

Floats = NDArray[np.float64]

SIGMAS = 4.5
UNLIKELY = 1e-5


@dataclass
class Given:
    """A prior that is given, not learnt."""

    law: Floats

    def draw(self, state: Any, rng: np.random.Generator) -> Floats:
        return self.law


class GivenNoise(NoisePrior):
    """As it is where it starts."""

    def draw(self, state: Any, rng: Any) -> None:
        pass


def given(log_odds: Floats, counts: Floats) -> Any:
    """Priors of which none is learnt: the law of the chain is known."""
    return Priors(Given(log_odds), Given(counts), GivenNoise())


@dataclass
class Recorded:
    """A prior that remembers the law that it gave last."""

    prior: Any
    last: Any = None

    def draw(self, state: Any, rng: np.random.Generator) -> Any:
        self.last = self.prior.draw(state, rng)
        return self.last


def dirichlet(counts: Floats, rng: np.random.Generator) -> Floats:
    """A PMF for each row."""
    gamma: Floats = rng.gamma(counts)
    return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def assert_mean(x: Floats, expected: float) -> None:
    assert abs(x.mean() - expected) < SIGMAS * x.std() / np.sqrt(len(x)) + 1e-3


def table(
    seed: int = 0, *, n_users: int = 400, n_items: int = 60, full: bool = False, weight: Any = None
) -> Observations:
    rng = np.random.default_rng(seed)
    values = rng.random((n_users, n_items))
    if not full:
        values[rng.random(values.shape) < 0.8] = np.nan
        values[5] = np.nan
        values[:, 7] = np.nan
    return Observations.from_wide(values, weight=weight, scale=(0, 1))


def start(
    observations: Observations,
    *,
    n_events: int = 4,
    informed: bool = True,
    n_threads: int = 1,
    seed: int = 0,
    concentration: float | None = None,
    attributes: tuple[Floats, Floats] | None = None,
) -> Chain:
    rng = np.random.default_rng(seed)
    pmf = rng.dirichlet(np.ones(n_events), observations.n_users)
    bits = (rng.random((observations.n_items, n_events)) < 0.5).astype(float)
    attributes = attributes or (np.empty((len(pmf), 0)), np.empty((len(bits), 0)))
    beforehand, bench = Beforehand(concentration, informed, *attributes), Cores()
    priors = Priors.of(beforehand, observations, n_events, bench)
    return Chain(observations, CPU(n_threads), bench, priors, pmf, bits, rng)


def state(chain: Chain) -> tuple[Floats, Floats, Floats]:
    return chain.pmf, chain.indicators, chain.precision


class SideBySide(Cores):
    """NumPy's arrays of several chains, of which the first axis says which: one after the other."""

    def numbers(self, of_chain: Any) -> Floats:
        return np.asarray(of_chain)[..., None, None]

    def each(self, kernel: RowKernel, rows: tuple[Any, ...], of_chain: tuple[Any, ...]) -> None:
        for k in np.ndindex(*rows[0].shape[:-2]):
            super().each(kernel, tuple(array[k] for array in rows), tuple(a[k] for a in of_chain))

    def sums_of_rows(self, entries: Entries, factors: Floats) -> Floats:
        several = factors.reshape(-1, *factors.shape[-2:])
        found = np.stack([super(SideBySide, self).sums_of_rows(entries, own) for own in several])
        return found.reshape(*factors.shape[:-2], *found.shape[1:])

    def weighted_squares(self, rows: Floats, weights: Floats) -> Floats:
        both = zip(
            rows.reshape(-1, *rows.shape[-2:]),
            weights.reshape(-1, *weights.shape[-2:]),
            strict=True,
        )
        found = np.stack([super(SideBySide, self).weighted_squares(*own) for own in both])
        return found.reshape(*rows.shape[:-2], *found.shape[1:])


@dataclass(frozen=True)
class Abreast(CPU):
    """An engine on the cores that runs as many chains side by side."""

    n_abreast: int | None = None

    def with_threads(self, n_threads: int) -> Abreast:
        return Abreast(n_threads, self.n_abreast)

    def abreast(self, *_: Any) -> int | None:
        return self.n_abreast

    def workbench(self, *_: Any) -> SideBySide:
        return SideBySide()
