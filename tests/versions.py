"""Part of the tests with the oldest and the newest versions of what eventspace needs.

    python -m tests.versions                     # all that docs/versions.md lists
    python -m tests.versions 3.12-newest         # one of them

Each has an environment of its own in build/versions, which uv makes. What passed is kept in
tests/versions.json, and shown in docs/versions.md. A Python that uv does not find, and cannot
fetch, is left as it was.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
ENVIRONMENTS = [f"{PYTHONS[0]}-oldest", *(f"{python}-newest" for python in PYTHONS)]
PACKAGES = [re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]] + ["matplotlib"]
FOUND = ROOT / "tests" / "versions.json"
PAGE = ROOT / "docs" / "versions.md"
# Kernels, learning, files and commands: not the pages, the browser, the examples or other tools
PART = ["tests/kernels"] + [f"tests/test_{name}.py" for name in (
    "cli", "estimators", "files_read_back", "format", "kolmogorov_descent", "kolmogorov_model",
    "long_or_wide", "observations", "plots", "posterior", "reading", "recommend", "rules",
    "set_output", "storage", "updates")]  # fmt: skip
ASK = """
import json, sys
from importlib.metadata import version
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


def run(*command: str | Path, **variables: str) -> str:
    """What a command prints; one that fails says why, and ends all."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout


def install(name: str) -> Path:
    """An environment with the versions that its name says, and its Python."""
    python, age = name.split("-")
    folder = ROOT / "build" / "versions" / name
    shutil.rmtree(folder, ignore_errors=True)
    run("uv", "venv", "--quiet", "--python", python, folder)
    oldest = ["--resolution", "lowest-direct"] if age == "oldest" else []
    add = ["uv", "pip", "install", "--quiet", "--only-binary", ":all:"]
    own = ["--no-binary", PROJECT["name"], "--editable", ".[plot,demo]"]
    run(*add, *oldest, *own, VIRTUAL_ENV=str(folder))
    run(*add, "pytest", "pytest-xdist", "hypothesis", "polars", VIRTUAL_ENV=str(folder))
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def measure(name: str) -> dict[str, Any]:
    """Run the tests in a new environment: its versions, and how many tests passed."""
    python = install(name)
    report = python.parents[1] / "tests.xml"
    # old packages warn of their own age
    aged = ["-W", "default::DeprecationWarning"] if name.endswith("oldest") else []
    own = {"NUMBA_CACHE_DIR": str(ROOT / "build" / "versions" / f"kernels-{name}")}
    options = ["-n", "logical", "--maxprocesses", "8", "-p", "no:cacheprovider"]
    command = [python, "-m", "pytest", *options, f"--junitxml={report}", *aged, *PART]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, check=False)
    counts = ElementTree.parse(report).getroot()[0].attrib
    total, failed, skipped = (
        sum(int(counts[kind]) for kind in kinds)
        for kinds in (("tests",), ("failures", "errors"), ("skipped",))
    )
    own_python = run(python, "-c", "import platform; print(platform.python_version())").strip()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"Python": own_python, **json.loads(run(python, "-c", ASK, *PACKAGES))},
        "passed": total - failed - skipped,
        "failed": failed,
        "skipped": skipped,
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """One column per environment, one row per package, what passed below."""
    rows: dict[str, Callable[[dict[str, Any]], object]] = {
        **{name: partial(_version, name) for name in ("Python", *PACKAGES)},
        **{f"tests {kind}": itemgetter(kind) for kind in ("passed", "failed", "skipped")},
        "on": itemgetter("date"),
    }
    heads = ["{1}, Python {0}".format(*name.split("-")) for name in ENVIRONMENTS]
    lines = [["", *heads], ["---"] * (len(heads) + 1)]
    for name, told in rows.items():
        cells = [str(told(found[one])) if one in found else "not run" for one in ENVIRONMENTS]
        lines.append([name, *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _version(name: str, one: dict[str, Any]) -> str:
    return str(one["versions"][name])


def shown(page: str, found: dict[str, dict[str, Any]]) -> str:
    """The page with this table."""
    block = f"<!-- versions -->\n{table(found)}\n<!-- /versions -->"
    return re.sub(r"<!-- versions -->.*<!-- /versions -->", lambda _: block, page, flags=re.DOTALL)


def kept() -> dict[str, dict[str, Any]]:
    """What was found before."""
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}


def main(names: list[str]) -> int:
    """Measure, keep and show; 1 if a test failed or an environment could not be made."""
    found, bad = kept(), 0
    for name in names or ENVIRONMENTS:
        try:
            found[name] = measure(name)
        except subprocess.CalledProcessError as error:
            print(f"{name}: not run: {' '.join(map(str, error.cmd))}", file=sys.stderr)
            bad = 1
            continue
        print(name, found[name], flush=True)
        bad |= found[name]["failed"] > 0
        FOUND.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        PAGE.write_text(shown(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
