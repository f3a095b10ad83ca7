"""What goes wrong, in the words of the command line: one line, and an exit code that says whose.

0: fine; 2: a mistake of the user's; 1: a failure of ours; 130: Ctrl-C; 143: SIGTERM; 129: SIGHUP.
"""

from __future__ import annotations

import functools
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import typer

from eventspace._base import placing
from eventspace._base.errors import UserError
from eventspace._base.printable import printable
from eventspace.cli import interrupts
from eventspace.cli.terminal import open_streams, say

FINE, OURS, YOURS = 0, 1, 2

# Newer typers carry a click of their own; a usage error is the base of this one in either.
_UsageError: Any = typer.BadParameter.__mro__[1]

# Parameters of the Python surface, and the options that set them
OPTIONS = {
    "n_events": "--events",
    "pmf_penalty": "--penalty",
    "indicator_penalty": "--indicator-penalty",
    "n_iter": "--iterations",
    "n_chains": "--chains",
    "n_models": "--models",
    "n_jobs": "--threads",
    "engine": "--engine",
    "checkpoint": "--checkpoint",
    "level": "--interval",
    "cv": "--folds",
    "test_size": "--test-size",
    "time": "--time",
    "item": "--item",
    "sort": "--sort",
    "like": "--like",
    "missing": "--missing",
    "half_life": "--half-life",
    "meets": "--meets",
    "candidates": "--candidates",
    "restarts": "--restarts",
    "forget": "--forget",
    "user_attributes": "--user-attributes",
    "item_attributes": "--item-attributes",
    "sep": "--sep",
    "decimal": "--decimal",
    "encoding": "--encoding",
    "header": "--header or --no-header",
}


class InterruptError(Exception):
    """Ctrl-C, which typers treat each in their own way."""


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """A command from which Ctrl-C comes out as :class:`InterruptError`."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            interrupts.begin()
            command(*arguments, **options)
        except KeyboardInterrupt as error:
            raise InterruptError from error
        finally:
            interrupts.end()

    return run


def run(app: typer.Typer) -> None:
    """Run the app on the arguments of the process, and leave with the exit code."""
    open_streams()
    if hasattr(signal, "SIGPIPE"):  # end quietly with `| head`, as other commands do
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    interrupts.leave(exit_code(app, sys.argv[1:]))


def exit_code(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the app on some arguments, and say what went wrong."""
    before = placing.n_placed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            # without arguments, help
            code = app(arguments or ["--help"], prog_name="eventspace", standalone_mode=False)
            sys.stdout.flush()
        return int(code or FINE)
    except (Exception, KeyboardInterrupt) as error:
        # what comes after a signal comes of it
        if interrupts.seen() or isinstance(error, (InterruptError, KeyboardInterrupt, typer.Abort)):
            interrupts.hold(error)
            say(_interrupted(error, placing.n_placed > before))
            return interrupts.exit_code()
        return _answer(error)


def _interrupted(error: BaseException, written: bool) -> str:
    if isinstance(error, OSError) and error.strerror:  # on the way to the model so far
        return f"interrupted: {in_own_words(error)}"
    return interrupts.message(written)


def _answer(error: BaseException) -> int:
    """Say what went wrong; give the exit code that says whose fault it is."""
    if isinstance(error, _UsageError):
        where = error.ctx.command_path if error.ctx else "eventspace"
        problem = re.sub(
            r"^Invalid value for '?([^:']*)'?: (Value error, )?", r"\1: ", _line(error)
        )
        say(f"{problem} See {where} --help.")
        return YOURS
    if isinstance(error, MemoryError):
        say("there is not enough memory for this.")
        return OURS
    if isinstance(error, (UserError, OSError)):  # our answer, or the system's
        say(in_own_words(error))
        return YOURS
    sys.stderr.write(printable("".join(traceback.format_exception(error)), own="\n"))
    say("this is a failure of ours: please report it with the lines above.")
    return OURS


def _line(error: Any) -> str:
    """A usage error as a sentence."""
    message = " ".join(str(error.format_message()).split())
    return message if message.endswith((".", "?")) else f"{message}."


def in_own_words(error: UserError | OSError) -> str:
    """An error in one line, with the option for the parameter and the remedy of a shell."""
    if isinstance(error, UserError):
        setting, option = error.setting, OPTIONS.get(error.parameter)
        if option is not None:
            setting = option if error.value is ... else f"{option} {error.value}"
        message = error.worded(setting, error.remedy if error.shell is None else error.shell)
    elif error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        message = f"{place}{error.strerror}."
    else:
        message = str(error)
    return " ".join(message.split())


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
    if issubclass(category, UserWarning):
        say(" ".join(str(message).split()))
