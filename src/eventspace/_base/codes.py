"""Sets of events as bits: an item's indicator packed into 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Codes

WORD = 64
_TABLE = 1 << 22  # numbers: a table of this size is always affordable


def pack(indicators: NDArray[np.bool_]) -> Codes:
    """Codes (items x words) of indicators: event d is bit d % 64 of word d // 64."""
    n_items, n_events = indicators.shape
    n_words = -(-n_events // WORD)
    padded = np.zeros((n_items, n_words * WORD), dtype=np.uint8)
    padded[:, :n_events] = indicators
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack(codes: Codes, n_events: int) -> NDArray[np.bool_]:
    """Indicators, items x events, of codes, items x words."""
    bytes_ = np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)
    bits = np.unpackbits(bytes_, axis=1, count=n_events, bitorder="little")
    return bits.view(np.bool_)


def numbers(psi: NDArray[Any], n_events: int) -> NDArray[np.float64]:
    """psi as numbers, items x events, from codes of one word per item, or from numbers."""
    if psi.dtype == np.uint64:
        psi = unpack(psi[:, None], n_events)
    return psi.astype(np.float64, copy=False)


def inside(lower: Codes, upper: Codes) -> NDArray[np.bool_]:
    """Whether one set lies inside another, along the last axis; one of the two may be many."""
    outside = lower & ~upper
    # a reduction over one word costs much more than the words themselves
    return np.asarray(outside[..., 0] == 0 if outside.shape[-1] == 1 else ~outside.any(axis=-1))


def sizes(codes: Codes) -> NDArray[np.int64]:
    """How many events each set has."""
    return np.asarray(np.bitwise_count(codes).sum(axis=-1, dtype=np.int64))


def masses(codes: Codes, mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mass of each set; events are added in one order, so that no superset has less."""
    if len(codes) * len(mass) <= _TABLE:
        return np.asarray(np.where(unpack(codes, len(mass)), mass, 0.0).sum(axis=1))
    total = np.zeros(len(codes))
    for event, m in enumerate(mass):
        word, bit = divmod(event, WORD)
        total += m * (codes[:, word] >> np.uint64(bit) & np.uint64(1))
    return total
