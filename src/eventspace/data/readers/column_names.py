"""What a column is called, and what it is taken for."""

from __future__ import annotations

import re
from collections.abc import Hashable

FEW = 8  # columns that a long table may well have

# Read without case, blanks and underscores; a user's or an item's word also with "id" or "name".
_WORDS = {
    "user": "user uid customer member viewer reader listener reviewer person subject patient "
    "respondent student voter legislator senator sample basket transaction transmitter sender",
    "item": "item iid movie film title product article book song track question rollcall bill "
    "cpg probe receiver",
    "value": "value rating score p prob probability vote response outcome stars",
    "weight": "weight weights",
    "successes": "successes",
    "trials": "trials",
    "time": "timestamp time date datetime ts",
    "index": "index unnamed0",
}
_ROLE = {word: role for role, words in _WORDS.items() for word in words.split()}


def role(name: Hashable) -> str | None:
    """What a column of this name is taken for, or None."""
    if name == "":  # what a written row index is called
        return "index"
    if not isinstance(name, str):
        return None
    word = re.sub(r"[\W_]+", "", name).lower()
    stem = _ROLE.get(re.sub("(id|name)$", "", word))
    return _ROLE.get(word) or (stem if stem in ("user", "item") else None)
