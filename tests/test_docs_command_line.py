"""Every command of docs/command-line.md is run as a person runs it, and prints what is there.

In a terminal what is printed is compared, in a pipe the same commands have to work, too.
`python -m tests.test_docs_command_line` writes what they print into the page.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.help_texts import BLOCK, PAGE, commands, text

CONSOLE = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
SHELL = re.compile(r"```shell\n(.*?)```\n", re.DOTALL)
README = PAGE.parents[1] / "README.md"
FILE = re.compile(r"```csv (\S+)\n(.*?)```\n", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
SECONDS = re.compile(r" +\d+\.\d │$", re.MULTILINE)  # of a fit: the last column of evaluate
MISTAKES = {"eventspace query films.eventspace 'Alien & Haet'"}


def prepare(folder: Path) -> dict[str, str]:
    """The files of the page in a folder, and an environment in which there is an eventspace."""
    for name, content in FILE.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).write_text(content, encoding="utf-8")
    command = folder / "bin" / "eventspace"
    command.parent.mkdir()
    program = "from eventspace.cli import main; main()"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{program}' \"$@\"\n")
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "xterm"}


def at_a_terminal(line: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """A line as a person types it; without bars, which come and go."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-c", line],
        stdin=other,
        stdout=other,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    )
    os.close(other)
    out = b""
    while True:
        try:
            chunk = os.read(main, 1 << 16)
        except OSError:  # the other side is closed
            break
        out += chunk
    os.close(main)
    err = process.communicate()[1]
    shown = (out + err).decode().replace("\r\n", "\n")
    return process.returncode, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def lines_of(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what it prints."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def numbers(printed: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(printed)]


@pytest.mark.whole
@pytest.mark.skipif(os.name != "posix", reason="a terminal needs POSIX")
def test_the_commands_print_what_the_page_says(tmp_path) -> None:
    environment = prepare(tmp_path)
    blocks = CONSOLE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 10
    for block in blocks:
        for line, expected in lines_of(block):
            code, shown = at_a_terminal(line, tmp_path, environment)
            assert code == (2 if line in MISTAKES else 0), (line, shown)
            if line.startswith("eventspace evaluate "):
                shown, expected = (SECONDS.sub(" 0 │", text) for text in (shown, expected))
            assert NUMBER.sub("0", shown) == NUMBER.sub("0", expected), line
            assert numbers(shown) == pytest.approx(numbers(expected), abs=2e-3), line


@pytest.mark.whole
def test_the_commands_work_in_a_pipe(tmp_path) -> None:
    environment = prepare(tmp_path)
    for block in CONSOLE.findall(PAGE.read_text(encoding="utf-8")):
        for line, _ in lines_of(block):
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == (2 if line in MISTAKES else 0), (line, done.stderr)
            assert "\x1b" not in done.stdout
            assert all(said.startswith("eventspace: ") for said in done.stderr.splitlines())


def test_the_three_commands_at_the_top(tmp_path) -> None:
    environment = {**prepare(tmp_path), "BROWSER": "true"}
    install, *others = SHELL.findall(PAGE.read_text(encoding="utf-8"))[0].splitlines()
    assert install in README.read_text(encoding="utf-8")
    assert len(others) == 2
    for line in others:
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "films.html").stat().st_size > 10_000


def test_every_command_has_its_help_in_the_page() -> None:
    """If this fails: python -m tests.help_texts."""
    found = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    assert found == {name: text(command) for name, command in commands().items()}


def main() -> None:
    """Put what the commands print into the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = prepare(folder)

        def rewritten(match: re.Match[str]) -> str:
            runs = (
                (line, at_a_terminal(line, folder, environment)[1])
                for line, _ in lines_of(match[1])
            )
            return "```console\n" + "".join(f"$ {line}\n{shown}" for line, shown in runs) + "```\n"

        page = CONSOLE.sub(rewritten, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
