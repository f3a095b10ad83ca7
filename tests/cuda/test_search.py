"""Every code weighed on the device: what it decides is what the CPU's solver decides."""

from __future__ import annotations

import numpy as np
import pytest

from eventspace.engines.cuda import search
from eventspace.engines.cuda.device import cuda, to_device, to_host
from eventspace.indicators import Exact
from tests import naive
from tests.kernels.instances import items


@pytest.mark.parametrize("D", [1, 2, 4, 7])
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_what_is_decided_is_right_and_the_rest_is_left(D, penalty) -> None:
    rng, stream = np.random.default_rng(D), cuda.stream()
    named = list(items(D, seed=D))
    S, v, e = (np.array([instance[k] for _, instance in named]) for k in range(3))
    before = rng.integers(0, 1 << D, len(named)).astype(np.uint64)
    codes, cost = to_device(before, stream), to_device(e, stream)
    ends = to_device(np.full(len(named), 9, np.uint8), stream)
    arrays = [to_device(array, stream) for array in (S, v, e)]
    search.make_search(D)[len(named), search.threads_for(D), stream](
        *arrays, penalty, codes, cost, ends
    )
    codes, cost, ends = (to_host(array, stream) for array in (codes, cost, ends))
    expected = before.copy()
    linear = v - 0.5 * penalty
    costs, proved = Exact()(S, linear, e, expected, np.ones(len(named), np.uint64))
    assert proved.all()
    for k, (name, _) in enumerate(named):
        if ends[k] == search.OPEN:
            assert codes[k] == before[k], name
            continue
        assert codes[k] == expected[k], name
        assert cost[k] == pytest.approx(costs[k], abs=1e-9 * max(1.0, abs(costs[k]))), name
        least, _ = naive.exhaustive(S[k], linear[k])
        assert cost[k] - e[k] <= least + 1.2e-7 * S[k].sum() + 1e-9 * abs(least), name
    decided = {name for k, (name, _) in enumerate(named) if ends[k] != search.OPEN}
    assert {"well rated", "weighted", "unrated", "penalised beyond measure"} <= decided
    if D > 2 and not penalty:  # sets of one size cost the same: none is found, at most one is kept
        assert ends[[name for name, _ in named].index("tied: uniform PMFs")] != search.FOUND
