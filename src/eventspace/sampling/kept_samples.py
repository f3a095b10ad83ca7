"""What a posterior keeps of its chains: samples, each a draw of one, or of several together."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.codes import unpack
from eventspace._base.records import Record, plain, plain_pmf
from eventspace._base.threads import run_together
from eventspace._base.types import Bits, Floats
from eventspace.data.observations import Observations
from eventspace.fitting.compression import Part
from eventspace.sampling.joint_law import STEPS, TITLE, Weighed, together
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.sweeps import Draws

ARRAYS = 8  # of users x events, that weighing a group of chains needs at a time
ROOM_BYTES = 1 << 32  # for them, of all groups that are weighed at once


class Kept(NamedTuple):
    """Samples, and what is known of the users besides."""

    pmfs: list[Floats]  # of each sample: users x events
    bits: list[Bits]  # items x events
    n_together: int  # chains
    variances: Floats  # parts x users: of the noise
    left_open: Floats  # of each user: variance of the chances that the ratings leave open
    covariance: Floats  # of each group of chains: that of the PMFs over their events

    @property
    def parts(self) -> list[Part]:
        """What is averaged: groups of chains, or samples."""
        n = len(self.covariance) or len(self.pmfs)
        return [
            Part(pmf, np.mean(self.bits[k::n], axis=0), float(self.variances[k].mean()))
            for k, pmf in enumerate(self.pmfs[:n])
        ]

    @property
    def mean(self) -> tuple[Floats, Floats] | None:
        """PMFs and chances of bits with the predictions of the average, if samples share PMFs."""
        if not len(self.covariance):
            return None
        pmfs, chances = (np.hstack(parts) for parts in list(zip(*self.parts, strict=True))[:2])
        return pmfs / len(self.covariance), chances

    @property
    def variance(self) -> Floats:
        """Of each user's noise."""
        return np.asarray(self.variances.mean(axis=0))


def keep(
    chains: list[Draws],
    observations: Observations,
    sampler: Sampler,
    *,
    weigh: bool,
    checkpoint: Checkpoint = NOWHERE,
) -> Kept:
    """The draws of all chains; if chains are weighed, samples of a group share their PMFs.

    Groups that the checkpoint has are not weighed again.
    """
    bits = [[unpack(drawn[:, None], sampler.n_events) for drawn in c.codes] for c in chains]
    weigh &= len(bits[0]) > 1  # one draw does not say how sure its bits are
    n_together = together(len(chains), sampler.n_events, observations.by_user) if weigh else 1
    if n_together == 1:
        return Kept(
            [pmf for chain in chains for pmf in chain.pmf],
            [drawn for of_chain in bits for drawn in of_chain],
            1,
            np.array([1.0 / tau for chain in chains for tau in chain.precision]),
            np.zeros(observations.n_users),
            np.empty((0, 0, 0)),
        )
    starts = range(0, len(chains), n_together)
    groups = [slice(start, start + n_together) for start in starts]
    of_group = 8 * ARRAYS * observations.n_users * n_together * sampler.n_events
    n_threads = sampler.engine.n_threads
    at_once = max(min(len(groups), n_threads, ROOM_BYTES // of_group), 1)
    few = sampler.engine.with_threads(n_threads // at_once)
    alone = replace(sampler, engine=few, show=False)
    found: list[Any] = [None] * len(groups)

    def weighing(k: int) -> Generator[int, None, None]:
        name = f"weighed {k}"
        known = checkpoint.read(name)
        if known is not None:
            with checkpoint.reviving():
                found[k] = _revived(known, observations.n_users)
            return
        found[k] = yield from alone.weigh(observations, chains[groups[k]], bits[groups[k]])
        checkpoint.keep_soon(lambda: {name: _record(*found[k])})

    tasks = [weighing(k) for k in range(len(groups))]
    run_together(TITLE, tasks, STEPS, at_once, sampler.show)
    weighed, covariances = zip(*found, strict=True)
    return Kept(
        [users.pmf for _ in bits[0] for users in weighed],
        [np.hstack(drawn[group]) for drawn in zip(*bits, strict=True) for group in groups],
        n_together,
        np.array([1.0 / users.precision for users in weighed]),
        np.mean([users.variance for users in weighed], axis=0),
        np.array(covariances),
    )


def _record(users: Weighed, covariance: Floats) -> Record:
    return {**users._asdict(), "covariance": covariance}


def _revived(known: Record, n_users: int) -> tuple[Weighed, Floats]:
    """The users of a group, as they were written."""
    n_events, one_each = len(known["covariance"]), np.empty(n_users)
    users = Weighed(
        plain_pmf(known["pmf"], np.empty((n_users, n_events))),
        plain(known["precision"], one_each),
        plain(known["variance"], one_each),
    )
    return users, plain(known["covariance"], np.empty((n_events, n_events)))
