"""The page of the reproduction is what was measured, and says with what; quick runs work."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request

import numpy as np
import pytest

from eventspace.pmf import FrankWolfe
from reproduction import frank_wolfe as frank_wolfe_experiment
from reproduction import influence, movielens, page, record, table1, table2, toy, training_error
from reproduction.artificial import (
    PrintedSteps,
    Rounded,
    cost_and_gap,
    costs,
    frank_wolfe,
    uniform_table,
)

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
        assert row["rises"] == 0 or row["solver"] == training_error.PRINTED
    assert curves["planted"]["largest RMSE"] < 1e-6
    assert all(row["from KM above"] == 0 for row in curves["others"] + curves["real_others"])


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
@pytest.mark.parametrize("module", [influence, frank_wolfe_experiment])
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
