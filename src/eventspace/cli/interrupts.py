"""Ctrl-C, and a kill that asks (SIGTERM, SIGHUP), at any time: one line and an exit code.

In a command the signal is a KeyboardInterrupt: a fit keeps what it has reached, and a file that is
being written is removed. Not so before a command begins, and while a module loads: half a module,
or an import that takes the interrupt for a package that is missing, would give a wrong answer.
There the process ends where it stands.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from eventspace._base import placing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_SOON = 0.02  # seconds until an interrupt that was lost comes again
_BEFORE, _DURING, _AFTER = range(3)

_seen: int | None = None  # the first signal that came
_held: BaseException | None = None
_stage = _BEFORE  # of the command


def watch() -> None:
    """Take the signals of this process; one that is ignored, as with nohup, stays ignored."""
    sys.unraisablehook = _unraisable
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, lambda _, frame: _interrupt(frame))
    for number in _watched():
        signal.signal(number, _take)


def begin() -> None:
    """From here on a signal is a KeyboardInterrupt."""
    global _stage
    _stage = _DURING


def end() -> None:
    """From here on a signal comes too late."""
    global _stage
    _stage = _AFTER


def seen() -> bool:
    """Whether a signal has come."""
    return _seen is not None


def exit_code() -> int:
    """What a shell gives a process that this signal has ended: 130 for Ctrl-C."""
    return 128 + (_seen or signal.SIGINT)


def message(written: bool) -> str:
    """What an interrupted command says."""
    return f"interrupted: {'what is written is complete' if written else 'nothing is written'}."


def hold(error: BaseException) -> None:
    """Keep an error to the end: what its frames hold may be half made, and not fit to be freed."""
    global _held
    _held = error


def leave(code: int) -> None:
    """End the process; after a failure without waiting for what threads still do.

    A thread of a library's that is left behind, and asks for the interpreter while that ends, would
    abort the process: a refusal is to end in its own exit code.
    """
    for number in _watched():
        signal.signal(number, signal.SIG_IGN)
    if not code:
        sys.exit(code)
    placing.abandon()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # whatever the other side of a pipe has done
        os._exit(code)


def _watched() -> list[signal.Signals]:
    every = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    return [number for number in every if signal.getsignal(number) != signal.SIG_IGN]


def _take(number: int, frame: FrameType | None) -> None:
    """The handler of the signals."""
    global _seen
    _seen = _seen or number
    if number != signal.SIGINT:  # `timeout` sends it twice; the second must not stop the tidying up
        signal.signal(number, signal.SIG_IGN)
    _interrupt(frame)


def _interrupt(frame: FrameType | None) -> None:
    if _stage == _AFTER:
        return
    if _stage == _BEFORE or _loading(frame):
        _leave_now()
    raise KeyboardInterrupt


def _leave_now() -> None:
    """Past the buffers: the signal may have come in the middle of them."""
    shown = "\x1b[?25h" if os.isatty(2) else ""  # the cursor, which a bar hides
    with suppress(OSError):  # the standard error is closed, or the terminal is gone
        os.write(2, f"{shown}eventspace: {message(placing.n_placed > 0)}\n".encode())
    placing.abandon()
    os._exit(exit_code())


def _loading(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _unraisable(lost: Any) -> None:
    """An interrupt where Python can only report it, as when an object is deleted, comes again."""
    if seen() and issubclass(lost.exc_type, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _SOON)
    else:
        sys.__unraisablehook__(lost)
