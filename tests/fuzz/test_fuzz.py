"""Some hundred mutated files, tables, texts and pages: every one is answered, or makes sense.

``make test-all`` goes on with some thousand more. A finding is printed with its case:
``python -m tests.fuzz models --first CASE --cases 1`` runs it again. CONTRIBUTING.md says more.
"""

from __future__ import annotations

import pytest

from tests.fuzz.run import run
from tests.fuzz.targets import KEPT, NAMES, kept

# of each target: how many cases are tried at first, and how many in the long run
FEW = {"models": 500, "tables": 200, "expressions": 100, "pages": 10}
MANY = {"models": 2000, "tables": 1000, "expressions": 400, "pages": 40}
CHECKED = {"few": 100, "many": 500}  # models with checked kernels


def assert_fine(name, first, stop, findings) -> None:
    """Cases ``first`` to ``stop``, in one process: the tests beside this one have the others."""
    outcome = run(name, first=first, cases=stop - first, findings=findings)
    assert outcome.cases == stop - first
    assert outcome.fine, outcome.table()


@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_answered_or_makes_sense(name, tmp_path) -> None:
    assert_fine(name, 0, FEW[name], tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_many_more_cases_are_answered_or_make_sense(name, tmp_path) -> None:
    assert_fine(name, FEW[name], MANY[name], tmp_path)


@pytest.mark.parametrize(
    ("first", "stop"),
    [
        pytest.param(0, CHECKED["few"], id="few"),
        pytest.param(CHECKED["few"], CHECKED["many"], id="many", marks=pytest.mark.whole),
    ],
)
def test_no_kernel_reads_or_writes_beyond_its_arrays(first, stop, tmp_path, monkeypatch) -> None:
    """Other cases, with kernels that check every index; they are compiled at the first time."""
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert_fine("models", MANY["models"] + first, MANY["models"] + stop, tmp_path)


@pytest.mark.parametrize("name", [name for name in NAMES if kept(name)])
def test_what_was_found_once_stays_mended(name, tmp_path) -> None:
    assert_fine(f"{KEPT}{name}", 0, len(kept(name)), tmp_path)
