"""What an engine does, and what it is given.

All learning here is the same work: for each row k of a table, with f_t the row of ``factors`` that
entry t points to, form the quadratic of its least squares,

    x'Gx - 2h'x + e,   G = sum_t w_t f_t f_t',   h = sum_t w_t p_t f_t,   e = sum_t w_t p_t^2,

and do something with it: solve it, or draw from it. For items the factors are PMFs (S_i, v_i), for
users they are indicators (Q_u, r_u). A step is a value with a few numbers. It is called with the
quadratics of some rows and with the same rows of some arrays. It changes these in place and nothing
else, so rows can be processed in any order, anywhere, and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Event as Signal
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import numbers
from eventspace._base.types import Bits, Codes, Floats, Seeds
from eventspace.data.entries import Entries
from eventspace.engines.aside import Aside

T = TypeVar("T")


class Product(NamedTuple):
    """A full table that is never held: row k has the values ``right @ left[k]``."""

    left: Floats  # rows x factors
    right: Floats  # columns x factors
    energy: Floats  # of each row: the weighted sum of squares of its values
    weight: Floats  # of each column, the same in every row

    @property
    def rated(self) -> Bits:
        """Which rows have any entries: all."""
        return np.ones(len(self.left), dtype=np.bool_)


class Sums(NamedTuple):
    """A table of which only the quadratics are there: their sums were formed elsewhere."""

    packed: Floats  # a row for each of the table's, as ``gram.packed_equations`` fills them


Table = Entries | Product | Sums
ROOM = 7, 16  # real numbers that a kernel of one row may write on: for each event, and besides


class Sets(NamedTuple):
    """Indicators as factors, a code of one word for each item."""

    codes: Codes
    n_events: int

    @property
    def shape(self) -> tuple[int, int]:
        """As that of the numbers: items x events."""
        return len(self.codes), self.n_events

    @property
    def numbers(self) -> Floats:
        """The indicators as numbers."""
        return numbers(self.codes, self.n_events)


Factors = NDArray[Any] | Sets


class Step(Protocol):
    """What is done with the quadratics of some rows, given the same rows of some arrays."""

    def __call__(self, G: Floats, h: Floats, e: Floats, /, *rows: Any) -> Floats | None:
        """Change the rows in place. G, h and e may be overwritten.

        G has one matrix per row, or a single one if all rows share it. Return values are summed.

        A step may have an attribute ``row_by_row`` besides: a kernel that forms the quadratics
        itself, one after the other (``row_sums.sum_row``). It gets ptr, index, value, weight, the
        padded factors or codes, and D, then the rows, and does the same. None: it has none.

        A step may have ``of_one_row``, too: a kernel of a single row, how many of the arrays it
        only reads, and some numbers. It gets the row's place, its G, h and e, two arrays to write
        on (a whole number for each event, and ``ROOM`` real ones), the rows, and the numbers.
        A GPU compiles it for itself.

        If it has ``of_column``, the weights of entries are multiplied by their columns' numbers.
        """


class Observed(Protocol):
    """A table in both orders: observations, or an average's predictions."""

    @property
    def by_user(self) -> Entries | Product:
        """A row for each user."""

    @property
    def by_item(self) -> Entries | Product:
        """A row for each item."""


class Indicators(NamedTuple):
    """What an indicator step gives: codes, each item's cost, and which are proved least."""

    codes: NDArray[Any]
    cost: Floats
    proved: Bits


class Stage(Protocol):
    """Where a descent takes place: a table on a machine, with the PMFs of its users.

    The descent itself sees codes, a few sums and, at its end, the PMFs. So these can stay where
    they are solved: in the memory of this process, of a GPU, or of the workers of a cluster. A
    half-step changes them as a whole, or not at all.
    """

    def update_indicators(self, codes: NDArray[Any], seeds: Seeds) -> Indicators:
        """Improve every item's code, given the PMFs."""

    def update_pmfs(self, codes: NDArray[Any], centre: Floats) -> float:
        """Improve every user's PMF; gives the squared error."""

    def centre(self, prior: str) -> Floats:
        """The point towards which the penalty draws the PMFs."""

    def spread(self, centre: Floats) -> float:
        """The sum of ``|theta_u - centre|^2`` over the users with ratings."""

    def pmfs(self) -> tuple[Floats, Floats]:
        """The PMFs, users x events, and the duality gap of each user's last solve."""


class Job(Protocol):
    """A long task that keeps to itself, and that can be sent elsewhere."""

    found: Any  # what it has found so far

    def steps(self) -> Iterator[int]:
        """Go on to the end, and tell after each step how many are done."""


class Engine(Protocol):
    """A machine."""

    @property
    def n_threads(self) -> int:
        """Threads of this process that it uses, and that others may use meanwhile."""

    def with_threads(self, n_threads: int) -> Engine:
        """The same machine, with ``n_threads`` threads: one for each of several tasks."""

    def run(
        self,
        step: Step,
        table: Table,
        factors: Factors,
        *rows: NDArray[Any],
        at_a_time: int | None = None,
    ) -> Any:
        """Do the step for every row of a table; gives the sum of what the step returns.

        Factors of 32 bits are multiplied, and added up a few at a time, in 32 bits. The arrays
        ``rows`` have a row for each of the table's. ``at_a_time`` is the number of quadratics that
        are held and handed over at once, where these are large. Neither the result nor the order
        of the sum depends on the number of threads.
        """

    def stage(self, steps: Any, observed: Observed, pmf: Floats) -> Stage | None:
        """The stage of a descent with these half-steps from these PMFs; None: in this process."""

    def abreast(self, observed: Observed, n_events: int, n_attributes: int) -> int | None:
        """How many chains run side by side, as one job that has the machine for itself.

        They are told ``n_attributes`` of each user, or item, at the most.
        None: each chain is a job, and several jobs run at a time.
        """

    def workbench(self, observed: Observed, n_events: int) -> Any:
        """The :class:`Workbench` of a chain that learns from this table."""

    def together(
        self,
        title: str,
        jobs: Sequence[Job],
        length: int,
        show: bool | None,
        take: Callable[[int, Any], None] = lambda k, found: None,
        stop: Signal | None = None,
    ) -> None:
        """Run jobs of ``length`` steps to their ends, several at a time, under one progress bar.

        They end early if ``stop`` is set.
        ``take`` is told the number of each job that has ended, and what it has found. Ctrl-C, or an
        error in one, stops them all: what there is of each is then in its ``found``.
        """

    def aside(self, task: Callable[[bool | None, Signal], T], show: bool | None) -> Aside[T]:
        """Do a task that needs cores only.

        If the cores have nothing else to do, it goes on meanwhile, and shows no progress bar beside
        another: the task is told whether to show one, and looks at a signal to stop.
        """

    def close(self) -> None:
        """Let go of all that it holds: nothing more is learnt on it."""
