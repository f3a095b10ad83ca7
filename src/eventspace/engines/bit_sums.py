"""The sums of a user, Q_u and r_u, where the factors are bits: sets are counted, not multiplied.

Of 128 ratings, each event has a slice of 128 bits: whether the rated item comes true in it. How
often two events go together is the number of bits that two slices have in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from eventspace._base.functions import QUICK
from eventspace._base.jit import njit
from eventspace._base.types import Codes, Floats
from eventspace._base.vectors import WIDE, Code

WORDS = 2  # of a slice
BATCH = 64 * WORDS  # ratings


def _count_common(context: Any, word: Any, words: Any, counts: Any) -> Any:
    """Add how many bits a word has in common with each of some others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder, signature, arguments)
        word = code.spread(arguments[0])

        def add(t: Any, nothing: list[Any]) -> list[Any]:
            common = code.popcounts(builder.and_(word, code.load(code.at(1, t))))
            spot = code.at(2, t)
            code.store(spot, builder.add(code.load(spot), common))
            return nothing

        code.loop(0, code.size(1), WIDE, [], add)
        return context.get_dummy_value()

    return types.void(types.uint64, words, counts), generate


def _plain_count_common(word: Any, words: Any, counts: Any) -> None:
    for b in range(len(words)):
        counts[b] += int(words[b] & word).bit_count()


def _slice_event(
    context: Any, sets: Any, scaled: Any, n: Any, event: Any, slices: Any, linear: Any
) -> Any:
    """The slice of an event, and what the values of the ratings in it sum to, in eight parts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder, signature, arguments)
        n, event = arguments[2:4]
        bit = code.spread(builder.shl(event.type(1), event))
        zero = code.constant(code.array(1).data.type.pointee, 0.0)

        def add(t: Any, sums: list[Any]) -> list[Any]:
            word, found = event.type(0), list(sums)
            for k in range(0, 64, WIDE):
                held = code.any_of(code.load(code.at(0, t, k)), bit)
                word = builder.or_(word, builder.shl(code.as_word(held), word.type(k)))
                values = builder.select(held, code.load(code.at(1, t, k)), zero)
                which = k // WIDE % len(found)
                found[which] = builder.fadd(found[which], values)
            row = code.row(4, builder.lshr(t, t.type(6)))
            builder.store(word, code.at(4, row, event))
            return found

        parts = code.loop(0, n, 64, [zero] * 4, add)
        for total in parts:
            code.add_to(code.at(5, builder.mul(event, event.type(WIDE))), total)
        return context.get_dummy_value()

    return types.void(sets, scaled, types.int64, types.int64, slices, linear), generate


def _plain_slice_event(
    sets: Any, scaled: Any, n: int, event: int, slices: Any, linear: Any
) -> None:
    held = (sets[:n] >> np.uint64(event)) & np.uint64(1) == 1
    slices[:, event] = 0
    for t in np.flatnonzero(held):
        slices[t // 64, event] |= np.uint64(1) << np.uint64(t % 64)
        linear[event, t % WIDE] += scaled[t]


if config.DISABLE_JIT:  # type: ignore[attr-defined]
    count_common: Any = _plain_count_common
    slice_event: Any = _plain_slice_event
else:
    count_common, slice_event = intrinsic(_count_common), intrinsic(_slice_event)


@njit(cache=True, nogil=True)
def room_for_bits(n_events: int) -> Any:
    """Arrays for ``sum_bits`` to work with."""
    n_columns = -(-n_events // WIDE) * WIDE
    sets, scaled = np.empty(BATCH, np.uint64), np.empty(BATCH)
    slices, linear = np.zeros((WORDS, n_columns), np.uint64), np.zeros((n_events, WIDE))
    return sets, scaled, slices, linear, np.zeros((n_events, n_columns), np.int64)


@njit(cache=True, nogil=True)
def sum_bits(
    start: int,
    stop: int,
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    codes: Codes,
    room: Any,
    G: Floats,
    h: Floats,
) -> float:
    """As ``gram.sum_up`` without weights, with codes for factors. Counts are exact."""
    sets, scaled, slices, linear, counts = room
    n_events = len(linear)
    energy = 0.0
    for first in range(start, stop, BATCH):
        n = min(BATCH, stop - first)
        for t in range(n):
            sets[t] = codes[index[first + t]]
            scaled[t] = value[first + t]
        n_words = -(-n // 64)
        for t in range(n, 64 * n_words):
            sets[t], scaled[t] = 0, 0.0
        energy += _squares(scaled, n)
        for d in range(n_events):
            slice_event(sets, scaled, n, d, slices, linear)
        for w in range(n_words):
            for a in range(n_events):
                count_common(slices[w, a], slices[w], counts[a])
    for a in range(n_events):
        h[a] = 0.0
        for k in range(WIDE):
            h[a] += linear[a, k]
            linear[a, k] = 0.0
        row, found = G[a], counts[a]
        for b in range(n_events):
            row[b] = found[b]
        for b in range(found.size):
            found[b] = 0
    return energy


@njit(**QUICK)
def _squares(scaled: Floats, n: int) -> float:
    total = 0.0
    for t in range(n):
        total += scaled[t] * scaled[t]
    return total
