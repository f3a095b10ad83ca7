from __future__ import annotations

import numpy as np
import pytest

from eventspace import KolmogorovDescent
from eventspace.baselines import HypercubeModel


@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_from_a_kolmogorov_model_it_never_ends_above_it(ratings, penalty: float) -> None:
    """The hypercube holds every set: from where a model stands, it can only go down."""
    gained = []
    for seed in range(5):
        for n_events in (1, 2, 4):
            settings = {"pmf_penalty": penalty, "n_init": 1, "random_state": seed}
            model = KolmogorovDescent(n_events, **settings).fit(ratings)
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
