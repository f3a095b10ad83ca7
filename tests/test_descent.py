from __future__ import annotations

import numpy as np
import pytest

from eventspace._base.codes import unpack
from eventspace.data.observations import Observations
from eventspace.engines.cpu import CPU, _full_table
from eventspace.fitting.descent import Descent, descend, random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.indicators import SDR, Exact, Local
from eventspace.pmf import FrankWolfe, Pairwise
from eventspace.pmf.population import population_centre
from tests import naive

INDICATOR_SOLVERS = [Exact(), SDR(5), Local(3)]
PMF_SOLVERS = [
    Pairwise(),
    FrankWolfe("paper"),
    FrankWolfe("jaggi"),
    FrankWolfe("line-search", max_steps=3),
]


def table(seed: int, *, full: bool = False, weighted: bool = False) -> Observations:
    rng = np.random.default_rng(seed)
    values = rng.random((12, 9))
    if not full:
        values[rng.random(values.shape) < 0.4] = np.nan
        values[3] = np.nan
        values[:, 5] = np.nan
    weight = rng.gamma(1.0, 2.0, values.shape) if weighted else None
    return Observations.from_wide(values, weight=weight)


def triples(observations: Observations) -> tuple[np.ndarray, ...]:
    u, i, p = observations.coo()
    weight = observations.by_user.weight
    w = weight.astype(float) if observations.weighted else np.ones(len(p))
    return u, i, p.astype(float), w


def penalised(descent: Descent, observations: Observations, steps: HalfSteps, prior: str) -> float:
    """The whole cost, by the formula at the head of descent.py."""
    psi = unpack(descent.codes[:, None], descent.pmf.shape[1]).astype(float)
    rated = descent.pmf[np.diff(observations.by_user.ptr) > 0]
    centre = rated.mean(axis=0) if prior == "mean" else 0.0
    return float(
        naive.cost(descent.pmf, psi, *triples(observations))
        + steps.update_pmfs.penalty * float(((rated - centre) ** 2).sum())
        + steps.update_indicators.penalty * psi.sum()
    )


def run(
    observations: Observations, steps: HalfSteps, *, prior: str = "mean", n_iter: int = 6
) -> Descent:
    rng = np.random.default_rng(7)
    return descend(
        random_start(observations, 4, rng),
        observations,
        steps,
        prior=prior,
        n_iter=n_iter,
        tol=0.0,
        rng=rng,
    )


@pytest.mark.parametrize("prior", ["mean", "zero"])
@pytest.mark.parametrize("pmf_solver", PMF_SOLVERS, ids=str)
@pytest.mark.parametrize("indicator_solver", INDICATOR_SOLVERS, ids=str)
def test_the_cost_never_rises_and_is_the_formulas(indicator_solver, pmf_solver, prior) -> None:
    for seed, weighted in ((0, False), (1, True)):
        observations = table(seed, weighted=weighted)
        steps = HalfSteps.on(CPU(), indicator_solver, pmf_solver, 0.05, 0.3)
        descent = run(observations, steps, prior=prior)
        falls = -np.diff(descent.history)
        assert (falls >= -1e-9).all(), descent.history
        expected = penalised(descent, observations, steps, prior)
        assert descent.cost == pytest.approx(expected, rel=1e-6)


def test_each_half_step_lowers_the_cost_and_the_indicator_step_is_exact() -> None:
    observations = table(2, weighted=True)
    u, i, p, w = triples(observations)
    steps = HalfSteps.on(CPU(), Exact(), Pairwise(), 0.02, 0.1)
    descent = random_start(observations, 4, np.random.default_rng(0))
    seeds = np.ones(observations.n_items, dtype=np.uint64)
    for _ in range(4):
        before = penalised(descent, observations, steps, "zero")
        found = steps.update_indicators(observations.by_item, descent.pmf, descent.codes, seeds)
        descent.codes = found.codes
        between = penalised(descent, observations, steps, "zero")
        psi = naive.indicator_step(descent.pmf, observations.n_items, u, i, p, w, mu=0.02)
        best = naive.cost(descent.pmf, psi, u, i, p, w) + 0.02 * psi.sum()
        assert found.cost.sum() == pytest.approx(best, abs=1e-5)
        solved = steps.update_pmfs(observations.by_user, descent.pmf, descent.codes, np.zeros(4))
        descent.pmf = solved.pmf
        after = penalised(descent, observations, steps, "zero")
        assert after <= between + 1e-12 <= before + 2e-12


def test_a_full_table_takes_the_shared_gram_to_the_same_end() -> None:
    full = table(3, full=True)
    assert _full_table(full.by_user, full.n_items) is not None
    assert _full_table(table(3).by_user, full.n_items) is None
    ones = Observations.from_wide(full.by_user.value.reshape(12, 9), weight=np.ones((12, 9)))
    steps = HalfSteps.on(CPU(), Exact(), Pairwise(), 0.0, 0.5)
    fast, plain = run(full, steps), run(ones, steps)
    np.testing.assert_array_equal(fast.codes, plain.codes)
    np.testing.assert_allclose(fast.pmf, plain.pmf, atol=1e-6)
    np.testing.assert_allclose(fast.history, plain.history, rtol=1e-9)


def test_the_number_of_threads_changes_nothing(movielens_100k) -> None:
    train, _ = movielens_100k
    observations = Observations.of(train)
    ends = [
        run(observations, HalfSteps.on(CPU(n_threads), SDR(3), Pairwise(), 0.0, 5.0), n_iter=2)
        for n_threads in (1, 3)
    ]
    np.testing.assert_array_equal(ends[0].codes, ends[1].codes)
    np.testing.assert_array_equal(ends[0].pmf, ends[1].pmf)


def test_users_and_items_without_ratings_stay_out_of_it() -> None:
    observations = table(4)
    descent = run(observations, HalfSteps.on(CPU(), Exact(), Pairwise(), 0.0, 1.0))
    assert descent.codes[5] == 0
    rated = np.diff(observations.by_user.ptr) > 0
    np.testing.assert_array_equal(rated, np.arange(12) != 3)
    centre = population_centre(descent.pmf, rated, "mean")
    np.testing.assert_allclose(centre, np.delete(descent.pmf, 3, axis=0).mean(axis=0))


def test_it_stops_when_the_cost_stands_still() -> None:
    observations = table(5)
    rng = np.random.default_rng(0)
    descent = descend(
        random_start(observations, 3, rng),
        observations,
        HalfSteps.on(CPU(), Exact(), Pairwise()),
        prior="zero",
        n_iter=500,
        tol=1e-3,
        rng=rng,
    )
    assert descent.converged
    falls = -np.diff(descent.history) / descent.history[1:]
    assert falls[-1] <= 1e-3
    assert (falls[:-1] > 1e-3).all()


def test_an_interrupt_keeps_what_was_reached() -> None:
    observations = table(6)

    def stop(descent: Descent, pmfs: object) -> None:
        if len(descent.history) == 2:
            raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    descent = descend(
        random_start(observations, 3, rng),
        observations,
        HalfSteps.on(CPU(), Exact(), Pairwise()),
        prior="zero",
        n_iter=50,
        tol=0.0,
        rng=rng,
        on_iteration=stop,
    )
    assert descent.interrupted
    assert len(descent.history) == 2
    assert descent.cost == pytest.approx(
        penalised(descent, observations, HalfSteps.on(CPU(), Exact(), Pairwise()), "zero"), rel=1e-6
    )
