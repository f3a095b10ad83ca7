"""The page: how large, how long to write, and how quick in a browser.

Each figure is the median of three. The browser is Debian's chromium, without a window; the
time of a view is from the change of address to the next frame.

    python -m benchmarks.page
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import median, publish, save, table, timed
from eventspace import KolmogorovDescent, Observations
from eventspace.datasets import movielens_small

VIEWS = ("events", "lattice", "lattice/0", "rules", "items", "item/0", "user/0", "fit")
MOVE = """view => new Promise((done) => {
  const start = performance.now();
  const drawn = () => setTimeout(() => done((performance.now() - start) / 1000));
  addEventListener("hashchange", () => requestAnimationFrame(drawn), { once: true });
  location.hash = `#/${view}`;
})"""
SEARCH = """() => {
  const field = document.querySelector("#search input");
  const start = performance.now();
  field.value = "77";
  field.dispatchEvent(new Event("input"));
  return (performance.now() - start) / 1000;
}"""


def made(n_items: int, n_users: int, share: float | None) -> KolmogorovDescent:
    """A model of 16 random events; each entry rated with a chance, or few items by most (None)."""
    rng = np.random.default_rng(0)
    pmf = rng.dirichlet(np.full(16, 0.3), n_users)
    psi = rng.random((n_items, 16)) < rng.beta(3, 2, n_items)[:, None]
    if share is None:
        popularity = 1 / np.arange(1, n_items + 1) ** 0.8
        more = rng.choice(n_items, 15 * n_items, p=popularity / popularity.sum())
        items = np.concatenate([np.arange(n_items), more])
        keys = np.unique(items * n_users + rng.integers(0, n_users, len(items)))
        items, users = keys // n_users, keys % n_users
    else:
        items, users = np.nonzero(rng.random((n_items, n_users)) < share)
    values = np.einsum("kd,kd->k", pmf[users], psi[items])
    names = np.array([f"Item number {i:06d}, a title" for i in range(n_items)], dtype=object)
    seen = Observations.of((users, names[items], values), scale=(0, 1))
    return KolmogorovDescent.from_parts(pmf[seen.user_ids.values], psi, seen)


def in_browser(file: Path) -> dict[str, float]:
    """Seconds to open a page, of its slowest view, and of a search."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        opened, views, searched = [], [], []
        for _ in range(3):
            page: Any = browser.new_page()
            opened.append(timed(lambda page=page: page.goto(file.as_uri())))  # type: ignore[misc]
            page.evaluate(MOVE, "nothing")
            views.append(max(page.evaluate(MOVE, view) for view in VIEWS))
            page.evaluate(SEARCH)  # the first one folds the letters of all names
            searched.append(page.evaluate(SEARCH))
            page.close()
        browser.close()
    return {
        "open, s": median(opened),
        "slowest view, s": median(views),
        "a search, s": median(searched),
    }


def main() -> None:
    """Print and publish the table."""
    ratings = movielens_small().table
    models: dict[str, Callable[[], KolmogorovDescent]] = {
        "MovieLens small": lambda: KolmogorovDescent(16, pmf_penalty=60, random_state=0).fit(
            ratings
        ),
        "100,000 items, few of them well known": lambda: made(100_000, 5_000, None),
        "100,000 items, half of all entries": lambda: made(100_000, 60, 0.5),
    }
    rows = []
    for name, make in models.items():
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            file = model.report(Path(folder) / "page.html")
            written = [timed(lambda m=model, f=file: m.report(f)) for _ in range(3)]  # type: ignore[misc]
            rows.append(
                {
                    "model": name,
                    "ratings": f"{model.observations_.n_observed:,}",
                    "file, MB": round(file.stat().st_size / 1e6, 1),
                    "write, s": median(written),
                    **in_browser(file),
                }
            )
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    save("page", rows)
    publish("page", table(rows))


if __name__ == "__main__":
    main()
