"""The sums over the entries of one row, whatever its factors are: numbers, or sets as codes."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from eventspace.engines.bit_sums import room_for_bits, sum_bits
from eventspace.engines.gram import sum_up


def room_for(factors: Any, n_events: int) -> Any:
    """What ``sum_row`` needs to work with."""
    return room_for_bits(n_events) if factors.ndim == 1 else None


def sum_row(
    start: int,
    stop: int,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    room: Any,
    G: Any,
    h: Any,
) -> float:
    """Fill G and h with the sums over some entries; give e. Codes are for entries without weights.

    It is ``gram.sum_up`` or ``bit_sums.sum_bits``, which kernels need not know.
    """
    if factors.ndim == 1:
        return sum_bits(start, stop, index, value, factors, room, G, h)
    return sum_up(start, stop, index, value, weight, factors, G, h)


@overload(room_for)
def _room_for(factors: Any, n_events: Any) -> Any:
    def of_sets(factors: Any, n_events: Any) -> Any:
        return room_for_bits(n_events)

    def of_numbers(factors: Any, n_events: Any) -> Any:
        return None

    return of_sets if factors.ndim == 1 else of_numbers


@overload(sum_row)
def _sum_row(
    start: Any,
    stop: Any,
    index: Any,
    value: Any,
    weight: Any,
    factors: Any,
    room: Any,
    G: Any,
    h: Any,
) -> Any:
    def of_sets(
        start: Any,
        stop: Any,
        index: Any,
        value: Any,
        weight: Any,
        factors: Any,
        room: Any,
        G: Any,
        h: Any,
    ) -> Any:
        return sum_bits(start, stop, index, value, factors, room, G, h)

    def of_numbers(
        start: Any,
        stop: Any,
        index: Any,
        value: Any,
        weight: Any,
        factors: Any,
        room: Any,
        G: Any,
        h: Any,
    ) -> Any:
        return sum_up(start, stop, index, value, weight, factors, G, h)

    return of_sets if factors.ndim == 1 else of_numbers
