"""The README is short enough to be read in a minute or two."""

from __future__ import annotations

import re

from docs.blocks import ROOT

MOST = 500  # words
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
TARGET = re.compile(r"\]\([^)]*\)|<!--.*?-->")
WORD = re.compile(r"\S*\w\S*")


def words(text: str) -> list[str]:
    """Those outside of fenced code; the target of a link is none."""
    return WORD.findall(TARGET.sub(" ", FENCED.sub("", text)))


def test_words_outside_of_code_are_counted() -> None:
    text = "# A model\n```python\nx = 1  # no\n```\nOne [link](a/b.md), | 0.9 |\n```\nz\n```\nend\n"
    assert words(text) == ["A", "model", "One", "[link", "0.9", "end"]


def test_the_readme_is_short() -> None:
    found = words((ROOT / "README.md").read_text(encoding="utf-8"))
    assert 100 <= len(found) <= MOST, f"README.md has {len(found)} words outside of code"
