"""Run the code of the pages, and write the output below each block.

``python -m docs.fill`` does it for all pages, ``python -m docs.fill docs/tutorial.md`` for some.
It also copies a picture that a page's code saves as ``NAME`` and that the page shows as
``images/NAME``. The tests run the same blocks, and compare.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from re import Match

from docs.blocks import BLOCK, ROOT, outputs, pages

IMAGES = ROOT / "docs" / "images"


def fill(page: Path) -> bool:
    """Write what a page's blocks print, and the pictures they draw; say whether it changed."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as made:
        printed = iter(outputs(page, Path(made)))
        for picture in Path(made).iterdir():
            if f"(images/{picture.name})" in text:
                shutil.copyfile(picture, IMAGES / picture.name)

    def filled(block: Match[str]) -> str:
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
