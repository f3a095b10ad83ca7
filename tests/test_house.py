"""The house is in order: the map matches the tree, and repeated statements agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from eventspace import __version__

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eventspace"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MOST_MODULES = 10


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def modules() -> set[str]:
    return {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}


def packages() -> set[str]:
    return {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}


def rooms() -> list[str]:
    """The names on the map of CONTRIBUTING.md, from the highest room to the lowest."""
    section = text_of("CONTRIBUTING.md").partition("## The house\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \| .+ \|$", section, re.MULTILINE)


def test_the_map_names_every_room_once_and_nothing_else() -> None:
    assert sorted(rooms()) == sorted(modules() | packages())


def test_the_map_has_the_order_of_the_import_contract() -> None:
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert [name.removesuffix(".py").rstrip("/") for name in rooms()] == [
        name for layer in layers for name in layer.split(" | ")
    ]


def test_the_import_contracts_have_no_exceptions() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    assert not [contract for contract in contracts if "ignore_imports" in contract]
    assert "lint-imports" in text_of("Makefile")


def test_few_modules_lie_at_the_root() -> None:
    assert len(modules()) <= MOST_MODULES


def test_every_file_that_the_ways_to_add_something_name_is_there() -> None:
    section = text_of("CONTRIBUTING.md").partition("## How to add\n")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w/.-]*/[\w/.-]*)`", section)
    assert named
    for name in named:
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


def test_the_version_is_the_last_release_or_one_that_comes_after_it() -> None:
    changes = text_of("CHANGELOG.md")
    released = re.search(r"^## (\d\S*), (\S+)$", changes, re.MULTILINE)
    assert released is not None
    assert f"\nversion: {released[1]}\n" in text_of("CITATION.cff")
    assert f"\ndate-released: {released[2]}\n" in text_of("CITATION.cff")
    now, last = Version(__version__), Version(released[1])
    assert now.is_devrelease == ("\n## Unreleased\n" in changes)
    assert now > last if now.is_devrelease else now == last


def test_every_supported_python_is_tried_by_continuous_integration() -> None:
    classifiers = "\n".join(PROJECT["project"]["classifiers"])
    supported = re.findall(r"Python :: (3\.\d+)$", classifiers, re.MULTILINE)
    assert PROJECT["project"]["requires-python"] == f">={supported[0]}"
    workflow = text_of(".github/workflows/ci.yml")
    tried = re.search(r"name: Linux.*?python: \[(.*?)\]", workflow, re.DOTALL)
    assert tried is not None
    assert re.findall(r'"([^"]+)"', tried[1]) == supported
    ignored = re.findall(r"--ignore=(\S+)", workflow)
    assert ignored
    for path in ignored:
        assert (ROOT / path).exists(), path


def test_git_ignores_what_the_demonstration_writes() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git's")
    written = ["movielens.eventspace", "movielens.html"]
    done = subprocess.run(
        ["git", "check-ignore", *written], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == written
