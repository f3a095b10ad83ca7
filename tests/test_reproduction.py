"""The page of the reproduction is what was measured, and says with what; quick runs work."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request

import numpy as np
import pytest
from scipy import stats

from benchmarks import data
from eventspace.pmf import FrankWolfe
from reproduction import (
    complexity,
    influence,
    movielens,
    page,
    record,
    table1,
    table2,
    toy,
    training_error,
)
from reproduction import frank_wolfe as frank_wolfe_experiment
from reproduction.artificial import (
    PrintedSteps,
    Rounded,
    cost_and_gap,
    costs,
    frank_wolfe,
    uniform_table,
)
from tests.planted import chances

FULL, QUICK = record.Place(quick=False), record.Place(quick=True)
PACKAGES = {"table2": ("scikit-surprise", "cornac"), "stars": ("scikit-surprise", "cornac")}
needs_data = pytest.mark.skipif(
    "EVENTSPACE_DATA" not in os.environ, reason="EVENTSPACE_DATA is unset: no MovieLens 100K"
)


def silent(words: str) -> None:
    """Nobody watches."""


def test_the_committed_page_is_the_committed_results_rendered() -> None:
    assert FULL.page.read_text(encoding="utf-8") == page.rendered(FULL)


@pytest.mark.parametrize("name", page.EXPERIMENTS)
def test_results_carry_what_they_were_made_with_and_the_page_says_it(name: str) -> None:
    kept = record.load(name, FULL)
    assert kept["experiment"] == name
    assert not kept["quick"]
    assert kept["seeds"]
    assert kept["seconds"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept["date"])
    section = page.section(name, kept)
    assert section in FULL.page.read_text(encoding="utf-8")
    for package in ("python", "numpy", "scipy", "numba", "eventspace", *PACKAGES.get(name, ())):
        assert f"{package} {kept['versions'][package]}" in section
    assert f"{kept['seeds'][-1]}; {kept['seconds']:.0f} s" in section


def test_every_picture_is_there() -> None:
    shown = re.findall(r"!\[.*?\]\((.*?)\)", FULL.page.read_text(encoding="utf-8"))
    assert shown
    for picture in shown:
        assert (FULL.page.parent / picture).read_bytes().startswith(b"\x89PNG")
    assert len(shown) == len(list(FULL.images.iterdir()))


def test_what_was_measured_bears_the_paper_out_where_it_should() -> None:
    rows = record.load("table2", FULL)["figures"]["rows"]
    km = {row["D"]: np.mean(row["errors"]) for row in rows if row["method"] == "KM"}
    for n_events, printed in zip(table2.SIZES, table2.PAPER["KM"], strict=True):
        assert km[n_events] <= float(printed) + 5e-5  # the paper prints four digits
    curves = record.load("training_error", FULL)["figures"]
    for row in curves["artificial"] + curves["real"]:
        assert row["rises"] == 0 or row["solver"] not in training_error.KEPT
    assert curves["planted"]["largest RMSE"] < 1e-6
    assert all(row["from KM above"] == 0 for row in curves["others"] + curves["real_others"])
    maximal = record.load("influence", FULL)["figures"]
    assert maximal["all_fives"]
    assert [row["paper's number"] for row in maximal["maximal"]] == list(influence.PAPER)
    assert all(row["all twelve"] == len(maximal["seeds"]) for row in maximal["stability"])


def test_a_quick_run_writes_nothing_over_the_full_one() -> None:
    for place in (QUICK.results, QUICK.page, QUICK.images):
        assert record.ROOT / "build" in place.parents


def test_an_experiment_runs_is_kept_and_rendered(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(record, "QUICK", tmp_path)
    place = record.Place(quick=True)
    record.run(toy, place, True, silent)
    page.write(place)
    kept = record.load("toy", place)
    assert kept["figures"]["rmse"] < 1e-3
    assert kept["figures"]["two_given_one"] == [1.0, 1.0]
    assert "## The toy example" in place.page.read_text(encoding="utf-8")


@needs_data
def test_the_papers_twelve_items_are_those_with_nothing_but_fives() -> None:
    figures = influence.measure(True, silent)
    assert figures["all_fives"]
    first = figures["maximal"][0]
    assert (first["paper's number"], first["MovieLens id"], first["mean"]) == (119, 119, 5.0)
    assert all(row["mean"] == 5 for row in figures["maximal"])
    (row,) = figures["stability"]
    assert (row["D"], row["all twelve"]) == (8, 2)
    assert all(size >= 12 for size in row["sizes"])


def made(seed: int, n: int = 600) -> data.Ratings:
    """Stars of 40 users and 30 items that a model of three events explains in part."""
    rng = np.random.default_rng(0)
    chance = chances(rng, 40, 30, 3)
    rng = np.random.default_rng(seed)
    cells = rng.permutation(1200)[:n]
    u, i = np.divmod(cells, 30)
    stars = np.clip(np.round(1 + 4 * chance[u, i] + rng.normal(0, 0.5, n)), 1, 5)
    return data.Ratings(u.astype(np.int32), i.astype(np.int32), stars.astype(np.float32))


def test_what_is_chosen_does_not_depend_on_the_test_part() -> None:
    train, test = made(1), made(2, 200)
    poisoned = test._replace(values=(6 - test.values).astype(np.float32))
    one, other = (table2.ours(train, part, True, silent) for part in (test, poisoned))
    assert [row["choice"] for row in one] == [row["choice"] for row in other]
    assert [row["errors"] for row in one] != [row["errors"] for row in other]
    for row in one:
        assert 0.05 < np.mean(row["errors"]) < 0.5


def test_the_choice_is_what_does_best_on_the_part_held_out() -> None:
    parts, tried = (made(1), made(2, 200)), []

    def fit(n_events, choice, part, seed):
        assert part is parts[0]
        tried.append(choice["x"])
        return Shifted(parts[1].values / 5 + choice["x"])

    choices = [{"x": 0.3}, {"x": 0.01}, {"x": -0.2}]
    assert table2.choose(fit, 4, choices, parts, 1) == {"x": 0.01}
    assert tried == [0.3, 0.01, -0.2]


class Shifted:
    """Predictions that are known."""

    def __init__(self, p) -> None:
        self.p = p

    def predict(self, pairs, unknown):
        return self.p


def test_errors_are_of_fifths() -> None:
    test = made(3, 50)
    assert table2.nrmse(Shifted(test.values / 5 + 0.1), test) == pytest.approx(0.1)


def test_intervals_are_students() -> None:
    found = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.5], [0.2, 0.2, 0.1]]
    mean, half = table1.summary(found)["items"]
    low, high = stats.t.interval(0.95, 2, 0.2, stats.sem([0.1, 0.3, 0.2]))
    assert (mean - half, mean + half) == pytest.approx((low, high))


def test_only_items_with_ratings_enough_are_counted() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(4), 9)
    S = np.array([theta[:n].T @ theta[:n] for n in (2, 5, 9)])
    v, seeds = rng.random((3, 4)), np.arange(1, 4, dtype=np.uint64)
    for at_least, counted in ((0, 3), (5, 2), (6, 1)):
        compared = table1.Compared(20, at_least)
        compared(S, v, np.zeros(3), np.zeros(3, dtype=np.uint64), seeds)
        assert compared.counts[0] == counted


def test_a_rise_is_counted(monkeypatch) -> None:
    rising = np.array([1.0, 0.5, 0.6, 0.4, 0.7])
    monkeypatch.setattr(training_error, "curve", lambda *arguments: rising)
    (row,) = training_error.curves({0: uniform_table(0)}, (4,), ["exact"], 5, silent)
    assert (row["rises"], row["steps"]) == (2, 4)
    assert row["largest rise"] == pytest.approx((0.49 - 0.16) / 0.16)


def test_exponents_are_slopes() -> None:
    points = [
        {"grows": "users", "step": "iteration", "n": n, "s": 3e-6 * n**1.5} for n in (1, 4, 9)
    ]
    (row,) = complexity.exponents(points)
    assert row["exponent"] == pytest.approx(1.5)
    assert row["error"] == pytest.approx(0.0, abs=1e-9)
    curve = [{"k": k, "gap": 2.0 / k, "excess": 1.0 / k**2} for k in (1, 16, 64, 256)]
    figures = {"curves": dict.fromkeys(frank_wolfe_experiment.STEPS, curve)}
    assert frank_wolfe_experiment.slope(figures, "jaggi", "gap") == pytest.approx(-1)
    assert frank_wolfe_experiment.slope(figures, "line-search", "excess") == pytest.approx(-2)


@needs_data
@pytest.mark.parametrize("module", [frank_wolfe_experiment])
def test_cheap_experiments_on_movielens_run_quickly(module, tmp_path) -> None:
    figures = module.measure(True, silent)
    module.draw(figures, tmp_path)
    assert module.render(figures)
    assert len(list(tmp_path.glob("*.png"))) == 1


def test_rounded_answers_do_not_know_what_an_item_had() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(5), 20)
    S, v = (theta.T @ theta)[None], rng.random((30, 20)) @ theta
    seeds = rng.integers(1, 2**63, 30, dtype=np.uint64)
    found = []
    for code in (0, 13):
        codes = np.full(30, code, dtype=np.uint64)
        Rounded(20)(S, v, np.zeros(30), codes, seeds)
        found.append(codes)
    np.testing.assert_array_equal(*found)
    psi = (found[0][:, None] >> np.arange(5, dtype=np.uint64) & np.uint64(1)).astype(float)
    expected = [p @ S[0] @ p - 2 * linear @ p for p, linear in zip(psi, v, strict=True)]
    np.testing.assert_allclose(costs(S, v, found[0]), expected)


def test_rates_are_zero_where_the_rounding_is_right_and_not_where_it_is_poor() -> None:
    table = uniform_table(0)
    many = table1.rates(table, 2, 2000, 0, 2, 0)
    few = table1.rates(table, 8, 1, 0, 2, 0)
    assert many[0] <= 0.02
    assert few[0] > few[1] > 0


@pytest.mark.parametrize("step", ["jaggi", "line-search"])
def test_plain_frank_wolfe_is_the_kernel(step: str) -> None:
    rng = np.random.default_rng(1)
    root = rng.random((6, 10, 4))
    Q, r = np.einsum("uka,ukb->uab", root, root), rng.random((6, 4))
    plain, fast = np.full((6, 4), 0.25), np.full((6, 4), 0.25)
    for cost, gap in frank_wolfe(Q, r, plain, step, 30):
        assert (gap >= -1e-12).all()
        assert cost.shape == (6,)
    FrankWolfe(step, tol=0.0, max_steps=30)(Q, r, fast)
    np.testing.assert_allclose(plain, fast, atol=1e-9)
    np.testing.assert_allclose(cost_and_gap(Q, r, plain)[0], cost_and_gap(Q, r, fast)[0])


def test_the_printed_step_does_not_converge() -> None:
    Q, r = np.eye(3)[None], np.full((1, 3), 1 / 3)  # least at the centre
    pmf = np.array([[1.0, 0.0, 0.0]])
    PrintedSteps(100)(Q, r, pmf)
    assert pmf.max() > 0.9


def test_without_data_one_line_says_what_to_do(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("EVENTSPACE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", offline)
    with pytest.raises(SystemExit, match="movielens-100k could not be fetched") as caught:
        movielens.split()
    assert "\n" not in str(caught.value)


def offline(url: str, timeout: float) -> None:
    raise urllib.error.URLError("no network")
