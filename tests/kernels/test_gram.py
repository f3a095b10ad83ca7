from __future__ import annotations

import numpy as np
import pytest

from eventspace.engines.gram import normal_equations
from tests import naive


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_events", [1, 5, 8])
def test_sums_over_the_observed_entries_of_each_row(n_events: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([0, 1, 3, 4, 5, 9])
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    index = rng.integers(0, 7, ptr[-1]).astype(np.int32)
    value = rng.random(ptr[-1]).astype(np.float32)
    weight = rng.gamma(1.0, 3.0, ptr[-1] if weighted else 0).astype(np.float32)
    factors = rng.random((7, n_events))
    gram = np.full((len(sizes), n_events, n_events), np.nan)
    linear = np.full((len(sizes), n_events), np.nan)
    energy = np.full(len(sizes), np.nan)

    normal_equations(ptr, index, value, weight, factors, gram, linear, energy)

    for k in range(len(sizes)):
        row = slice(ptr[k], ptr[k + 1])
        w = weight[row] if weighted else np.ones(sizes[k])
        G, h, e = naive.sums(factors, index[row], value[row].astype(float), w.astype(float))
        np.testing.assert_allclose(gram[k], G, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(linear[k], h, rtol=1e-12, atol=1e-13)
        assert energy[k] == pytest.approx(e, rel=1e-12)
