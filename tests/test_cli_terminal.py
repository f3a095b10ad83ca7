"""What a person sees at a terminal, and what a script gets in its place."""

from __future__ import annotations

import json
import re
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, load
from tests import planted
from tests.command import COMMAND, IMPATIENT, in_terminal, piped, written

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")
ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table of ratings and a model of it."""
    folder = tmp_path_factory.mktemp("terminal")
    rng = np.random.default_rng(0)
    table = planted.long(planted.wide((1 + 4 * planted.chances(rng, 30, 20, 3)).round(2)))
    table.to_csv(folder / "ratings.csv", index=False)
    KolmogorovDescent(3, random_state=0).fit(table).save(folder / "m")
    return folder


def test_nothing_to_show_is_said(place) -> None:
    code, seen = in_terminal("rules", place / "m", "--min-evidence", 100_000)
    assert code == 0
    assert "eventspace: there are none: ask for less, such as a lower --min-evidence." in seen


def test_a_table_on_a_terminal_csv_in_a_pipe(place) -> None:
    code, seen = in_terminal("rules", place / "m", "--top", 3)
    assert code == 0
    assert "┃" in seen
    assert "=>" in seen
    done = piped("rules", place / "m", "--top", 3)
    assert done.out.startswith("if_item,then_item,confidence,")
    assert ESCAPE not in done.out
    code, seen = in_terminal("predict", place / "m", place / "ratings.csv")
    assert "550 rows more: --output FILE takes them all." in seen
    code, seen = in_terminal("query", place / "m", "i0 & i1", "--json")
    # where colorama is installed, as mkdocs does, numba lets it reset the colours at the end
    assert json.loads(seen.removesuffix("\x1b[0m"))[0].keys() == {"probability"}


def test_titles_are_shown_as_they_are(place, tmp_path) -> None:
    odd = ["[bold]x[/bold]", ":smile:", "red \x1b[31mhat", "a\\[b]"]
    table = pd.DataFrame({"id": [f"i{k}" for k in range(4)], "title": odd})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--titles", tmp_path / "t.csv"]
    code, seen = in_terminal("recommend", place / "m", "u1", "--seen", "--top", 20, *options)
    assert code == 0
    for title in ("[bold]x[/bold]", ":smile:", r"red \x1b[31mhat", "a\\[b]"):
        assert title in seen
    code, seen = in_terminal("rules", place / "m", "--item", "i0", *options)
    assert " [bold]x[/bold] " in seen
    code, seen = in_terminal("explain", place / "m", "u1", "i2", *options)
    assert r"red \x1b[31mhat" in seen


def test_a_terminal_that_knows_ascii_alone(place, tmp_path) -> None:
    titles = written(tmp_path / "t.csv", "id,title\ni0,Amélie\ni1,Up\n")
    arguments = ["recommend", place / "m", "u1", "--seen", "--titles", titles, "--top", 20]
    code, seen = in_terminal(*arguments, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert code == 0
    assert "Am?lie" in seen
    assert seen.isascii()


def test_a_closed_standard_output(place) -> None:
    line = f"{COMMAND[0]} -c '{COMMAND[2]}' info {place}/m >&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_colours_only_on_a_terminal_and_never_with_no_color(place) -> None:
    assert COLOUR.search(in_terminal("--help")[1])
    assert not COLOUR.search(in_terminal("--help", NO_COLOR="1")[1])
    assert ESCAPE not in piped("--help").out
    assert not COLOUR.search(in_terminal("rules", place / "m", NO_COLOR="1")[1])


def test_a_bar_with_the_time_left(place) -> None:
    """A bar on the terminal, nothing in a pipe."""
    options = ["--kind", "posterior", "--events", 3, "--chains", 2, "-o", place / "p"]
    code, seen = in_terminal("fit", place / "ratings.csv", *options, command=IMPATIENT)
    assert code == 0
    assert "━" in seen
    assert re.search(r"\d:\d\d:\d\d", seen)
    done = piped("fit", place / "ratings.csv", *options, command=IMPATIENT)
    assert done.err == f"eventspace: written: {place / 'p'}\n"


def test_mistakes_look_the_same_on_a_terminal(place) -> None:
    code, seen = in_terminal("explain", place / "m", "u99", "i0")
    assert (code, seen.count("\n")) == (2, 1)
    assert seen.startswith("eventspace: The model knows no user 'u99': did you mean ")
    code, seen = in_terminal("fit", "-", "-o", place / "x")
    assert (code, seen.count("\n")) == (2, 1)
    assert "nothing is piped into it" in seen


def test_no_arguments_give_help(place) -> None:
    done = piped()
    assert done.code == 0
    assert "Usage: eventspace" in done.out
    assert piped("--version").out.startswith("eventspace ")


def test_ctrl_c_keeps_the_model_so_far(tmp_path) -> None:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.full(24, 0.3), 5000) @ (rng.random((24, 300)) < 0.5)
    table = pd.DataFrame(chances.clip(0, 1).round(2))  # twenty iterations take a while
    table.rename_axis("user").reset_index().to_csv(tmp_path / "t.csv", index=False)
    options = ["--kind", "descent", "--events", 32]
    arguments = ["fit", tmp_path / "t.csv", "-o", tmp_path / "m", *options]
    code, seen = in_terminal(*arguments, keys=b"\x03", when="cost ")
    assert code == 130
    assert "eventspace: interrupted: this is the model so far\n" in seen
    assert "Traceback" not in seen
    assert KolmogorovDescent.load(tmp_path / "m").interrupted_


@pytest.mark.parametrize("kind", ["model", "posterior"])
def test_ctrl_c_in_chains_keeps_their_draws(kind, place, tmp_path) -> None:
    options = ["--kind", kind, "--chains", 128, "-o", tmp_path / "p"]
    code, seen = in_terminal("fit", place / "ratings.csv", *options, keys=b"\x03", when="sweeps")
    assert code == 130
    assert "Traceback" not in seen
    if "eventspace: interrupted: nothing is written.\n" in seen:  # before the first draw
        assert not (tmp_path / "p").exists()
    else:
        assert re.search(r"eventspace: interrupted: this is the model so far, .*draws of", seen)
        assert load(tmp_path / "p").interrupted


def test_a_closed_pipe_ends_it_quietly(place) -> None:
    line = f"{COMMAND[0]} -c '{COMMAND[2]}' predict {place}/m {place}/ratings.csv | head -n 2"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "offered"),
    [("eventspace re", {"report", "recommend"}), ("eventspace fit --kind p", {"posterior"})],
)
def test_completion_in_bash(words: str, offered: set[str]) -> None:
    typed = words.split()
    done = piped(
        _EVENTSPACE_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(typed) - 1),
    )
    assert set(done.out.split()) == offered, done.err


def test_completion_can_be_shown() -> None:
    done = piped("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "complete_bash" in done.out


def test_from_a_table_to_a_report_in_three_commands(tmp_path) -> None:
    """The first installs it; these are the others. A browser gets the address of a page."""
    written(tmp_path / "r.csv", "user,item,rating\nann,Up,5\nann,Heat,1\nbob,Up,2\nbob,Heat,4\n")
    browser = written(tmp_path / "browser", f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    assert piped("fit", tmp_path / "r.csv", "-o", tmp_path / "r.eventspace").code == 0
    done = piped("report", tmp_path / "r.eventspace", "--open", BROWSER=f"{browser} %s")
    assert done.code == 0
    page = tmp_path / "r.html"
    opened = tmp_path / "opened"
    deadline = time.monotonic() + 30
    while not opened.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert opened.read_text().strip().removeprefix("file://") == str(page)
    assert '"Heat"' in page.read_text(encoding="utf-8")
