"""Compiled kernels are kept on disk where that is possible, and run where it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import eventspace

PACKAGE = Path(eventspace.__file__).parent
KERNEL = """
import numpy as np
import eventspace.data.entries, eventspace.pmf.quadratic  # kernels of other modules
from eventspace._base.randomness import uniform
print(0 < uniform(np.uint64(2**63)) < 1, sum(uniform.stats.cache_hits.values()))
"""
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"


# Root without its privilege over modes, where setpriv can take it away
BOUND = (
    ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    if shutil.which("setpriv") and os.geteuid() == 0
    else ()
)


def run(
    code: str, package: Path = PACKAGE, by: tuple[str, ...] = (), **variables: str
) -> tuple[str, str]:
    """What a process prints, and what it says."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")},
        "PYTHONPATH": str(package.parent),
        **variables,
    }
    done = subprocess.run(
        [*by, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_place_where_nothing_can_be_kept(tmp_path) -> None:
    """Mode bits do not bind root; a plain file where a folder should be binds everybody."""
    package = shutil.copytree(
        PACKAGE, tmp_path / "eventspace", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache"}
    out, err = run(KERNEL, package, **nowhere)
    assert out == "True 0\n"
    assert err.count("compiled kernels cannot be kept: every start compiles anew; set NUMBA") == 1
    out, err = run(KERNEL, package, **nowhere, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert (out, err) == ("True 0\n", "")
    out, err = run(KERNEL, package, **nowhere, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert (out, err) == ("True 1\n", "")  # found again


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not limit the size of files")
def test_a_disk_that_is_full(tmp_path) -> None:
    out, err = run(LIMITED + KERNEL, NUMBA_CACHE_DIR=str(tmp_path))
    assert out == "True 0\n"
    assert err.count("compiled kernels cannot be kept (File too large)") == 1


FIT = """
import warnings
warnings.simplefilter("error")
import numpy as np
from eventspace import KolmogorovDescent
table = np.random.default_rng(0).random((30, 12))
print(KolmogorovDescent(4, n_iter=3, random_state=0).fit(table).predict().sum().hex())
"""


@pytest.mark.whole
def test_eight_processes_that_compile_at_once_agree_and_leave_a_cache_that_is_whole(
    tmp_path,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        race = [pool.submit(run, FIT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(8)]
        told = {future.result() for future in race}
    assert len(told) == 1
    assert told == {run(FIT, NUMBA_CACHE_DIR=str(tmp_path))}  # from what they left
    out, err = run(KERNEL, NUMBA_CACHE_DIR=str(tmp_path))
    assert (out, err) == ("True 1\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.skipif(
    not BOUND and hasattr(os, "geteuid") and os.geteuid() == 0,
    reason="modes do not bind root, and there is no setpriv",
)
def test_a_package_a_home_and_a_cache_that_may_only_be_read(tmp_path) -> None:
    """As in a container. The cache is full, but numba takes none that it may not write."""
    package = shutil.copytree(
        PACKAGE, tmp_path / "eventspace", ignore=shutil.ignore_patterns("__pycache__")
    )
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "NUMBA_CACHE_DIR": str(cache)}
    assert run(KERNEL, package, **own) == ("True 0\n", "")
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    try:
        for folder in folders:
            folder.chmod(0o555)
        out, err = run(KERNEL, package, BOUND, **own)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert out == "True 0\n"
    assert err.count("compiled kernels cannot be kept: every start compiles anew; set NUMBA") == 1
    assert list(home.iterdir()) == []


def test_every_kernel_is_compiled_so() -> None:
    direct = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if "numba.njit" in (text := path.read_text(encoding="utf-8"))
        or "from numba import njit" in text
    ]
    assert direct == ["jit.py"]
