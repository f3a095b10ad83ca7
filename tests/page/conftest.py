"""Models to make pages of, and a real Chromium to open them in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, KolmogorovModel, Observations
from tests.planted import chances, long

# what a page must show as it is: markup, quotes, scripts that run from right to left, emoji
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 1'>",
    """He said "it's <b>bold</b>" & left""",
    "שלום עולם (1999)",
    "فيلم <!-- --> 2001",
    "🎬👩‍👩‍👧 Family & friends",
    "{{data}} {{script}}",
    "line\u2028separator\u2029and\ttab",
    "=HYPERLINK(1), with a comma",
    "x" * 300,
]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="session")
def halves() -> list[pd.DataFrame]:
    """Stars of 60 users for 40 films with hostile titles among them, in two halves."""
    rng = np.random.default_rng(1)
    stars = (1 + 4 * chances(rng, 60, 40, 5, concentration=0.4, share=0.55)).round()
    titles = HOSTILE + [f"Film {k:02d}" for k in range(40 - len(HOSTILE))]
    frame = long(pd.DataFrame(stars, [f"user {u}" for u in range(60)], titles))
    first = rng.random(len(frame)) < 0.5
    return [frame[half].reset_index(drop=True) for half in (first, ~first)]


@pytest.fixture(scope="session")
def films(halves: list[pd.DataFrame]) -> pd.DataFrame:
    """What the model learns from."""
    return halves[0]


@pytest.fixture(scope="session")
def held_out(halves: list[pd.DataFrame]) -> pd.DataFrame:
    """What it has not seen."""
    return halves[1]


@pytest.fixture(scope="session")
def model(films: pd.DataFrame) -> KolmogorovDescent:
    return KolmogorovDescent(5, pmf_penalty=1.0, random_state=0, n_jobs=1).fit(films)


@pytest.fixture(scope="session")
def default_model(films: pd.DataFrame) -> KolmogorovModel:
    """A model of the default kind, from a short posterior."""
    short: dict[str, Any] = {"n_chains": 2, "n_warmup": 5, "n_draws": 8}
    return KolmogorovModel(6, **short, random_state=0, n_jobs=1).fit(films)


@pytest.fixture(scope="session")
def many_items() -> KolmogorovDescent:
    """100,000 items of 16 events, a few of them much better known than the rest."""
    rng = np.random.default_rng(0)
    n_items, n_users = 100_000, 500
    pmf = rng.dirichlet(np.full(16, 0.3), n_users)
    psi = rng.random((n_items, 16)) < rng.beta(3, 2, n_items)[:, None]
    items = np.concatenate([np.arange(n_items), rng.zipf(1.2, 100_000) % n_items])
    pairs = np.unique(np.stack([items, rng.integers(0, n_users, len(items))], axis=1), axis=0)
    items, users = pairs.T
    values = np.einsum("kd,kd->k", pmf[users], psi[items])
    names = np.array([f"Item {i:06d}, one of many" for i in range(n_items)], dtype=object)
    table = Observations.of((users, names[items], values), scale=(0, 1))
    return KolmogorovDescent.from_parts(pmf[table.user_ids.values], psi, table)


def missing(what: str) -> None:
    """Skip what needs a browser, or fail where EVENTSPACE_REQUIRE_CHROMIUM is set."""
    if os.environ.get("EVENTSPACE_REQUIRE_CHROMIUM"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, or the one that EVENTSPACE_CHROMIUM names."""
    chromium = os.environ.get("EVENTSPACE_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        missing("there is no chromium: apt-get install chromium")
    if find_spec("playwright") is None:
        missing("playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """A page in the browser that at the end has met no error and asked for nothing elsewhere."""

    def __init__(self, browser: Any, file: Path, **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = file.as_uri()
        self.go("")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, kind: Any, *rest: object) -> None:
        self.context.close()
        if kind is None:  # what failed before tells more
            assert self.faults == []
            assert self.elsewhere() == []

    def elsewhere(self) -> list[str]:
        """Requests for anything but the page itself, and what it gives away to be saved."""
        asked = [url for url in self.requests if url.partition("#")[0] != self.address]
        return [url for url in asked if not url.startswith("blob:")]

    def go(self, view: str) -> Any:
        """Open a view, and give the page."""
        self.page.goto(f"{self.address}#/{view}" if view else self.address)
        self.page.wait_for_selector("main h2")
        return self.page


@pytest.fixture
def visit(browser: Any, written: Path) -> Iterator[Visit]:
    """The page of `model`, which at the end has made no request and met no error."""
    with Visit(browser, written, viewport={"width": 1280, "height": 900}) as visit:
        yield visit


@pytest.fixture
def visit_tested(browser: Any, tested: Path) -> Iterator[Visit]:
    """The page of `model` with held-out data."""
    with Visit(browser, tested, viewport={"width": 1280, "height": 900}) as visit:
        yield visit


@pytest.fixture(scope="session")
def tested(
    model: KolmogorovDescent, held_out: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return model.report(tmp_path_factory.mktemp("page") / "tested.html", held_out)


@pytest.fixture(scope="session")
def written(model: KolmogorovDescent, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model.report(tmp_path_factory.mktemp("page") / "films.html", title="Films & <more>")
