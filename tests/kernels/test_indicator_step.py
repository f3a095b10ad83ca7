from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eventspace.indicators.exact import Exact, enumerate_costs, exact
from eventspace.indicators.local import Local
from eventspace.indicators.quadratic import TOLERANCE, read_code, write_code
from eventspace.indicators.sdr import SDR
from eventspace.indicators.sphere import room_for_sphere, sphere
from tests import naive
from tests.kernels.instances import INTERPRETED, items, many, relaxed

Floats = NDArray[np.float64]


def bits(code: np.uint64, n_events: int) -> Floats:
    return np.array([(int(code) >> d) & 1 for d in range(n_events)], dtype=float)


def stacked(n_events: int, seed: int) -> tuple[list[str], Floats, Floats, Floats]:
    names, instances = zip(*items(n_events, seed), strict=True)
    S, v, energy = zip(*instances, strict=True)
    return list(names), np.array(S), np.array(v), np.array(energy)


@pytest.mark.parametrize("n_events", [1, 2, 5])
def test_the_table_holds_the_cost_of_every_code(n_events: int) -> None:
    _, S, v, _ = stacked(n_events, seed=0)
    table, row = np.empty(1 << n_events), np.empty(1 << n_events)
    for k in range(len(v)):
        enumerate_costs(S[k], v[k], table, row)
        expected = [naive.g(S[k], v[k], psi) for psi in naive.all_codes(n_events)]
        np.testing.assert_allclose(table, expected, atol=1e-9)


@pytest.mark.parametrize("n_events", range(1, 13))
def test_sphere_decoder_finds_the_minimum_of_every_instance(n_events: int) -> None:
    codes = naive.all_codes(n_events)
    room = room_for_sphere(n_events)
    for seed in range(many(10, 2)):
        names, S, v, energy = stacked(n_events, seed)
        for k, name in enumerate(names):
            costs = np.einsum("cd,de,ce->c", codes, S[k], codes) - 2 * codes @ v[k]
            x = codes[np.random.default_rng(k).integers(len(codes))].copy()
            nodes = sphere(S[k], v[k], energy[k], x, 10_000_000, room)
            assert nodes >= 0, name
            assert naive.g(S[k], v[k], x) <= costs.min() + TOLERANCE * S[k].sum() + 1e-12, name


@pytest.mark.skipif(INTERPRETED, reason="trying all codes takes too long without the compiler")
@pytest.mark.parametrize(
    ("n_events", "n_seeds"), [(13, 5), (15, 5), (16, 5), (17, 3), (20, 1), (24, 1)]
)
def test_many_events_are_solved_as_by_enumeration(n_events: int, n_seeds: int) -> None:
    """From the empty set, from a random one, and from the best set with one bit flipped."""
    table, row = np.empty(1 << n_events), np.empty(1 << n_events)
    for seed in range(n_seeds):
        names, S, v, energy = stacked(n_events, 100 + seed)
        for k in range(len(names)) if n_events < 24 else range(0, len(names), 4):
            enumerate_costs(S[k], v[k], table, row)
            least, allowed = table.min(), TOLERANCE * S[k].sum() + 1e-12 * abs(table).max()
            others = np.random.default_rng(k).integers(1 << n_events), int(table.argmin()) ^ 1
            for before in (0, *others):
                codes = np.array([before], dtype=np.uint64)
                one = slice(k, k + 1)
                cost, proved = Exact()(S[one], v[one], energy[one], codes, codes)
                assert proved[0], names[k]
                found = table[int(codes[0])]
                assert found <= least + allowed, names[k]
                assert cost[0] == pytest.approx(found + energy[k], abs=allowed), names[k]
                if table[before] <= least + 0.9 * allowed:
                    assert codes[0] == before, names[k]  # what is as good as the best stays


@pytest.mark.parametrize("solver", [Exact(), SDR(), Local()])
@pytest.mark.parametrize("n_events", [3, 11])
def test_no_solver_gives_up_its_incumbent_for_something_worse(n_events, solver) -> None:
    rng = np.random.default_rng(0)
    names, S, v, energy = stacked(n_events, seed=3)
    for _ in range(3):
        before = rng.integers(0, 1 << n_events, len(names)).astype(np.uint64)
        codes = before.copy()
        cost, proved = solver(S, v, energy, codes, np.arange(1, len(names) + 1, dtype=np.uint64))
        for k, name in enumerate(names):
            old = naive.g(S[k], v[k], bits(before[k], n_events)) + energy[k]
            new = naive.g(S[k], v[k], bits(codes[k], n_events)) + energy[k]
            assert cost[k] == pytest.approx(new, abs=1e-9), name
            assert new <= old + 1e-12, name
        assert proved.all() == (solver.guarantee == "exact")


