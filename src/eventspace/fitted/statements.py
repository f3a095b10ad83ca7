"""Rules as people read them at a terminal: each line a statement about the next user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eventspace._base.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

ARROWS = {"implies": "=>", "equivalent": "<=>", "soft": "~>"}
HEAD = ("if", "", "then", "like it", "anyway", "gain", "both")
WIDE = ("if", "then")  # what may take several lines
SAYS = 'A rule: of those who like "if", so many like "then"; of all, so many do anyway.'
SIGNS = "In brackets: a 90% interval. both: who like both. =>, <=>: proved. ~>: not."
BELOW = (
    'Below each: the same, counted in {}, of so many who like "if" there.\n'
    "q: all rules of the list tested together. Of those with q < 0.05, at most 5% are expected\n"
    "to gain nothing."
)


def caption(like: float, held_out: str = "") -> str:
    """What a rule says and what a like is; and whose likes stand below each rule, if any do."""
    said = f"{SAYS}\nA like: {like:g} or more. {SIGNS}"
    return f"{said}\n{BELOW.format(printable(held_out))}" if held_out else said


def statements(rules: Any, n: int) -> Table:
    """The first n rules; below each what another table says, if they were tested on one."""
    from rich.table import Table
    from rich.text import Text

    columns = {name: np.asarray(rules[name])[:n].tolist() for name in rules}
    tested = "q_value" in columns
    shown = Table(show_lines=tested)
    for name in HEAD:
        shown.add_column(name, no_wrap=name not in WIDE)
    for row in zip(*columns.values(), strict=True):
        rule = dict(zip(columns, row, strict=True))
        said, found = _said(rule), _found(rule) if tested else ("",) * len(HEAD)
        shown.add_row(*(Text(f"{a}\n{b}" if b else a) for a, b in zip(said, found, strict=True)))
    return shown


def _said(rule: dict[str, Any]) -> tuple[str, ...]:
    """The statement itself."""
    if_item, then_item = (printable(str(rule[side])) for side in ("if_item", "then_item"))
    low, high = (f"{100 * rule[end]:.0f}" for end in ("confidence_low", "confidence_high"))
    return (
        if_item,
        ARROWS[rule["kind"]],
        then_item,
        f"{_percent(rule['confidence'])} [{low}, {high}]",
        _percent(rule["base"]),
        f"{100 * rule['gain']:+.0f}",
        str(rule["like_both"]),
    )


def _found(rule: dict[str, Any]) -> tuple[str, ...]:
    """What another table says of it."""
    confidence, base, q = (rule[k] for k in ("held_out_confidence", "held_out_base", "q_value"))
    known = confidence == confidence  # else nobody there likes the first
    return (
        *("", "", ""),
        f"{_percent(confidence)} of {rule['held_out_like_if']}",
        _percent(base),
        f"{100 * (confidence - base):+.0f}" if known else "-",
        ("q < 0.001" if q < 0.001 else f"q {q:.2g}") if known else "untested",
    )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share == share else "-"
