"""Some thousand mutated files, tables, texts and pages: every one is answered, or makes sense.

A finding is printed with its case: ``python -m tests.fuzz models --first CASE --cases 1`` runs it
again. CONTRIBUTING.md says more.
"""

from __future__ import annotations

import pytest

from tests.fuzz.run import run
from tests.fuzz.targets import KEPT, NAMES, kept

CASES = {"models": 2000, "tables": 1000, "expressions": 200, "pages": 40}


@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_answered_or_makes_sense(name, tmp_path) -> None:
    outcome = run(name, cases=CASES[name], workers=2, findings=tmp_path)
    assert outcome.cases == CASES[name]
    assert outcome.fine, outcome.table()


def test_no_kernel_reads_or_writes_beyond_its_arrays(tmp_path, monkeypatch) -> None:
    """Other cases, with kernels that check every index; they are compiled at the first time."""
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    outcome = run("models", first=CASES["models"], cases=500, workers=2, findings=tmp_path)
    assert outcome.cases == 500
    assert outcome.fine, outcome.table()


@pytest.mark.parametrize("name", [name for name in NAMES if kept(name)])
def test_what_was_found_once_stays_mended(name, tmp_path) -> None:
    outcome = run(f"{KEPT}{name}", cases=len(kept(name)), workers=2, findings=tmp_path)
    assert outcome.cases == len(kept(name))
    assert outcome.fine, outcome.table()
