from __future__ import annotations

import numpy as np
import pytest

from eventspace import KolmogorovModel
from eventspace.baselines import HypercubeModel
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


def test_one_quadratic_serves_all_items_of_a_full_table() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(4), 30)
    S, v = theta.T @ theta, rng.random((5, 30)) @ theta
    shared, apart = np.zeros((5, 4)), np.zeros((5, 4))
    seeds = np.ones(5, dtype=np.uint64)
    Box()(S[None], v, np.zeros(5), shared, seeds)
    Box()(np.repeat(S[None], 5, axis=0), v, np.zeros(5), apart, seeds)
    np.testing.assert_array_equal(shared, apart)


@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_from_a_kolmogorov_model_it_never_ends_above_it(ratings, penalty: float) -> None:
    """The hypercube holds every set: from where a model stands, it can only go down."""
    gained = []
    for seed in range(5):
        for n_events in (1, 2, 4):
            settings = {"pmf_penalty": penalty, "n_init": 1, "random_state": seed}
            model = KolmogorovModel(n_events, **settings).fit(ratings)
            start = (model.pmf_, model.indicators_)
            relaxed = HypercubeModel(n_events, init=start, **settings).fit(ratings)
            assert relaxed.history_[0] <= model.history_[-1] + 1e-9
            assert relaxed.indicators_.min() >= 0
            assert relaxed.indicators_.max() <= 1
            if penalty == 0:
                assert relaxed.error_ <= model.error_ + 1e-9
            gained.append(relaxed.history_[-1] < model.history_[-1] - 1e-4)
    assert any(gained)


def test_where_a_step_has_nothing_to_gain_it_stays() -> None:
    rng = np.random.default_rng(0)
    theta, psi = rng.dirichlet(np.ones(3), 20), rng.random((15, 3))
    relaxed = HypercubeModel(3, pmf_penalty=0.0, init=(theta, psi)).fit(theta @ psi.T)
    np.testing.assert_allclose(relaxed.pmf_, theta, atol=1e-3)
    np.testing.assert_allclose(relaxed.indicators_, psi, atol=1e-3)
    assert relaxed.error_ < 1e-6


def test_a_planted_table_is_explained() -> None:
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.ones(3), 40) @ rng.random((3, 30))
    model = HypercubeModel(3, pmf_penalty=0.0, n_iter=500, tol=0.0, random_state=0).fit(table)
    assert np.sqrt(model.error_ / table.size) < 2e-3


def test_a_bad_start_is_refused() -> None:
    table = np.array([[0.3, 0.5], [0.1, 0.2]])
    theta, psi = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [[0, 1, 0], [1, 1, 0]]
    for init, message in (
        ("random", r"init must be None or \(pmf, indicators\), not a str"),
        ((theta,), r"init must be None or \(pmf, indicators\), not a tuple"),
        ((theta[:1], psi), r"pmf has the shape \(1, 3\); \(2, 3\) is wanted"),
        ((theta, [[0, 1], [1, 1]]), r"indicators has the shape \(2, 2\); \(2, 3\) is wanted"),
        (([[0.5, 0.3, 0.5], theta[1]], psi), "non-negative and add up to 1"),
        ((theta, [[0, 1.5, 0], psi[1]]), "indicators in init must be numbers from 0 to 1"),
        ((theta, [[0, np.nan, 0], psi[1]]), "indicators in init must be numbers from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            HypercubeModel(3, init=init).fit(table)
    with pytest.raises(ValueError, match="init has 3 events, but n_events=2"):
        HypercubeModel(2, init=(theta, psi)).fit(table)
