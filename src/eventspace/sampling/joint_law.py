"""PMFs over the events of several chains at once: each user weighs all of them.

Every chain finds its own events, and a plain mean of chains trusts them all equally, for every
user. Here the events of several chains form one model. The chance psi_id of a bit of item i is the
share of the chain's draws that have it. theta_u has a normal law around its centre, with a learnt
covariance. p_ui has noise of precision tau_u, which is learnt too. Learning is by EM, in closed
forms. The expected theta_u may have some negative mass, so the PMF whose predictions are nearest
to its own, over all items, is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from eventspace._base.progress import bar
from eventspace._base.threads import one_blas_thread, run_together
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.protocol import Engine
from eventspace.pmf import Pairwise
from eventspace.sampling.draw_pmfs import TINY, one_each
from eventspace.sampling.expect_theta import expect_all, sum_and_expect
from eventspace.sampling.priors.noise import SHAPE, NoisePrior

MOST_EVENTS = 64  # of chains that are weighed together, but for two: more predict no better
LEAST_USERS = 4  # for each of these events, or their law cannot be learnt
LEAST_RATINGS = 20  # of a user, in the mean: with ten, what is learnt is a law of the noise
STEPS = 4  # of EM: more of them fit the noise, too
IMAGINED = 0.1  # the squared deviations of all users together have this much more, in any direction
MOST_PRECISION = 1e6  # of the noise: what is left open beside it is none
NEAREST = Pairwise(1e-4)  # of a mean square: predictions may be a hundredth away
BLOCKS = 64  # of users, one after the other in each, whatever the number of threads
AT_A_TIME = 8  # users, whose quadratics are held
AT_ONCE = 32  # users, whose predictions are
ENOUGH_ITEMS = 4000  # for those; more than twice as many are thinned out
TITLE = "users weigh all events"  # of the progress bar


def together(n_chains: int, n_events: int, by_user: Entries) -> int:
    """How many chains users weigh at a time, all in groups of this size; one: none is weighed."""
    counts = by_user.counts()
    counts = counts[counts > 0]
    if not counts.size or counts.mean() < LEAST_RATINGS:
        return 1
    most = min(max(MOST_EVENTS, 2 * n_events), len(counts) // LEAST_USERS) // n_events
    return max(k for k in range(1, n_chains + 1) if k == 1 or (k <= most and n_chains % k == 0))


class Weighed(NamedTuple):
    """What is known of users given the events."""

    pmf: Floats  # users x events
    precision: Floats  # of each user's noise
    variance: Floats  # of a user's predictions, which the ratings leave open: mean over the items


class Expected(NamedTuple):
    """What the law of theta expects: its mean for each user, and squares."""

    theta: Floats  # users x events
    covariance: Floats  # events x events: the sum over the users
    error: Floats  # the squared error of each user's ratings
    variance: Floats  # of each user's predictions, mean over the items


@dataclass(frozen=True)
class ExpectTheta:
    """A step of an engine: the normal laws of some users' theta, given their ratings."""

    A: Floats  # the inverse of the covariance beforehand
    square: Floats  # events x events: the mean of psi psi' over the items

    def __call__(self, Q: Any, r: Any, e: Any, *rows: Any) -> Floats:
        """Write means, expected squared errors and variances; give the sum of the covariances."""
        total = np.zeros_like(self.A)
        expect_all(one_each(Q, len(r)), r, e, self.A, self.square, total, *rows)
        return total

    @property
    def row_by_row(self) -> Any:
        """The same with the sums."""
        return partial(sum_and_expect, A=self.A, square=self.square)


