"""Render docs/reproduction.md from what was measured: nothing runs here.

python -m reproduction.page
"""

from __future__ import annotations

import re
import textwrap
from importlib import import_module
from typing import Any

from reproduction import record

EXPERIMENTS = (
    "toy",
    "table1",
    "training_error",
    "table2",
    "stars",
    "influence",
    "complexity",
    "frank_wolfe",
)

INTRO = """# The paper, table by table

{verdict}This page repeats every table and figure of H. Ghauch et al., *Learning Kolmogorov
Models for Binary Random Variables* (2018), and sets our figure beside the paper's. Statements of
the paper that do not hold are on their own page: [errata](errata.md). [The paper's rules on
held-out ratings](rules-on-held-out-ratings.md) measures what its rules are worth.

`make reproduce` measures and writes all of this in about twenty minutes. It needs MovieLens 100K,
from the folder that EVENTSPACE_DATA names or else from GroupLens. `python -m reproduction.table2`
runs one part, `python -m reproduction.page` only writes the text. `make reproduce QUICK=1` is a
smaller run of everything in under two minutes, written to `build/`.

The paper's split of MovieLens 100K is u4: its twelve "maximally influential" items are exactly
those whose ratings in `u4.base` are all five stars. Chances are R/5, as in the paper, unless a
section says otherwise. Hyper-parameters are chosen on a tenth of the training part. A section says
so if its grid was not chosen blindly. Seconds are measured on two cores of a shared machine.
"""
VERDICT = (
    "**Verdict.** In Table 2 the model reaches the paper's error at {reached} of {sizes} sizes, "
    "with a grid that was not chosen blindly. In stars, with all methods on the same splits: "
    "{stars}"
)


def experiment(name: str) -> Any:
    """The module of an experiment."""
    return import_module(f"reproduction.{name}")


QUICK = """
**This is a quick run**: fewer seeds, sizes, methods and settings than the text says. The full one
is docs/reproduction.md.
"""


def rendered(place: record.Place) -> str:
    """The page of all that was measured so far."""
    measured = [name for name in EXPERIMENTS if (place.results / f"{name}.json").exists()]
    sections = [section(name, record.load(name, place)) for name in measured]
    if not place.quick:
        return "\n".join([INTRO.format(verdict=verdict(place)), *sections])
    page = "\n".join([INTRO.format(verdict=""), QUICK, *sections])
    return re.sub(r"\]\(([\w-]+\.md)", r"](../../docs/\1", page)  # where it lies in build/


def verdict(place: record.Place) -> str:
    """The page in a few lines, from Table 2 as printed and in stars."""
    printed, in_stars = (
        record.load(name, place)["figures"]["rows"] for name in ("table2", "stars")
    )
    ours = [row for row in printed if row["method"] == "KM"]
    words = VERDICT.format(
        reached=sum(map(experiment("table2").reached, ours)),
        sizes=len(ours),
        stars=experiment("stars").verdict(in_stars),
    )
    return "\n".join(f"> {line}" for line in textwrap.wrap(words, 108)) + "\n\n"


def section(name: str, kept: dict[str, Any]) -> str:
    """Heading, text and tables, and with what they were made."""
    module = experiment(name)
    seeds = kept["seeds"]
    shown = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    versions = ", ".join(f"{package} {version}" for package, version in kept["versions"].items())
    quick = ", quick" if kept["quick"] else ""
    return (
        f"## {module.TITLE}\n\n{module.render(kept['figures'])}\n\n"
        f"<sub>`python -m reproduction.{name}`{quick}: {kept['split']}; {shown}; "
        f"{kept['seconds']:.0f} s; {kept['date']}, commit {kept['commit']}, {kept['cores']} cores; "
        f"{versions}.</sub>\n"
    )


def write(place: record.Place) -> None:
    """Write the page."""
    place.page.parent.mkdir(parents=True, exist_ok=True)
    place.page.write_text(rendered(place), encoding="utf-8")


if __name__ == "__main__":
    place = record.Place(quick=False)
    for name in EXPERIMENTS:
        if (place.results / f"{name}.json").exists():
            record.draw(experiment(name), place)
    write(place)
