"""The draws against the laws they claim: fixed seeds, thresholds of four to five sigma."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy import stats

from eventspace._base.randomness import next_random, streams
from eventspace.sampling.draw_indicators import draw_indicators
from eventspace.sampling.draw_pmfs import draw_pmfs, draw_precisions
from eventspace.sampling.draw_variates import draw_gamma, draw_normal, draw_truncated
from tests import naive
from tests.kernels.instances import items, many

Floats = NDArray[np.float64]

SIGMAS = 4.5
UNLIKELY = 1e-5  # the two-sided tail beyond about 4.4 sigma


N_DRAWS = many(10_000, 600)


def drawn(kernel: Callable[..., Any], *parameters: float, n: int = N_DRAWS) -> Floats:
    state, out = np.uint64(0x9E3779B97F4A7C15), np.empty(n)
    for k in range(n):
        state, out[k] = kernel(np.uint64(state), *parameters)
    return out


def assert_law(x: Floats, cdf: Callable[[Floats], Floats]) -> None:
    """Kolmogorov and Smirnov's test; and no value twice, for these laws are continuous."""
    assert stats.kstest(x, cdf).pvalue > UNLIKELY
    assert len(np.unique(x)) > 0.99 * len(x)


def assert_mean(x: Floats, expected: float, second: float) -> None:
    """That independent draws have the mean; ``second`` is the exact mean of the squares."""
    error = np.sqrt(max(second - expected**2, 0.0) / len(x))
    assert abs(np.mean(x) - expected) < SIGMAS * error + 1e-9


# --- one number --------------------------------------------------------------------------------


def test_normals_have_the_normal_law_and_are_independent() -> None:
    x = drawn(draw_normal)
    assert_law(x, stats.norm.cdf)
    for power, expected, second in [(1, 0, 1), (2, 1, 3), (3, 0, 15), (4, 3, 105)]:
        assert_mean(x**power, expected, second)
    for lag in (1, 2, 3):
        assert_mean(x[lag:] * x[:-lag], 0, 1)
        assert_mean(x[lag:] ** 2 * x[:-lag] ** 2, 1, 9)


BOUNDS = [
    (-4.0, 5.0),  # wide, around zero
    (-1.3, 1.3),  # just wide
    (-0.1, 1e9),
    (0.0, 1e9),
    (0.0, 2.0),  # narrow
    (-0.5, 0.2),
    (-2.4, 0.05),
    (1.0, 1.5),
    (30.0, 30.02),
    (0.01, 2.6),  # a tail
    (0.2, 4.0),
    (1.0, 1e9),
    (1.0, 2.5),
    (3.0, 3.5),
    (6.0, 60.0),
    (30.0, 1e9),  # far out
    (30.0, 30.1),
    (3e4, 1e9),
]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("side", [1, -1])
def test_truncated_normals_have_the_truncated_law(low: float, high: float, side: int) -> None:
    if side < 0:
        low, high = -high, -low
    x = drawn(draw_truncated, low, high)
    assert low <= x.min()
    assert x.max() <= high
    assert_law(x, stats.truncnorm(low, high).cdf)


@pytest.mark.parametrize(
    ("low", "high"), [(-0.8, 0.0), (0.0, 0.8), (-5.0, 0.0), (0.0, 5.0), (-3, 3)]
)
def test_a_bound_that_is_zero_but_for_rounding_decides_nothing(low: float, high: float) -> None:
    state = np.uint64(88172645463325252)
    for _ in range(50):
        _, x = draw_truncated(state, low, high)
        _, below = draw_truncated(state, low - 1e-14, high - 1e-14)
        _, above = draw_truncated(state, low + 1e-14, high + 1e-14)
        np.testing.assert_allclose([below, above], x, atol=1e-12)
        state = next_random(state)


@pytest.mark.parametrize("low", [-1e6, -2.0, 0.0, 1e-9, 1e-5, 0.3, 5.0, 1e6])
@pytest.mark.parametrize("width", [0.0, 1e-12, 1e-3, 1.0, 1e4, 1e9])
def test_truncated_normals_are_found_soon_whatever_the_bounds(low: float, width: float) -> None:
    """A proposal takes two states, and not many more than half of them are refused."""
    n, high = 300, low + width
    state, n_states = np.uint64(88172645463325252), 0
    for _ in range(n):
        before = int(state)
        state, x = draw_truncated(np.uint64(state), low, high)
        assert low <= x <= high
        n_states += steps_between(before, int(state))
    assert n_states < 2 * 2.7 * n


