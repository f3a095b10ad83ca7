"""Run the code of the pages, and write the output below each block.

``python -m docs.fill`` does it for all pages, ``python -m docs.fill docs/tutorial.md`` for some.
It also copies a picture that a page's code saves as ``NAME`` and that the page shows as
``images/NAME``. The tests run the same blocks, and compare.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:```text\n(?P<printed>.*?)```\n)?", re.DOTALL)


def pages() -> list[Path]:
    """The README and the documents that have code to run."""
    candidates = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [page for page in candidates if BLOCK.search(page.read_text(encoding="utf-8"))]


def varies(text: str, block: re.Match[str]) -> bool:
    """Whether a page says that the output of a block differs between processors."""
    return text[: block.start()].endswith("<!-- varies -->\n")


def outputs(page: Path, folder: Path) -> list[str]:
    """What each block of a page prints, when they run one after the other in a folder."""
    text, printed = page.read_text(encoding="utf-8"), []
    names: dict[str, object] = {}
    for block in BLOCK.finditer(text):
        above = "\n" * text.count(
            "\n", 0, block.start("code")
        )  # so that errors name the page's line
        out = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out):
            exec(compile(above + block["code"], str(page), "exec"), names)
        printed.append(out.getvalue())
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    return printed


def fill(page: Path) -> bool:
    """Write what a page's blocks print, and the pictures they draw; say whether it changed."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as made:
        printed = iter(outputs(page, Path(made)))
        for picture in Path(made).iterdir():
            if f"(images/{picture.name})" in text:
                shutil.copyfile(picture, IMAGES / picture.name)

    def filled(block: re.Match[str]) -> str:
        out = next(printed)
        return f"```python\n{block['code']}```\n" + (f"```text\n{out}```\n" if out else "")

    new = BLOCK.sub(filled, text)
    page.write_text(new, encoding="utf-8")
    return new != text


def main(named: Sequence[str]) -> None:
    """Fill the pages named, or all."""
    for page in [Path(name).resolve() for name in named] or pages():
        changed = fill(page)
        print(f"{page.relative_to(ROOT)}: {'changed' if changed else 'as it was'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
