"""What counts: a case is answered in one line, or its result makes sense; else it is a finding."""

from __future__ import annotations

import traceback
import unicodedata
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import eventspace
from eventspace._base.errors import UserError

TOLERANCE = 1e-6
LONGEST = 2000  # characters of an answer
_PACKAGE = Path(eventspace.__file__).parent


class Kind(StrEnum):
    """How a case ended."""

    REFUSED = "refused in one line"
    SAME = "accepted, the same"
    USABLE = "accepted, usable"
    WORDS = "refused in other words"  # not in one line, without the file's name, or with controls
    LOADING = "other exception on loading"
    LATER = "exception later"
    NONSENSE = "nonsense"
    MEMORY = "too much memory"
    HANG = "hang"
    CRASH = "crash"


FINE = (Kind.REFUSED, Kind.SAME, Kind.USABLE)


class Case(NamedTuple):
    """What is tried, and how it came about."""

    content: bytes
    what: str


class Verdict(NamedTuple):
    """How a case ended, where in the program (alike ones are counted together), and the details."""

    kind: Kind
    where: str = ""
    detail: str = ""

    @property
    def fine(self) -> bool:
        return self.kind in FINE


class NonsenseError(AssertionError):
    """A result that cannot be."""


def demand(true: Any, what: str) -> None:
    """Nonsense, unless it is true."""
    if not true:
        raise NonsenseError(what)


def demand_chances(values: Any, what: str) -> None:
    """Finite numbers from 0 to 1."""
    p = np.asarray(values, dtype=np.float64)
    if not p.size:
        return
    low, high = p.min(), p.max()
    if not (low >= -TOLERANCE and high <= 1 + TOLERANCE):  # also where one is NaN
        raise NonsenseError(f"{what}: from {low:g} to {high:g}")


def demand_finite(values: Any, what: str) -> None:
    if not np.isfinite(np.asarray(values, dtype=np.float64)).all():
        raise NonsenseError(f"{what}: a number is not finite")


def index_error_of_kernel(error: BaseException | None) -> BaseException | None:
    """What a kernel that checks its bounds has raised, also if it was put into other words."""
    while error is not None:
        if isinstance(error, IndexError) and str(error) == "index is out of bounds":  # numba's
            return error
        error = error.__cause__ or error.__context__
    return None


def place_of(error: BaseException) -> str:
    """The type of an error, and the last line of ours that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _PACKAGE in Path(frame.filename).parents]
    if not own:
        return type(error).__name__
    file = Path(own[-1].filename).relative_to(_PACKAGE)
    return f"{type(error).__name__} in {file}, {own[-1].name}"


def described(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-12))[-6000:]


def answer(error: Exception, name: str | None) -> Verdict:
    """Judge an exception on reading a file; ``name`` must be in its message, if there is one."""
    if isinstance(error, MemoryError):
        return Verdict(Kind.MEMORY, place_of(error), described(error))
    if beyond := index_error_of_kernel(error):
        where = f"a kernel reads or writes beyond an array: {place_of(beyond)}"
        return Verdict(Kind.LOADING, where, described(error))
    ours = isinstance(error, (FileNotFoundError, IsADirectoryError)) and error.errno is None
    if not isinstance(error, UserError) and not ours:
        return Verdict(Kind.LOADING, place_of(error), described(error))
    if flaw := flaw_of(str(error), name):
        return Verdict(Kind.WORDS, f"{flaw}: {place_of(error)}", ascii(str(error)[:LONGEST]))
    return Verdict(Kind.REFUSED)


def flaw_of(message: str, name: str | None, lines: int = 1) -> str:
    """What is wrong with an answer as such: "" if nothing is."""
    if name is not None and name not in message:
        return "no file name"
    if not message.strip():
        return "empty"
    if len(message.split("\n")) > lines:
        return "more than one line"
    if len(message) > LONGEST:
        return f"more than {LONGEST} characters"
    bad = next((c for c in message.replace("\n", "") if is_control(c)), None)
    return f"control character {bad!a}" if bad else ""


def is_control(character: str) -> bool:
    """Whether it does something to a terminal, or cannot be written to one."""
    return character < " " or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