@pytest.mark.parametrize("bounds", [(np.nan, 1.0), (0.0, np.nan), (np.inf, np.inf), (1.0, 0.0)])
def test_bounds_with_nothing_between_end_at_once(bounds: tuple[float, float]) -> None:
    state, x = draw_truncated(np.uint64(88172645463325252), *bounds)
    assert state == np.uint64(88172645463325252)
    assert_array_equal(x, bounds[0])


def steps_between(state: int, later: int) -> int:
    steps = 0
    while state != later:
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        steps += 1
        assert steps < 1000
    return steps


@pytest.mark.parametrize("shape", [1.0, 2.5, 60.0])
def test_gammas_have_the_gamma_law(shape: float) -> None:
    x = drawn(draw_gamma, shape)
    assert_law(x, stats.gamma(shape).cdf)
    assert_mean(x, shape, shape + shape**2)


# --- indicators --------------------------------------------------------------------------------


def law_of_indicators(S: Floats, v: Floats) -> Floats:
    """The chance of every set, by enumeration."""
    log = np.array([v @ psi - 0.5 * psi @ S @ psi for psi in naive.all_codes(len(v))])
    chance = np.exp(log - log.max())
    return np.asarray(chance / chance.sum())


def assert_counts(codes: NDArray[np.int64], law: Floats) -> None:
    """A chi-square test over the sets, the rare ones taken together."""
    expected, observed = len(codes) * law, np.bincount(codes, minlength=len(law)).astype(float)
    rare = expected < 5
    expected = np.append(expected[~rare], expected[rare].sum())
    observed = np.append(observed[~rare], observed[rare].sum())
    if expected[-1] < 5:  # too few even so: they may all be absent, but not many
        assert observed[-1] < expected[-1] + 6 * np.sqrt(expected[-1]) + 3
        expected, observed = expected[:-1], observed[:-1]
    if len(expected) > 1:
        statistic = np.square(observed - expected) / expected
        assert stats.chi2(len(expected) - 1).sf(statistic.sum()) > UNLIKELY


def sample_indicators(
    S: Floats, v: Floats, psi: Floats, sweeps: int, seed: int = 1
) -> NDArray[np.int64]:
    """Codes after some sweeps over as many rows as ``psi`` has, all of the same law."""
    n, n_events = psi.shape
    seeds = streams(np.random.default_rng(seed), n)
    for _ in range(sweeps):
        draw_indicators(np.tile(S, (n, 1, 1)), np.tile(v, (n, 1)), psi, seeds)
    assert np.isin(psi, (0.0, 1.0)).all()
    return (psi @ (1 << np.arange(n_events))).astype(np.int64)


def random_quadratic(rng: np.random.Generator, n_events: int) -> tuple[Floats, Floats]:
    A = rng.normal(size=(n_events + 2, n_events))
    return A.T @ A * rng.uniform(0.1, 1.5), rng.normal(size=n_events) * rng.uniform(0, 3)


