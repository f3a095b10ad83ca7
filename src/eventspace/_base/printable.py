r"""Text that comes from data, as a person may see it: an escape is shown, ``\x1b``, not obeyed."""

from __future__ import annotations

from typing import Any

# Control characters (C0, DEL, C1), separators of lines, and what turns the direction of text
HARMFUL = {
    number: ascii(chr(number))[1:-1]
    for numbers in ((0x00, 0x20), (0x7F, 0xA0), (0x2028, 0x202F), (0x2066, 0x206A))
    for number in range(*numbers)
}


def printable(text: str, own: str = "") -> str:
    """A text without the characters that a terminal obeys; half a pair of surrogates is shown, too.

    ``own`` are control characters that stay, such as the line breaks that are ours.
    """
    shown = text.translate({n: spelt for n, spelt in HARMFUL.items() if chr(n) not in own})
    return encoded(shown).decode()


def encoded(text: str) -> bytes:
    """A text in UTF-8; half of a surrogate pair as Python, and JSON, would write it."""
    return text.encode("utf-8", "backslashreplace")


def shown(value: Any, most: int = 60) -> str:
    """A value as Python writes it, cut where that is long."""
    text = printable(repr(value))
    return text if len(text) <= most else f"{text[:most]}..."
