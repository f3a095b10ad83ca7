"""The harness notices what it is for, and its cases are the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eventspace._base.errors import UserError
from tests.fuzz import models, tables, trials
from tests.fuzz.archive import unpacked
from tests.fuzz.expressions import ExpressionTarget
from tests.fuzz.judge import Kind, answer, flaw_of
from tests.fuzz.mutations import Mutator
from tests.fuzz.reading import demand_sound
from tests.fuzz.run import main, run
from tests.fuzz.usage import ModelJudge
from tests.observing import altered


@pytest.fixture(scope="module")
def seeds(tmp_path_factory) -> list[tuple[str, bytes]]:
    folder = tmp_path_factory.mktemp("seeds")
    return [(file.stem, file.read_bytes()) for file in models.save_all(folder)]


@pytest.fixture
def judge(seeds, tmp_path) -> ModelJudge:
    return ModelJudge(tmp_path, [content for _, content in seeds])


def int_ids() -> Any:
    """The first of the models; the others are not fitted."""
    return next(model for name, model in models.fitted() if name == "int-ids")


def test_whatever_ends_a_case_is_noticed_and_the_others_run(tmp_path) -> None:
    outcome = run("trials", cases=24, workers=2, patience=8, findings=tmp_path)
    found = {line["case"]: Kind(line["kind"]) for line in outcome.findings}
    assert found == {
        trials.CRASH: Kind.CRASH,
        trials.ABORT: Kind.CRASH,
        trials.HANG: Kind.HANG,
        trials.MEMORY: Kind.MEMORY,
        trials.NONSENSE: Kind.NONSENSE,
        trials.RAISED: Kind.LOADING,
    }
    assert outcome.cases == 24
    assert outcome.counts[Kind.REFUSED] == 18
    assert "1 x hang: over 8 s" in outcome.table()
    where = {line["case"]: line["where"] for line in outcome.findings}
    assert "SIGSEGV" in where[trials.CRASH]
    assert "SIGABRT" in where[trials.ABORT]
    assert (tmp_path / "trials-1" / f"crash-1-{trials.CRASH}.bin").read_bytes() == b"3"
    assert "KeyError" in (tmp_path / "trials-1" / f"loading-1-{trials.RAISED}.txt").read_text()
    assert "sleep" not in where[trials.HANG]  # that frame is none of ours
    assert "trials.py" in (tmp_path / "trials-1" / f"hang-1-{trials.HANG}.txt").read_text()


def test_checked_kernels_find_an_index_beyond_the_end(tmp_path, monkeypatch) -> None:
    options = {"first": trials.BEYOND, "cases": 1, "findings": tmp_path}
    assert run("trials", **options).fine
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    outcome = run("trials", **options)
    assert [line["where"] for line in outcome.findings] == ["harness: IndexError"]


def test_the_time_limit_ends_a_run(tmp_path) -> None:
    outcome = run("trials", first=100, cases=10**9, seconds=0.5, findings=tmp_path)
    assert outcome.fine
    assert 0 < outcome.cases < 10**9


def test_the_command_ends_with_what_it_found(capsys, tmp_path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(b'["Alien & (", null]')
    assert main(["expressions", "--file", str(bad)]) == 0
    bad.write_bytes(b'["Alien", [0, 1, 2, 3, 4, 5]]')  # not what Alien is
    assert main(["expressions", "--file", str(bad)]) == 1
    assert "another event" in capsys.readouterr().out


def test_a_number_gives_the_same_case_every_time(seeds) -> None:
    one, two = Mutator(seeds), Mutator(seeds)
    found = [one.case(1, k) for k in range(300)]
    assert found == [two.case(1, k) for k in range(300)]
    assert len({case.content for case in found}) > 280
    assert found != [one.case(2, k) for k in range(300)]
    assert [tables.case(1, k) for k in range(50)] == [tables.case(1, k) for k in range(50)]


def test_originals_are_accepted_and_packed_again_the_same(seeds, judge) -> None:
    for name, content in seeds:
        assert judge(content).kind == Kind.SAME, name
        assert judge(unpacked(content).packed()).kind == Kind.SAME, name


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda pmf: pmf * 2, "transform: no distribution"),
        (lambda pmf: -pmf, "explain: from"),
        (lambda pmf: np.where(pmf > 0.3, np.nan, pmf), "predict(): from nan"),
    ],
)
def test_predictions_that_are_no_chances_are_nonsense(judge, change, what) -> None:
    """The judge looks at the result, no matter what let the input in."""
    model = int_ids()
    model = altered(model.fitted_, pmf=change(model.pmf_))
    verdict = judge._used(model, 0)
    assert verdict.kind == Kind.NONSENSE
    assert what in verdict.detail


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("confidence", 1.5, "rules: confidence: from"),
        ("gain", np.nan, "rules: gain"),
        ("like_both", 10**6, "rules: counts"),
    ],
)
def test_rules_that_cannot_be_are_nonsense(judge, monkeypatch, column, value, what) -> None:
    model = int_ids().fitted_
    rules = type(model).rules
    monkeypatch.setattr(
        type(model),
        "rules",
        lambda self, **options: rules(self, **options).assign(**{column: value}),
    )
    verdict = judge._used(model, 0)
    assert verdict.kind == Kind.NONSENSE
    assert what in verdict.detail


def test_an_exception_after_loading_is_a_finding(judge) -> None:
    model = int_ids().fitted_
    model.settings.n_jobs = "many"
    verdict = judge._used(model, 1)
    assert verdict.kind == Kind.LATER
    assert verdict.where.startswith("_rules: UserError")


@pytest.mark.parametrize(
    ("message", "flaw"),
    [
        ("m.eventspace is damaged.", ""),
        ("It is damaged.", "no file name"),
        ("m.eventspace is\ndamaged.", "more than one line"),
        ("m.eventspace holds \x1b[2J.", "control character '\\x1b'"),
        ("m.eventspace holds \ud800.", "control character '\\ud800'"),
        ("m.eventspace " + "x" * 5000, "more than 2000 characters"),
    ],
)
def test_an_answer_is_one_line_with_the_name_and_nothing_for_a_terminal(message, flaw) -> None:
    assert flaw_of(message, "m.eventspace") == flaw


def test_an_index_error_of_a_kernel_is_none_in_whatever_words() -> None:
    error = UserError("m.eventspace is damaged.")
    error.__cause__ = IndexError("index is out of bounds")
    verdict = answer(error, "m.eventspace")
    assert verdict.kind == Kind.LOADING
    assert verdict.where.startswith("a kernel")


def test_what_others_raise_is_no_answer() -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("m.eventspace")
    assert answer(caught.value, "m.eventspace").kind == Kind.LOADING


def test_observations_out_of_order_are_nonsense() -> None:
    seen = int_ids().observations_
    demand_sound(seen)
    seen.by_item.value[0] = (seen.by_item.value[0] + 0.4) % 1
    with pytest.raises(AssertionError, match="the two orders differ"):
        demand_sound(seen)


def test_formulas_mean_what_the_case_says() -> None:
    target = ExpressionTarget()
    assert target(b'["Alien & (", null]').kind == Kind.REFUSED
    assert target(b'["Alien", [0, 1, 2, 3, 4, 5]]').kind == Kind.NONSENSE


def test_findings_are_kept_by_target() -> None:
    folder = Path(__file__).parent / "seeds"
    names = {file.parent.name for file in folder.glob("*/*.bin")}
    assert names <= {"models", "tables", "expressions", "pages"}
    assert all(file.stat().st_size < 1 << 16 for file in folder.glob("*/*.bin"))