@pytest.mark.parametrize("n_events", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bits_of_one_block_are_drawn_at_once(n_events: int, seed: int) -> None:
    """One sweep, from wherever: the law is the exact one."""
    rng = np.random.default_rng(seed)
    S, v = random_quadratic(rng, n_events)
    n = many(20_000, 500)
    psi = np.tile((rng.random(n_events) < 0.5).astype(float), (n, 1))
    assert_counts(sample_indicators(S, v, psi, sweeps=1), law_of_indicators(S, v))


@pytest.mark.parametrize("n_events", [5, 6, 9])
def test_several_blocks_reach_the_law_and_keep_it(n_events: int) -> None:
    rng = np.random.default_rng(n_events)
    S, v = random_quadratic(rng, n_events)
    law = law_of_indicators(S, v)
    n = many(20_000, 300)
    exact = naive.all_codes(n_events)[rng.choice(len(law), n, p=law)]
    assert_counts(sample_indicators(S, v, exact, sweeps=many(3, 1)), law)
    if many(1, 0):
        anywhere = (rng.random((n, n_events)) < 0.5).astype(float)
        assert_counts(sample_indicators(S, v, anywhere[:5000], sweeps=60), law)


@pytest.mark.parametrize("n_events", [5, 8, 11])
def test_a_sweep_draws_every_bit(n_events: int) -> None:
    """Events that have nothing to do with each other: one sweep suffices."""
    rng = np.random.default_rng(0)
    n = many(20_000, 100)
    q = rng.uniform(0.1, 0.9, n_events)
    a = rng.uniform(0, 4, n_events)
    v = np.log(q / (1 - q)) + 0.5 * a
    psi = np.zeros((n, n_events))
    sample_indicators(np.diag(a), v, psi, sweeps=1)
    for d in range(n_events):
        assert_mean(psi[:, d], q[d], q[d])
        assert_mean(psi[:, d] * psi[:, d - 1], q[d] * q[d - 1], q[d] * q[d - 1])


@pytest.mark.parametrize("n_events", [4, 5])
def test_two_modes_are_both_visited_in_their_proportion(n_events: int) -> None:
    """Some events or else the others: no single flip leads from the one set to the other."""
    sign = np.where(np.arange(n_events) < 2, 1.0, -1.0)
    coupling = -0.6 * np.outer(sign, sign)
    S, v = 4 * coupling, 2 * coupling.sum(axis=1) + 0.1 * sign
    S += 20 * np.eye(n_events)  # a bit is its own square: this cancels, and S is like a Gram matrix
    v += 10
    law = law_of_indicators(S, v)
    modes = np.argsort(law)[-2:]
    assert set(modes) == {0b11, (1 << n_events) - 1 - 0b11}
    assert law[modes].min() > 0.25
    assert law[modes].sum() > 0.85
    rng = np.random.default_rng(0)
    n = many(20_000, 300)
    psi = naive.all_codes(n_events)[rng.choice(len(law), n, p=law)]
    assert_counts(sample_indicators(S, v, psi, sweeps=many(3, 1)), law)
    if n_events == 4:
        psi = np.zeros((n, n_events))
        assert_counts(sample_indicators(S, v, psi, sweeps=1), law)


def test_the_instances_of_the_indicator_step_are_drawn_in_proportion() -> None:
    """Degenerate quadratics among them: unrated, tied, a bit that is all but certain."""
    n = many(5000, 100)
    for name, (S, v, _) in items(4, seed=4):
        for temperature in (1.0, 25.0):
            law = law_of_indicators(temperature * S, temperature * v)
            codes = sample_indicators(temperature * S, temperature * v, np.ones((n, 4)), sweeps=1)
            try:
                assert_counts(codes, law)
            except AssertionError:
                pytest.fail(name)


def test_rows_of_indicators_are_independent_of_each_other() -> None:
    rng = np.random.default_rng(0)
    n, n_events = 20, 6
    rows = [random_quadratic(rng, n_events) for _ in range(n)]
    S, v = np.array([S for S, _ in rows]), np.array([v for _, v in rows])
    start, seeds = (rng.random((n, n_events)) < 0.5).astype(float), streams(rng, n)
    whole, states = start.copy(), seeds.copy()
    draw_indicators(S, v, whole, states)
    assert (states != seeds).all()
    assert len(np.unique(states)) == n
    cut, states_cut = start.copy(), seeds.copy()
    for chunk in (slice(13, n), slice(0, 1), slice(1, 13)):
        draw_indicators(S[chunk], v[chunk], cut[chunk], states_cut[chunk])
    np.testing.assert_array_equal(cut, whole)
    np.testing.assert_array_equal(states_cut, states)


# --- PMFs --------------------------------------------------------------------------------------


def grid(n_events: int, n: int = 400) -> tuple[Floats, int]:
    """Midpoints of equal cells of the simplex, for D = 2 and 3; and the cells along an edge."""
    if n_events == 2:
        x = (np.arange(4 * n) + 0.5) / (4 * n)
        return np.stack([x, 1 - x], axis=1), 4 * n
    i, j = (index.ravel() for index in np.indices((n, n)))
    upward, downward = i + j < n, i + j < n - 1
    ab = np.vstack(
        [
            np.stack([i, j], axis=1)[upward] + 1 / 3,
            np.stack([i, j], axis=1)[downward] + 2 / 3,
        ]
    )
    return np.hstack([ab, n - ab.sum(axis=1, keepdims=True)]) / n, n


def assert_pmf_law(pmf: Floats, Q: Floats, r: Floats) -> None:
    """Means, products and marginals of independent draws against those of a fine grid."""
    theta, n_cells = grid(len(r))
    log = theta @ r - 0.5 * np.einsum("kd,de,ke->k", theta, Q, theta)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    for d in range(len(r)):
        assert_mean(pmf[:, d], weight @ theta[:, d], weight @ theta[:, d] ** 2)
        for e in range(d + 1):
            product = theta[:, d] * theta[:, e]
            assert_mean(pmf[:, d] * pmf[:, e], weight @ product, weight @ product**2)
        mass, edges = np.histogram(theta[:, d], n_cells, range=(0, 1), weights=weight)
        cdf = np.append(0, np.cumsum(mass))
        assert_law(pmf[:, d], partial(np.interp, xp=edges, fp=cdf))


def sample_pmfs(
    Q: Floats, r: Floats, counts: Floats, sweeps: int, start: Floats | None = None
) -> Floats:
    """Independent draws: a row each, all of the same law, from the middle or the given PMF."""
    n, n_events = many(15_000, 120), len(r)
    pmf = np.tile(np.full(n_events, 1 / n_events) if start is None else start, (n, 1))
    seeds = streams(np.random.default_rng(3), n)
    for _ in range(sweeps):
        draw_pmfs(
            np.tile(Q, (n, 1, 1)),
            np.tile(r, (n, 1)),
            np.ones(n),
            np.tile(counts, (n, 1)),
            pmf,
            seeds,
        )
    assert pmf.min() >= 0
    assert np.abs(pmf.sum(axis=1) - 1).max() < 1e-12
    return pmf


def pmf_laws() -> list[Any]:
    rng = np.random.default_rng(5)
    laws = []
    for n_events in (2, 3):
        A = rng.normal(size=(8, n_events))
        zero = np.zeros((n_events, n_events))
        ones = np.ones((1, n_events))
        laws += [
            ("mild", A.T @ A, rng.normal(size=n_events)),
            ("strong", 6 * A.T @ A, 8 * rng.normal(size=n_events)),
            ("a corner", 4 * A.T @ A, np.eye(n_events)[0] * 30),
            ("one rating", 9 * A[:1].T @ A[:1], 9 * A[0]),  # singular
            ("full sets only", 50 * ones.T @ ones, 40 * ones[0]),
            ("unrated", zero, zero[0]),
            ("slopes, no curvature", zero, np.eye(n_events)[-1] * 25 + np.eye(n_events)[0] * 15),
        ]
    return [pytest.param(Q, r, id=f"{name}-{len(r)}") for name, Q, r in laws]


@pytest.mark.parametrize(("Q", "r"), pmf_laws())
def test_pmfs_have_the_law_of_the_grid(Q: Floats, r: Floats) -> None:
    corner = np.eye(len(r))[-1]  # two events without mass stay so until a third gives some
    assert_pmf_law(sample_pmfs(Q, r, np.ones(len(r)), many(60, 8), corner), Q, r)


COUNTS = [(1.0, 1.0), (1.0,) * 6, (0.5, 3.0), (0.3, 0.6, 2.0), (0.2, 1.0, 5.0, 0.9, 1.6)]


@pytest.mark.parametrize("counts", COUNTS)
def test_without_ratings_a_pmf_has_the_law_of_dirichlet(counts: tuple[float, ...]) -> None:
    n_events, m = len(counts), np.array(counts)
    pmf = sample_pmfs(np.zeros((n_events, n_events)), np.zeros(n_events), m, many(150, 40))
    for d in range(n_events):
        assert_law(pmf[:, d], stats.beta(m[d], m.sum() - m[d]).cdf)


@pytest.mark.parametrize("counts", [(1.0,) * 5, (0.4, 1.0, 2.5, 0.8, 1.5)])
def test_pmfs_of_more_events_have_the_law_of_rejection(counts: tuple[float, ...]) -> None:
    rng = np.random.default_rng(2)
    n_events = 5
    A = rng.normal(size=(3, n_events))
    Q, r = 2 * A.T @ A, rng.normal(size=n_events)
    theta = rng.dirichlet(counts, 400_000)
    log = theta @ r - 0.5 * np.einsum("kd,de,ke->k", theta, Q, theta)
    kept = theta[np.log(rng.random(len(log))) < log - log.max()]
    assert len(kept) > 20_000
    pmf = sample_pmfs(Q, r, np.array(counts), sweeps=many(100, 40))
    for d in range(n_events):
        assert stats.ks_2samp(pmf[:, d], kept[:, d]).pvalue > UNLIKELY
    for d, e in [(0, 1), (1, 2), (3, 4)]:
        mine, theirs = pmf[:, d] * pmf[:, e], kept[:, d] * kept[:, e]
        error = np.hypot(mine.std() / len(mine) ** 0.5, theirs.std() / len(theirs) ** 0.5)
        assert abs(mine.mean() - theirs.mean()) < SIGMAS * error


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3, 1e8])
def test_pmfs_stay_on_the_simplex(scale: float) -> None:
    rng = np.random.default_rng(0)
    n, n_events = 8, 7
    A = rng.normal(size=(n, 5, n_events))
    Q, r = scale * np.einsum("uka,ukb->uab", A, A), scale * rng.normal(size=(n, n_events))
    pmf, seeds = rng.dirichlet(np.ones(n_events), n), streams(rng, n)
    counts = np.tile([0.2, 0.2, 0.5, 1.0, 1.0, 3.0, 20.0], (n, 1))
    for _ in range(many(5000, 40)):
        draw_pmfs(Q, r, np.ones(n), counts, pmf, seeds)
        assert pmf.min() >= 0
    assert np.abs(pmf.sum(axis=1) - 1).max() < 1e-12


