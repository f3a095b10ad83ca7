"""Write docs/licences.md: what the packages of requirements.lock may be used for, as they say.

``python -m docs.licences`` asks pip for the metadata, without the packages; it needs uv, which
brings a pip that tells them. A test compares the page with the lock, without a network.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = PROJECT["name"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PYTHONS = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
PLATFORMS = ["win_amd64", "macosx_14_0_arm64"] + [
    f"manylinux_2_{minor}_x86_64" for minor in range(17, 35)
]
ALWAYS = "always"
LONG = 60  # a longer field holds the licence's text, not its name


class Pin(NamedTuple):
    """One version in the lock; a package may have several, for several Pythons."""

    name: str
    version: str
    needed_by: list[str]  # packages, ours among them


def pins() -> list[Pin]:
    """What the lock holds, in its order."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^(\w\S*)==(\S+)(.*(?:\n .*)*)", lock, re.MULTILINE)
    via = re.compile(r"^    #(?: via|  ) (\S+)", re.MULTILINE)
    return [Pin(name, version, via.findall(rest)) for name, version, rest in entries]


def required(lines: list[str]) -> Iterator[Requirement]:
    """The requirements of pyproject.toml, those of our own extras in their place."""
    for line in lines:
        need = Requirement(line)
        if need.name == OWN:
            for extra in need.extras:
                yield from required(EXTRAS[extra])
        else:
            yield need


def closure(lines: list[str]) -> set[str]:
    """The names of packages that these lines need, and of those that they need in turn."""
    locked, seen = pins(), set[str]()
    left = {str(canonicalize_name(need.name)) for need in required(lines)}
    while left:
        seen |= left
        left = {pin.name for pin in locked if not left.isdisjoint(pin.needed_by)} - seen
    return seen


def needed_by() -> dict[str, list[str]]:
    """Whose each package is: everybody's, or of some extras."""
    always = closure(PROJECT["dependencies"])
    whose: dict[str, list[str]] = {name: [ALWAYS] for name in sorted(always)}
    for extra, lines in sorted(EXTRAS.items()):
        for name in sorted(closure(lines) - always):
            whose.setdefault(name, []).append(extra)
    return whose


def versions() -> dict[str, list[str]]:
    """The locked versions of each package."""
    locked: dict[str, list[str]] = {}
    for pin in pins():
        locked.setdefault(pin.name, []).append(pin.version)
    return locked


def licence(metadata: dict[str, Any]) -> str:
    """The licence's name: the expression, or the classifiers, or the first line of the field."""
    if expression := metadata.get("license_expression"):
        return str(expression)
    classified = [
        line.rpartition(" :: ")[2]
        for line in metadata.get("classifier", [])
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    field = metadata.get("license", "").strip().partition("\n")[0]
    stated = field if 0 < len(field) <= LONG else ""
    return ", ".join(classified) or stated or "see its files"


def metadata_of(name: str, version: str) -> dict[str, Any]:
    """What a package says of itself: a wheel of the newest Python that has one."""
    ask = ["uvx", "--quiet", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    ask += ["--no-deps", "--only-binary", ":all:", "--target", "build/none", "--report", "-"]
    ask += [f"--platform={platform}" for platform in PLATFORMS]
    for python in reversed(PYTHONS):
        command = [*ask, "--python-version", python, f"{name}=={version}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            (found,) = json.loads(done.stdout)["install"]
            return dict(found["metadata"])
    raise SystemExit(f"pip finds no wheel of {name} {version}:\n{done.stderr}")


def table() -> str:
    """One line per package, everybody's first."""
    locked, whose = versions(), needed_by()
    names = sorted(whose, key=lambda name: (whose[name] != [ALWAYS], name))
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda name: metadata_of(name, locked[name][-1]), names)
        says = [licence(metadata).replace("|", "/") for metadata in found]
    lines = ["| package | version | licence | needed |", "| --- | --- | --- | --- |"]
    for name, free in zip(names, says, strict=True):
        lines.append(f"| {name} | {', '.join(locked[name])} | {free} | {', '.join(whose[name])} |")
    return "\n".join(lines)


def main() -> None:
    """Write the table into its place."""
    page = PAGE.read_text(encoding="utf-8")
    block = f"<!-- licences -->\n{table()}\n<!-- /licences -->"
    mark = re.compile("<!-- licences -->.*<!-- /licences -->", re.DOTALL)
    PAGE.write_text(mark.sub(lambda _: block, page), encoding="utf-8")


if __name__ == "__main__":
    main()
