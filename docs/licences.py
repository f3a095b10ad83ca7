"""Write docs/licences.md: what each package of uv.lock may be used for, as its metadata say.

``python -m docs.licences`` reads the metadata in the wheels of the lock, where they lie. A
test, which asks nobody, compares the packages and versions of the page with those of the lock.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import IO, Any, cast
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
OWN = "eventspace"
ALWAYS = "always"
LONG = 60  # a longer field holds the licence's text, not its name


def packages() -> dict[str, list[dict[str, Any]]]:
    """The lock's packages by their names; one may have several versions, for several Pythons."""
    named: dict[str, list[dict[str, Any]]] = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]:
        named.setdefault(package["name"], []).append(package)
    return named


def closure(locked: dict[str, list[dict[str, Any]]], needs: list[dict[str, Any]]) -> set[str]:
    """The names of packages that these need, and of those that they need in turn."""
    seen: set[tuple[str, str]] = set()
    left = [(need["name"], extra) for need in needs for extra in ("", *need.get("extra", []))]
    while left:
        name, extra = place = left.pop()
        if place in seen or name == OWN:
            continue
        seen.add(place)
        for package in locked[name]:
            more = package.get("optional-dependencies", {}).get(extra, []) if extra else []
            for need in [*package.get("dependencies", []), *more]:
                left += [(need["name"], inner) for inner in ("", *need.get("extra", []))]
    return {name for name, _ in seen}


def needed_by() -> dict[str, list[str]]:
    """Whose each package is: everybody's, or of some extras."""
    locked = packages()
    (own,) = locked[OWN]
    always = closure(locked, own["dependencies"])
    whose: dict[str, list[str]] = {name: [ALWAYS] for name in sorted(always)}
    for extra, needs in sorted(own["optional-dependencies"].items()):
        for name in sorted(closure(locked, needs) - always):
            whose.setdefault(name, []).append(extra)
    return whose


def versions() -> dict[str, str]:
    """The locked versions of each package, as the page shows them."""
    return {
        name: ", ".join(package["version"] for package in found)
        for name, found in packages().items()
        if name != OWN
    }


def licence(metadata: Message) -> str:
    """The licence's name: the expression, or the classifiers, or the first line of the field."""
    if expression := metadata["License-Expression"]:
        return str(expression)
    classified = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier", [])
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    field = (metadata["License"] or "").strip().partition("\n")[0]
    stated = field if 0 < len(field) <= LONG else ""
    return ", ".join(classified) or stated or "see its files"


class Remote(io.RawIOBase):
    """A file of a server's, of which only the parts that are read are fetched."""

    def __init__(self, url: str) -> None:
        with urlopen(Request(url, method="HEAD")) as answer:
            self.url, self.size, self.at = url, int(answer.headers["Content-Length"]), 0

    def seekable(self) -> bool:
        """So that the end of an archive is found."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Where the next read begins."""
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def tell(self) -> int:
        """Where the next read begins."""
        return self.at

    def read(self, n_bytes: int = -1) -> bytes:
        """The next part."""
        end = self.size if n_bytes < 0 else min(self.at + n_bytes, self.size)
        if end <= self.at:
            return b""
        asked = Request(self.url, headers={"Range": f"bytes={self.at}-{end - 1}"})
        with urlopen(asked) as answer:
            part: bytes = answer.read()
        self.at += len(part)
        return part


def metadata_of(package: dict[str, Any]) -> Message:
    """What a wheel says of itself."""
    with zipfile.ZipFile(cast("IO[bytes]", Remote(package["wheels"][0]["url"]))) as archive:
        (name,) = (
            name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)
        )
        return HeaderParser().parsestr(archive.read(name).decode())


def table() -> str:
    """One line per package, everybody's first."""
    locked, shown, whose = packages(), versions(), needed_by()
    lines = ["| package | version | licence | needed |", "| --- | --- | --- | --- |"]
    for name in sorted(whose, key=lambda name: (whose[name] != [ALWAYS], name)):
        says = licence(metadata_of(locked[name][-1])).replace("|", "/")
        lines.append(f"| {name} | {shown[name]} | {says} | {', '.join(whose[name])} |")
    return "\n".join(lines)


def main() -> None:
    """Write the table into its place."""
    page = PAGE.read_text(encoding="utf-8")
    block = f"<!-- licences -->\n{table()}\n<!-- /licences -->"
    mark = re.compile("<!-- licences -->.*<!-- /licences -->", re.DOTALL)
    PAGE.write_text(mark.sub(lambda _: block, page), encoding="utf-8")


if __name__ == "__main__":
    main()
