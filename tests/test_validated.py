"""The rival of the benchmarks: the descent with events and penalties chosen on a held-out tenth."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.validated import PATIENCE, PENALTIES, ValidatedDescent
from eventspace import KolmogorovDescent, Observations
from tests.planted import chances


@pytest.fixture(scope="module")
def noisy() -> Observations:
    """Noisy chances, 60 users x 40 items, of four events."""
    rng = np.random.default_rng(0)
    table = np.clip(chances(rng, 60, 40, 4) + rng.normal(0, 0.15, (60, 40)), 0, 1)
    return Observations.of(np.where(rng.random(table.shape) < 0.5, table, np.nan))


def test_the_least_error_is_chosen_and_refitted_down_the_path(noisy) -> None:
    found = ValidatedDescent((1, 4), pmf_penalty=(100, 10, 1), n_init=1, random_state=0).fit(noisy)
    assert len(found.errors_) == 2 * 2 * 3
    best = min(found.errors_, key=lambda tried: found.errors_[tried])
    assert tuple(found.best_params_.values()) == best
    assert best[0] == 4
    by_hand = KolmogorovDescent(
        best[0],
        indicator_penalty=best[1],
        n_iter=10,
        n_init=1,
        warm_start=True,
        random_state=found.model_.random_state,
    )
    for penalty in (100, 10, 1):
        if penalty >= best[2]:
            by_hand.set_params(pmf_penalty=penalty).fit(noisy)
    np.testing.assert_array_equal(found.predict(), by_hand.predict())
    assert found.model_.observations_.n_observed == noisy.n_observed


def test_a_path_ends_where_weaker_penalties_are_no_better(noisy) -> None:
    found = ValidatedDescent((4,), indicator_penalty=(0.0,), n_init=1, random_state=0).fit(noisy)
    errors = list(found.errors_.values())
    assert [tried[2] for tried in found.errors_] == list(PENALTIES[: len(errors)])
    assert len(errors) == int(np.argmin(errors)) + 1 + PATIENCE < len(PENALTIES)
