"""Arrays of Python's objects, such as ids, as bytes and back.

An array of text is its UTF-8, one after the other, and where each ends. Objects of other kinds
(dates, tuples, ...) are spelt as JSON, each by itself.
"""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError

MOST_JSON = 1 << 16  # bytes of one object
PER_OBJECT = 150  # bytes of memory that an object may take for each comma or bracket in its JSON
_BLOCK = 1 << 14  # objects read at a time


class Spelt(NamedTuple):
    """Texts one after the other in UTF-8, and where each ends; ``json`` if they spell objects."""

    utf8: NDArray[np.uint8]
    ends: NDArray[np.int64]
    json: bool


def spelt(objects: NDArray[np.object_]) -> Spelt:
    """The objects as texts; an error names the first that cannot be spelt."""
    plain = all(type(element) is str for element in objects)
    if plain:
        texts = [text.encode() for text in objects]
    else:
        texts = [_as_json(element) for element in objects]
        long = next((k for k, text in enumerate(texts) if len(text) > MOST_JSON), None)
        if long is not None:
            raise UserError(
                f"The id {repr(objects[long])[:40]}... is too long for a file: at most "
                f"{MOST_JSON:,} bytes of JSON."
            )
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return Spelt(np.frombuffer(b"".join(texts), np.uint8), ends, not plain)


def _as_json(element: Any) -> bytes:
    """The JSON of an object, from which the same can be read again."""
    text = json.dumps(encoded(element))
    try:
        same = decoded(strict_json(text)) == element or element != element
    except ValueError:
        same = False
    if not same:
        raise UserError(f"The id {element!r:.60} cannot be written to a file and read again.")
    return text.encode()


def bounded(content: bytes | memoryview[int], n_objects: int, most: int) -> bytes:
    """The JSON, refused if its objects may take more than ``most`` bytes of memory."""
    whole = bytes(content)
    parts = n_objects + sum(whole.count(sign) for sign in (b",", b"[", b"{"))
    if PER_OBJECT * parts + 4 * len(whole) > most:
        raise ValueError("it holds more ids than a file of its size can have")
    return whole


def read_spelt(stored: Spelt, most: int) -> NDArray[np.object_]:
    """The objects that were spelt, in at most ``most`` bytes; a flaw is a ValueError."""
    utf8, ends, as_json = stored
    if utf8.dtype != np.uint8 or ends.dtype != np.int64 or utf8.ndim != 1 or ends.ndim != 1:
        raise ValueError("text is bytes, and where each ends")
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if ends.size else ends
    if (ends < starts).any() or (starts < 0).any() or utf8.size != (ends[-1] if ends.size else 0):
        raise ValueError("the ends of texts do not rise to the end of the bytes")
    if as_json and ends.size and (ends - starts).max() > MOST_JSON:
        raise ValueError(f"an id is spelt in more than {MOST_JSON:,} bytes")
    whole = bounded(utf8.data, ends.size, most) if as_json else utf8.tobytes()
    objects = np.empty(ends.size, dtype=object)
    # ASCII is cut as text, which is quicker
    ascii_text = whole.decode("ascii") if whole.isascii() else None
    for first in range(0, ends.size, _BLOCK):
        block = slice(first, first + _BLOCK)
        for k, (start, end) in enumerate(
            zip(starts[block].tolist(), ends[block].tolist(), strict=True), start=first
        ):
            text = whole[start:end].decode() if ascii_text is None else ascii_text[start:end]
            objects[k] = decoded(strict_json(text)) if as_json else text
    return objects


def strict_json(text: str | bytes) -> Any:
    """What a JSON text says, without doubled keys; NaN and infinities are left as they are."""
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)  # made once: that takes longer than an id

# Objects that JSON does not know by itself are [kind, text].
_KINDS: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    datetime.datetime: ("datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    decimal.Decimal: ("decimal", str, decimal.Decimal),
    uuid.UUID: ("uuid", str, uuid.UUID),
    tuple: (
        "tuple",
        lambda parts: [encoded(part) for part in parts],
        lambda parts: tuple(decoded(part) for part in parts),
    ),
    frozenset: (
        "frozenset",
        lambda parts: [encoded(part) for part in parts],
        lambda parts: frozenset(decoded(part) for part in parts),
    ),
}
_DECODE = {name: decode for name, _, decode in _KINDS.values()}
_OF_PARTS = ("tuple", "frozenset")


def encoded(element: Any) -> Any:
    """An object as JSON holds it."""
    if isinstance(element, np.generic):
        element = element.item()
    if type(element) in (str, int, float, bool) or element is None:
        return element
    if type(element).__name__ == "Timestamp":
        return ["timestamp", element.isoformat()]
    for kind, (name, encode, _) in _KINDS.items():
        if type(element) is kind:
            return [name, encode(element)]
    raise UserError(
        f"The id {element!r} is of kind {type(element).__name__}, which a file cannot hold: save "
        "needs ids that are text, numbers, bytes, dates, Decimals, UUIDs, or tuples of these."
    )


def decoded(element: Any) -> Any:
    """The object that :func:`encoded` was given; whatever is wrong is a ValueError."""
    if isinstance(element, dict):
        raise ValueError("an id is a JSON object")
    if isinstance(element, str):
        element.encode()  # half of a pair of surrogates is no text: nothing can write it down
    if not isinstance(element, list):
        return element
    name, content = element if len(element) == 2 else (None, None)
    kind: type = list if name in _OF_PARTS else str
    if not isinstance(content, kind):
        raise ValueError("an id is a JSON array that is none of ours")
    try:
        found = _timestamp(content) if name == "timestamp" else _DECODE[str(name)](content)
        same = name in _OF_PARTS or encoded(found)[1] == content
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"an id is spelt {element!r:.60}") from error
    if not same:  # such as "now"
        raise ValueError(f"an id is spelt {element!r:.60}")
    return found


def _timestamp(text: Any) -> Any:
    import pandas as pd

    return pd.Timestamp(text)
