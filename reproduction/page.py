"""Render docs/reproduction.md from what was measured: nothing runs here.

python -m reproduction.page
"""

from __future__ import annotations

import re
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

H. Ghauch et al., *Learning Kolmogorov Models for Binary Random Variables* (2018): each of its
tables and figures, run again, the paper's figure beside ours. `make reproduce` measures and
writes all of this in about twenty minutes (it needs MovieLens 100K: from the folder that
EVENTSPACE_DATA names, else from GroupLens); `python -m reproduction.table2` one part of it,
`python -m reproduction.page` the text alone; `make reproduce QUICK=1` is a smaller run of it all,
in under two minutes, written to `build/`. What of the paper does not hold has its own page:
[errata](errata.md). What its rules are worth is in [rules on held-out
ratings](rules-on-held-out-ratings.md).

The paper's split of MovieLens 100K is u4: its twelve "maximally influential" items are exactly
those whose ratings in `u4.base` are all five stars. Chances are R/5, as in the paper, where
nothing else is said. Hyper-parameters are chosen on a tenth of the training part; where the grid to
choose from was not made blindly, that is said. Seconds are those of two cores of a shared machine.
"""


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
        return "\n".join([INTRO, *sections])
    page = "\n".join([INTRO, QUICK, *sections])
    return re.sub(r"\]\(([\w-]+\.md)", r"](../../docs/\1", page)  # where it lies in build/


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
