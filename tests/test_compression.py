"""The compression of an average to one model, against plain NumPy and enumeration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from eventspace._base.codes import pack, unpack
from eventspace.engines.cpu import CPU
from eventspace.fitting import compression
from eventspace.fitting.compression import SOLVER, Compression, Part, Target, low_rank
from eventspace.indicators import Exact
from tests import naive

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 9)


def part(pmf: Floats, chances: Floats) -> Part:
    """A part; what else it knows does not matter here."""
    return Part(pmf, chances, *[0.05] * (len(Part._fields) - 2))


def parts(rng: np.random.Generator, n_users: int, n_items: int, n: int = 3, D: int = 4) -> Any:
    return [
        part(rng.dirichlet(np.full(D, 0.5), n_users), rng.random((n_items, D)).round(1))
        for _ in range(n)
    ]


def weights(rng: np.random.Generator, n: int) -> Floats:
    return rng.integers(1, 30, n).astype(np.float64)


def compression_of(
    rng: np.random.Generator, n_users: int, n_items: int, noise: float = 0.05, n: int = 3
) -> tuple[Compression, Floats]:
    """A compression of a random average, and the table of the average's predictions."""
    some = parts(rng, n_users, n_items, n)
    target = Target.of(some, weights(rng, n_users), weights(rng, n_items))
    table = np.mean([p.pmf @ p.chances.T for p in some], axis=0)
    return Compression(target, CPU(1), noise), table


def some_model(rng: np.random.Generator, n_users: int, n_items: int, D: int) -> tuple[Any, Any]:
    return rng.dirichlet(np.ones(D), n_users), rng.random((n_items, D)) < 0.5


def naive_cost(work: Compression, table: Floats, pmf: Floats, bits: Any) -> float:
    of_user, of_item = work.target.by_item.weight, work.target.by_user.weight
    clear = compression.CLEAR * work.noise * of_item.sum()
    kept = compression.KEPT * work.noise * of_user.sum()
    before = None if work.before is None else unpack(work.before[:, None], pmf.shape[1])
    return naive.compression_cost(table, pmf, bits * 1.0, of_user, of_item, clear, kept, before)


# --- the target ---------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS, SIZES, SIZES)
def test_a_target_is_what_the_mean_of_the_parts_predicts(seed, n_users, n_items) -> None:
    rng = np.random.default_rng(seed)
    some = parts(rng, n_users, n_items)
    of_user, of_item = weights(rng, n_users), weights(rng, n_items)
    by_user, by_item = Target.of(some, of_user, of_item)
    table = np.mean([p.pmf @ p.chances.T for p in some], axis=0)
    assert_allclose(by_user.left @ by_user.right.T, table, atol=1e-9)
    assert_allclose(by_item.left @ by_item.right.T, table.T, atol=1e-9)
    assert_allclose(by_user.energy, table**2 @ of_item, atol=1e-9)
    assert_allclose(by_item.energy, (table**2).T @ of_user, atol=1e-9)
    assert_array_equal(by_user.weight, of_item)
    assert_array_equal(by_item.weight, of_user)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 30), st.integers(1, 30), st.integers(1, 12))
def test_a_product_of_low_rank_is_found_as_numpy_finds_it(seed, n_left, n_right, rank) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(n_left, rank)), rng.normal(size=(n_right, rank))
    u, s, v = low_rank(left, right)
    whole = left @ right.T
    assert_allclose(s, np.linalg.svd(whole, compute_uv=False), atol=1e-8)
    assert_allclose((u * s) @ v.T, whole, atol=1e-8)
    for vectors in (u, v):
        assert_allclose(vectors.T @ vectors, np.eye(len(s)), atol=1e-8)


def test_beyond_its_rank_nearly_the_most_is_kept() -> None:
    """A hundred events that fade: what is left out is what numpy leaves out."""
    rng = np.random.default_rng(0)
    fading = 0.9 ** np.arange(100)
    left, right = rng.normal(size=(150, 100)) * fading, rng.normal(size=(120, 100))
    u, s, v = low_rank(left, right)
    assert len(s) == compression.RANK
    least = np.sqrt(np.square(np.linalg.svd(left @ right.T, compute_uv=False)[len(s) :]).sum())
    assert np.linalg.norm(left @ right.T - (u * s) @ v.T) < 1.01 * least


@settings(max_examples=40, deadline=None)
@given(SEEDS, SIZES, SIZES, st.integers(1, 5))
def test_what_is_left_unsaid_is_the_first_singular_vector(seed, n_users, n_items, D) -> None:
    rng = np.random.default_rng(seed)
    work, table = compression_of(rng, n_users, n_items)
    pmf, bits = some_model(rng, n_users, n_items, D)
    value, direction = work.target.left_unsaid(pmf, bits.astype(np.float64))
    of_user, of_item = work.target.by_item.weight, work.target.by_user.weight
    lacking = np.sqrt(np.outer(of_user, of_item)) * (table - pmf @ bits.T)
    assert value == pytest.approx(np.linalg.norm(lacking, 2), abs=1e-5)
    along = np.sqrt(of_item) * direction
    assert np.linalg.norm(along) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(lacking @ along) == pytest.approx(value, abs=1e-5)


