"""Several chains at a time, each from a descent of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace.codes import Codes, pack, unpack
from eventspace.descent import descend, random_start
from eventspace.engines.cpu import CPU
from eventspace.gibbs.chain import Chain, spread
from eventspace.indicators import Local
from eventspace.observations import Observations
from eventspace.pmf import Pairwise
from eventspace.prediction import dot_products, squared_error
from eventspace.together import run_together

Floats = NDArray[np.float64]

START_PENALTIES = (30.0, 10.0, 3.0)  # down which the descents go that chains start from
START_ITERATIONS = 5  # at each of them
START_SOLVER = Local(3)
ONE_NORMAL_IN = 4  # one chain in so many has normal laws of PMFs
LEAST_USERS = 10  # for each event, or how PMFs vary together cannot be learnt
WATCHED = 200  # observed entries whose predictions the diagnostics follow


class Draws(NamedTuple):
    """What is kept of a chain."""

    pmf: list[Floats]
    codes: list[Codes]
    precision: list[Floats]
    concentration: list[float]
    cost: list[float]  # after each sweep from the warm-up on: the squared error
    watched: list[Floats]  # predictions of some entries, likewise
    normal: bool  # whether its PMFs have normal laws; they have no concentration then


@dataclass
class Sampler:
    """Chains of models with so many events, on so many threads."""

    n_events: int
    concentration: float | None  # None: drawn along, and in every fourth chain there is none
    informed: bool
    user_attributes: Floats
    item_attributes: Floats
    n_threads: int
    show: bool | None  # a progress bar

    def sample(
        self,
        observations: Observations,
        rngs: list[np.random.Generator],
        n_warmup: int,
        n_draws: int,
        each: int,
    ) -> list[Draws]:
        """A chain for each generator; of its draws one in ``each`` is kept."""
        n_rated = int(np.count_nonzero(np.diff(observations.by_user.ptr)))
        found = [Draws([], [], [], [], [], [], self.normal(k, n_rated)) for k in range(len(rngs))]
        u, i, p = observations.coo()
        at = np.linspace(0, len(p) - 1, min(WATCHED, len(p))).astype(np.int64)

        def sweeps(k: int) -> Iterator[int]:
            draws = found[k]
            chain = self._start(observations, rngs[k], draws.normal)
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
                        if not draws.normal:
                            draws.concentration.append(chain.concentration)
                yield sweep + 1

        chains = [sweeps(k) for k in range(len(rngs))]
        run_together("sweeps", chains, n_warmup + n_draws, self.n_threads, self.show)
        return found

    def normal(self, k: int, n_rated: int) -> bool:
        """Whether chain k has normal laws, with so many users who have ratings."""
        enough = n_rated >= LEAST_USERS * self.n_events
        return self.concentration is None and enough and k % ONE_NORMAL_IN == ONE_NORMAL_IN - 1

    def _start(self, observations: Observations, rng: np.random.Generator, normal: bool) -> Chain:
        descent = random_start(observations, self.n_events, rng)
        for penalty in START_PENALTIES:
            engine = CPU(START_SOLVER, Pairwise(), 0.0, penalty)
            descent = descend(
                descent,
                observations,
                engine,
                prior="mean",
                n_iter=START_ITERATIONS,
                tol=0.0,
                rng=rng,
                on_iteration=lambda now: None,
            )
        bits = unpack(descent.codes[:, None], self.n_events).astype(np.float64)
        pmf = spread(descent.pmf)
        return Chain(
            observations,
            engine,
            pmf,
            bits,
            normal,
            self.concentration,
            self.informed,
            rng,
            self.user_attributes,
            self.item_attributes,
        )
