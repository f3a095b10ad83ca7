"""The command line as a person or a script runs it: in a process, in a terminal, in a pipe."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import unittest.mock
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-c", "from eventspace.cli import main; main()"]
# bars come at once, and not after a second of work
IMPATIENT = [
    *COMMAND[:2],
    f"from eventspace._base import progress; progress.PATIENCE = 0.0; {COMMAND[2]}",
]


class Done(NamedTuple):
    """What a process has left behind."""

    code: int
    out: str
    err: str


def piped(
    *arguments: object, command: Sequence[str] = COMMAND, stdin: bytes = b"", **variables: str
) -> Done:
    """Run in a process of its own, its streams pipes."""
    done = subprocess.run(
        [*command, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **variables},
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_terminal(
    *arguments: object,
    command: Sequence[str] = COMMAND,
    keys: bytes = b"",
    when: str = "",
    **variables: str,
) -> tuple[int, str]:
    """Run in a terminal of 100 columns: the exit code and all that is seen.

    ``keys`` are pressed once ``when`` is seen.
    """
    environment = {
        **os.environ, "COLUMNS": "100", "LINES": "50", "TERM": "xterm-256color", **variables
    }  # fmt: skip
    main, other = pty.openpty()
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdin=other,
        stdout=other,
        stderr=other,
        env=environment,
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(other)
    seen = b""
    while True:
        if select.select([main], [], [], 0.05)[0]:
            try:
                chunk = os.read(main, 1 << 16)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            seen += chunk
            if keys and when.encode() in seen:
                os.write(main, keys)
                keys = b""
        elif process.poll() is not None:
            break
    os.close(main)
    return process.wait(), seen.decode().replace("\r\n", "\n")


def _own_terminal() -> None:
    """Make the terminal that of the process, so that Ctrl-C reaches it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def in_process(arguments: list[object], capsys, code: int = 0, stdin: bytes = b"") -> Done:
    """Run within this process, which is quicker: all but the start of the process is the same."""
    from eventspace.cli.app import app
    from eventspace.cli.mistakes import exit_code

    capsys.readouterr()
    with unittest.mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin))):
        got = exit_code(app, [str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert got == code, err
    return Done(got, out, err)


def written(path: Path, text: str) -> Path:
    """A file with this text."""
    path.write_text(text, encoding="utf-8")
    return path
