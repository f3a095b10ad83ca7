"""The two half-steps of the descent: indicators given PMFs (Q2), PMFs given indicators (Q1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eventspace._base.jit import njit
from eventspace._base.types import Bits, Codes, Floats, Seeds
from eventspace.data.entries import Entries
from eventspace.engines.gram import fill_quadratics, n_parts
from eventspace.engines.protocol import Engine, Indicators, Sets, Table
from eventspace.engines.row_sums import room_for, sum_row
from eventspace.indicators.exact import Exact, exact
from eventspace.pmf import Pairwise
from eventspace.pmf.pairwise import room_for_slope, settle
from eventspace.pmf.quadratic import duality_gap, squared_error_of

FEW, MANY = 16, 512  # items whose quadratics are held at a time; if PMFs are summed in parts


class IndicatorSolver(Protocol):
    """One of ``eventspace.indicators``."""

    guarantee: ClassVar[str]

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Codes, seeds: Seeds
    ) -> tuple[Floats, Bits]:
        """Improve the codes in place; give costs, and which are proved least."""


class PmfSolver(Protocol):
    """One of ``eventspace.pmf``."""

    guarantee: ClassVar[str]

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """Improve the PMFs in place; give costs and duality gaps."""


class Pmfs(NamedTuple):
    """What a pmf step gives: PMFs, each user's squared error, and the duality gaps."""

    pmf: Floats
    error: Floats
    gap: Floats


@dataclass(frozen=True)
class SolveIndicators:
    """(Q2) of some items: the cost of item i is its squared error and mu |psi_i|."""

    solver: IndicatorSolver
    penalty: float

    def __call__(
        self, S: Floats, v: Floats, energy: Floats, codes: Any, cost: Any, proved: Any, seeds: Any
    ) -> None:
        """Improve the codes."""
        v -= 0.5 * self.penalty
        cost[:], proved[:] = self.solver(S, v, energy, codes, seeds)

    @property
    def row_by_row(self) -> Any:
        """The same with the sums, where the solver is the usual one."""
        if not isinstance(self.solver, Exact):
            return None
        budget = self.solver.node_budget
        return partial(solve_indicators, penalty=self.penalty, node_budget=budget)


@njit(cache=True, nogil=True)
def solve_indicators(
    ptr: Any,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    n_events: int,
    codes: Any,
    cost: Floats,
    proved: Bits,
    seeds: Any,
    penalty: float,
    node_budget: int,
) -> None:
    """(Q2) of some items, from their entries: sums, penalty and search, a few items at a time."""
    few = MANY if n_parts(factors) > 1 else FEW
    S, v = np.empty((few, n_events, n_events)), np.empty((few, n_events))
    energy, nodes = np.empty(few), np.empty(few, dtype=np.int64)
    for first in range(0, len(codes), few):
        last = min(first + few, len(codes))
        n = last - first
        fill_quadratics(
            ptr[first : last + 1], index, value, weight, factors, S[:n], v[:n], energy[:n]
        )
        v -= 0.5 * penalty
        exact(S[:n], v[:n], energy[:n], codes[first:last], node_budget, cost[first:last], nodes[:n])
        for k in range(n):
            proved[first + k] = nodes[k] >= 0


@dataclass(frozen=True)
class SolvePmfs:
    """(Q1) of some users: the squared error and lambda |theta_u - centre|^2 is minimised."""

    solver: PmfSolver
    penalty: float
    centre: Floats

    def __call__(
        self, Q: Floats, r: Floats, energy: Floats, pmf: Any, error: Any, gap: Any
    ) -> None:
        """Improve the PMFs."""
        own = np.einsum("udd->ud", Q)  # the diagonals, to be written to
        diagonal = own.copy()
        own += self.penalty
        _, gap[:] = self.solver(Q, r + self.penalty * self.centre, pmf)
        # not the cost without the penalty: beside a great one an error is lost in rounding
        squared_errors_of(Q, diagonal, r, energy, pmf, error)

    @property
    def row_by_row(self) -> Any:
        """The same with the sums, where the solver is the usual one."""
        if not isinstance(self.solver, Pairwise):
            return None
        tol, max_steps = self.solver.tol, self.solver.max_steps
        step = partial(solve_pmfs, penalty=self.penalty, centre=self.centre)
        return partial(step, tol=tol, max_steps=max_steps)


