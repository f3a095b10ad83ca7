"""The pages' blocks of code, and what they print: the same on any x86-64 processor since 2013.

A chain goes another way if a last bit is rounded otherwise, and BLAS, NumPy and the compiler of the
kernels round as the processor's vectors are long. So the pages run as on one with AVX2 and no more.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:```text\n(?P<printed>.*?)```\n)?", re.DOTALL)
PROCESSOR = {  # as docs/stability.md says; each NumPy knows some of these names
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL "
    "AVX512_ICL AVX512_SPR",
}
HERE = PROCESSOR if platform.machine() in ("x86_64", "AMD64") else {}


def pages() -> list[Path]:
    """The README and the documents that have code to run."""
    candidates = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [page for page in candidates if BLOCK.search(page.read_text(encoding="utf-8"))]


def varies(text: str, block: re.Match[str]) -> bool:
    """Whether a page says that the output of a block differs between runs."""
    return text[: block.start()].endswith("<!-- varies -->\n")


def outputs(page: Path, folder: Path) -> list[str]:
    """What each block of a page prints, when they run one after the other in a folder."""
    command = [sys.executable, "-m", "docs.blocks", str(page), str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | HERE, stdout=subprocess.PIPE, check=True
    )
    printed: list[str] = json.loads(done.stdout)
    return printed


def run(page: Path, folder: Path) -> list[str]:
    """The same, in this process."""
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
    return printed


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "During parsing environment variable", ImportWarning)
    warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing a major refactor", FutureWarning)
    print(json.dumps(run(*map(Path, sys.argv[1:]))))