@dataclass
class Joint:
    """Some users' ratings, and the events of several chains."""

    by_user: Entries
    counts: Floats  # of each user: how many observations the ratings are worth
    indicators: Floats  # items x events: the chance of each bit
    engine: Engine
    show: bool | None  # a progress bar
    _doubt: Floats = field(init=False)  # users x events: what a bit's variance adds to the squares

    def __post_init__(self) -> None:
        by_user, psi = self.by_user, self.indicators
        self._rated = by_user.rated
        weight = by_user.weight if by_user.weight.size else np.ones(by_user.index.size, np.float32)
        self._entries = by_user._replace(weight=weight)
        doubt, shape = psi * (1 - psi), (len(self.counts), len(psi))
        if by_user.missing.size:
            weight = weight - by_user.missing[by_user.index].astype(np.float32)
        weights = sparse.csr_array((weight, by_user.index, by_user.ptr), shape=shape)
        self._doubt = np.asarray(weights @ doubt)
        if by_user.missing.size:
            self._doubt += by_user.missing @ doubt
        self._square = psi.T @ psi / len(psi) + np.diag(doubt.mean(axis=0))

    def learn(
        self, theta: Floats, precision: Floats, centres: Callable[[Floats], Floats]
    ) -> Generator[int, None, tuple[Weighed, Floats]]:
        """PMFs, and the covariance of their law; ``centres`` says where theta is expected.

        After each of STEPS it tells how many are done.
        """
        n_events = theta.shape[1]
        left_open = IMAGINED / n_events * np.eye(n_events)
        squares = left_open
        for step in range(STEPS):
            law = NoisePrior.around(precision[self._rated])
            expected = centres(theta)
            apart = (theta - expected)[self._rated]
            covariance = (apart.T @ apart + squares) / len(apart)
            found = self.expect(covariance, expected, precision)
            theta, squares = found.theta, found.covariance + left_open
            precision = self._precision(found.error, law)
            yield step + 1
        return Weighed(self.nearest(theta), precision, found.variance), covariance

    def settle(self, covariance: Floats, centres: Floats, law: NoisePrior) -> Weighed:
        """PMFs and noise of users whose laws are known."""
        precision = np.full(len(centres), law.mean)
        with one_blas_thread(), bar(TITLE, STEPS, self.show) as update:
            for step in range(STEPS):
                found = self.expect(covariance, centres, precision)
                precision = self._precision(found.error, law)
                update(step + 1, "")
        return Weighed(self.nearest(found.theta), precision, found.variance)

    def _precision(self, error: Floats, law: NoisePrior) -> Floats:
        """The mean of each user's Gamma law, given the squared error."""
        precision = (SHAPE + self.counts / 2) / (law.rate + np.maximum(error, 0.0) / 2)
        return np.asarray(np.minimum(precision, MOST_PRECISION))

    def expect(self, covariance: Floats, centres: Floats, precision: Floats) -> Expected:
        """The mean of theta of each user, given the ratings, and what follows from its law."""
        A = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        theta = np.empty_like(centres)
        error, variance = np.empty(len(centres)), np.empty(len(centres))
        rows = (self._rated, self._doubt, precision, centres @ A, theta, error, variance)
        step = ExpectTheta(A, self._square)
        total = self.engine.run(step, self._entries, self.indicators, *rows, at_a_time=AT_A_TIME)
        return Expected(theta, total, error, variance)

    def nearest(self, theta: Floats) -> Floats:
        """The PMFs whose predictions are nearest to those of theta, kept within 0 and 1.

        Thousands of items say as much about which PMF that is as more of them would.
        """
        psi = self.indicators[:: max(len(self.indicators) // ENOUGH_ITEMS, 1)]
        gram, pmf = psi.T @ psi / len(psi), np.maximum(theta, TINY)
        pmf /= pmf.sum(axis=1, keepdims=True)

        def block(users: slice) -> Generator[int, None, None]:
            for first in range(users.start, users.stop, AT_ONCE):
                rows = slice(first, min(first + AT_ONCE, users.stop))
                wanted = np.clip(theta[rows] @ psi.T, 0, 1)
                NEAREST(gram[None], wanted @ psi / len(psi), pmf[rows])
                yield rows.stop - users.start

        ends = np.linspace(0, len(theta), BLOCKS + 1).astype(int).tolist()
        tasks = [block(slice(*two)) for two in pairwise(ends)]
        run_together(TITLE, tasks, -(-len(theta) // BLOCKS), self.engine.n_threads, self.show)
        return pmf
