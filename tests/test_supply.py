"""What comes from elsewhere and what goes out: the lock, the licences, the wheel and the sdist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from docs import licences
from tests import versions

ROOT = Path(__file__).parents[1]
DEPENDENCIES = licences.PROJECT["dependencies"]


def test_the_lock_satisfies_every_requirement() -> None:
    pins = licences.pins()
    needs = [*licences.required(sum(licences.EXTRAS.values(), DEPENDENCIES))]
    for need in needs:
        found = [pin.version for pin in pins if pin.name == canonicalize_name(need.name)]
        assert found, f"{need}: make lock brings the lock up to date"
        assert [*need.specifier.filter(found)] == found, f"{need}: make lock"
    ours = {pin.name for pin in pins if licences.OWN in pin.needed_by}
    assert ours == {canonicalize_name(need.name) for need in needs}, "make lock"


def test_the_lock_has_hashes_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert [line for line in lock.splitlines() if line.startswith("-")] == []  # no option, no index
    entries = re.findall(r"^\w.*\n    --hash=sha256:[0-9a-f]{64}\b", lock, re.MULTILINE)
    assert len(entries) == len(licences.pins()) == len(re.findall(r"^\w", lock, re.MULTILINE))


def test_the_page_of_licences_lists_what_the_lock_holds() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\S+) \| (\d[\d., a-z+]*) \| .+ \| (.+) \|$", page, re.MULTILINE)
    whose, locked = licences.needed_by(), licences.versions()
    assert sorted(listed) == sorted(
        (name, ", ".join(locked[name]), ", ".join(extras)) for name, extras in whose.items()
    ), "python -m docs.licences writes the page"
    assert set(whose) == set(locked)


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
    for need in licences.required(DEPENDENCIES):
        (lowest,) = (bound.version for bound in need.specifier if bound.operator == ">=")
        tested = Version(found["versions"][need.name])
        assert tested.release[: len(Version(lowest).release)] == Version(lowest).release, need
