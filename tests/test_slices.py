"""Draws from one-dimensional laws by slices: the law, whatever the limit of their steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from eventspace._base.randomness import Generators
from eventspace.sampling import slices
from eventspace.sampling.slices import draw_by_slice, draw_by_slices
from tests.chains import SIGMAS, UNLIKELY, Floats

TWO = stats.norm(0.0, 1.0), stats.norm(2.5, 0.4)


def log_of_two(x: Any) -> Any:
    """A wide and a narrow normal law, in equal parts."""
    return np.log(np.exp(-0.5 * x * x) + np.exp(-0.5 * ((x - 2.5) / 0.4) ** 2) / 0.4)


def cdf_of_two(x: Floats) -> Floats:
    return np.asarray(0.5 * TWO[0].cdf(x) + 0.5 * TWO[1].cdf(x))


def generators(n: int, seed: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, k]) for k in range(n)]


def test_slice_draws_have_the_law_of_the_density() -> None:
    rng = np.random.default_rng(0)
    x, draws = 0.0, np.empty(6000)
    for k in range(len(draws)):
        for _ in range(3):
            x = float(draw_by_slices(log_of_two, x, 0.5, rng))
        draws[k] = x
    assert stats.kstest(draws[::6], cdf_of_two).pvalue > UNLIKELY
    assert abs((draws > 1.7).mean() - (1 - cdf_of_two(np.array(1.7)))) < 0.08


@pytest.mark.parametrize("most", [1, 2, 3, 50])
@pytest.mark.parametrize("width", [0.5, 1.5])
def test_however_few_steps_a_slice_may_take_its_draws_keep_the_law(
    most: int, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many chains from exact draws stay there, and go from anywhere to anywhere as often as back.

    So they do only if chance shares the steps between both ends, for then a draw could have been
    made backwards from where it ends.
    """
    monkeypatch.setattr(slices, "MOST_STEPS", most)
    rng, n, n_steps = np.random.default_rng(1), 10_000, 2
    wide = rng.random(n) < 0.5
    first = np.where(wide, TWO[0].rvs(n, random_state=rng), TWO[1].rvs(n, random_state=rng))
    own, x = Generators(generators(n, 2)), first
    for _ in range(n_steps):
        before, x = x, draw_by_slices(log_of_two, x, width, own)
        assert (x != before).all()
        assert np.abs(x - before).max() < max(most, 1) * width
        for here, there in [(-1.0, 0.5), (0.5, 1.8), (1.8, 2.6), (2.4, 3.0), (-1.0, 2.0)]:
            there_and_back = ((before < here) & (x > there)) * 1.0
            there_and_back -= (before > there) & (x < here)
            error = there_and_back.std() / np.sqrt(n)
            assert abs(there_and_back.mean()) < SIGMAS * error + 1e-12
    assert stats.kstest(x, cdf_of_two).pvalue > UNLIKELY


def test_a_slice_is_widened_by_no_more_than_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A density without an end: the interval is as wide as it may be, at random to either side."""
    monkeypatch.setattr(slices, "MOST_STEPS", 4)
    asked: list[Floats] = []

    def flat(x: Floats) -> Floats:
        asked.append(x.copy())
        return np.zeros_like(x)

    n = 4000
    drawn = draw_by_slices(flat, np.zeros(n), 0.5, Generators(generators(n, 3)))
    assert len(asked) == 1 + 3 + 1  # the height, three steps, the draw
    ends = np.stack(asked)
    assert ends.max() < 2.0
    assert ends.min() > -2.0
    # x lies anywhere in an interval of four widths, and the draw, too: what is between has the law
    # of a difference of two uniform numbers
    assert stats.kstest(drawn, stats.triang(0.5, -2.0, 4.0).cdf).pvalue > UNLIKELY


def quartic(tilt: Any) -> Any:
    """Densities by sums and products alone, which are rounded the same in any array."""
    return lambda x: tilt * x - 0.25 * x * x * x * x


@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_several_chains_draw_what_each_draws_alone(shape: tuple[int, ...]) -> None:
    n = int(np.prod(shape))
    tilts = np.linspace(-3.0, 3.0, n).reshape(shape)
    x = np.linspace(-1.0, 1.0, n).reshape(shape)
    together, alone = Generators(generators(n, 4)), generators(n, 4)
    for _ in range(20):
        drawn = draw_by_slices(quartic(tilts), x, 0.3, together)
        for k, (at, own) in enumerate(zip(np.ndindex(shape), alone, strict=True)):
            assert draw_by_slices(quartic(tilts[at]), x[at], 0.3, own) == drawn[at], k
        x = drawn
    assert [own.random() for own in together.each] == [own.random() for own in alone]


def test_a_slice_asks_for_densities_one_by_one_the_last_at_its_draw() -> None:
    drawing, density = draw_by_slice(0.4, 0.3, np.random.default_rng(5)), quartic(1.0)
    asked, found = [next(drawing)], None
    while found is None:
        try:
            asked.append(drawing.send(density(asked[-1])))
        except StopIteration as end:
            found = end.value
    assert asked[0] == 0.4
    assert found == asked[-1] == draw_by_slices(density, 0.4, 0.3, np.random.default_rng(5))


def test_a_slice_is_never_sought_where_there_is_none() -> None:
    with pytest.raises(ValueError, match="There is no slice at 0"):
        draw_by_slices(lambda x: np.full_like(x, np.nan), 0.0, 0.5, np.random.default_rng(0))
