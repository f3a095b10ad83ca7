"""Run examples: measure, keep the figures, draw the pictures, and write the tables of the pages."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.timing import machine
from examples import NAMES

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
IMAGES = ROOT / "docs" / "images" / "examples"


def run(name: str) -> None:
    """Everything of one example."""
    example = import_module(f"examples.{name}")
    begun = time.perf_counter()
    figures = example.measure()
    seconds = round(time.perf_counter() - begun, 1)
    RESULTS.mkdir(exist_ok=True)
    record = {**machine(), "seconds": seconds, "figures": figures}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    IMAGES.mkdir(parents=True, exist_ok=True)
    example.draw(figures, IMAGES)
    page = ROOT / "docs" / f"example-{name}.md"
    page.write_text(written(page.read_text(), example.tables(figures)))
    print(f"{name}: {seconds} s, {page.relative_to(ROOT)}")


def written(page: str, tables: Mapping[str, str]) -> str:
    """The page with each table in its marked place."""
    for place, table in tables.items():
        block = f"<!-- {place} -->\n{table}\n<!-- /{place} -->"
        marked = re.compile(rf"<!-- {re.escape(place)} -->.*?<!-- /{re.escape(place)} -->", re.S)
        page, found = marked.subn(lambda _, block=block: block, page)  # type: ignore[misc]
        if found != 1:
            raise ValueError(f"The page has {found} places marked {place!r}; one is wanted.")
    return page


def figures_of(name: str) -> dict[str, Any]:
    """What the last run measured."""
    record = json.loads((RESULTS / f"{name}.json").read_text())
    return dict(record["figures"])


def main() -> None:
    """Run those that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m examples", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no example {min(unknown)!r}; there are {', '.join(NAMES)}.")
    for name in names:
        run(name)


if __name__ == "__main__":
    main()