# --- the cost -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(SEEDS, SIZES, SIZES, st.integers(1, 5), st.sampled_from([0.0, 0.02, 0.25]))
def test_the_cost_and_the_loss_are_those_of_all_cells(seed, n_users, n_items, D, noise) -> None:
    rng = np.random.default_rng(seed)
    work, table = compression_of(rng, n_users, n_items, noise)
    pmf, bits = some_model(rng, n_users, n_items, D)
    solved = work._pmfs(pmf, pack(bits)[:, 0])
    expected = naive_cost(work, table, solved.pmf, bits)
    assert work._cost(solved) == pytest.approx(expected, rel=1e-8, abs=1e-6)
    assert expected <= naive_cost(work, table, pmf, bits) + 1e-9
    weight = np.outer(work.target.by_item.weight, work.target.by_user.weight)
    rms = np.sqrt(np.average(np.square(table - solved.pmf @ bits.T), weights=weight))
    assert work._loss(solved.pmf, pack(bits)[:, 0]) == pytest.approx(rms, abs=1e-5)


@pytest.mark.parametrize("keeping", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.25])
def test_the_cost_never_rises(noise, keeping, monkeypatch) -> None:
    """With bits that are worth keeping as they were, or none."""
    costs: list[float] = []
    improved = Compression._pmfs

    for seed in range(5):
        work, table = compression_of(np.random.default_rng(seed), 20, 15, noise)
        before = some_model(np.random.default_rng(seed), 20, 15, 5)
        if keeping:
            work = replace(work, before=pack(before[1])[:, 0])
        costs[:] = [naive_cost(work, table, *before)]

        def watched(self: Any, pmf: Any, codes: Any, *solver: Any, seen: Any = table) -> Any:
            bits = unpack(codes[:, None], pmf.shape[1])
            costs.append(naive_cost(self, seen, pmf, bits))  # with the new sets
            solved = improved(self, pmf, codes, *solver)
            costs.append(naive_cost(self, seen, solved.pmf, bits))
            return solved

        with monkeypatch.context() as patch:
            patch.setattr(Compression, "_pmfs", watched)
            found = work.settled(before[0], pack(before[1])[:, 0])
            work.proved(*found)
        assert len(costs) > 6
        assert (np.diff(costs) <= 1e-7).all()


def grown(work: Compression, n_events: int, begun: Any = None) -> tuple[Floats, NDArray[np.uint64]]:
    """The last of what grows."""
    *_, last = work.growing(n_events, *(begun or work.begun(n_events)))
    return last


def test_more_events_say_more() -> None:
    work, _ = compression_of(np.random.default_rng(1), 40, 30, 0.01)
    losses, begun, told = [], None, []
    for n in (1, 2, 4, 8):
        *others, begun = work.growing(n, *(begun or work.begun(n)))
        told.append([pmf.shape[1] for pmf, _ in (*others, begun)])
        losses.append(work.proved(*work.settled(*begun)).loss)
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < 0.3 * losses[0]
    assert told == [[2, 3, 2, 1], [2, 3, 4, 3, 2], [3, 4, 5, 6, 5, 4], [5, 6, 7, 8, 9, 10, 9, 8]]


@pytest.mark.parametrize("seed", range(12))
def test_items_of_which_nothing_is_unsaid_take_no_side(seed) -> None:
    """Items that always or never come true: rounding must not decide where they go."""
    rng = np.random.default_rng(seed)
    pmf = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 30)])
    bits = np.vstack([rng.random((12, 3)) < 0.5, np.ones((3, 3)), np.zeros((3, 3))]) > 0
    target = Target.of([part(pmf, bits * 1.0)], weights(rng, 33), weights(rng, 18))
    work = Compression(target, CPU(1), 0.0)
    _, codes = work._with_another(*work.begun(2))
    new = unpack(codes[:, None], 3)[:, 2]
    assert new[12:15].all()
    assert not new[15:].any()


