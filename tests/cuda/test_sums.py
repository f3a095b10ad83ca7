"""The quadratics that the device forms, against the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace.engines.cuda import gram
from eventspace.engines.cuda.device import cuda, to_device, to_host
from eventspace.engines.cuda.tables import Segments
from eventspace.engines.cuda.totals import column_sums
from tests import naive


def on_device(D: int, factors: Any, ptr: Any, index: Any, value: Any, weight: Any, column: Any):
    stream, n_rows = cuda.stream(), len(ptr) - 1
    segments = Segments.of(ptr[:-1], ptr[1:]).to_device(stream)
    sums = cuda.device_array((len(segments.begin), gram.sums_for(D)), np.float64)
    given = [to_device(array, stream) for array in (index, value, weight, column, factors)]
    kernel = gram.make_gram(D, factors.dtype == np.uint64, weight.size > 0, column.size > 0)
    kernel[2, gram.LANES, stream](*segments[:2], 0, *given, sums)
    shapes = (n_rows, D, D), (n_rows, D), n_rows
    G, h, e = (cuda.device_array(shape, np.float64) for shape in shapes)
    gram.make_fold(D)[n_rows * (D * D + D + 1), 1, stream](segments.first, sums, G, h, e)
    return [to_host(array, stream) for array in (G, h, e)]


@pytest.mark.parametrize("D", [1, 5, 16])
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("weights", ["", "entries", "columns and entries"])
def test_sums_are_those_of_the_formulas(D, fixed, weights) -> None:
    rng = np.random.default_rng(D)
    sizes = np.array([23, 0, 1, 7])
    ptr = np.append(0, np.cumsum(sizes))
    index = rng.integers(0, 9, ptr[-1]).astype(np.int32)
    value = rng.random(ptr[-1]).astype(np.float32)
    weight = rng.gamma(1.0, 1.0, ptr[-1]).astype(np.float32) if weights else value[:0]
    column = rng.random(9).astype(np.float32) if "columns" in weights else value[:0]
    theta = rng.dirichlet(np.ones(D), 9)
    factors = np.zeros((9, gram.columns_for(D)))
    factors[:, :D] = theta
    if fixed:
        factors = gram.as_fixed(theta, D)
    G, h, e = on_device(D, factors, ptr, index, value, weight, column)
    w = np.ones(ptr[-1]) if not weights else weight.astype(float)
    if column.size:
        w *= column[index]
    for k in range(len(sizes)):
        row = slice(ptr[k], ptr[k + 1])
        expected = naive.sums(theta, index[row], value[row].astype(float), w[row])
        atol = sizes[k] * 1e-8 if fixed else 1e-12
        for found, right in zip((G, h, e), expected, strict=True):
            assert_allclose(found[k], np.asarray(right), atol=atol)
        assert_array_equal(G[k], G[k].T)


def test_segments_cover_each_row_once() -> None:
    ptr = np.array([0, 0, 7, 8, 30])
    segments = Segments.of(ptr[:-1], ptr[1:])
    assert (segments.end - segments.begin).max() <= 7
    for k in range(4):
        own = slice(segments.first[k], segments.first[k + 1])
        covered = [range(*cut) for cut in zip(segments.begin[own], segments.end[own], strict=True)]
        assert [t for cut in covered for t in cut] == list(range(ptr[k], ptr[k + 1]))


def test_totals_are_of_the_rows_that_count(monkeypatch) -> None:
    rng, stream = np.random.default_rng(0), cuda.stream()
    monkeypatch.setattr("eventspace.engines.cuda.totals.ROWS", 11)
    x, counted, centre = rng.random((25, 3)), rng.random(25) < 0.7, rng.random(3)
    arrays = cuda.to_device(x), cuda.to_device(counted)
    found = column_sums(*arrays, centre, True, stream)
    assert_allclose(found, np.square(x[counted] - centre).sum(axis=0))
    assert_allclose(column_sums(*arrays, np.zeros(3), False, stream), x[counted].sum(axis=0))
