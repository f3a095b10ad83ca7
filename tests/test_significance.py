"""The exact test against SciPy's, and the q-values against their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from eventspace.rules.significance import p_values, q_values


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 60), st.data())
def test_the_exact_test_is_fishers(users, data) -> None:
    like, then = (data.draw(st.integers(0, users)) for _ in range(2))
    both = data.draw(st.integers(max(0, like + then - users), min(like, then)))
    table = [[both, like - both], [then - both, users - like - then + both]]
    expected = stats.fisher_exact(table, alternative="greater")[1]
    found = p_values(*(np.array([float(n)]) for n in (users, like, then, both)))
    assert_allclose(found, expected, rtol=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.data())
def test_q_values_are_those_of_benjamini_and_yekutieli(p, data) -> None:
    tested = np.array(data.draw(st.lists(st.booleans(), min_size=len(p), max_size=len(p))))
    found = q_values(np.array(p), tested)
    assert (found[~tested] == 1).all()
    if tested.any():
        expected = stats.false_discovery_control(np.array(p)[tested], method="by")
        assert_allclose(found[tested], expected, atol=1e-300)


def test_rules_that_gain_nothing_are_let_through_as_rarely_as_said() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        x = rng.random((80, 12)) < 0.5  # columns that know nothing of each other
        pairs = [(i, j) for i in range(12) for j in range(12) if i < j]
        counts = [(80, x[:, i].sum(), x[:, j].sum(), (x[:, i] & x[:, j]).sum()) for i, j in pairs]
        p = p_values(*np.array(counts, dtype=float).T)
        wrong += int((q_values(p, np.ones(len(p), dtype=bool)) < 0.05).any())
    assert wrong <= 200 * 0.05