def test_one_event_has_all_the_mass() -> None:
    pmf, seeds = np.ones((3, 1)), np.arange(1, 4, dtype=np.uint64)
    draw_pmfs(np.ones((3, 1, 1)), np.ones((3, 1)), np.ones(3), np.ones((3, 1)), pmf, seeds)
    np.testing.assert_array_equal(pmf, 1.0)


def test_rows_of_pmfs_are_independent_of_each_other() -> None:
    rng = np.random.default_rng(0)
    n, n_events = 12, 5
    A = rng.normal(size=(n, 6, n_events))
    Q, r = np.einsum("uka,ukb->uab", A, A), rng.normal(size=(n, n_events))
    start, seeds = rng.dirichlet(np.ones(n_events), n), streams(rng, n)
    whole, states = start.copy(), seeds.copy()
    counts = rng.uniform(0.2, 2.0, size=(n, n_events))
    tau = rng.uniform(0.5, 2.0, n)
    draw_pmfs(Q, r, tau, counts, whole, states)
    assert (states != seeds).all()
    cut, states_cut = start.copy(), seeds.copy()
    for chunk in (slice(7, n), slice(0, 7)):
        draw_pmfs(Q[chunk], r[chunk], tau[chunk], counts[chunk], cut[chunk], states_cut[chunk])
    np.testing.assert_array_equal(cut, whole)
    np.testing.assert_array_equal(states_cut, states)


