from __future__ import annotations

import numpy as np
import pytest

from eventspace._base import codes
from eventspace._base.codes import pack, unpack


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


def test_masses_are_sums_over_sets_and_never_less_for_a_superset(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    for n_events in (1, 5, 64, 130):
        mass = rng.dirichlet(np.ones(n_events))
        sets = rng.random((200, n_events)) < 0.5
        larger = sets | (rng.random(sets.shape) < 0.1)
        for most in (0, 1 << 22):  # event by event, and as one table
            monkeypatch.setattr(codes, "_TABLE", most)
            found = codes.masses(codes.pack(np.vstack([sets, larger])), mass)
            np.testing.assert_allclose(found[:200], sets @ mass, atol=1e-12)
            assert (found[:200] <= found[200:]).all()


def test_inside_and_sizes_whatever_the_number_of_words() -> None:
    rng = np.random.default_rng(1)
    for n_events in (3, 64, 70):
        a, b = (rng.random((50, n_events)) < p for p in (0.05, 0.95))
        assert (codes.inside(codes.pack(a), codes.pack(b)) == ~(a & ~b).any(axis=1)).all()
        assert (codes.sizes(codes.pack(a)) == a.sum(axis=1)).all()
