from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eventspace.pmf.frank_wolfe import STEPS, FrankWolfe
from eventspace.pmf.pairwise import Pairwise
from tests import naive

Floats = NDArray[np.float64]


def users(n_events: int, seed: int) -> list[tuple[str, Floats, Floats]]:
    """Named instances (Q, r) of the pmf step."""
    rng = np.random.default_rng(seed)

    def rated(psi: Floats) -> tuple[Floats, Floats]:
        p = rng.random(len(psi))
        Q, r, _ = naive.sums(psi, np.arange(len(p)), p, np.ones(len(p)))
        return Q, r

    bits = (rng.random((30, n_events)) < 0.5).astype(float)
    ridge = rated(bits)
    return [
        ("well rated", *rated(bits)),
        ("singular", *rated(bits[:2])),
        ("one rating", *rated(bits[:1])),
        ("unrated", *rated(bits[:0])),
        ("empty sets only", *rated(np.zeros((4, n_events)))),
        ("full sets only", *rated(np.ones((4, n_events)))),
        ("twin events", *rated(np.repeat(bits[:, :1], n_events, axis=1))),
        ("penalised", ridge[0] + 10 * np.eye(n_events), ridge[1] + 10 / n_events),
    ]


@pytest.mark.parametrize("n_events", [1, 2, 4, 6])
def test_pairwise_reaches_the_minimum_and_its_gap_bounds_the_excess(n_events: int) -> None:
    solver = Pairwise()
    for name, Q, r in users(n_events, seed=n_events):
        least = naive.simplex_minimum(Q, r)
        for start in np.vstack([np.eye(n_events)[:1], np.full((1, n_events), 1 / n_events)]):
            pmf = start[None].copy()
            cost, gap = solver(Q[None], r[None], pmf)
            assert pmf.min() >= 0, name
            assert pmf.sum() == pytest.approx(1, abs=1e-12), name
            assert cost[0] == pytest.approx(naive.f(Q, r, pmf[0]), abs=1e-10), name
            assert cost[0] - least <= gap[0] + 1e-10, name
            assert gap[0] <= solver.tol * max(Q.diagonal().max(), 0) + 1e-12, name


def test_pairwise_never_raises_the_cost_even_when_cut_short() -> None:
    rng = np.random.default_rng(0)
    for name, Q, r in users(6, seed=1):
        pmf = rng.dirichlet(np.ones(6), 1)
        last = naive.f(Q, r, pmf[0])
        for _ in range(10):
            cost, _ = Pairwise(max_steps=1)(Q[None], r[None], pmf)
            assert cost[0] <= last + 1e-12, name
            last = cost[0]


def test_one_quadratic_serves_all_users_of_a_full_table() -> None:
    rng = np.random.default_rng(0)
    _, Q, _ = users(5, seed=2)[0]
    r = rng.random((4, 5)) * 5
    shared, apart = rng.dirichlet(np.ones(5), 4), np.empty((4, 5))
    apart[:] = shared
    Pairwise()(Q[None], r, shared)
    Pairwise()(np.repeat(Q[None], 4, axis=0), r, apart)
    np.testing.assert_array_equal(shared, apart)


@pytest.mark.parametrize("step", STEPS)
def test_frank_wolfe_takes_the_printed_steps(step: str) -> None:
    for name, Q, r in users(5, seed=3):
        if name not in {"well rated", "singular", "penalised"}:
            continue  # flat: the first vertex among equals is a matter of rounding
        start = np.full((1, 5), 0.2)
        for steps in (1, 2, 3, 10):
            expected = naive.frank_wolfe(Q, r, start[0], steps, step)
            pmf = start.copy()
            cost, gap = FrankWolfe(step, tol=0.0, max_steps=steps)(Q[None], r[None], pmf)
            if naive.f(Q, r, expected) > naive.f(Q, r, start[0]) + 1e-12:
                expected = start[0]  # put back: the descent must not climb
            np.testing.assert_allclose(pmf[0], expected, atol=1e-9, err_msg=name)
            assert cost[0] == pytest.approx(naive.f(Q, r, pmf[0]), abs=1e-9), name
            gradient = 2 * (Q @ pmf[0] - r)
            assert gap[0] == pytest.approx(gradient @ pmf[0] - gradient.min(), abs=1e-9), name


def test_line_search_converges_where_the_printed_step_does_not() -> None:
    """NOTES: alpha = k/(k+1) tends to one, so the iterate jumps from vertex to vertex."""
    gaps = {}
    _, Q, r = users(6, seed=4)[0]
    for step in STEPS:
        pmf = np.full((1, 6), 1 / 6)
        _, gap = FrankWolfe(step, max_steps=500)(Q[None], r[None], pmf)
        gaps[step] = gap[0]
    assert gaps["line-search"] < 0.05 * gaps["paper"]
    assert gaps["jaggi"] < 0.2 * gaps["paper"]
