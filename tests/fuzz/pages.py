"""Pages with hostile texts: the data in them is JSON, and no text becomes markup."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from eventspace import KolmogorovDescent
from eventspace._base.errors import UserError
from eventspace.report.budget import name_of
from tests.fuzz.judge import (
    Case,
    Kind,
    NonsenseError,
    Verdict,
    answer,
    demand,
    described,
    place_of,
)

PIECES = (
    "</script>", "<script>", "<!--", "-->", "<![CDATA[", "{{data}}", "{{title}}", "{{script}}",
    "</title>", "<img src=x onerror=alert(1)>", "&lt;", "&amp;", '"', "'", "\\", "\\u003c", "\0",
    "\x1b[2J", "\r\n", "\u2028", "\u2029", "\u202e", "\ud800", "\udc00", "\ufeff", "\uffff",
    "\U0010ffff", "javascript:", "__proto__", "constructor", "=1+1", "a", " ", "\t", "é",
    "e\u0301", "日本", "%s", "${x}", "`", "|", "</SCRIPT\t>", "</scr" "ipt", "]]>", "1e999",
    "NaN", "x" * 3000,
)  # fmt: skip
_DATA = re.compile(r'<script[^>]*type="application/json"[^>]*>(.*?)</script', re.DOTALL)


class Elements(HTMLParser):
    """The elements of a page, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def elements(page: str) -> list[tuple[str, tuple[str, ...]]]:
    parser = Elements()
    parser.feed(page)
    return parser.found


def demand_sound(page: str) -> dict[str, Any]:
    """What the page holds, once it is seen to be JSON that ends nothing."""
    found = _DATA.findall(page)
    demand(len(found) == 1, f"{len(found)} elements of data")
    data = found[0]
    demand(not re.search("[<>&\u2028\u2029]", data), "data: a character that could end it")
    try:
        contents: dict[str, Any] = json.loads(data, parse_constant=_refuse)
    except ValueError as error:
        raise NonsenseError(f"data: no JSON: {error}") from None
    return contents


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class PageTarget:
    """Models with hostile ids, titles and tags, and their pages."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "page.html"
        rng = np.random.default_rng(0)
        self.pmf = rng.dirichlet(np.ones(4), 6)
        self.sets = np.arange(1, 8)[:, None] >> np.arange(4) & 1 > 0
        plain = {"users": list("abcdef"), "items": list("tuvwxyz"), "title": "t", "tags": None}
        self.plain = elements(self._page(plain)[0])

    def warm_up(self) -> None:
        assert self(self.case(0, 0).content).where != "no page"

    def case(self, seed: int, number: int) -> Case:
        rng = Random(f"page {seed} {number}")
        users, items = (_texts(rng, n) for n in (6, 7))
        tags = dict(zip(items, _texts(rng, 7), strict=True)) if rng.random() < 0.5 else None
        said = {"users": users, "items": items, "title": _text(rng), "tags": tags}
        return Case(json.dumps(said).encode(), "texts in users, items, title, tags")

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        said = json.loads(content)
        try:
            page, model = self._page(said)
            contents = demand_sound(page)
            demand(elements(page) == self.plain, "a text has become markup")
            names = [_shown(item) for item in said["items"]]
            demand(sorted(contents["items"]["name"]) == sorted(names), "an item's name is another")
            if said["title"]:
                title = said["title"].encode("utf-8", "replace").decode()
                demand(contents["title"] == title, "the title is another")
            for line in str(model.explain(said["users"][0], said["items"][0])), model.summary():
                demand(line, "no text")
        except NonsenseError as error:
            return Verdict(Kind.NONSENSE, re.sub(r"\d+", "#", str(error)), str(error))
        except Exception as error:
            if isinstance(error, UserError):
                return answer(error, None)
            return Verdict(Kind.LATER, place_of(error), described(error))
        return Verdict(Kind.USABLE)

    def _page(self, said: dict[str, Any]) -> tuple[str, Any]:
        u, i = (at.ravel() for at in np.indices((6, 7)))
        p = np.clip(self.pmf @ self.sets.T, 0, 1)
        users, items = ([said[side][k] for k in at] for side, at in (("users", u), ("items", i)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KolmogorovDescent.from_parts(self.pmf, self.sets, (users, items, p.ravel()))
            model.report(self.path, title=said["title"] or None, tags=said["tags"])
        return self.path.read_bytes().decode("utf-8"), model


def _text(rng: Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randrange(5)))


def _texts(rng: Random, n: int) -> list[str]:
    """This many different texts, which also differ as a page shows them."""
    found: dict[str, str] = {}
    while len(found) < n:
        text = _text(rng) or f"{len(found)}"
        found.setdefault(_shown(text), text)
    return list(found.values())


def _shown(text: str) -> str:
    """As a page has it: cut where it is very long, and without halves of surrogate pairs."""
    return name_of(text).encode("utf-8", "replace").decode()
