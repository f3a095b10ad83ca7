"""A model learnt by descents from one start or more, of which the best is kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.errors import warn
from eventspace._base.progress import bar
from eventspace._base.randomness import seed_of
from eventspace.data.observations import Observations
from eventspace.data.shards import Shards
from eventspace.engines.protocol import Engine
from eventspace.fitting.constraints import Given, given_start
from eventspace.fitting.descent import INTERRUPTED, Descent, best_descent, random_start
from eventspace.fitting.settings import DescentSettings, check_allowed, checked_steps

FEW_ENTRIES, FEW_EVENTS = 10_000, 16  # up to these, ten random starts cost next to nothing
MANY_STARTS = 10
NOTHING_GIVEN = Given(None, None)


def learn(
    observations: Observations | Shards,
    settings: DescentSettings,
    machine: Engine,
    given: Given = NOTHING_GIVEN,
    start: Descent | None = None,
    checkpoint: Checkpoint = NOWHERE,
) -> Descent:
    """The best of the descents on an engine, from what is given, from a start, or random ones.

    After Ctrl-C it is the best so far, with a warning.
    """
    steps = given.steps(checked_steps(settings, machine))
    if given.indicators is not None:
        check_allowed(settings.indicators, given.indicators)
    seed = checkpoint.first("seed", lambda: seed_of(settings.random_state))
    rng = np.random.default_rng(seed)
    starts = _starts(observations, settings, given, start, rng)
    with bar("fit", settings.n_iter * len(starts), settings.verbose) as update:
        best = best_descent(
            starts,
            observations,
            steps,
            prior=settings.pmf_prior,
            n_iter=settings.n_iter,
            tol=settings.tol,
            rng=rng,
            update=update,
            checkpoint=checkpoint,
        )
    if best.interrupted:
        checkpoint.flush()
        warn(INTERRUPTED)
    return best


def _starts(
    observations: Observations | Shards,
    settings: DescentSettings,
    given: Given,
    start: Descent | None,
    rng: np.random.Generator,
) -> list[Callable[[], Descent]]:
    """What makes the starts; random PMFs are drawn when they are needed."""
    if given.side is not None:
        return [partial(given_start, observations, given, settings.n_events)]
    if start is not None:
        return [lambda: start]
    few = observations.n_observed < FEW_ENTRIES and settings.n_events <= FEW_EVENTS
    n = (MANY_STARTS if few else 1) if settings.n_init == "auto" else int(settings.n_init)
    return [partial(random_start, observations, settings.n_events, rng)] * n
