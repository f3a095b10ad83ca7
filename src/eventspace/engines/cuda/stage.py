"""A descent on the device: table and PMFs stay there, codes and a few sums come and go."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Bits, Floats, Positions, Seeds
from eventspace.engines.cuda import search
from eventspace.engines.cuda.device import Room, blocks_for, cuda, to_device, to_host
from eventspace.engines.cuda.gram import (
    as_fixed,
    columns_for,
    expand,
    form_quadratics,
    form_sums,
    sums_for,
)
from eventspace.engines.cuda.settle import make_solve_counted, make_solve_summed, threads_for
from eventspace.engines.cuda.tables import DeviceTable, Part, Segments
from eventspace.engines.cuda.totals import column_sums
from eventspace.engines.protocol import Indicators
from eventspace.indicators import Exact

MOST_EVENTS = 32  # as many as a code has bits on the device
MANY = 4096  # entries of a user: with more, warps share them


class Work(NamedTuple):
    """What is done with some rows of a part, on the device: it is the same in every iteration."""

    rows: Any
    segments: Segments | None

    @classmethod
    def with_segments(cls, table: DeviceTable, rows: Positions, stream: Any) -> Work:
        """Rows whose sums ``gram`` forms."""
        segments = Segments.of(table.ptr[rows], table.ptr[rows + 1])
        return cls(to_device(rows, stream), segments.to_device(stream))


@dataclass
class DeviceStage:
    """The PMFs are held twice: the old and the new, which change places when all are solved."""

    by_user: DeviceTable
    by_item: DeviceTable
    solver: Any  # of the indicator step
    indicator_penalty: float
    pmf_solver: Any
    pmf_penalty: float
    pmf: Any  # users x events; then on the device, with whole tiles of columns
    n_threads: int
    stream: Any
    new: Any = field(init=False)
    fixed: Any = field(init=False)  # the PMFs again, in fixed point
    new_fixed: Any = field(init=False)
    ends: Any = field(init=False)  # of each user: squared error and duality gap
    new_ends: Any = field(init=False)
    rated: Bits = field(init=False)

    def __post_init__(self) -> None:
        n_users, self.n_events = self.pmf.shape
        wide = np.zeros((n_users, columns_for(self.n_events)))
        wide[:, : self.n_events] = self.pmf
        self.fixed = to_device(as_fixed(self.pmf, self.n_events), self.stream)
        self.pmf, self.new = to_device(wide, self.stream), to_device(wide, self.stream)
        self.new_fixed = cuda.device_array_like(self.fixed)
        ends = np.column_stack([np.zeros(n_users), np.full(n_users, np.inf)])
        self.ends, self.new_ends = to_device(ends, self.stream), to_device(ends, self.stream)
        self.rated = np.diff(self.by_user.ptr) > 0
        self.counted = to_device(self.rated, self.stream)
        self.everyone = to_device(np.ones(n_users, np.bool_), self.stream)
        self._work: dict[Any, Any] = {}
        self.room = Room(self.stream)

    def update_indicators(self, codes: NDArray[Any], seeds: Seeds) -> Indicators:
        """Improve every item's code, given the PMFs."""
        n_items = len(codes)
        found = Indicators(codes.copy(), np.empty(n_items), np.ones(n_items, np.bool_))
        enumerated = isinstance(self.solver, Exact) and self.n_events <= search.MOST_EVENTS
        for part in self.by_item.parts(self.stream, sums_for(self.n_events)):
            rows = np.arange(part.rows.start, part.rows.stop)
            if enumerated:
                rows = rows[self._search(part, rows, found)]
            if rows.size:
                self._solve_here(part, rows, found, seeds)
        return found

    def _search(self, part: Part, rows: Positions, found: Indicators) -> Bits:
        """Try every code of some items; gives which are left to the solver."""
        key = "items", part.rows.start
        if key not in self._work:
            self._work[key] = Work.with_segments(self.by_item, rows, self.stream)
        S, v, e = self.quadratics(part, self._work[key], self.fixed)
        codes, cost = (
            self.room.copy("codes", found.codes[rows]),
            self.room.array("cost", v.shape[:1]),
        )
        ends = self.room.array("ends", v.shape[:1], np.uint8)
        kernel, n_threads = search.make_search(self.n_events), search.threads_for(self.n_events)
        kernel[len(rows), n_threads, self.stream](
            S, v, e, self.indicator_penalty, codes, cost, ends
        )
        found.codes[rows] = to_host(codes, self.stream)
        found.cost[rows] = to_host(cost, self.stream)
        return np.asarray(to_host(ends, self.stream) == search.OPEN)

    def _solve_here(self, part: Part, rows: Positions, found: Indicators, seeds: Seeds) -> None:
        """Leave some items to the solver of this process, with sums from PMFs in float64."""
        work = Work.with_segments(self.by_item, rows, self.stream)
        on_device = self.quadratics(part, work, self.pmf)
        S, v, e = (to_host(array, self.stream) for array in on_device)
        v -= 0.5 * self.indicator_penalty
        codes, seeds = found.codes[rows], seeds[rows]

        def solve(some: Positions) -> None:
            mine = codes[some]
            cost, proved = self.solver(S[some], v[some], e[some], mine, seeds[some])
            found.codes[rows[some]] = mine
            found.cost[rows[some]], found.proved[rows[some]] = cost, proved

        pieces = np.array_split(np.arange(len(rows)), min(4 * self.n_threads, len(rows)))
        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(solve, pieces))

    def quadratics(self, part: Part, work: Work, factors: Any) -> tuple[Any, Any, Any]:
        """S, v and e of some items, on the device."""
        given = work.segments, part, factors, self.n_events, self.room
        sums = form_sums(*given, weighted=self.by_item.weighted)
        return form_quadratics(work.segments, sums, self.n_events, self.room)

    def update_pmfs(self, codes: NDArray[Any], centre: Floats) -> float:
        """Improve every user's PMF; gives the squared error."""
        numbers = [self.pmf_penalty, self.pmf_solver.tol, self.pmf_solver.max_steps]
        few = self.room.copy("centre", centre), self.room.copy("numbers", np.array(numbers, float))
        shared = *few, self.pmf, self.new, self.new_fixed, self.new_ends
        sets = self.room.copy("codes", codes)
        n_sums = sums_for(self.n_events) if self.by_user.weighted else 0
        for part in self.by_user.parts(self.stream, n_sums):
            summed, counted = self._users(part.rows)
            if summed is not None:
                psi = expand(sets, self.n_events, self.room)
                given = summed.segments, part, psi, self.n_events, self.room
                sums = form_sums(*given, weighted=self.by_user.weighted)
                n_threads = threads_for(self.n_events, False)
                n_blocks = blocks_for(len(summed.rows), n_threads)
                solve = make_solve_summed(self.n_events)[n_blocks, n_threads, self.stream]
                solve(summed.rows, summed.segments.first, sums, *shared)
            if counted is not None:
                n_threads = threads_for(self.n_events, True)
                n_blocks = blocks_for(len(counted.rows), n_threads)
                solve = make_solve_counted(self.n_events)[n_blocks, n_threads, self.stream]
                entries = self.by_user.on_device, part.offset, part.index, part.value
                solve(counted.rows, *entries, sets, *shared)
        error = column_sums(self.new_ends, self.everyone, np.zeros(1), False, self.stream)
        self.pmf, self.new = self.new, self.pmf
        self.fixed, self.new_fixed = self.new_fixed, self.fixed
        self.ends, self.new_ends = self.new_ends, self.ends
        return float(error[0])

    def _users(self, rows: slice) -> tuple[Any, Any]:
        """The work with users whose sums ``gram`` forms, and with those who are counted."""
        key = "users", rows.start
        if key not in self._work:
            sizes = np.diff(self.by_user.ptr[rows.start : rows.stop + 1])
            # threads of a warp wait for the longest of their rows: those of like length go together
            order = np.argsort(-sizes, kind="stable")
            n_summed = len(order) if self.by_user.weighted else int((sizes > MANY).sum())
            summed, counted = order[:n_summed] + rows.start, order[n_summed:] + rows.start
            self._work[key] = (
                Work.with_segments(self.by_user, summed, self.stream) if summed.size else None,
                Work(to_device(counted, self.stream), None) if counted.size else None,
            )
        summed_work, counted_work = self._work[key]
        return summed_work, counted_work

    def centre(self, prior: str) -> Floats:
        """The point towards which the penalty draws the PMFs."""
        zero = np.zeros(self.n_events)
        if prior != "mean" or not self.rated.any():
            return zero
        sums = column_sums(self.pmf, self.counted, zero, False, self.stream)
        return np.asarray(sums / self.rated.sum())

    def spread(self, centre: Floats) -> float:
        """The sum of ``|theta_u - centre|^2`` over the users with ratings."""
        return float(column_sums(self.pmf, self.counted, centre, True, self.stream).sum())

    def pmfs(self) -> tuple[Floats, Floats]:
        """The PMFs, users x events, and the duality gap of each user's last solve."""
        pmf, ends = to_host(self.pmf, self.stream), to_host(self.ends, self.stream)
        return np.ascontiguousarray(pmf[:, : self.n_events]), np.ascontiguousarray(ends[:, 1])
