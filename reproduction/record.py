"""What an experiment measured, kept as JSON with the versions, the seeds and the time it took.

An experiment is a module with

    TITLE                 the heading of its section
    SPLIT                 what it ran on
    measure(quick, say)   its figures, "seeds" among them: numbers, strings, lists and dicts only
    render(figures)       its section of the page, markdown
    draw(figures, folder) its pictures, where it has any

so that the page can be rendered again from what was measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import eventspace
from benchmarks.timing import machine

ROOT = Path(__file__).parents[1]
QUICK = ROOT / "build" / "reproduction"  # where a quick run writes: never over the full one

Figures = dict[str, Any]
Say = Callable[[str], None]


class Experiment(Protocol):
    """A module of this package."""

    __name__: str
    TITLE: str
    SPLIT: str

    def measure(self, quick: bool, say: Say) -> Figures:
        """Run it; ``say`` takes a few words on what is being done."""

    def render(self, figures: Figures) -> str:
        """The section of the page, without its heading."""


class Place:
    """Where results, page and pictures lie: the full run's in the tree, a quick one's in build."""

    def __init__(self, quick: bool) -> None:
        self.results = QUICK / "results" if quick else ROOT / "reproduction" / "results"
        self.quick = quick
        docs = QUICK if quick else ROOT / "docs"
        self.page = docs / "reproduction.md"
        self.images = docs / "images" / "reproduction"


def commit() -> str:
    """The last that changed the code that runs here; "none" outside of git."""
    code = ["src", "benchmarks/*.py", "reproduction/*.py"]
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", *code]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def name_of(experiment: Experiment) -> str:
    """What an experiment is called: on the command line, and its file of results."""
    spec = getattr(experiment, "__spec__", None)  # run by itself, a module is called __main__
    return (spec.name if spec else experiment.__name__).rpartition(".")[2]


def run(experiment: Experiment, place: Place, quick: bool, say: Say) -> None:
    """Measure, draw and keep."""
    begun = time.perf_counter()
    figures = experiment.measure(quick, say)
    seconds = time.perf_counter() - begun
    about = machine()
    about["versions"]["eventspace"] = eventspace.__version__
    record = {
        "experiment": name_of(experiment),
        "quick": quick,
        "split": experiment.SPLIT,
        "seeds": figures["seeds"],
        "seconds": round(seconds, 1),
        "commit": commit(),
        **about,
        "figures": figures,
    }
    place.results.mkdir(parents=True, exist_ok=True)
    path = place.results / f"{name_of(experiment)}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    draw(experiment, place)


def draw(experiment: Experiment, place: Place) -> None:
    """The pictures of an experiment, from what was measured."""
    pictures = getattr(experiment, "draw", None)
    if pictures is not None:
        place.images.mkdir(parents=True, exist_ok=True)
        pictures(load(name_of(experiment), place)["figures"], place.images)


def load(name: str, place: Place) -> dict[str, Any]:
    """What was kept of an experiment."""
    record: dict[str, Any] = json.loads((place.results / f"{name}.json").read_text("utf-8"))
    return record


def alone(experiment_module: str) -> None:
    """Run one experiment by itself, and render the page anew: what a module does as a script."""
    from reproduction.page import write

    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true", help="fewer seeds, written to build/")
    quick = options.parse_args().quick
    place = Place(quick)
    experiment: Any = sys.modules[experiment_module]
    run(experiment, place, quick, lambda words: print(words, flush=True))
    write(place)
