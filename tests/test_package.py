"""The wheel and the sdist: built, installed into an empty environment, and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from eventspace import __version__

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eventspace"
USE = """
import numpy as np
from eventspace import KolmogorovDescent
table = np.where(np.random.default_rng(0).random((20, 8)) < 0.5, 1.0, 0.0)
model = KolmogorovDescent(3, n_iter=3, random_state=0).fit(table)
model.save("m.eventspace")
model.report("page.html")
print(np.array_equal(KolmogorovDescent.load("m.eventspace").predict(), model.predict()))
"""

pytestmark = pytest.mark.whole


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints that knows nothing of this checkout."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(folder: Path, *needs: str | Path) -> Path:
    """The folder of the programs of a new environment that has what is named."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", *needs, folder=folder)
    return programs


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of this tree, and the wheel that is built from that."""
    folder = tmp_path_factory.mktemp("built")
    python = environment(folder / "tools", "build") / "python"
    run(python, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == ours
    assert "eventspace/py.typed" in names
    assert {Path(name).suffix for name in names} == {".py", ".typed", ".js", ".css", ".html"}


def test_the_sdist_holds_what_the_tests_need_and_no_data(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "README.md", "requirements.lock", "tests/naive.py", "docs/index.md"):
        assert name in names
    assert not [name for name in names if Path(name).suffix in {".base", ".parquet", ".dat"}]
    assert not [name for name in names if name.startswith((".venv", "build/", "site/"))]


def test_the_wheel_works_in_an_empty_environment(built: tuple[Path, Path], tmp_path: Path) -> None:
    programs = environment(tmp_path / "empty", built[1])
    place = run(
        programs / "python", "-c", "import eventspace; print(eventspace.__file__)", folder=tmp_path
    )
    assert Path(place.strip()).is_relative_to(tmp_path)
    assert run(programs / "eventspace", "--version", folder=tmp_path).split()[-1] == __version__
    assert "recommend" in run(programs / "eventspace", "--help", folder=tmp_path)
    assert run(programs / "python", "-c", USE, folder=tmp_path) == "True\n"
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "events" in run(programs / "eventspace", "info", "m.eventspace", folder=tmp_path)
