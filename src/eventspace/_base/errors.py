"""Mistakes of the caller's, which an error answers: what is wrong, where, and what to do."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

PACKAGE = __name__.partition(".")[0]
# Frames of ours, and those that stand between ours
OURS = PACKAGE, "contextlib", "importlib", "_frozen_importlib"


class UserError(ValueError):
    """What was wrong with what the caller gave.

    As text it is "where: parameter=value what remedy", each part only if there is one. ``where``
    names a file or a place. ``parameter`` is the argument that was wrong, and ``value`` what it
    was, ``...`` if that is not shown. ``remedy`` is what Python offers, ``shell`` what the command
    line offers, None if that is the same.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        parameter: str = "",
        value: Any = ...,
        remedy: str = "",
        shell: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what, self.where, self.remedy, self.shell = what, where, remedy, shell
        self.parameter, self.value = parameter, value

    def __str__(self) -> str:
        return self.worded(self.setting, self.remedy)

    @property
    def setting(self) -> str:
        """The parameter as Python sets it."""
        return self.parameter if self.value is ... else f"{self.parameter}={self.value!r}"

    def worded(self, setting: str, remedy: str) -> str:
        """The error as text, with these words for the setting and for the remedy."""
        said = " ".join(part for part in (setting, self.what, remedy) if part)
        return f"{self.where}: {said}" if self.where else said


class UserTypeError(UserError, TypeError):
    """Something of the wrong kind."""


class MissingError(UserError, ModuleNotFoundError):
    """A package of an extra that is not installed."""


@contextmanager
def naming(data: Any) -> Iterator[None]:
    """Where data are read from a file, an error names it."""
    try:
        yield
    except UserError as error:
        if isinstance(data, str | os.PathLike):
            error.where = repr(os.fspath(data))
        raise


Line: TypeAlias = tuple[str, int, Any]  # a file, a line, and what was warned of there


def callers_line() -> Line:
    """The line that called this package, however deep in it this is asked."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    return frame.f_code.co_filename, frame.f_lineno, registry


def warn(what: str, line: Line | None = None) -> None:
    """Warn, at the line that called this package; or at another, known from an earlier call."""
    file, number, registry = line or callers_line()
    warnings.warn_explicit(what, UserWarning, file, number, registry=registry)
