"""Several chains side by side: each draws what it draws alone."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace._base import checkpoint as checkpoints
from eventspace._base.checkpoint import checkpoint_at
from eventspace._base.randomness import Generators, each_generator, streams
from eventspace.engines.cpu import CPU
from eventspace.engines.workbench import Cores
from eventspace.sampling.chain import Chain
from eventspace.sampling.priors import Beforehand, Priors
from eventspace.sampling.priors.pmfs import mean_centres, regressed_centres
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.sweeps import Draws
from tests.chains import Abreast, SideBySide, table

N_EVENTS = 5


def generators(n: int, seed: int = 7) -> list[np.random.Generator]:
    return np.random.default_rng(seed).spawn(n)


def beforehand(seen: Any, informed: bool, concentration: float | None) -> Beforehand:
    rng = np.random.default_rng(1)
    of_users, of_items = rng.normal(size=(seen.n_users, 1)), rng.normal(size=(seen.n_items, 2))
    return Beforehand(concentration, informed, of_users, of_items)


def test_generators_draw_what_each_of_them_draws() -> None:
    shapes = np.array([0.5, 3.0, 40.0])
    together = Generators(generators(3))
    assert each_generator(together) == together.each
    found = [together.gamma(shapes), together.gamma(2.0), streams(together, 4)]
    for k, alone in enumerate(generators(3)):
        assert each_generator(alone) == [alone]
        assert found[0][k] == alone.gamma(shapes[k])
        assert found[1][k] == alone.gamma(2.0)
        assert_array_equal(found[2][k], streams(alone, 4))


@pytest.mark.parametrize("concentration", [None, 12.0])
@pytest.mark.parametrize("informed", [False, True])
@pytest.mark.parametrize("n_chains", [1, 3])
def test_chains_side_by_side_are_single_chains(
    n_chains: int, informed: bool, concentration: float | None
) -> None:
    """User 5 and item 7 are unrated; every array of the state, and every number of the priors."""
    seen = table(n_users=90, n_items=25)
    known = beforehand(seen, informed, concentration)
    rng = np.random.default_rng(2)
    pmf = rng.dirichlet(np.ones(N_EVENTS), (n_chains, seen.n_users))
    bits = (rng.random((n_chains, seen.n_items, N_EVENTS)) < 0.5) * 1.0

    def begun(bench: Cores, which: Any, rng: Any) -> Chain:
        of_chains = pmf[which].shape[:-2]
        priors = Priors.of(known, seen, N_EVENTS, bench, of_chains)
        return Chain(seen, CPU(), bench, priors, pmf[which], bits[which], rng)

    together = begun(SideBySide(), slice(None), Generators(generators(n_chains)))
    alone = [begun(Cores(), k, rng) for k, rng in enumerate(generators(n_chains))]
    assert together.each == [(k,) for k in range(n_chains)]
    assert alone[0].each == [()]
    for _ in range(6):
        for chain in (together, *alone):
            chain.sweep()
    for k, chain in enumerate(alone):
        assert_array_equal(together.indicators[k], chain.indicators)
        for name in ("user_seeds", "item_seeds"):
            assert_array_equal(getattr(together, name)[k], getattr(chain, name))
        for name in ("pmf", "precision", "error"):
            found, expected = getattr(together, name)[k], getattr(chain, name)
            assert_allclose(found, expected, rtol=1e-8, atol=1e-10, err_msg=name)
        assert_allclose(together.priors.laws((k,)), chain.priors.laws(), rtol=1e-8)
        assert_allclose(together.priors.noise.rate[k], chain.priors.noise.rate, rtol=1e-8)
        weights = together.priors.bits.regressions.weights[k]
        assert_allclose(weights, chain.priors.bits.regressions.weights, rtol=1e-6, atol=1e-8)
    drawn = {float(laws.user_variance) for laws in map(together.priors.laws, together.each)}
    assert len(drawn) == n_chains  # each has its own
    given = {together.priors.laws(k).concentration for k in together.each}
    assert given == {12.0} if concentration else len(given) == n_chains


def test_centres_of_several_chains_are_those_of_each() -> None:
    """Each has the ridge that is best for its own PMFs."""
    rng = np.random.default_rng(3)
    Z = np.concatenate([np.ones((3, 50, 1)), rng.normal(size=(3, 50, 4))], axis=-1)
    pmf = rng.dirichlet(np.ones(4), (3, 50))
    pmf[1, :, 0] += 2.0 * Z[1, :, 1]  # this one knows much of its users
    known = (rng.random(50) < 0.8) * 1.0
    several = regressed_centres(Z, pmf, known, SideBySide()), mean_centres(pmf, known)
    for k in range(3):
        alone = regressed_centres(Z[k], pmf[k], known, Cores()), mean_centres(pmf[k], known)
        for found, expected in zip(several, alone, strict=True):
            assert_allclose(found[k], expected, rtol=1e-9, atol=1e-12)


def sampled(engine: CPU, n_chains: int, *, informed: bool = True) -> list[Draws]:
    seen = table(n_users=60, n_items=20)
    sampler = Sampler(N_EVENTS, beforehand(seen, informed, None), engine, show=False)
    found, interrupted = sampler.sample(seen, generators(n_chains), 2, 5, 2)
    assert not interrupted
    return found


def close(found: Any, expected: Any) -> None:
    for one, two in zip(found, expected, strict=True):
        assert_allclose(one, two, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n_abreast", [None, 1, 2, 3, 9])
def test_a_sampler_keeps_the_same_of_chains_however_many_run_abreast(
    n_abreast: int | None,
) -> None:
    """Three chains: each a job, one by one, two and then the last, or all at once."""
    found, expected = sampled(Abreast(1, n_abreast), 3), sampled(CPU(1), 3)
    assert len(found) == len(expected) == 3
    for one, two in zip(found, expected, strict=True):
        assert len(one.pmf) == 3  # of five draws, one in two, and the last
        assert_array_equal(one.codes, two.codes)
        close(one.pmf, two.pmf)
        close(one.precision, two.precision)
        close(one.laws, two.laws)
        close(one.watched, two.watched)
        assert_allclose(one.cost, two.cost, rtol=1e-8)
    assert not np.allclose(found[0].pmf[-1], found[1].pmf[-1])


def test_what_is_kept_of_chains_is_not_drawn_over() -> None:
    """Chains write into their arrays; what is kept of an earlier draw is a copy."""
    for draws in sampled(Abreast(1, 2), 2):
        for earlier, later in pairwise(draws.pmf):
            assert not np.array_equal(earlier, later)
        assert not np.array_equal(draws.precision[0], draws.precision[-1])


@pytest.mark.parametrize("informed", [False, True])
@pytest.mark.parametrize("n_abreast", [1, 2, 3])
def test_chains_abreast_go_on_from_a_checkpoint(
    n_abreast: int, informed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after every sweep but the first few, they draw what they draw undisturbed."""
    monkeypatch.setattr(checkpoints, "OFTEN", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1)
    seen, engine = table(n_users=60, n_items=20), Abreast(1, n_abreast)
    sampler = Sampler(N_EVENTS, beforehand(seen, informed, None), engine, show=False)
    expected, _ = sampler.sample(seen, generators(3), 2, 5, 2)
    sweep, n_left = Chain.sweep, [0]

    def stopping(self: Chain) -> None:
        n_left[0] -= 1
        if n_left[0] < 0:
            raise StopAsyncIteration
        sweep(self)

    monkeypatch.setattr(Chain, "sweep", stopping)
    found: list[Draws] = []
    while not found:
        n_left[0] = 3
        with (
            suppress(StopAsyncIteration),
            checkpoint_at(tmp_path / "checkpoint", lambda: {"what": "chains"}) as kept,
        ):
            found, _ = sampler.sample(seen, generators(3), 2, 5, 2, kept)
    for one, two in zip(found, expected, strict=True):
        for here, there in zip(one, two, strict=True):
            assert_array_equal(here, there)
