from __future__ import annotations

import numpy as np
import pytest

from eventspace.baselines.box import Box
from tests import naive
from tests.kernels.instances import items


@pytest.mark.parametrize("n_events", [1, 2, 4, 5])
def test_the_box_step_reaches_the_minimum(n_events: int) -> None:
    for name, (S, v, energy) in items(n_events, seed=n_events):
        least, scale = naive.box_minimum(S, v), S.sum()
        for start in (0.0, 0.3, 1.0):
            psi = np.full((1, n_events), start)
            seeds = np.ones(1, dtype=np.uint64)
            cost, proved = Box()(S[None], v[None], np.array([energy]), psi, seeds)
            assert psi.min() >= 0, name
            assert psi.max() <= 1, name
            assert cost[0] == pytest.approx(naive.g(S, v, psi[0]), rel=1e-9, abs=1e-9), name
            assert proved[0], name
            assert cost[0] - least <= 1e-7 * scale + 1e-9 * max(1, abs(least)), name


def test_the_box_step_never_raises_the_cost_and_says_when_it_was_cut_short() -> None:
    rng = np.random.default_rng(0)
    cut = 0
    for name, (S, v, energy) in items(6, seed=1):
        psi = rng.random((1, 6))
        last = naive.g(S, v, psi[0])
        least = naive.box_minimum(S, v)
        for _ in range(5):
            cost, proved = Box(max_sweeps=1)(
                S[None], v[None], np.array([energy]), psi, np.ones(1, dtype=np.uint64)
            )
            assert cost[0] <= last + 1e-9 * max(1.0, abs(last)), name
            assert not proved[0] or cost[0] - least <= 1e-7 * S.sum() + 1e-9 * max(1, abs(least))
            last, cut = cost[0], cut + (not proved[0])
    assert cut > 10


def test_a_sweep_sets_each_coordinate_to_its_minimiser_in_turn() -> None:
    rng = np.random.default_rng(0)
    for name, (S, v, energy) in items(5, seed=2):
        psi = rng.random((1, 5))
        expected = psi[0].copy()
        _, done = Box(max_sweeps=1)(
            S[None], v[None], np.array([energy]), psi, np.ones(1, dtype=np.uint64)
        )
        if done[0] and np.array_equal(expected, psi[0]):
            continue  # there was nothing to gain
        for a in range(5):
            if S[a, a] > 0:
                others = S[a] @ expected - S[a, a] * expected[a]
                expected[a] = np.clip((v[a] - others) / S[a, a], 0, 1)
        np.testing.assert_allclose(psi[0], expected, atol=1e-6, err_msg=name)


def test_one_quadratic_serves_all_items_of_a_full_table() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(4), 30)
    S, v = theta.T @ theta, rng.random((5, 30)) @ theta
    shared, apart = np.zeros((5, 4)), np.zeros((5, 4))
    seeds = np.ones(5, dtype=np.uint64)
    Box()(S[None], v, np.zeros(5), shared, seeds)
    Box()(np.repeat(S[None], 5, axis=0), v, np.zeros(5), apart, seeds)
    np.testing.assert_array_equal(shared, apart)
