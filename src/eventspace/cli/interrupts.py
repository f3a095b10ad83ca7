"""Ctrl-C, and a kill that asks (SIGTERM, SIGHUP), at any time: one line and an exit code.

Before a command begins there is nothing to tidy up, and the process ends at once. In a command the
signal is a KeyboardInterrupt, with one exception: while a module loads it waits. Half a module, or
an import that takes the interrupt for a package that is missing, would give wrong answers.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

NOTHING = "interrupted: nothing is written."
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_SOON = 0.02  # seconds until an interrupt that had to wait is tried again
_BEFORE, _DURING, _AFTER = range(3)

_seen: int | None = None  # the first signal that came
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


def leave(code: int) -> None:
    """End the process; if interrupted, without waiting for what threads still do."""
    for number in _watched():
        signal.signal(number, signal.SIG_IGN)
    if not seen():
        sys.exit(code)
    try:
        sys.stdout.flush()
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
    if _stage == _BEFORE:
        _write(f"eventspace: {NOTHING}\n")
        os._exit(exit_code())
    if _stage == _AFTER or (_loading(frame) and _try_again()):
        return
    raise KeyboardInterrupt


def _write(line: str) -> None:
    """To the standard error, past the buffers: the signal may have come in the middle of them."""
    with suppress(OSError):  # closed, or the terminal is gone
        os.write(2, line.encode())


def _loading(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _try_again() -> bool:
    """Raise the interrupt a little later, where there is a clock for it."""
    if not hasattr(signal, "setitimer"):
        return False
    signal.setitimer(signal.ITIMER_REAL, _SOON)
    return True


def _unraisable(lost: Any) -> None:
    """An interrupt that came where Python can only report it, as when an object is deleted."""
    if not (seen() and issubclass(lost.exc_type, KeyboardInterrupt) and _try_again()):
        sys.__unraisablehook__(lost)
