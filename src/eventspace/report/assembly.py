"""From contents to one file: markup, style, scripts and data, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

# In the order in which they are read: each uses only what those before it define.
SCRIPTS = (
    "dom.js",
    "space.js",
    "newcomer.js",
    "search.js",
    "expressions.js",
    "table.js",
    "charts.js",
    "layers.js",
    "moving.js",
    "diagram.js",
    "events.js",
    "lattice.js",
    "rules.js",
    "items.js",
    "users.js",
    "you.js",
    "ask.js",
    "compare.js",
    "fit.js",
    "main.js",
)
_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def page(contents: Mapping[str, Any]) -> bytes:
    """The file. A browser that reads it makes no request and runs no script but ours."""
    style = _part("style.css")
    script = "(() => {\n" + "\n".join(_part(name) for name in SCRIPTS) + "})();\n"
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}"
    parts = {
        "policy": policy,
        "title": html.escape(contents["title"]),
        "style": style,
        "data": as_json(contents),
        "script": script,
    }
    # in one go: a title may well look like a place to fill
    filled = re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part("page.html"))
    return filled.encode("utf-8", "replace")  # half of a surrogate pair is no character


def as_json(contents: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element: no text in it can end the element."""
    text = json.dumps(contents, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    return text


def _digest(text: str) -> str:
    """What the page's security policy calls a text that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return (files("eventspace.report") / name).read_text(encoding="utf-8")
