"""Several chains at a time: from descents, with a penalty that short chains can choose."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace.codes import Codes, pack, unpack
from eventspace.descent import descend, random_start
from eventspace.engines.cpu import CPU
from eventspace.gibbs.chain import Chain
from eventspace.indicators import Exact
from eventspace.observations import Observations
from eventspace.pmf import Pairwise
from eventspace.prediction import dot_products, squared_error
from eventspace.splits import folds
from eventspace.together import run_together

Floats = NDArray[np.float64]

START_PENALTY, START_ITERATIONS = 30.0, 5  # of the descents that chains start from
PENALTIES = (0.3, 1.0, 3.0, 6.0, 15.0)  # tried for "auto"
HELD_OUT, TRIAL_SWEEPS = 0.1, 50
WATCHED = 200  # observed entries whose predictions the diagnostics follow


class Draws(NamedTuple):
    """What is kept of a chain."""

    pmf: list[Floats]
    codes: list[Codes]
    precision: list[Floats]
    cost: list[float]  # after each sweep from the warm-up on: the squared error
    watched: list[Floats]  # predictions of some entries, likewise


@dataclass
class Sampler:
    """Chains of models with so many events, on so many threads."""

    n_events: int
    informed: bool
    n_threads: int
    show: bool | None  # a progress bar

    def sample(
        self,
        observations: Observations,
        penalty: float,
        rngs: list[np.random.Generator],
        n_warmup: int,
        n_draws: int,
        each: int,
    ) -> list[Draws]:
        """A chain for each generator; of its draws one in ``each`` is kept."""
        found = [Draws([], [], [], [], []) for _ in rngs]
        u, i, p = observations.coo()
        at = np.linspace(0, len(p) - 1, min(WATCHED, len(p))).astype(np.int64)

        def sweeps(rng: np.random.Generator, draws: Draws) -> Iterator[int]:
            chain = self._start(observations, rng, penalty)
            for sweep in range(n_warmup + n_draws):
                chain.sweep()
                drawn = sweep - n_warmup
                if drawn >= 0:
                    draws.cost.append(squared_error(observations, chain.pmf, chain.indicators))
                    draws.watched.append(dot_products(chain.pmf, chain.indicators, u[at], i[at]))
                    if (n_draws - 1 - drawn) % each == 0:
                        draws.pmf.append(chain.pmf.copy())
                        draws.codes.append(pack(chain.indicators > 0.5)[:, 0])
                        draws.precision.append(chain.precision.copy())
                yield sweep + 1

        chains = [sweeps(rng, draws) for rng, draws in zip(rngs, found, strict=True)]
        run_together("sweeps", chains, n_warmup + n_draws, self.n_threads, self.show)
        return found

    def best_penalty(self, observations: Observations, random: np.random.RandomState) -> float:
        """The penalty with which short chains best predict a held-out tenth."""
        found = folds(observations, HELD_OUT, random)
        if not found:
            return PENALTIES[len(PENALTIES) // 2]
        fold, seed = found[0], random.randint(2**31)
        totals = np.zeros((len(PENALTIES), len(fold.truth)))

        def trial(k: int, rng: np.random.Generator) -> Iterator[int]:
            chain = self._start(fold.train, rng, PENALTIES[k])
            for sweep in range(TRIAL_SWEEPS):
                chain.sweep()
                if sweep >= TRIAL_SWEEPS // 2:
                    totals[k] += dot_products(chain.pmf, chain.indicators, fold.users, fold.items)
                yield sweep + 1

        # the mean of two chains: one alone would ask for more shrinkage than many need
        for rng in np.random.default_rng(seed).spawn(2):
            trials = [trial(k, copy.deepcopy(rng)) for k in range(len(PENALTIES))]
            run_together("penalty", trials, TRIAL_SWEEPS, self.n_threads, self.show)
        means = totals / (2 * (TRIAL_SWEEPS - TRIAL_SWEEPS // 2))
        return PENALTIES[int(np.argmin([fold.error(mean) for mean in means]))]

    def _start(self, observations: Observations, rng: np.random.Generator, penalty: float) -> Chain:
        engine = CPU(Exact(), Pairwise(), 0.0, START_PENALTY)
        descent = descend(
            random_start(observations, self.n_events, rng),
            observations,
            engine,
            prior="mean",
            n_iter=START_ITERATIONS,
            tol=0.0,
            rng=rng,
            on_iteration=lambda now: None,
        )
        bits = unpack(descent.codes[:, None], self.n_events).astype(np.float64)
        return Chain(observations, engine, descent.pmf, bits, penalty, self.informed, rng)
