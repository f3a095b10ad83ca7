"""Packages that only some need: an extra each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eventspace._base.errors import MissingError


@contextmanager
def extra(name: str, what: str, package: str | None = None) -> Iterator[None]:
    """Around an import of an extra's package: if it is missing, an error says how to get it.

    ``what`` begins the sentence that the package ends: "Pictures are drawn by" matplotlib.
    """
    package = package or name
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingError(f"{what} {package}: pip install 'eventspace[{name}]'.") from None
