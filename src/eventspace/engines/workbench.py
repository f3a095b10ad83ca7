"""Where the arrays of a chain lie, and what its priors do with them there.

They are NumPy's arrays, or those of a library that takes NumPy's functions, as CuPy's does on a
GPU. So what priors learn is written once, with NumPy's functions. What these cannot do quickly is
asked of the workbench. On the cores each chain is by itself. On a GPU several run side by side, and
the first axis of their arrays says which.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from eventspace._base.codes import pack
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.engines.gram import sums_of_rows, weighted_squares
from eventspace.engines.protocol import Factors, Sets

Held: TypeAlias = Any  # an array on a workbench


class RowKernel(NamedTuple):
    """What is done with each row of some arrays, whatever the others hold."""

    of_one: Any  # of which chain, the row, ``ROOM`` real numbers to write on, then the arrays
    of_all: Any  # the same for all rows of one chain, one after the other


class Workbench(Protocol):
    """Arrays, and what is done with them where they are."""

    def hold(self, array: NDArray[Any]) -> Held:
        """The array, where it is worked on."""

    def fetch(self, array: Held) -> NDArray[Any]:
        """A held array, for NumPy."""

    def numbers(self, of_chain: Any) -> Held:
        """A number, or one for each of several chains, to go with their rows x columns."""

    def each(self, kernel: RowKernel, rows: tuple[Held, ...], of_chain: tuple[Held, ...]) -> None:
        """Do it for every row of some arrays, given arrays that all rows of a chain share."""

    def sums_of_rows(self, entries: Entries, factors: Held) -> Held:
        """The sum of the factors that the entries of each row point to: rows x events."""

    def weighted_squares(self, rows: Held, weights: Held) -> Floats:
        """``sum_k weights[k, d] rows[k] rows[k]'`` for each column d, for NumPy."""

    def sets(self, indicators: Held) -> Factors:
        """Indicators, 0 or 1, as factors for ``Engine.run``."""


class Cores:
    """NumPy's arrays."""

    def hold(self, array: NDArray[Any]) -> NDArray[Any]:
        """The array itself."""
        return array

    def fetch(self, array: NDArray[Any]) -> NDArray[Any]:
        """The array itself."""
        return array

    def numbers(self, of_chain: Any) -> Any:
        """The number."""
        return of_chain

    def each(self, kernel: RowKernel, rows: tuple[Held, ...], of_chain: tuple[Held, ...]) -> None:
        """Do it for one row after the other."""
        kernel.of_all(*rows, *(array[None] for array in of_chain))

    def sums_of_rows(self, entries: Entries, factors: Floats) -> Floats:
        """The sum of the factors that the entries of each row point to: rows x events."""
        return sums_of_rows(entries.ptr, entries.index, factors)

    def weighted_squares(self, rows: Floats, weights: Floats) -> Floats:
        """``sum_k weights[k, d] rows[k] rows[k]'`` for each column d."""
        return weighted_squares(rows, weights)

    def sets(self, indicators: Floats) -> Sets:
        """Packed: bits are counted."""
        return Sets(pack(indicators > 0.5)[:, 0], indicators.shape[1])
