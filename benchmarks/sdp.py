"""The semidefinite relaxation of the indicator step by general solvers, set up to be fast.

min tr(S~ X) with X positive semidefinite and diag X = 1, where

    S~ = [[S / 4, -t / 2], [-t' / 2, 0]],   t = v - S 1 / 2.

Each solver gets the form that suits it best, at a tolerance of 1e-5, and keeps its workspace from
one instance to the next, where only S~ changes: no symbolic work is repeated, and SCS keeps the
step scale it has learned. Time them within ``one_thread()``: a second BLAS thread made Clarabel
2.5 times slower at D = 32 on two busy cores. ``python -m benchmarks.sdp`` checks that they agree.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial

import clarabel
import numpy as np
import scs
from numpy.typing import NDArray
from scipy import linalg, sparse  # linalg: Clarabel's BLAS must be loaded to be limited
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved, median

Array = NDArray[np.float64]
Places = tuple[NDArray[np.intp], NDArray[np.intp]]
Relaxation = Callable[[Array, Array], tuple[float, Array]]

TOLERANCE = 1e-5

one_thread = partial(threadpool_limits, 1, "blas")


def lifted(S: Array, v: Array) -> Array:
    """S~, the cost of the relaxation, one row and column larger than S."""
    D = len(v)
    cost = np.zeros((D + 1, D + 1))
    cost[:D, :D] = S / 4
    cost[D, :D] = cost[:D, D] = (S.sum(axis=1) / 2 - v) / 2
    return cost


class ClarabelRelaxation:
    """The dual, max 1'y with S~ - Diag(y) positive semidefinite: n variables; X is the multiplier.

    The supernodal factorisation (faer) on one thread without refinement is the fastest choice at
    this tolerance; presolve and chordal decomposition find nothing in a dense cone and would forbid
    updates. Clarabel stacks the upper triangle by columns, which is the lower one by rows.
    """

    def __init__(self, n: int) -> None:
        self.places = np.tril_indices(n)
        self.weights = svec_weights(self.places)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
        settings.direct_solve_method = "faer"
        settings.max_threads = 1
        settings.iterative_refinement_enable = False
        settings.presolve_enable = settings.chordal_decomposition_enable = False
        diagonal = sparse.eye_array(len(self.weights), format="csc")[:, self.weights == 1]
        self.solver = clarabel.DefaultSolver(
            sparse.csc_array((n, n)), -np.ones(n), diagonal, np.zeros(len(self.weights)),
            [clarabel.PSDTriangleConeT(n)], settings,
        )  # fmt: skip

    def __call__(self, cost: Array) -> Array:
        self.solver.update(b=cost[self.places] * self.weights)
        solution = self.solver.solve()
        if solution.status != clarabel.SolverStatus.Solved:
            raise RuntimeError(f"Clarabel: {solution.status}")
        return symmetric(np.asarray(solution.z) / self.weights, self.places)


class ScsRelaxation:
    """The primal in the entries of X below the diagonal, which is fixed at 1; the slack is X.

    SCS needs fewer iterations on it than on the dual. It stacks the lower triangle by columns.
    """

    def __init__(self, n: int) -> None:
        columns, rows = np.triu_indices(n)
        self.places = rows, columns
        self.weights = svec_weights(self.places)
        self.below = rows != columns
        self.solver = scs.SCS(
            {
                "A": -sparse.eye_array(len(rows), format="csc")[:, self.below],
                "b": (~self.below).astype(float),
                "c": np.zeros(self.below.sum()),
            },
            {"s": [n]},
            eps_abs=TOLERANCE, eps_rel=TOLERANCE, verbose=False,
        )  # fmt: skip

    def __call__(self, cost: Array) -> Array:
        self.solver.update(c=(cost[self.places] * self.weights)[self.below])
        solution = self.solver.solve(warm_start=False)
        if solution["info"]["status_val"] != scs.SOLVED:
            raise RuntimeError(f"SCS: {solution['info']['status']}")
        return symmetric(solution["s"] / self.weights, self.places)


def svec_weights(places: Places) -> Array:
    """What a triangle's entries are multiplied by, so that inner products are kept."""
    rows, columns = places
    return np.where(rows == columns, 1.0, np.sqrt(2))


def symmetric(triangle: Array, places: Places) -> Array:
    rows, columns = places
    X = np.empty((rows[-1] + 1, rows[-1] + 1))
    X[rows, columns] = X[columns, rows] = triangle
    return X


clarabel_solver, scs_solver = cache(ClarabelRelaxation), cache(ScsRelaxation)


def clarabel_relaxation(S: Array, v: Array) -> tuple[float, Array]:
    """The value of the relaxation and its X, by Clarabel."""
    cost = lifted(S, v)
    X = clarabel_solver(len(cost))(cost)
    return float(np.vdot(cost, X)), X


def scs_relaxation(S: Array, v: Array) -> tuple[float, Array]:
    """The value of the relaxation and its X, by SCS."""
    cost = lifted(S, v)
    X = scs_solver(len(cost))(cost)
    return float(np.vdot(cost, X)), X


def random_instance(n_events: int, seed: int, n_users: int = 40) -> tuple[Array, Array]:
    """S = Theta' Theta and v = Theta' p of random PMFs and probabilities."""
    rng = np.random.default_rng(seed)
    theta, p = rng.dirichlet(np.ones(n_events), n_users), rng.random(n_users)
    return theta.T @ theta, theta.T @ p


def solve_all(relaxation: Relaxation, instances: Iterable[tuple[Array, Array]]) -> None:
    for S, v in instances:
        relaxation(S, v)


def check(sizes: tuple[int, ...] = (4, 8, 16, 24, 32), n_instances: int = 10) -> None:
    """Compare the two solvers on random instances, and print their milliseconds a solve."""
    solvers = {"Clarabel": clarabel_relaxation, "SCS": scs_relaxation}
    for D in sizes:
        instances = [random_instance(D, seed) for seed in range(n_instances)]
        answers = [[solve(S, v) for solve in solvers.values()] for S, v in instances]
        differences = [abs(a - b) / abs(a) for (a, _), (b, _) in answers]
        assert max(differences) < 1e-3, differences
        for X in (X for pair in answers for _, X in pair):
            assert np.allclose(np.diag(X), 1, atol=1e-3), np.diag(X)
            assert linalg.eigvalsh(X)[0] > -1e-3, linalg.eigvalsh(X)
        spent = interleaved({k: partial(solve_all, f, instances) for k, f in solvers.items()}, 3)
        ms = ", ".join(f"{k} {1e3 * median(t) / n_instances:.2f} ms" for k, t in spent.items())
        print(f"D = {D:2}: {ms}; values differ by {max(differences):.0e} at most, relatively")


if __name__ == "__main__":
    with one_thread():
        check()
