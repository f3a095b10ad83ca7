"""Mistakes of the caller's, which an error answers: what is wrong, where, and what to do."""

from __future__ import annotations


class UserError(ValueError):
    """What was wrong with what the caller gave; as text, "where: what remedy".

    ``remedy`` is what Python offers, ``shell`` what the command line does instead, if that is
    something else. ``parameter`` names the argument that was wrong, if it was one.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        remedy: str = "",
        shell: str | None = None,
        parameter: str | None = None,
    ) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        self.shell, self.parameter = shell, parameter
        said = f"{what} {remedy}".strip()
        super().__init__(f"{where}: {said}" if where else said)


class UserTypeError(UserError, TypeError):
    """Something of the wrong kind."""


class MissingError(UserError, ModuleNotFoundError):
    """A package of an extra that is not installed."""
