"""For the reference: what docstrings say in the manner of Sphinx, as Markdown.

An extension of griffe, which mkdocs.yml names.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

import eventspace

ROLE = re.compile(r":\w+:`(?P<name>[\w.]+)`")
SHARED = re.compile(r"^(?P<names>\w+(?:, \w+)+)\n(?P<text>(?: +.*\n?)+)", re.MULTILINE)


class Roles(griffe.Extension):  # type: ignore[misc]
    """Makes links of roles, and a paragraph for each of several parameters that share one."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of whatever has one."""
        if obj.docstring is not None:
            text = SHARED.sub(one_by_one, obj.docstring.value)
            obj.docstring.value = ROLE.sub(linked, text)


def linked(role: re.Match[str]) -> str:
    """The name of a public class as a link, any other as code."""
    name = role["name"]
    return f"[`{name}`][eventspace.{name}]" if name in eventspace.__all__ else f"`{name}`"


def one_by_one(shared: re.Match[str]) -> str:
    """The text of several parameters under each, so that each has its own default."""
    text = shared["text"].rstrip("\n")
    return "".join(f"{name}\n{text}\n" for name in shared["names"].split(", "))
