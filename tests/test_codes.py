from __future__ import annotations

import numpy as np
import pytest

from eventspace.codes import pack, unpack


@pytest.mark.parametrize("n_events", [1, 7, 63, 64, 65, 130])
def test_pack_and_unpack(n_events: int) -> None:
    indicators = np.random.default_rng(n_events).random((9, n_events)) < 0.5
    codes = pack(indicators)
    assert codes.dtype == np.uint64
    assert codes.shape == (9, -(-n_events // 64))
    for i in range(9):
        number = sum(int(word) << (64 * k) for k, word in enumerate(codes[i]))
        assert number == sum(1 << d for d in range(n_events) if indicators[i, d])
    np.testing.assert_array_equal(unpack(codes, n_events), indicators)
