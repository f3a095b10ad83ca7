"""What comes from elsewhere and what goes out: the lock, the licences, the wheel and the sdist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from docs import licences
from tests import versions

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
EXTRAS = PROJECT["optional-dependencies"]

Need = tuple[str, str, SpecifierSet, str]  # a package, its extras, its versions, an extra of ours


def required(lines: list[str], extra: str = "") -> Iterator[Need]:
    """The requirements of pyproject.toml, those of our own extras in their place."""
    for line in lines:
        need = Requirement(line)
        if need.name == PROJECT["name"]:
            for inner in need.extras:
                yield from required(EXTRAS[inner], extra)
        else:
            yield need.name, ",".join(sorted(need.extras)), need.specifier, extra


def locked() -> Iterator[Need]:
    """The requirements that the lock was made for."""
    (own,) = (package for package in LOCK["package"] if package["name"] == PROJECT["name"])
    for need in own["metadata"]["requires-dist"]:
        extra = re.search(r"extra == '(.+?)'", need.get("marker", ""))
        yield (
            need["name"],
            ",".join(sorted(need.get("extras", []))),
            SpecifierSet(need.get("specifier", "")),
            extra[1] if extra else "",
        )


def test_the_lock_is_made_for_these_requirements() -> None:
    needs = [*required(PROJECT["dependencies"])]
    for extra, lines in EXTRAS.items():
        needs += required(lines, extra)
    assert sorted(map(str, locked())) == sorted(map(str, needs)), "uv lock brings it up to date"
    assert LOCK["requires-python"] == PROJECT["requires-python"]


def test_the_lock_names_no_index_but_the_public_one() -> None:
    sources: list[dict[str, Any]] = [package["source"] for package in LOCK["package"]]
    assert {source["registry"] for source in sources if "registry" in source} == {
        "https://index.example/simple"
    }
    files = {file["url"] for package in LOCK["package"] for file in package.get("wheels", [])}
    assert {url.split("/")[2] for url in files} == {"files.example"}


def test_the_page_of_licences_lists_what_the_lock_holds() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\S+) \| (\d[\d., a-z+]*) \| .+ \| (.+) \|$", page, re.MULTILINE)
    whose, versions = licences.needed_by(), licences.versions()
    assert sorted(listed) == sorted(
        (name, versions[name], ", ".join(extras)) for name, extras in whose.items()
    ), "python -m docs.licences writes the page"
    assert set(whose) == set(versions)


def test_what_is_always_needed_may_be_used_by_anybody() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    free = re.compile(r"BSD|MIT|Apache|ISC|Zlib|PSF|Python Software Foundation")
    always = re.findall(r"^\| (\S+) \| .+? \| (.+) \| always \|$", page, re.MULTILINE)
    assert always
    assert [name for name, says in always if not free.search(says) or "GPL" in says] == []


def test_the_page_of_versions_shows_what_was_found() -> None:
    page = versions.PAGE.read_text(encoding="utf-8")
    found = versions.kept()
    assert versions.shown(page, found) == page
    assert {name: one["failed"] for name, one in found.items()} == dict.fromkeys(found, 0)


def test_the_oldest_versions_that_were_tested_are_those_that_are_allowed() -> None:
    if (found := versions.kept().get(versions.ENVIRONMENTS[0])) is None:
        pytest.skip("the page says that the oldest versions were not run: make test-versions does")
    for name, _, allowed, _ in required(PROJECT["dependencies"]):
        (lowest,) = (bound.version for bound in allowed if bound.operator == ">=")
        tested = Version(found["versions"][name])
        assert tested.release[: len(Version(lowest).release)] == Version(lowest).release, name
