"""New users and items in a draw that is there already: drawn given all that it says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eventspace.folding import News
from eventspace.gibbs.chain import NOISE_SHAPE, Chain, spread
from eventspace.gibbs.indicators import draw_indicators
from eventspace.gibbs.pmf import draw_pmfs, draw_precisions
from eventspace.gibbs.priors import as_normal

Floats = NDArray[np.float64]

PRIOR_STEPS = 5  # until the regressions of the bits have settled, from zero
SWEEPS = 40  # over the new users, then over the new items


@dataclass
class Folding(Chain):
    """A chain on all observations in which what was known stays as it is."""

    new: News = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rated_users[self.new.n_users :] = False
        self._rated_items[self.new.items] = False

        # what a new item is like is not known yet: like the mean, it speaks for no event
        self.indicators[self.new.items] = self.indicators[self._rated_items].mean(axis=0)

    def know(self, precision: Floats) -> None:
        """Take over the precision of the known users."""
        first = self.new.n_users
        self.precision[:first] = precision
        self.noise_rate = NOISE_SHAPE / float(precision[self._rated_users[:first]].mean())

    def draw_users(self) -> None:
        """The new users, who have rated known items."""
        first = self.new.n_users
        if first == len(self.pmf):
            return
        by_user = self.new.entries.by_user.rows(first)
        pmf, precision, seeds = self.pmf[first:], self.precision[first:], self._user_seeds[first:]
        expected, n_rated = self.pseudo_counts()[first:], np.diff(by_user.ptr).astype(float)
        pmf[:] = expected / expected.sum(axis=1, keepdims=True)
        A_start, b_start = as_normal(self.concentration, pmf)
        precise = NOISE_SHAPE / self.noise_rate

        def step(rows: slice, Q: Floats, r: Floats, energy: Floats) -> None:
            theta, of = pmf[rows], seeds[rows]
            if len(Q) < len(theta):  # a full table has one Q for all
                Q = np.repeat(Q, len(theta), axis=0)
            self.engine.pmf_solver(precise * Q + A_start, precise * r + b_start[rows], theta)
            theta[:] = spread(theta)
            for _ in range(SWEEPS):
                tau = draw_precisions(
                    Q, r, energy, n_rated[rows], theta, NOISE_SHAPE, self.noise_rate, of
                )
                draw_pmfs(Q * tau[:, None, None], r * tau[:, None], expected[rows], theta, of)
            precision[rows] = tau

        self.engine.each_chunk(by_user, self.indicators, step)

    def new_log_odds(self) -> Floats:
        """The prior of the bits of the new items."""
        if not self.new.items.size:
            return np.empty((0, self.pmf.shape[1]))
        for _ in range(PRIOR_STEPS):
            log_odds = self.log_odds()
        return np.asarray(log_odds[self.new.items])

    def draw_items(self, log_odds: Floats) -> None:
        """The new items, which known users have rated, given the prior of their bits."""
        if not self.new.items.size:
            return
        by_item = self.new.entries.by_item.taken(self.new.items)
        weight = self.precision[by_item.index].astype(np.float32)
        if by_item.weight.size:
            weight *= by_item.weight
        bits, seeds = (log_odds > 0).astype(np.float64), self._item_seeds[self.new.items]

        def step(rows: slice, S: Floats, v: Floats, energy: Floats) -> None:
            v += log_odds[rows]
            for _ in range(SWEEPS):
                draw_indicators(S, v, bits[rows], seeds[rows])

        self.engine.each_chunk(by_item._replace(weight=weight), self.pmf, step)
        self.indicators[self.new.items] = bits