@njit(cache=True, nogil=True)
def solve_pmfs(
    ptr: Any,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    n_events: int,
    pmf: Floats,
    error: Floats,
    gap: Floats,
    penalty: float,
    centre: Floats,
    tol: float,
    max_steps: int,
) -> None:
    """(Q1) of some users, from their entries: sums, penalty and solve, one user after the other."""
    slope, room = room_for_slope(n_events), room_for(factors, n_events)
    Q, r = np.empty((slope.size, slope.size)), np.empty(slope.size)
    diagonal, drawn = np.empty(n_events), np.empty(slope.size)
    for u in range(len(pmf)):
        theta = pmf[u]
        energy = sum_row(ptr[u], ptr[u + 1], index, value, weight, factors, room, Q, r)
        for d in range(n_events):
            diagonal[d] = Q[d, d]
            Q[d, d] += penalty
            drawn[d] = r[d] + penalty * centre[d]
        settle(Q, drawn, theta, slope, tol, max_steps)
        gap[u] = duality_gap(slope[:n_events], theta)
        error[u] = squared_error_of(Q, diagonal, r, energy, theta)


@njit(cache=True, nogil=True)
def squared_errors_of(
    Q: Floats, diagonal: Floats, r: Floats, energy: Floats, pmf: Floats, error: Floats
) -> None:
    """The squared error of each user; a single Q stands for all."""
    for u in range(len(pmf)):
        k = min(u, Q.shape[0] - 1)
        error[u] = squared_error_of(Q[k], diagonal[k], r[u], energy[u], pmf[u])


@dataclass(frozen=True)
class FreeIndicators:
    """The indicator step: any set for any item."""

    engine: Engine
    solver: IndicatorSolver
    penalty: float = 0.0  # mu
    free: ClassVar[bool] = True  # an engine with a stage of its own asks for that

    def __call__(
        self, by_item: Table, pmf: Floats, codes: NDArray[Any], seeds: Seeds
    ) -> Indicators:
        """Improve every item's code."""
        n_items = len(codes)
        found = Indicators(codes.copy(), np.empty(n_items), np.empty(n_items, dtype=np.bool_))
        self.engine.run(SolveIndicators(self.solver, self.penalty), by_item, pmf, *found, seeds)
        return found


@dataclass(frozen=True)
class PmfStep:
    """The pmf step."""

    engine: Engine
    solver: PmfSolver
    penalty: float = 0.0  # lambda

    def __call__(self, by_user: Table, pmf: Floats, codes: NDArray[Any], centre: Floats) -> Pmfs:
        """Improve every user's PMF."""
        found = Pmfs(pmf.copy(), np.empty(len(pmf)), np.empty(len(pmf)))
        step = SolvePmfs(self.solver, self.penalty, centre)
        sets = Sets(codes, pmf.shape[1]) if codes.dtype == np.uint64 else codes
        self.engine.run(step, by_user, sets, *found)
        return found


class IndicatorStep(Protocol):
    """``FreeIndicators``, or a constraint."""

    @property
    def penalty(self) -> float:
        """Mu: the cost of each event in an item's set."""

    def __call__(self, by_item: Any, pmf: Floats, codes: NDArray[Any], seeds: Seeds) -> Indicators:
        """Improve every item's code."""


class HalfSteps(NamedTuple):
    """What the descent alternates. ``codes`` may be numbers, items x events, in both."""

    update_indicators: IndicatorStep
    update_pmfs: PmfStep

    @classmethod
    def on(
        cls,
        engine: Engine,
        indicator_solver: IndicatorSolver,
        pmf_solver: PmfSolver,
        indicator_penalty: float = 0.0,
        pmf_penalty: float = 0.0,
    ) -> HalfSteps:
        """Both on one engine, with indicators that are free."""
        return cls(
            FreeIndicators(engine, indicator_solver, indicator_penalty),
            PmfStep(engine, pmf_solver, pmf_penalty),
        )


def new_pmfs(
    update_pmfs: PmfStep, by_user: Entries, codes: NDArray[Any], mean: Floats, prior: str = "mean"
) -> Pmfs:
    """(Q1) for new users, from the population's PMF, which those without ratings keep."""
    centre = mean if prior == "mean" else np.zeros_like(mean)
    start = np.tile(mean, (len(by_user.ptr) - 1, 1))
    solved = update_pmfs(by_user, start, codes, centre)
    solved.pmf[~by_user.rated] = mean
    return solved
