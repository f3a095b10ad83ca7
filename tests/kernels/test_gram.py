from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from eventspace._base.codes import numbers
from eventspace._base.jit import njit
from eventspace.engines import bit_sums, gram
from eventspace.engines.gram import normal_equations, sums_of_rows, weighted_squares
from eventspace.engines.row_sums import room_for, sum_row
from tests import naive
from tests.kernels.instances import many

SIZES = np.array([0, 1, 3, 4, 5, 9, 63, 64, 65, 2 * gram.BATCH + 3])


def entries(weighted: bool = False, n_columns: int = 7) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(0)
    ptr = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
    index = rng.integers(0, n_columns, ptr[-1]).astype(np.int32)
    value = rng.random(ptr[-1]).astype(np.float32)
    weight = rng.gamma(1.0, 3.0, ptr[-1] if weighted else 0).astype(np.float32)
    return ptr, index, value, weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_events", [1, 5, 8, 13, 16, 20, 24, 33])
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_sums_over_the_observed_entries_of_each_row(
    n_events: int, weighted: bool, number: Any
) -> None:
    ptr, index, value, weight = entries(weighted)
    factors = np.random.default_rng(1).random((7, n_events)).astype(number)
    n = len(SIZES)
    found = np.full((n, n_events, n_events), np.nan), np.full((n, n_events), np.nan)
    energy = np.full(n, np.nan)

    normal_equations(ptr, index, value, weight, factors, *found, energy)

    exact = 1e-12 if number is np.float64 else 3e-6
    for k in range(n):
        row = slice(ptr[k], ptr[k + 1])
        w = weight[row] if weighted else np.ones(SIZES[k])
        G, h, e = naive.sums(
            factors.astype(float), index[row], value[row].astype(float), w.astype(float)
        )
        np.testing.assert_allclose(found[0][k], G, rtol=exact, atol=1e-13)
        np.testing.assert_allclose(found[1][k], h, rtol=1e-12, atol=1e-13)
        assert energy[k] == pytest.approx(e, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ordered", [True, False])
def test_factors_beyond_the_cache_are_summed_in_parts(weighted: bool, ordered: bool) -> None:
    """A row's sums are right, and to the bit the same whichever rows are summed with it.

    Those of few entries are those of an engine that knows no parts.
    """
    n_factors, n_events = 300_000, 5
    ptr, index, value, weight = entries(weighted, n_factors)
    if ordered:
        index = np.concatenate([np.sort(index[a:b]) for a, b in pairwise(ptr)])
    factors = np.random.default_rng(1).random((n_factors, n_events))
    assert gram.n_parts(gram.padded(factors)) > 2
    n = len(SIZES)
    found = np.full((n, n_events, n_events), np.nan), np.full((n, n_events), np.nan)
    energy = np.full(n, np.nan)
    normal_equations(ptr, index, value, weight, factors, *found, energy)
    packed = np.empty((n, gram.n_packed(n_events)))
    gram.packed_equations(ptr, index, value, weight, gram.padded(factors), n_events, packed)
    for k in range(n):
        if SIZES[k] <= gram.BATCH:
            half = found[0][k][np.triu_indices(n_events)]
            np.testing.assert_array_equal(packed[k], [*half, *found[1][k], energy[k]])
        row = slice(ptr[k], ptr[k + 1])
        w = weight[row] if weighted else np.ones(SIZES[k])
        expected: Any = naive.sums(factors, index[row], value[row].astype(float), w.astype(float))
        alone: Any = np.empty((1, n_events, n_events)), np.empty((1, n_events)), np.empty(1)
        normal_equations(ptr[k : k + 2], index, value, weight, factors, *alone)
        for one, sums, right in zip(alone, (*found, energy), expected, strict=True):
            np.testing.assert_array_equal(one[0], sums[k])
            np.testing.assert_allclose(sums[k], right, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_events", [1, 7, 8, 16, 24, 40, 64])
def test_sums_of_bits_are_counted(n_events: int) -> None:
    ptr, index, value, _ = entries()
    bits = np.random.default_rng(n_events).integers(0, 2**64, 7, dtype=np.uint64)
    codes = bits & np.uint64(2**n_events - 1)
    psi = numbers(codes, n_events)
    room = bit_sums.room_for_bits(n_events)
    G, h = np.full((n_events, n_events), np.nan), np.full(n_events, np.nan)
    for k in range(len(SIZES)):
        row = slice(ptr[k], ptr[k + 1])
        e = bit_sums.sum_bits(ptr[k], ptr[k + 1], index, value, codes, room, G, h)
        expected = naive.sums(psi, index[row], value[row].astype(float), np.ones(SIZES[k]))
        np.testing.assert_array_equal(G, expected[0])
        np.testing.assert_allclose(h, expected[1], rtol=1e-12, atol=1e-13)
        assert e == pytest.approx(expected[2], rel=1e-12)


def test_a_kernel_sums_numbers_and_sets_alike() -> None:
    ptr, index, value, weight = entries()

    @njit()
    def sums(factors: Any, n_events: int, G: Any, h: Any) -> float:
        room = room_for(factors, n_events)
        return sum_row(ptr[-2], ptr[-1], index, value, weight, factors, room, G, h)

    codes = np.arange(7, dtype=np.uint64)
    found: list[Any] = []
    for factors in (codes, gram.padded(numbers(codes, 3)), gram.padded(numbers(codes, 3) > 0)):
        G, h = np.zeros((8, 8)), np.zeros(8)
        found.append((sums(factors, 3, G, h), G[:3, :3], h[:3]))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12)


@pytest.mark.parametrize("n_events", [2, 8, 24, 30])
def test_factors_are_added_up(n_events: int) -> None:
    ptr, index, _, _ = entries()
    factors = np.random.default_rng(2).random((7, n_events))
    expected = [factors[index[a:b]].sum(axis=0) for a, b in pairwise(ptr)]
    np.testing.assert_allclose(sums_of_rows(ptr, index, factors), expected, rtol=1e-6)


def test_weighted_squares_are_those_of_each_column_of_weights() -> None:
    rng = np.random.default_rng(3)
    rows, weights = rng.normal(size=(50, 6)), rng.random((50, 4))
    expected = np.einsum("kd,ka,kb->dab", weights, rows, rows)
    np.testing.assert_allclose(weighted_squares(rows, weights), expected, rtol=1e-4, atol=1e-5)


def beside_gaps(n: int, n_blocks: int = 40) -> list[Any]:
    """Room for n numbers each, at the ends of blocks between which there are gaps.

    A kernel that asks for a batch of scratch gets one of the gaps.
    """
    scratch = 8 * gram.BATCH
    size = max(scratch, 4 * n) // 8 * 8 + 76
    blocks = [np.empty(size + 8 * (k % 8) * (k % 2), np.uint8) for k in range(n_blocks)]
    return [block[-4 * n :].view(np.float32) for block in blocks[::2]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [9, 17, 40, 100, gram.BATCH, 2 * gram.BATCH + 4])
def test_sums_do_not_depend_on_where_arrays_lie(n: int, weighted: bool) -> None:
    """Not even if the scratch of the kernel lies right behind them.

    There, a loop that writes into it and adds up as well is not known to run in vectors, and if it
    does not, its sums are rounded otherwise.
    """
    rng = np.random.default_rng(n)
    values, weights = rng.random(n).astype(np.float32), rng.gamma(1.0, 3.0, n).astype(np.float32)
    index = rng.integers(0, 7, n).astype(np.int32)
    factors, G, h = gram.padded(rng.random((7, 5))), np.empty((8, 8)), np.empty(8)
    found = set()

    def sums(value: Any, weight: Any) -> None:
        weight = weight if weighted else weight[:0]
        e = gram.sum_up(0, n, index, value, weight, factors, G, h)
        found.add((e, G.tobytes(), h.tobytes()))

    for _ in range(many(100, 1)):
        for room in beside_gaps(n):
            room[:] = values
            sums(room, weights)
            room[:] = weights
            sums(values, room)
    close = np.empty(2 * n + 128, np.float32)  # next to each other, at any distance
    for offset in range(many(64, 2)):
        value, weight = close[offset % 16 :][:n], close[offset + n :][:n]
        value[:], weight[:] = values, weights
        sums(value, weight)
    assert len(found) == 1