def test_best_codes_are_fixed_points_and_free_bits_stay() -> None:
    """Ties go to the incumbent, so an event of which no rater has mass keeps its bit."""
    for n_events in (4, 12):
        S, v = np.zeros((1, n_events, n_events)), np.zeros((1, n_events))
        S[0, 0, 0] = 1.0
        v[0, 0] = 0.9
        for code in (0, 0b10, 0b1010, 0b1110):
            codes = np.array([code], dtype=np.uint64)
            Exact()(S, v, np.array([0.81]), codes, np.ones(1, dtype=np.uint64))
            assert codes[0] == code | 1


def test_an_exhausted_budget_is_reported_and_keeps_the_best_found() -> None:
    names, S, v, energy = stacked(12, seed=5)
    k = names.index("weighted")
    nodes, cost = np.zeros(1, dtype=np.int64), np.zeros(1)
    codes = np.zeros(1, dtype=np.uint64)
    exact(S[k : k + 1], v[k : k + 1], energy[k : k + 1], codes, 1, cost, nodes)
    assert nodes[0] < 0
    assert cost[0] <= energy[k]
    _, proved = Exact(node_budget=1)(S, v, energy, np.zeros(len(v), dtype=np.uint64), codes)
    assert not proved[k]


def test_exact_accepts_one_quadratic_for_all_items() -> None:
    rng = np.random.default_rng(1)
    for n_events in (5, 12):
        theta = rng.dirichlet(np.ones(n_events), 20)
        p = rng.random((20, 3))
        S, v, energy = theta.T @ theta, p.T @ theta, (p**2).sum(axis=0)
        shared, apart = np.zeros(3, dtype=np.uint64), np.zeros(3, dtype=np.uint64)
        seeds = np.ones(3, dtype=np.uint64)
        cost, _ = Exact()(S[None], v, energy, shared, seeds)
        Exact()(np.repeat(S[None], 3, axis=0), v, energy, apart, seeds)
        np.testing.assert_array_equal(shared, apart)
        best = [naive.exhaustive(S, v[k])[0] + energy[k] for k in range(3)]
        np.testing.assert_allclose(cost, best, atol=1e-5)


def test_local_search_ends_where_no_pair_of_flips_helps() -> None:
    n_events = 7
    names, S, v, energy = stacked(n_events, seed=6)
    codes = np.zeros(len(names), dtype=np.uint64)
    Local(n_starts=1)(S, v, energy, codes, np.ones(len(names), dtype=np.uint64))
    for k, name in enumerate(names):
        x = bits(codes[k], n_events)
        here = naive.g(S[k], v[k], x)
        for a in range(n_events):
            for b in range(a + 1):
                y = x.copy()
                y[[a, b]] = 1 - y[[a, b]]
                assert naive.g(S[k], v[k], y) >= here - TOLERANCE * S[k].sum() - 1e-12, name


def test_more_roundings_or_starts_never_hurt() -> None:
    names, S, v, energy = stacked(9, seed=7)
    seeds = np.arange(1, len(names) + 1, dtype=np.uint64)
    for fewer, more in ((SDR(1), SDR(30)), (Local(1), Local(10))):
        costs = [
            solver(S, v, energy, np.zeros(len(names), dtype=np.uint64), seeds)[0]
            for solver in (fewer, more)
        ]
        assert (costs[1] <= costs[0] + 1e-9).all()


def test_mixing_gives_a_dual_feasible_point_and_a_zero_gap() -> None:
    for name, (S, v, _) in items(6, seed=9):
        V, y = relaxed(S, v, 3, 20_000, 1e-13)
        C = naive.relaxation_matrix(S, v)
        np.fill_diagonal(C, 0.0)  # a constant on unit vectors
        np.testing.assert_allclose((V * V).sum(axis=0), 1, atol=1e-12, err_msg=name)
        scale = max(abs(C).sum(), 1e-300)
        assert np.linalg.eigvalsh(C + np.diag(y)).min() >= -1e-4 * scale, name
        assert (C * (V.T @ V)).sum() + y.sum() == pytest.approx(0, abs=1e-4 * scale), name


def test_codes_and_bits() -> None:
    for n_events in (1, 33, 64):
        x = (np.random.default_rng(n_events).random(n_events) < 0.5).astype(float)
        code = np.uint64(write_code(x))
        assert int(code) == sum(1 << d for d in range(n_events) if x[d])
        back = np.empty(n_events)
        read_code(code, back)
        np.testing.assert_array_equal(back, x)