# --- noise -------------------------------------------------------------------------------------


def test_precisions_have_the_gamma_law_of_the_errors() -> None:
    """Gamma(shape + n / 2, rate + squared error / 2), with as many ratings n as the user has."""
    rng = np.random.default_rng(0)
    n, n_events, shape, rate = many(8000, 1000), 4, 2.0, 0.08
    counts = rng.integers(0, 9, n)
    Q, r = np.empty((n, n_events, n_events)), np.empty((n, n_events))
    energy, error = np.empty(n), np.empty(n)
    pmf = rng.dirichlet(np.ones(n_events), n)
    for u in range(n):
        psi = (rng.random((counts[u], n_events)) < 0.5).astype(float)
        p, w = rng.random(counts[u]), rng.gamma(1.0, 2.0, counts[u])
        Q[u], r[u], energy[u] = naive.sums(psi, np.arange(counts[u]), p, w)
        error[u] = naive.cost(pmf[u : u + 1], psi, np.zeros(len(p), int), np.arange(len(p)), p, w)
    before, seeds = pmf.copy(), streams(rng, n)
    states = seeds.copy()
    precision = draw_precisions(Q, r, energy, counts.astype(float), pmf, shape, rate, states)
    np.testing.assert_array_equal(pmf, before)
    assert (states != seeds).all()
    law = stats.gamma(shape + counts / 2, scale=1 / (rate + error / 2))
    for group in (counts == 0, counts > 5, counts >= 0):
        assert stats.kstest(law.cdf(precision)[group], "uniform").pvalue > UNLIKELY


def test_an_error_that_rounding_left_below_zero_is_none() -> None:
    psi, theta = np.array([[1.0, 0.0]]), np.array([[0.3, 0.7]])
    Q, r, energy = naive.sums(psi, np.zeros(1, int), np.array([0.3]), np.ones(1))
    precisions = [
        draw_precisions(
            Q[None],
            r[None],
            np.array([energy - slack]),
            np.ones(1),
            theta,
            2.0,
            1e-3,
            np.full(1, 9, np.uint64),
        )[0]
        for slack in (0.0, 1.0)
    ]
    assert precisions[0] == pytest.approx(precisions[1], rel=1e-9)
