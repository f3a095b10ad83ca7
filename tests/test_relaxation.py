"""The mixing method against a general solver of semidefinite programs."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from eventspace.indicators import SDR, Exact
from eventspace.indicators.sdr import GAIN, MAX_SWEEPS
from tests import naive
from tests.kernels.instances import items, relaxed

Floats = NDArray[np.float64]


def clarabel_value(C: Floats) -> float:
    """``min tr(C X)``, X positive semidefinite with unit diagonal, from its dual.

    ``max -sum(y)`` with C + diag(y) positive semidefinite.
    """
    n = len(C)
    rows, columns = np.tril_indices(n)
    scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
    diagonal = sparse.csc_matrix(np.eye(len(rows))[:, rows == columns])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((n, n)),
        np.ones(n),
        -diagonal,
        C[rows, columns] * scale,
        [clarabel.PSDTriangleConeT(n)],
        settings,
    )
    return -float(solver.solve().obj_val)


@pytest.mark.parametrize("n_events", [3, 8, 16, 24])
def test_mixing_reaches_the_value_of_the_semidefinite_program(n_events: int) -> None:
    for name, (S, v, _) in items(n_events, seed=n_events):
        C = naive.relaxation_matrix(S, v)
        V, _ = relaxed(S, v, 5, MAX_SWEEPS, GAIN)
        ours, theirs = float((C * (V.T @ V)).sum()), clarabel_value(C)
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-5 * max(1.0, abs(C).sum())), name


def test_rounding_comes_near_the_optimum_and_never_below_the_relaxation() -> None:
    """The paper's Table 1: on U = 20 users SDR misses the optimum for less than one item in 20."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(8), 20)
    p = rng.random((20, 200))
    S, v, energy = theta.T @ theta, p.T @ theta, (p**2).sum(axis=0)
    seeds = rng.integers(1, 2**63, 200).astype(np.uint64)
    rounded, _ = SDR(50)(S[None], v, energy, np.zeros(200, dtype=np.uint64), seeds)
    least, proved = Exact()(S[None], v, energy, np.zeros(200, dtype=np.uint64), seeds)
    assert proved.all()
    assert (rounded >= least - 1e-5).all()
    assert np.mean(rounded > least + 1e-5) < 0.05
    for k in range(10):
        lifted = naive.relaxation_matrix(S, v[k])
        constant = S.sum() / 4 - v[k].sum() + energy[k]
        assert clarabel_value(lifted) + constant <= least[k] + 1e-6