# --- the end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeping", [False, True])
@pytest.mark.parametrize("D", [1, 2, 5, 8])
def test_sets_are_optimal_for_the_pmfs_that_they_were_solved_for(D, keeping, monkeypatch) -> None:
    work, table = compression_of(np.random.default_rng(D), 25, 12)
    of_user, last = work.target.by_item.weight, {}
    solve = Compression._sets

    def watched(self: Any, solver: Any, pmf: Any, codes: Any) -> Any:
        found = solve(self, solver, pmf, codes)
        if isinstance(solver, Exact):
            last["pmf"], last["codes"] = pmf, found[0]
        return found

    begun = work.settled(*grown(work, D))
    was = np.zeros((12, D))
    if keeping:
        work = replace(work, before=begun[1])
        worth = compression.KEPT * work.noise * of_user.sum()
        was = worth * (unpack(begun[1][:, None], D) - 0.5)
    monkeypatch.setattr(Compression, "_sets", watched)
    found = work.proved(*begun)
    assert found.proved.all()
    assert_array_equal(found.codes, last["codes"])
    S = (last["pmf"] * of_user[:, None]).T @ last["pmf"]
    for i, bits in enumerate(unpack(found.codes[:, None], D)):
        v = last["pmf"].T @ (of_user * table[:, i]) + was[i]
        assert naive.g(S, v, bits * 1.0) == pytest.approx(naive.exhaustive(S, v)[0], abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_sets_are_optimal_for_the_pmfs_that_are_returned(seed) -> None:
    """Of all 2^12 sets, with the worth of bits that stay as they were."""
    D, rng = 12, np.random.default_rng(seed)
    work, table = compression_of(rng, 30, 15, n=5)
    begun = grown(work, D)
    before = unpack(begun[1][:, None], D) ^ (rng.random((15, D)) < 0.2)
    work = replace(work, before=pack(before)[:, 0])
    found = work.proved(*begun)
    of_user = work.target.by_item.weight
    worth = compression.KEPT * work.noise * of_user.sum()
    sets = unpack(np.arange(2**D, dtype=np.uint64)[:, None], D)
    predicted = sets.astype(np.float64) @ found.pmf.T
    assert found.proved.all()
    for i, code in enumerate(found.codes):
        cost = np.square(table[:, i] - predicted) @ of_user
        cost += worth * (sets != before[i]).sum(axis=1)
        assert cost[int(code)] == pytest.approx(cost.min(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("D", [16, 24])
def test_all_sets_are_proved_up_to_24_events(D) -> None:
    work, _ = compression_of(np.random.default_rng(D), 60, 40, n=6)
    found = work.proved(*work.settled(*grown(work, D)))
    assert found.pmf.shape == (60, D)
    assert found.proved.all()
    assert_allclose(found.pmf.sum(axis=1), 1)
    assert found.pmf.min() >= 0
    assert isinstance(SOLVER, Exact)


@pytest.mark.parametrize("D", [2, 3, 4, 6])
def test_a_model_with_so_many_events_is_nearly_always_found_again(D) -> None:
    """One user of each event alone, so that its sets can be told from the table."""
    again = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pmf = np.vstack([np.eye(D), rng.dirichlet(np.full(D, 0.5), 40)])
        bits = rng.random((40, D)) < 0.5
        target = Target.of([part(pmf, bits * 1.0)], weights(rng, 40 + D), weights(rng, 40))
        work = Compression(target, CPU(1), 0.0)
        found = work.proved(*work.settled(*grown(work, D)))
        if found.loss < 1e-6:
            again += 1
            predicted = found.pmf @ unpack(found.codes[:, None], D).T
            assert_allclose(predicted, pmf @ bits.T, atol=1e-5)
            more, _ = grown(work, D + 2, (found.pmf, found.codes))
            assert_allclose(more[:, D:], 0, atol=1e-6)  # nothing is left to say
    assert again >= 9  # a descent, which may end elsewhere


def test_bits_that_hardly_matter_stay_as_they_were() -> None:
    """An event that few give any mass: its bits are kept, and those of others are not."""
    rng = np.random.default_rng(0)
    pmf = rng.dirichlet(np.ones(3), 40) * [1, 1, 1e-4]
    pmf /= pmf.sum(axis=1, keepdims=True)
    bits = rng.random((15, 3)) < 0.5
    target = Target.of([part(pmf, bits * 1.0)], np.ones(40), np.ones(15))
    work = Compression(target, CPU(1), 0.05, before=pack(~bits)[:, 0])
    found = unpack(work._sets(SOLVER, pmf, pack(bits)[:, 0])[0][:, None], 3)
    assert_array_equal(found[:, :2], bits[:, :2])
    assert_array_equal(found[:, 2], ~bits[:, 2])


def test_of_models_that_predict_alike_the_clear_one_is_found() -> None:
    """Two events alike: without noise any part of their mass may be in either."""
    pmf = np.array([[0.51, 0.49, 0.0], [0.29, 0.31, 0.4]])
    bits = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]]) > 0
    target = Target.of([part(pmf, bits * 1.0)], np.ones(2), np.ones(3))
    clear = Compression(target, CPU(1), 0.01)._pmfs(pmf, pack(bits)[:, 0])
    assert_allclose(np.sort(clear.pmf[:, :2], axis=1)[:, 0], 0, atol=1e-9)
    assert_allclose(clear.pmf @ bits.T, pmf @ bits.T, atol=0.01)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_constant_tables_and_single_cells(value) -> None:
    for n_users, n_items in ((1, 1), (1, 4), (3, 1), (4, 5)):
        chances = np.full((n_items, 1), value)
        alone = part(np.ones((n_users, 1)), chances)
        target = Target.of([alone], np.ones(n_users), np.ones(n_items))
        for D in (1, 2, 5):
            work = Compression(target, CPU(1), 0.05)
            found = work.proved(*work.settled(*grown(work, D)))
            assert_allclose(found.pmf.sum(axis=1), 1)
            assert found.loss == pytest.approx(0.0 if D > 1 or value != 0.5 else 0.5, abs=0.02)
