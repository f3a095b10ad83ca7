"""Ids and arguments from a stranger: no terminal obeys them, and no output fails on them."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent
from eventspace._base.printable import printable
from eventspace.cli import outputs
from eventspace.cli.terminal import printable_json, say
from eventspace.fitted import FittedModel
from eventspace.report.assembly import page
from tests import planted
from tests.command import in_process, in_terminal, piped

EVIL = "\x1b]0;evil\x07 \x9b31m \x7f\u202egnp\u2066"
HALF = "half \ud800"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model all of whose ids are evil."""
    rng = np.random.default_rng(0)
    items, users = [f"{k}{EVIL}" for k in range(6)], [f"{EVIL}{k}" for k in range(9)]
    table = pd.DataFrame(planted.chances(rng, 9, 6, 3).clip(0, 1), index=users, columns=items)
    path: Path = tmp_path_factory.mktemp("harmless") / "m"
    KolmogorovDescent(3, random_state=0).fit(table).save(path)
    return path


def see(monkeypatch) -> None:
    """Make the standard output a terminal without colours."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


@pytest.fixture
def run(model, capsys):
    """Run a command on the model; {user}, {item} are ids of it, {half} is none."""

    def run(line: str, *more: object, **options: int) -> str:
        ids = {"user": f"{EVIL}1", "item": f"2{EVIL}", "other": f"3{EVIL}", "half": HALF}
        arguments = [part.format(**ids, m=model) for part in line.split("|")]
        done = in_process([*arguments, *more], capsys, **options)
        assert not HARMFUL.search(done.err)
        return str(done.out)

    return run


COMMANDS = [
    "rules|{m}|--all",
    "recommend|{m}|{user}|--seen",
    "recommend|{m}|--seen",
    "explain|{m}|{user}|{item}",
    "info|{m}|--events",
    "info|{m}",
    'query|{m}|"{item}" & ~"{other}"',
    'query|{m}|"{item}"|--given|"{other}"|--user|{user}',
    "convert|{m}|-",
    "convert|{m}|-|--part|indicators",
    "rules|{m}|--all|--conditions|2",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_terminal_gets_nothing_to_obey(line, run, monkeypatch) -> None:
    see(monkeypatch)
    for form in ([], ["--json"], ["--format", "csv"], ["--format", "tsv"]):
        if form[:1] == ["--format"] and line in ("info|{m}", COMMANDS[3]):
            continue  # no tables
        shown = run(line, *form)
        assert shown
        assert not HARMFUL.search(shown.replace("\t", ""))
        if form == ["--json"]:
            json.loads(shown)


def test_a_page_on_a_terminal(run, monkeypatch) -> None:
    see(monkeypatch)
    assert not HARMFUL.search(run("report|{m}|-o|-"))


def test_json_is_the_same_document(run, tmp_path) -> None:
    wanted = [f"{k}{EVIL}" for k in range(6)]
    found = json.loads(run("recommend|{m}|{user}|--seen|--json"))
    assert sorted(row["item"] for row in found) == wanted
    run("info|{m}|--events|--json|-o", tmp_path / "e.json")
    assert EVIL in json.loads((tmp_path / "e.json").read_bytes())[0]["label"]


def test_files_get_ids_as_they_are(run, tmp_path) -> None:
    wanted = [f"{k}{EVIL}" for k in range(6)]
    line = "recommend|{m}|{user}|--seen|-o"
    run(line, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        assert sorted(row["item"] for row in csv.DictReader(file)) == wanted
    run(line, tmp_path / "r.parquet")
    assert sorted(pd.read_parquet(tmp_path / "r.parquet")["item"]) == wanted


def test_half_of_a_surrogate_pair_is_spelt_out(tmp_path, capsys, monkeypatch) -> None:
    """UTF-8 has no such characters, but JSON has a spelling, which gives them back."""
    columns = {"item": [HALF, "x"], "n": [1, 2]}
    for form in ("csv", "tsv", "parquet", "json"):
        outputs.write(columns, str(tmp_path / form), form)
    spelt = HALF.replace("\ud800", r"\ud800")
    assert (tmp_path / "csv").read_text(encoding="utf-8") == f"item,n\n{spelt},1\nx,2\n"
    assert (tmp_path / "tsv").read_text(encoding="utf-8") == f"item\tn\n{spelt}\t1\nx\t2\n"
    assert pd.read_parquet(tmp_path / "parquet")["item"].tolist() == [spelt, "x"]
    assert json.loads((tmp_path / "json").read_bytes())[0]["item"] == HALF
    see(monkeypatch)
    capsys.readouterr()
    for form in ("csv", "json", "screen"):
        outputs.write(columns, "-", form)
        assert spelt in capsys.readouterr().out
    assert b"<title>half" in page({"title": HALF})


MISTAKES = [
    "explain|{m}|nobody {user}|{item}",
    "explain|{m}|{user}|nothing {item}",
    "explain|{m}|{half}|{item}",
    "explain|{m}|{user}|{half}",
    "recommend|{m}|{half}",
    "query|{m}|nothing {item}",
    'query|{m}|"{item}" "{item}"',
    "query|{m}|({item}",
    "query|{m}|{half}",
    'query|{m}|"{item}"|--user|{half}',
    "report|{m}|--user|{half}",
    "rules|{m}|--sort|{item}",
    "rules|{m}|--item|{half}",
    "rules|{m}|{item}",
    "recommend|{m}|-o|{item}",
    "recommend|{m}|-o|{half}",
    "info|{m}|--tags|{item}",
    "info|{item}",
    "fit|{item}|-o|{item}|--scale|{item}",
]


@pytest.mark.parametrize("line", MISTAKES)
def test_an_answer_is_one_line_that_a_terminal_does_not_obey(line, run, capsys) -> None:
    assert run(line, code=2) == ""


def test_a_failure_of_ours_neither(run, monkeypatch, capsys) -> None:
    def fail(self: object) -> None:
        raise KeyError(EVIL + HALF)

    monkeypatch.setattr(FittedModel, "summary", fail)
    assert run("info|{m}", code=1) == ""


def test_the_streams_of_a_process(model, tmp_path) -> None:
    """Bytes that are no UTF-8 become halves of surrogate pairs in an argument."""
    code, seen = in_terminal("query", model, f"~2{EVIL}", NO_COLOR="1", COLUMNS="200")
    assert code == 0
    assert seen.startswith(r"~2\x1b]0;evil\x07 \x9b31m \x7f\u202egnp\u2066: ")
    for encoding in ("utf-8", "ascii", "latin-1"):
        done = piped("info", tmp_path / "x\udcff\x1b[31m", PYTHONIOENCODING=encoding)
        assert done.code == 2
        assert done.err.endswith("x\\udcff\\x1b[31m: there is no such file.\n")


def test_what_is_shown_of_a_character() -> None:
    text = "a\x00\t\n\x1b\x7f\x85\u202e\u2069\ud800\\é日\U0001f600"
    shown = r"a\x00\t\n\x1b\x7f\x85\u202e\u2069\ud800" + "\\é日\U0001f600"
    assert printable(text) == shown
    assert printable("a\tb\nc\r", own="\n\t") == "a\tb\nc\\r"
    document = json.dumps([text], ensure_ascii=False, indent=1)
    assert json.loads(printable_json(document)) == [text]
    assert not HARMFUL.search(printable_json(document))


def test_say_is_one_line(capsys) -> None:
    say("one\ntwo\x1b[2J")
    assert capsys.readouterr().err == "eventspace: one\\ntwo\\x1b[2J\n"
