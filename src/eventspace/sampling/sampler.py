"""Several chains at a time, each from its own descent."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.codes import unpack
from eventspace._base.randomness import Generators, each_generator
from eventspace._base.types import Bits, Floats
from eventspace.data.attributes import Attributes
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.engines.workbench import Cores
from eventspace.fitting.descent import descend, random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.indicators import Local
from eventspace.pmf import Pairwise
from eventspace.sampling.chain import Chain, spread
from eventspace.sampling.joint_law import Joint, Weighed
from eventspace.sampling.priors import Beforehand, Laws, Priors
from eventspace.sampling.priors.pmfs import regressed_centres
from eventspace.sampling.settings import SamplingSettings
from eventspace.sampling.sweeps import Draws, Sweeps

START_PENALTIES = (30.0, 10.0, 3.0)  # of the descents before chains, one after the other
START_ITERATIONS = 1  # at each penalty: chains that start far down stay there
START_SOLVER = Local(1)
LEAST_DRAWS = 4  # of a chain that diagnostics can say anything of
WATCHED = 200  # observed entries whose predictions the diagnostics follow


def evened(chains: list[Draws]) -> list[Draws]:
    """Chains with the same number of draws, the last of each, so that the most draws are kept.

    They are an even number, or one: chains are weighed in pairs.
    """
    begun = [chain for chain in chains if chain.pmf and len(chain.cost) >= LEAST_DRAWS]

    def of(n: int) -> list[Draws]:
        found = [chain for chain in begun if len(chain.pmf) >= n]
        return found[: max(len(found) // 2 * 2, 1)]

    most = max((len(chain.pmf) for chain in begun), key=lambda n: n * len(of(n)), default=0)
    kept = of(most)
    swept = min((len(chain.cost) for chain in kept), default=0)
    return [
        Draws(
            chain.pmf[-most:],
            chain.codes[-most:],
            chain.precision[-most:],
            chain.laws[-most:],
            chain.cost[-swept:],
            chain.watched[-swept:],
        )
        for chain in kept
    ]


def mean_laws(chains: list[Draws]) -> Laws:
    """What all draws have in common, in the mean."""
    return Laws(*np.mean([laws for chain in chains for laws in chain.laws], axis=0).tolist())


@dataclass
class Sampler:
    """Chains of models with ``n_events`` events, side by side on an engine."""

    n_events: int
    beforehand: Beforehand
    engine: Engine
    show: bool | None  # a progress bar

    @classmethod
    def of(
        cls,
        settings: SamplingSettings,
        engine: Engine,
        of_users: Attributes,
        of_items: Attributes,
    ) -> Sampler:
        """The sampler for these settings, on an engine."""
        attributes = of_users.standard(), of_items.standard()
        fixed = None if settings.concentration == "auto" else float(settings.concentration)
        beforehand = Beforehand(fixed, bool(settings.informed), *attributes)
        return cls(settings.n_events, beforehand, engine, settings.verbose)

    def sample(
        self,
        observations: Observations,
        rngs: list[np.random.Generator],
        n_warmup: int,
        n_draws: int,
        each: int,
        checkpoint: Checkpoint = NOWHERE,
    ) -> tuple[list[Draws], bool]:
        """A chain for each generator; of its draws one in ``each`` is kept.

        Chains go on from where the checkpoint is; on a cluster, only those that have ended there.
        Also whether Ctrl-C came: then these are the draws so far, the same number from each chain
        that has so many. If none has any, the interrupt goes on.
        """
        u, i, p = observations.coo()
        at = np.linspace(0, len(p) - 1, min(WATCHED, len(p))).astype(np.int64)
        alone = replace(self, engine=self.engine.with_threads(1))
        numbers = n_warmup, n_draws, each, u[at], i[at]
        told = self.beforehand.user_attributes, self.beforehand.item_attributes
        n_attributes = max(attributes.shape[1] for attributes in told)
        abreast = self.engine.abreast(observations, self.n_events, n_attributes)
        machine = self.engine if abreast is None else alone.engine
        of_job = abreast or 1
        jobs = [
            Sweeps(
                alone,
                observations,
                rngs[k : k + of_job],
                *numbers,
                f"chain {k}" if abreast is None else f"chains from {k}, {abreast} abreast",
                checkpoint,
            )
            for k in range(0, len(rngs), of_job)
        ]
        left = [job for job in jobs if not job.ended]

        def found() -> list[Draws]:
            return [draws for job in jobs for draws in job.found]

        def take(k: int, draws: Any) -> None:
            left[k].done = n_warmup + n_draws  # also if that was elsewhere
            left[k].keep_soon()

        try:
            if left:
                machine.together("sweeps", left, n_warmup + n_draws, self.show, take)
        except KeyboardInterrupt:
            kept = evened(found())
            if not kept:
                raise
            return kept, True
        return found(), False

    def weigh(
        self, observations: Observations, chains: list[Draws], bits: list[list[Bits]]
    ) -> Generator[int, None, tuple[Weighed, Floats]]:
        """PMFs over the events of all these chains, and the covariance of their law.

        After each step it tells how many are done.
        """
        by_user = observations.by_user
        chances = np.hstack([np.mean(drawn, axis=0) for drawn in bits])
        theta = np.hstack([np.mean(chain.pmf, axis=0) for chain in chains]) / len(chains)
        variance = np.mean([1.0 / tau for chain in chains for tau in chain.precision], axis=0)
        here, known = Cores(), by_user.rated * 1.0
        Z = self.beforehand.user_features(observations, here)(chances)

        def centres(now: Floats) -> Floats:
            return np.asarray(regressed_centres(Z, now, known, here))

        counts = by_user.counts(observations.fades)
        joint = Joint(by_user, counts, chances, self.engine, self.show)
        return (yield from joint.learn(theta, 1.0 / variance, centres))

    def start(self, observations: Observations, rng: Any, *, begun: bool = False) -> Chain:
        """A chain where a descent ends, down ever weaker penalties; or several side by side.

        One that has ``begun`` before is to be restored, and starts anywhere.
        """
        begin = self._anywhere if begun else self._descended
        starts = [begin(observations, own) for own in each_generator(rng)]
        pmf, bits = (np.stack(parts) for parts in zip(*starts, strict=True))
        if not isinstance(rng, Generators):
            pmf, bits = pmf[0], bits[0]
        bench = self.engine.workbench(observations, self.n_events)
        priors = Priors.of(self.beforehand, observations, self.n_events, bench, pmf.shape[:-2])
        return Chain(observations, self.engine.with_threads(1), bench, priors, pmf, bits, rng)

    def _anywhere(
        self, observations: Observations, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        n_users, n_items = observations.shape
        return np.zeros((n_users, self.n_events)), np.zeros((n_items, self.n_events))

    def _descended(
        self, observations: Observations, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        descent = random_start(observations, self.n_events, rng)
        engine = self.engine.with_threads(1)
        for penalty in START_PENALTIES:
            steps = HalfSteps.on(engine, START_SOLVER, Pairwise(), 0.0, penalty)
            descent = descend(
                descent,
                observations,
                steps,
                prior="mean",
                n_iter=START_ITERATIONS,
                tol=0.0,
                rng=rng,
            )
        return spread(descent.pmf), unpack(descent.codes[:, None], self.n_events).astype(np.float64)
