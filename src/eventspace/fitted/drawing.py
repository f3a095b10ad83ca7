"""Fits that chains draw: a posterior, and the one model that a short one is compressed to."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import numpy as np

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.errors import warn
from eventspace._base.randomness import seed_of
from eventspace._base.types import Bits, Floats
from eventspace.data.attributes import Attributes, read_attributes
from eventspace.data.factors import squared_error
from eventspace.data.learnable import to_tell_apart
from eventspace.data.observations import Observations
from eventspace.engines.aside import Aside, Done
from eventspace.engines.protocol import Engine
from eventspace.fitted.by_id import as_in, in_order
from eventspace.fitted.compressed import compressed
from eventspace.fitted.fit import CompressedFit, PosteriorFit, stacked
from eventspace.fitting.descent import INTERRUPTED
from eventspace.fitting.going_on import checkpoint_of
from eventspace.fitting.meetings import Meetings, learn_meetings
from eventspace.fitting.settings import engine_to_learn, engine_told
from eventspace.sampling.kept_samples import Kept, keep
from eventspace.sampling.sampler import Sampler, mean_laws
from eventspace.sampling.settings import ModelSettings, SamplingSettings, chains_for, sampling_of
from eventspace.sampling.sweeps import Draws

GUIDES = 2  # chains that are the same whatever the seed: events begin there
GUIDING_SEED = 0
OF_MEETINGS = 1  # what makes their generator another one

F = TypeVar("F", PosteriorFit, CompressedFit)


def of_worth(observations: Observations) -> int:
    """How many entries a GPU would learn from: none where what is missing says no."""
    return 0 if observations.missing else observations.n_observed


def learnt(
    draw: Callable[..., F],
    X: Any,
    settings: SamplingSettings | ModelSettings,
    user_attributes: Any,
    item_attributes: Any,
    checkpoint: str | os.PathLike[str] | None,
) -> tuple[str, F]:
    """Where chains learn from a table, and why there; and what `drawn` or `readable` finds."""
    table = to_tell_apart(X)
    of_users = read_attributes(user_attributes, table.user_ids, "user_attributes")
    of_items = read_attributes(item_attributes, table.item_ids, "item_attributes")
    engine, by_id = engine_told(settings, of_worth(table), chains=True), in_order(table)
    of_users, of_items = (
        of_users.taken(table.user_ids.order),
        of_items.taken(table.item_ids.order),
    )
    known = of_users.values, of_items.values
    with checkpoint_of(checkpoint, by_id, settings, engine, *known) as kept:
        fit = draw(by_id, settings, of_users, of_items, kept)
        if fit.interrupted:
            kept.flush()
    return engine, as_in(table, fit)


def drawn(
    observations: Observations,
    settings: SamplingSettings,
    of_users: Attributes,
    of_items: Attributes,
    checkpoint: Checkpoint = NOWHERE,
) -> PosteriorFit:
    """The average of what chains draw, given a table."""
    seed = checkpoint.first("seed", lambda: seed_of(settings.random_state))
    rngs = np.random.default_rng(seed).spawn(chains_for(settings, observations.n_observed))
    with (
        engine_to_learn(settings, of_worth(observations), chains=True) as engine,
        closing(_meetings(observations, settings, engine, seed, checkpoint)) as met,
    ):
        attributes = of_users, of_items
        chains, kept, interrupted = _run(
            observations, settings, engine, *attributes, rngs, checkpoint
        )
        meetings, without = _waited_for(met, observations)
        interrupted |= without
    laws, noise = mean_laws(chains), np.sqrt(kept.variance)
    pmf, codes = stacked(kept.pmfs, kept.bits)
    if interrupted:
        warn(f"{INTERRUPTED}, {_drawn(chains)}")
    return PosteriorFit(
        observations,
        pmf,
        codes,
        squared_error(observations, *(kept.mean or (pmf, np.hstack(kept.bits)))),
        n_samples=len(kept.pmfs),
        n_together=kept.n_together,
        interrupted=interrupted,
        noise=noise,
        open=kept.left_open,
        covariance=kept.covariance,
        cost=np.array([chain.cost for chain in chains]),
        watched=np.array([chain.watched for chain in chains]),
        user_attributes=of_users.values,
        user_attribute_names=of_users.names,
        item_attributes=of_items.values,
        item_attribute_names=of_items.names,
        pmf_penalty=_penalty(chains, laws.concentration, noise, observations.by_user.rated),
        seed=seed,
        concentration=laws.concentration,
        user_spread=float(np.sqrt(laws.user_variance)),
        item_spread=float(np.sqrt(laws.item_variance)),
        **meetings.fields(),
    )


def readable(
    observations: Observations,
    settings: ModelSettings,
    of_users: Attributes,
    of_items: Attributes,
    checkpoint: Checkpoint = NOWHERE,
) -> CompressedFit:
    """One model: a short posterior, compressed.

    Many models with few events predict alike. Where the descent begins decides which of them is
    found. It begins with events that are grown on the guides, the first chains, whose generators
    do not depend on the seed. So two seeds tell the same story.
    """
    sampling = sampling_of(settings, observations.n_observed)
    n_chains = int(sampling.n_chains)
    n_guides = min(GUIDES, n_chains - 1)
    seed = checkpoint.first("seed", lambda: seed_of(settings.random_state))
    guides = np.random.default_rng(GUIDING_SEED).spawn(n_guides)
    others = np.random.default_rng(seed).spawn(n_chains - n_guides)
    with (
        engine_to_learn(settings, of_worth(observations), chains=True) as engine,
        closing(_meetings(observations, settings, engine, seed, checkpoint)) as met,
    ):
        attributes, rngs = (of_users, of_items), guides + others
        chains, kept, interrupted = _run(
            observations, sampling, engine, *attributes, rngs, checkpoint
        )
        meetings, without = _waited_for(met, observations)
        interrupted |= without
    parts = kept.parts
    fit = compressed(
        observations,
        parts,
        np.sqrt(kept.variance),
        kept.left_open,
        settings.n_events,
        settings,
        meetings,
        n_guides=max(1, round(len(parts) * n_guides / n_chains)) if n_guides else 0,
        interrupted=interrupted,
        checkpoint=checkpoint if not interrupted else NOWHERE,  # of all draws
    )
    if fit.interrupted:
        warn(f"{INTERRUPTED}, compressed from {_drawn(chains)}")
    return fit


def _meetings(
    observations: Observations,
    settings: SamplingSettings | ModelSettings,
    engine: Engine,
    seed: int,
    checkpoint: Checkpoint,
) -> Aside[Meetings]:
    """What gives who meets what, if it is to be learnt."""
    if not settings.meets:
        return Done(Meetings.none(*observations.shape))
    rng = np.random.default_rng([seed, OF_MEETINGS])
    learn = partial(learn_meetings, observations, engine, rng, checkpoint)
    return engine.aside(learn, settings.verbose)


def _waited_for(met: Aside[Meetings], observations: Observations) -> tuple[Meetings, bool]:
    """Who meets what; and whether Ctrl-C came first: then nothing is known of that."""
    try:
        return met.result(), False
    except KeyboardInterrupt:
        return Meetings.none(*observations.shape), True


def _run(
    observations: Observations,
    settings: SamplingSettings,
    engine: Engine,
    of_users: Attributes,
    of_items: Attributes,
    rngs: list[np.random.Generator],
    checkpoint: Checkpoint,
) -> tuple[list[Draws], Kept, bool]:
    """A chain for each generator, what is kept of them, and whether Ctrl-C ended them."""
    sampler = Sampler.of(settings, engine, of_users, of_items)
    unit = observations.with_unit_weight()
    each = -(-settings.n_draws // (settings.n_samples // len(rngs)))  # one of ``each`` is kept
    sweeps = settings.n_warmup, settings.n_draws
    chains, interrupted = sampler.sample(unit, rngs, *sweeps, each, checkpoint)
    of_all = NOWHERE if interrupted else checkpoint
    try:
        kept = keep(chains, unit, sampler, weigh=settings.weigh, checkpoint=of_all)
        return chains, kept, interrupted
    except KeyboardInterrupt:
        return chains, keep(chains, unit, sampler, weigh=False), True


def _drawn(chains: list[Draws]) -> str:
    return f"{len(chains) * len(chains[0].pmf)} draws of {len(chains)} chains"


def _penalty(chains: list[Draws], concentration: float, noise: Floats, rated: Bits) -> float:
    """The penalty around the mean PMF that is as strict as Dirichlet's laws are."""
    mass = np.array([pmf[rated].mean(axis=0) for chain in chains for pmf in chain.pmf])
    variance = float(np.mean(mass * (1 - mass))) / (concentration + 1)
    return float(np.median(noise)) ** 2 / max(variance, 1e-9)
