"""The quadratics of rows on the device: ``G = sum w f f'``, ``h = sum w p f``, ``e = sum w p^2``.

A warp takes one segment of a row's entries. It brings their factor rows into shared memory, some
at a time, and fetches the next while it adds up these. G is cut into tiles of 4 x 4. Those of the
upper triangle are formed, one per lane in registers. Where tiles are fewer than lanes, several
groups of lanes share the entries. A second kernel adds up the segments of a row. Everything is
added in float64 and in a fixed order, so the same entries give the same bits.

Factors are float64, or fixed-point numbers of 32 bits, two in a word: half the traffic of memory,
which is what the time goes to.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import float64, uint64

from eventspace.engines.cuda.device import blocks_for, cuda, with_registers

LANES = 32
TILE = 4  # rows and columns of a tile
OF_TILE = TILE * TILE + TILE  # its sums: of G and, if it is on the diagonal, of h
ONE = 1 << 31  # the number one in fixed point
WARPS = 1 << 14  # that add up segments, more than there is room for at once
FOLD_THREADS = 256
STAGED = 512  # numbers in shared memory
REGISTERS = 128  # of a lane, at most: 16 warps fetch on each multiprocessor at the same time


def columns_for(n_events: int) -> int:
    """Events in whole tiles: as many columns as factors have on the device."""
    return -(-n_events // TILE) * TILE


def tiles_for(n_events: int) -> int:
    """How many tiles the upper triangle has."""
    n_blocks = -(-n_events // TILE)
    return n_blocks * (n_blocks + 1) // 2


def sums_for(n_events: int) -> int:
    """How many sums a segment gives: those of its tiles, then e."""
    return tiles_for(n_events) * OF_TILE + 1


@cuda.jit(device=True)
def place_of(a: int, b: int) -> int:
    """Where the sum G_ab stands among those of a segment."""
    row, column = min(a, b), max(a, b)
    A, B = row // TILE, column // TILE
    return (B * (B + 1) // 2 + A) * OF_TILE + (row % TILE) * TILE + column % TILE


@cuda.jit(device=True)
def place_of_linear(a: int) -> int:
    """Where the sum h_a stands among those of a segment."""
    A = a // TILE
    return (A * (A + 1) // 2 + A) * OF_TILE + TILE * TILE + a % TILE


@cache
def make_gram(n_events: int, fixed: bool, weighted: bool, by_column: bool = False) -> Any:
    """The kernel that writes the sums of each segment.

    ``weighted``: entries have weights. ``by_column``: so have columns, and the two are multiplied.
    """
    n_columns, n_tiles = columns_for(n_events), tiles_for(n_events)
    n_words = n_columns // 2 if fixed else n_columns
    stride = n_columns + 2  # so that neighbouring rows lie in other banks
    batch = LANES if n_columns * LANES <= STAGED else LANES // 2
    abreast = LANES // n_words  # rows that the warp fetches at once
    n_fetches = -(-batch // abreast)
    n_groups, n_rounds = max(LANES // n_tiles, 1), -(-n_tiles // LANES)
    n_sums, n_shared = OF_TILE + 1, max(batch * stride, LANES * (OF_TILE + 1))
    heavy, unit = weighted or by_column, 1.0 / ONE

    @cuda.jit(**with_registers(REGISTERS))
    def gram(
        begin: Any,
        end: Any,
        offset: int,
        index: Any,
        value: Any,
        weight: Any,
        of_column: Any,
        factors: Any,
        sums: Any,
    ) -> None:
        """Write the sums over ``begin[s]:end[s]`` to ``sums[s]``; entries lie ``offset`` before."""
        shared = cuda.shared.array(n_shared, float64)
        scaled = cuda.shared.array(batch, float64)  # w p
        heft = cuda.shared.array(batch, float64)  # w
        held = cuda.local.array(n_fetches, uint64 if fixed else float64)
        lane = cuda.threadIdx.x
        mine, column = lane // n_words, lane % n_words
        for segment in range(cuda.blockIdx.x, begin.size, cuda.gridDim.x):
            start, stop = begin[segment] - offset, end[segment] - offset
            last = stop - 1
            for turn in range(n_rounds):
                group, tile = lane // n_tiles, lane % n_tiles
                if n_rounds > 1:
                    group, tile = 0, turn * LANES + lane
                working = group < n_groups and tile < n_tiles
                B = 0
                while tile >= (B + 1) * (B + 2) // 2:
                    B += 1
                A = tile - B * (B + 1) // 2
                if not working:
                    A, B = 0, 0
                a, b = TILE * A, TILE * B
                c00, c01, c02, c03 = 0.0, 0.0, 0.0, 0.0
                c10, c11, c12, c13 = 0.0, 0.0, 0.0, 0.0
                c20, c21, c22, c23 = 0.0, 0.0, 0.0, 0.0
                c30, c31, c32, c33 = 0.0, 0.0, 0.0, 0.0
                h0, h1, h2, h3, energy = 0.0, 0.0, 0.0, 0.0, 0.0
                if start < stop:
                    for k in range(n_fetches):
                        row = index[min(start + mine + k * abreast, last)]
                        held[k] = factors[row, column]
                for first in range(start, stop, batch):
                    n = min(batch, stop - first)
                    for k in range(n_fetches):
                        t = mine + k * abreast
                        if mine < abreast and t < batch:
                            if fixed:
                                both, at = held[k], t * stride + 2 * column
                                shared[at] = float64(both & uint64(0xFFFFFFFF)) * unit
                                shared[at + 1] = float64(both >> uint64(32)) * unit
                            else:
                                shared[t * stride + column] = held[k]
                    if lane < n:
                        p, w = float64(value[first + lane]), 1.0
                        if weighted:
                            w = float64(weight[first + lane])
                        if by_column:
                            w *= float64(of_column[index[first + lane]])
                        scaled[lane] = w * p
                        heft[lane] = w
                        energy += w * p * p
                    cuda.syncthreads()
                    if first + batch < stop:
                        for k in range(n_fetches):
                            row = index[min(first + batch + mine + k * abreast, last)]
                            held[k] = factors[row, column]
                    for t in range(group if working else n, n, n_groups):
                        at, y = t * stride, scaled[t]
                        a0, a1 = shared[at + a], shared[at + a + 1]
                        a2, a3 = shared[at + a + 2], shared[at + a + 3]
                        b0, b1 = shared[at + b], shared[at + b + 1]
                        b2, b3 = shared[at + b + 2], shared[at + b + 3]
                        h0, h1, h2, h3 = h0 + y * a0, h1 + y * a1, h2 + y * a2, h3 + y * a3
                        if heavy:
                            w = heft[t]
                            b0, b1, b2, b3 = w * b0, w * b1, w * b2, w * b3
                        c00, c01 = c00 + a0 * b0, c01 + a0 * b1
                        c02, c03 = c02 + a0 * b2, c03 + a0 * b3
                        c10, c11 = c10 + a1 * b0, c11 + a1 * b1
                        c12, c13 = c12 + a1 * b2, c13 + a1 * b3
                        c20, c21 = c20 + a2 * b0, c21 + a2 * b1
                        c22, c23 = c22 + a2 * b2, c23 + a2 * b3
                        c30, c31 = c30 + a3 * b0, c31 + a3 * b1
                        c32, c33 = c32 + a3 * b2, c33 + a3 * b3
                    cuda.syncthreads()
                at = lane * n_sums
                shared[at], shared[at + 1], shared[at + 2], shared[at + 3] = c00, c01, c02, c03
                shared[at + 4], shared[at + 5], shared[at + 6], shared[at + 7] = c10, c11, c12, c13
                shared[at + 8], shared[at + 9], shared[at + 10], shared[at + 11] = (
                    c20,
                    c21,
                    c22,
                    c23,
                )
                shared[at + 12], shared[at + 13], shared[at + 14] = c30, c31, c32
                shared[at + 15], shared[at + 16], shared[at + 17] = c33, h0, h1
                shared[at + 18], shared[at + 19], shared[at + 20] = h2, h3, energy
                cuda.syncthreads()
                in_turn = min(n_tiles - turn * LANES, LANES)
                for k in range(lane, in_turn * OF_TILE, LANES):
                    total = 0.0
                    for g in range(n_groups):
                        total += shared[(g * n_tiles + k // OF_TILE) * n_sums + k % OF_TILE]
                    sums[segment, turn * LANES * OF_TILE + k] = total
                if lane == 0 and turn == 0:
                    total = 0.0
                    for k in range(LANES):
                        total += shared[k * n_sums + OF_TILE]
                    sums[segment, n_tiles * OF_TILE] = total
                cuda.syncthreads()

    return gram


@cache
def make_fold(n_events: int) -> Any:
    """The kernel that adds up the segments of each row: G, h and e."""
    square, n_numbers = n_events * n_events, n_events * n_events + n_events + 1
    last = sums_for(n_events) - 1

    @cuda.jit
    def fold(first: Any, sums: Any, G: Any, h: Any, e: Any) -> None:
        """Row k has the segments ``first[k]:first[k + 1]``, counted from ``first[0]``."""
        k, number = cuda.grid(1) // n_numbers, cuda.grid(1) % n_numbers
        if k >= h.shape[0]:
            return
        a, b = number // n_events, number % n_events
        at = last
        if number < square:
            at = place_of(a, b)
        elif number < square + n_events:
            at = place_of_linear(b)
        total = 0.0
        for segment in range(first[k] - first[0], first[k + 1] - first[0]):
            total += sums[segment, at]
        if number < square:
            G[k, a, b] = total
        elif number < square + n_events:
            h[k, b] = total
        else:
            e[k] = total

    return fold


@cuda.jit
def _expand(codes: Any, fixed: Any) -> None:
    """Write the bits of codes as fixed-point numbers, two in a word."""
    item, word = cuda.grid(1) // fixed.shape[1], cuda.grid(1) % fixed.shape[1]
    if item < codes.size:
        bits = (codes[item] >> uint64(2 * word)) & uint64(3)
        one = uint64(ONE)
        fixed[item, word] = (bits & uint64(1)) * one | ((bits >> uint64(1)) * one) << uint64(32)


def expand(codes: Any, n_events: int, room: Any) -> Any:
    """The indicators of codes on the device, as factors in fixed point."""
    fixed = room.array("psi", (len(codes), columns_for(n_events) // 2), np.uint64)
    n_blocks = blocks_for(fixed.size, FOLD_THREADS)
    _expand[n_blocks, FOLD_THREADS, room.stream](codes, fixed)
    return fixed


def form_sums(segments: Any, part: Any, factors: Any, n_events: int, room: Any, **how: Any) -> Any:
    """The sums of segments of a part's entries; ``how``: weighted, and the numbers of_column."""
    weighted, of_column = how["weighted"], how.get("of_column")
    sums = room.array("sums", (len(segments.begin), sums_for(n_events)))
    kernel = make_gram(n_events, factors.dtype == np.uint64, weighted, of_column is not None)
    columns = part.weight if of_column is None else of_column
    kernel[min(len(segments.begin), WARPS), LANES, room.stream](
        segments.begin, segments.end, part.offset, *part[2:], columns, factors, sums
    )
    return sums


def form_quadratics(segments: Any, sums: Any, n_events: int, room: Any) -> tuple[Any, Any, Any]:
    """G, h and e of the rows that have these segments."""
    n_rows = len(segments.first) - 1
    G = room.array("G", (n_rows, n_events, n_events))
    h, e = room.array("h", (n_rows, n_events)), room.array("e", (n_rows,))
    n_blocks = blocks_for(n_rows * (n_events * (n_events + 1) + 1), FOLD_THREADS)
    make_fold(n_events)[n_blocks, FOLD_THREADS, room.stream](segments.first, sums, G, h, e)
    return G, h, e


def as_fixed(factors: Any, n_events: int) -> Any:
    """Factors between zero and one in fixed point, as the device holds them."""
    wide = np.zeros((len(factors), columns_for(n_events)), np.uint32)
    wide[:, :n_events] = np.rint(np.asarray(factors, np.float64) * ONE)
    return wide.view(np.uint64)
