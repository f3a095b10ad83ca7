"""An average compressed: one model with few events that predicts nearly what many models predict.

The table of an average's predictions is never held: a product of low rank stands for it. A cell's
weight grows with the ratings of its user and of its item. Such weights factor, so all items share
one quadratic, and all users another.

Events are added one by one, along the direction in which most is left unsaid. After each, the
descent goes on. That ends lower than descents from random PMFs, with fewer events per user, and
depends on nothing but the table. Among models that predict alike, clear ones are preferred: the
cost of a user's PMF falls with its sum of squares. Bits that hardly matter stay as they were in the
model that the descent began with, so that two descents from one beginning end alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.codes import WORD, pack, unpack
from eventspace._base.records import plain_codes, plain_pmf, plain_whole
from eventspace._base.types import Bits, Codes, Floats
from eventspace.engines.protocol import Engine, Product
from eventspace.fitting.half_steps import Pmfs, PmfStep
from eventspace.indicators import Exact, Local
from eventspace.pmf import Pairwise

RANK, SPARE, POWERS = 64, 10, 2  # of the low-rank product, and of the iteration that finds it
CLEAR = 0.08  # what a unit of a PMF's sum of squares is worth, in variances of the noise
KEPT = 1.4e-3  # what each bit is worth that stays as it was, in the same unit
AFTER_EACH, AT_THE_END = 3, 80  # iterations, at most
TOL = 1e-4  # an iteration that lowers the cost by a smaller part of it is the last
MORE, TRIED = 2, 128  # events that are grown beyond those wanted, users on whom one is left out
EXACT_STEPS = 10  # at most, until no set changes
ROUNDING = 1e-12  # of the energy: less than this is nothing
NO_SIDE = 1e-9  # of the largest part of a direction: below it the sign is that of rounding
FLIPS = Local(1)  # from where the sets are
SOLVER, NEARLY = Exact(), Pairwise(1e-5)


class Part(NamedTuple):
    """One of the models that are averaged: PMFs over its events, and the chance of each bit."""

    pmf: Floats  # users x events
    chances: Floats  # items x events
    noise: float  # the variance of observations around their chances, mean over the users


class Target(NamedTuple):
    """Weighted predictions of every cell, in both orders."""

    by_user: Product
    by_item: Product

    @classmethod
    def of(cls, parts: Sequence[Part], of_user: Floats, of_item: Floats) -> Target:
        """What the mean of the parts predicts, with the weights of users and items."""
        pmf = np.hstack([part.pmf for part in parts]) / len(parts)
        indicators = np.hstack([part.chances for part in parts])
        root_u, root_i = np.sqrt(of_user)[:, None], np.sqrt(of_item)[:, None]
        u, s, v = low_rank(pmf * root_u, indicators * root_i)
        A, B = u * s / root_u, v / root_i
        return cls(
            Product(A, B, np.square(u * s).sum(axis=1) / of_user, of_item),
            Product(B, A, np.square(v * s).sum(axis=1) / of_item, of_user),
        )

    def left_unsaid(self, pmf: Floats, indicators: Floats) -> tuple[float, Floats]:
        """The largest singular value of what a model lacks of it, and its direction over items.

        With L = [A, -theta] and R = [B, psi] what is lacking is LR'; the squares of its singular
        values are the eigenvalues of R'R L'L, small matrices.
        """
        A, B, _, of_item = self.by_user
        of_user = self.by_item.weight
        L, R = np.hstack([A, -pmf]), np.hstack([B, indicators])
        values, vectors = np.linalg.eigh((R * of_item[:, None]).T @ R)
        kept = values > ROUNDING * values[-1]
        half = vectors[:, kept] * np.sqrt(values[kept])
        squares, directions = np.linalg.eigh(half.T @ ((L * of_user[:, None]).T @ L) @ half)
        x = vectors[:, kept] @ (directions[:, -1] / np.sqrt(values[kept]))
        return float(np.sqrt(max(squares[-1], 0.0))), R @ x


def low_rank(left: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """The first singular vectors and values of ``left @ right.T``, by iterating a subspace."""
    rank = min(RANK, len(left), len(right))
    n = min(rank + SPARE, len(left), len(right))
    Y = left @ (right.T @ np.random.default_rng(0).normal(size=(len(right), n)))
    for _ in range(POWERS):
        Y = left @ (right.T @ (right @ (left.T @ np.linalg.qr(Y)[0])))
    Q = np.linalg.qr(Y)[0]
    u, s, vt = np.linalg.svd((Q.T @ left) @ right.T, full_matrices=False)
    return Q @ u[:, :rank], s[:rank], vt[:rank].T


class Compressed(NamedTuple):
    """A model: PMFs, sets, which of these are proved optimal, and how near it is to its target."""

    pmf: Floats
    codes: Codes
    proved: Bits  # of items: whether the set is optimal
    loss: float  # the weighted root mean square of what it lacks


@dataclass(frozen=True)
class SolveSets:
    """A step of an engine: sets of some items, in which bits that stay as they were cost less."""

    solver: Exact | Local
    worth: float

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Any, proved: Any, seeds: Any, was: Any
    ) -> None:
        """Improve the codes; ``was`` is 1 and -1 for bits that were and were not set, 0 if open."""
        v += 0.5 * self.worth * was
        energy += self.worth * (was > 0).sum(axis=1)  # a constant, without which a cost is below 0
        _, proved[:] = self.solver(S, v, energy, codes, seeds)


@dataclass(frozen=True)
class Compression:
    """The descent to a target, on an engine."""

    target: Target
    engine: Engine
    noise: float  # the variance of observations: what two models differ by beside it is little
    before: Codes | None = None  # sets that are kept where it hardly matters

    def growing(
        self, n_events: int, pmf: Floats, codes: Codes, checkpoint: Checkpoint = NOWHERE
    ) -> Iterator[tuple[Floats, Codes]]:
        """PMFs and sets of ever more events, one by one, to ``n_events`` at the end.

        A few more come than are wanted, and those that matter least go again: what was needed at
        first, such as an event in which all items come true, may be superseded. It goes on from
        where the checkpoint is.
        """
        name, enough = f"grown to {n_events}", False
        known = checkpoint.read(name)
        if known is not None:
            with checkpoint.reviving():
                enough = bool(known["enough"])
                width = plain_whole(known["pmf"].shape[1], WORD)
                pmf = plain_pmf(known["pmf"], np.empty((len(pmf), width)))
                codes = plain_codes(known["codes"], codes, width)
            yield pmf, codes

        def keep() -> None:
            state = {"pmf": pmf, "codes": codes, "enough": enough}
            checkpoint.keep(name, lambda: {name: state})

        while not enough and pmf.shape[1] < min(n_events + MORE, WORD):
            pmf, codes = self.settled(*self._with_another(pmf, codes), AFTER_EACH)
            keep()
            yield pmf, codes
        enough = True
        while pmf.shape[1] > n_events:
            pmf, codes = self.settled(*self._without_one(pmf, codes), AFTER_EACH)
            keep()
            yield pmf, codes

    def begun(self, n_events: int) -> tuple[Floats, Codes]:
        """All items and none: with these two events alone, users differ in how much they like."""
        A, B, _, of_item = self.target.by_user
        mean = np.clip(A @ (B.T @ of_item) / of_item.sum(), 0.0, 1.0)
        pmf = np.column_stack([mean, 1.0 - mean]) if n_events > 1 else np.ones((len(A), 1))
        bits = np.column_stack([np.ones(len(B)), np.zeros(len(B))])[:, :n_events] > 0
        return self.settled(pmf, pack(bits)[:, 0], AFTER_EACH)

    def _with_another(self, pmf: Floats, codes: Codes) -> tuple[Floats, Codes]:
        """One more event: the items on one side of what is left unsaid, or on the other.

        Items of which nothing is unsaid are in it if they come true more often than not.
        """
        n = pmf.shape[1]
        bits = unpack(codes[:, None], n)
        wider = np.column_stack([pmf, np.zeros(len(pmf))])
        value, direction = self.target.left_unsaid(pmf, bits.astype(np.float64))
        if value**2 <= ROUNDING * self._energy:
            return wider, codes
        said = np.abs(direction) <= NO_SIDE * np.abs(direction).max()
        often = bits @ pmf.mean(axis=0) > 0.5
        sides = [
            pack(np.column_stack([bits, np.where(said, often, side)]))[:, 0]
            for side in (direction > 0, direction < 0)
        ]
        found = [self._pmfs(wider, side) for side in sides]
        best = int(np.argmin([self._cost(solved) for solved in found]))
        return found[best].pmf, sides[best]

    def _without_one(self, pmf: Floats, codes: Codes) -> tuple[Floats, Codes]:
        """One event less: the one whose mass others take over at the least cost, on some users."""
        n = pmf.shape[1]
        bits = unpack(codes[:, None], n)
        some = slice(None, None, -(-len(pmf) // TRIED))
        by_user, by_item = self.target
        users = by_user._replace(left=by_user.left[some], energy=by_user.energy[some])
        items = by_item._replace(right=by_item.right[some], weight=by_item.weight[some])
        tried = replace(self, target=Target(users, items))

        def without(event: int, rows: Floats) -> tuple[Floats, Codes]:
            rest = np.delete(rows, event, axis=1) + ROUNDING
            rest /= rest.sum(axis=1, keepdims=True)
            return rest, pack(np.delete(bits, event, axis=1))[:, 0]

        costs = [tried._cost(tried._pmfs(*without(event, pmf[some]))) for event in range(n)]
        left = without(int(np.argmin(costs)), pmf)
        return self._pmfs(*left).pmf, left[1]

    def settled(self, pmf: Floats, codes: Codes, n_iter: int = AT_THE_END) -> tuple[Floats, Codes]:
        """Improve sets and PMFs in turn, from here, until the cost no longer falls."""
        before = np.inf
        for _ in range(n_iter):
            codes, _ = self._sets(FLIPS, pmf, codes)
            solved = self._pmfs(pmf, codes)
            pmf, cost = solved.pmf, self._cost(solved)
            if before - cost <= TOL * abs(cost):
                break
            before = cost
        return pmf, codes

    def proved(self, pmf: Floats, codes: Codes) -> Compressed:
        """PMFs and optimal sets, proved so, in turn until no set changes; sets come last."""
        for _ in range(EXACT_STEPS):
            pmf, before = self._pmfs(pmf, codes, Pairwise()).pmf, codes
            codes, proved = self._sets(SOLVER, pmf, codes)
            if np.array_equal(codes, before):
                break
        return Compressed(pmf, codes, proved, self._loss(pmf, codes))

    def _sets(self, solver: Exact | Local, pmf: Floats, codes: Codes) -> tuple[Codes, Bits]:
        """Better sets, and whether they are proved optimal."""
        codes, proved = codes.copy(), np.empty(len(codes), dtype=np.bool_)
        seeds = np.zeros(len(codes), dtype=np.uint64)  # nothing is drawn
        was: Floats = np.zeros((len(codes), pmf.shape[1]))
        if self.before is not None:
            was = np.where(unpack(self.before[:, None], pmf.shape[1]), 1.0, -1.0)
        step = SolveSets(solver, KEPT * self.noise * float(self.target.by_item.weight.sum()))
        self.engine.run(step, self.target.by_item, pmf, codes, proved, seeds, was)
        return codes, proved

    def _pmfs(self, pmf: Floats, codes: Codes, solver: Pairwise = NEARLY) -> Pmfs:
        step = PmfStep(self.engine, solver, -self._clear)
        return step(self.target.by_user, pmf, codes, np.zeros(pmf.shape[1]))

    def _cost(self, solved: Pmfs) -> float:
        squares = np.square(solved.pmf).sum(axis=1)
        return float(self.target.by_item.weight @ (solved.error - self._clear * squares))

    def _loss(self, pmf: Floats, codes: Codes) -> float:
        """The root of the weighted mean square of what a model lacks of the target."""
        A, B, energy, of_item = self.target.by_user
        of_user = self.target.by_item.weight
        psi = unpack(codes[:, None], pmf.shape[1]).astype(np.float64)
        weighted = psi * of_item[:, None]
        error = energy - 2 * np.einsum("ud,ud->u", A @ (B.T @ weighted), pmf)
        error += np.einsum("ud,de,ue->u", pmf, weighted.T @ psi, pmf)
        total = float(of_user @ error) / (of_user.sum() * of_item.sum())
        return float(np.sqrt(max(total, 0.0)))

    @property
    def _clear(self) -> float:
        return CLEAR * self.noise * float(self.target.by_user.weight.sum())

    @property
    def _energy(self) -> float:
        return float(self.target.by_item.weight @ self.target.by_user.energy)
