"""The exact claim on real items: MovieLens 100K, S_i and v_i from a running fit."""

from __future__ import annotations

import numpy as np
import pytest

from eventspace import KolmogorovDescent, Observations
from eventspace.engines.gram import normal_equations
from eventspace.indicators.exact import enumerate_costs, exact
from eventspace.indicators.quadratic import TOLERANCE
from eventspace.indicators.sphere import room_for_sphere, sphere


@pytest.mark.parametrize("n_events", range(1, 13))
@pytest.mark.parametrize("penalty", [0.1, 60.0])
def test_every_item_is_solved_exactly(movielens_100k, n_events: int, penalty: float) -> None:
    train, _ = movielens_100k
    observations = Observations.of(train, scale="max")
    model = KolmogorovDescent(n_events, pmf_penalty=penalty, n_iter=1, random_state=0)
    pmf = model.fit(observations).pmf_
    n_items = observations.n_items
    S, v = np.empty((n_items, n_events, n_events)), np.empty((n_items, n_events))
    energy = np.empty(n_items)
    normal_equations(*observations.by_item[:4], pmf, S, v, energy)

    codes = np.zeros(n_items, dtype=np.uint64)
    cost, nodes = np.empty(n_items), np.empty(n_items, dtype=np.int64)
    exact(S, v, energy, codes, 5_000_000, cost, nodes)
    assert (nodes >= 0).all()

    table, row = np.empty(1 << n_events), np.empty(1 << n_events)
    room = room_for_sphere(n_events)
    for i in range(0, n_items, 7):
        enumerate_costs(S[i], v[i], table, row)
        least = table.min() + energy[i]
        allowed = TOLERANCE * S[i].sum() + 1e-9
        assert cost[i] <= least + allowed
        x = np.zeros(n_events)
        assert sphere(S[i], v[i], energy[i], x, 5_000_000, room) >= 0
        assert x @ S[i] @ x - 2 * x @ v[i] + energy[i] <= least + allowed


def test_all_items_are_proved_at_24_events(movielens_100k) -> None:
    train, _ = movielens_100k
    observations = Observations.of(train, scale="max")
    for penalty in (1.0, 60.0):
        model = KolmogorovDescent(24, pmf_penalty=penalty, n_iter=2, random_state=0)
        assert model.fit(observations).proved_.all()
