"""Boolean expressions: some that mean something known, some mutated, some hostile."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eventspace import KolmogorovDescent, Observations
from eventspace._base.errors import UserError
from tests.fuzz.judge import (
    LONGEST,
    TOLERANCE,
    Case,
    Kind,
    NonsenseError,
    Verdict,
    answer,
    demand,
    described,
    flaw_of,
    place_of,
)

ITEMS = (
    "Alien", "Heat", "Toy Story", "Spider-Man", "Schindler's List", "a & b", "(x)", 'say "hi"',
    "back\\slash", "~", "-", "日本", "é", "e\u0301", "7", "a\nb", "\x1b[31m", "'", '"', "{x}",
    "and", "x" * 200,
)  # fmt: skip
PIECES = (
    *(
        "&",
        "|",
        "^",
        "-",
        "~",
        "(",
        ")",
        '"',
        "'",
        "\\",
        " ",
        "\t",
        "\n",
        "\0",
        "and",
        "not",
        "==",
        "<=",
    ),
    *(
        "\u2028",
        "\ud800",
        "\x1b[2J",
        "!",
        "Alien",
        "Heat",
        "Toy Story",
        '"(x)"',
        "--",
        "- -",
        "\\'",
        "7",
    ),
)
_BARE = re.compile(r"[^\W\d_]+( [^\W\d_]+)*")
Bits = NDArray[np.bool_]


class ExpressionTarget:
    """Texts for :meth:`KolmogorovDescent.query`.

    Where a text was made from a formula the case says what it must give: JSON of the text and of
    the elementary events in it, None where nobody knows.
    """

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.pmf = rng.dirichlet(np.ones(6), 5)
        self.sets: Bits = rng.random((len(ITEMS), 6)) < 0.5
        p = np.clip(self.pmf @ self.sets.T, 0, 1)
        table = pd.DataFrame(p, index=[f"u{k}" for k in range(5)], columns=list(ITEMS))
        self.model = KolmogorovDescent.from_parts(
            self.pmf, self.sets, Observations.from_wide(table)
        )

    def warm_up(self) -> None:
        verdict = self(json.dumps(["Alien & ~Heat", None]).encode())
        assert verdict.fine, verdict

    def case(self, seed: int, number: int) -> Case:
        rng = Random(f"expression {seed} {number}")
        kind = rng.choice(["formula", "formula", "mutated", "mutated", "noise", "deep"])
        text, bits = self._formula(rng, rng.choice([1, 2, 3, 5, 8]))
        meaning: list[int] | None = np.flatnonzero(bits).tolist()
        if kind == "mutated":
            for _ in range(rng.choice([1, 1, 2, 4])):
                at, n = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 3])
                text = text[:at] + rng.choice(PIECES) + text[at + n :]
            meaning = None
        elif kind == "noise":
            text, meaning = "".join(rng.choices(PIECES, k=rng.randrange(40))), None
        elif kind == "deep":
            text, meaning = self._deep(rng), None
        return Case(json.dumps([text, meaning]).encode(), f"{kind}: {text[:80]!r}")

    def _formula(self, rng: Random, size: int) -> tuple[str, Bits]:
        """A formula with parentheses around every part, and the events that it holds."""
        if size <= 1:
            k = rng.randrange(len(ITEMS))
            return _quoted(rng, ITEMS[k]), self.sets[k]
        if rng.random() < 0.25:
            text, bits = self._formula(rng, size - 1)
            return f"~({text})", ~bits
        left = rng.randrange(1, size)
        (a, x), (b, y) = self._formula(rng, left), self._formula(rng, size - left)
        symbol = rng.choice("&|^-")
        joined = {"&": x & y, "|": x | y, "^": x ^ y, "-": x & ~y}[symbol]
        return f"({a}) {symbol} ({b})", joined

    def _deep(self, rng: Random) -> str:
        n = rng.choice([100, 2000, 20_000])
        return rng.choice(
            [
                "(" * n + "Alien" + ")" * n,
                "~" * n + "Heat",
                "(" * n,
                ")" * n,
                "Alien" + " & Heat" * n,
                "Alien - (" * n + "Heat" + ")" * n,
                '"' + "\\" * n,
                '"' + "\\\\" * n + '"',
                "a " * n,
                "a" + "-" * n,
                "a" + " -" * n + "b",
                "'" * n,
                " " * n,
                "x-" * n + " ",
                "a' " * n,
                "Alien" + "\n" * n + "&" + "\t" * n + "Heat",
            ]
        )

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        text, meaning = json.loads(content)
        try:
            event = self.model.query(text)
        except Exception as error:
            if not isinstance(error, UserError):
                return answer(error, None)
            # what is wrong, the expression, and a caret below the place
            if flaw := flaw_of(str(error), None, lines=3):
                return Verdict(
                    Kind.WORDS, f"{flaw}: {place_of(error)}", ascii(str(error)[:LONGEST])
                )
            if meaning is not None:
                return Verdict(Kind.NONSENSE, "a formula is refused", str(error))
            return Verdict(Kind.REFUSED)
        try:
            self._demand(event, meaning)
        except NonsenseError as error:
            return Verdict(Kind.NONSENSE, str(error), ascii(text[:LONGEST]))
        except Exception as error:
            return Verdict(Kind.LATER, place_of(error), described(error))
        return Verdict(Kind.USABLE)

    def _demand(self, event: Any, meaning: list[int] | None) -> None:
        p = event.probability("u0")
        demand(-TOLERANCE <= p <= 1 + TOLERANCE, "no chance")
        if meaning is not None:
            expected = self.pmf[0, meaning].sum()
            demand(abs(p - expected) < 1e-9, "another event than the formula's")
        demand(self.model.query(str(event)) == event, "written and read, it is another event")
        demand(not flaw_of(repr(event), None), f"repr: {flaw_of(repr(event), None)}")


def _quoted(rng: Random, name: str) -> str:
    if _BARE.fullmatch(name) and rng.random() < 0.7:
        return name
    quote = rng.choice("\"'")
    return quote + re.sub(rf"([\\{quote}])", r"\\\1", name) + quote
