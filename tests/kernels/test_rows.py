from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eventspace._base.jit import njit
from eventspace._base.rows import set_row, wide
from eventspace._base.vectors import WIDE


@njit()
def _set_row(to: Any, i: int, base: Any, k: int, scale: float, rows: Any, j: int) -> None:
    set_row(to, i, base, k, scale, rows, j)


@pytest.mark.parametrize("n_columns", [1, 8, 13, 16, 33])
def test_rows_are_added_up(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    shape = wide(4, n_columns).shape
    assert shape[1] % WIDE == 0
    assert n_columns <= shape[1] < n_columns + WIDE
    to, base, rows = rng.random((3, *shape))
    expected = to.copy()
    expected[2] = base[3] - 0.7 * rows[1]
    _set_row(to, 2, base, 3, -0.7, rows, 1)
    np.testing.assert_allclose(to, expected, rtol=1e-14)
    expected[1] += 2.0 * expected[2]
    _set_row(to, 1, to, 1, 2.0, to, 2)
    np.testing.assert_allclose(to, expected, rtol=1e-14)
