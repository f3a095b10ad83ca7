"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    """What reads a whole number in a range, and says in one way what is wrong with others."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(text: Any) -> int:
        try:
            number = int(str(text))
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no whole number.") from None
        if number < least or (most is not None and number > most):
            raise typer.BadParameter(f"{number} is no whole number {bounds}.")
        return number

    return read


def whole_or_auto(least: int, most: int) -> Callable[[str], int | str]:
    """A whole number within bounds, or "auto"."""
    number = whole(least, most)

    def parse(text: str) -> int | str:
        if text == "auto":
            return text
        if not str(text).lstrip("-").isdigit():
            raise typer.BadParameter(f"{text!r} is neither auto nor a whole number.")
        return number(text)

    return parse


def threads(text: Any) -> int:
    """A number of threads, or -1."""
    return -1 if str(text) == "-1" else whole(1)(text)


def real(least: float, most: float = math.inf, *, inside: bool = False) -> Callable[[Any], float]:
    """The same for any number; ``inside``: the bounds themselves are refused."""
    bounds = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    bounds = f"between {least:g} and {most:g}" if inside else bounds

    def read(text: Any) -> float:
        try:
            number = float(str(text))
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no number.") from None
        within = least < number < most if inside else least <= number <= most
        if not within or math.isinf(number):
            raise typer.BadParameter(f"{number:g} is no finite number {bounds}.")
        return number

    return read


COLUMNS = "Columns"  # panels of a command's help
TEXT = "Text files, where they are not recognised"
LOOKS = "Output"

Table = Annotated[
    Path,
    typer.Argument(metavar="TABLE", help="A CSV, TSV or Parquet file; - for the standard input."),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `eventspace fit` has written.")
]
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N", parser=whole(0, 2**32 - 1), help="The same seed gives the same model."
    ),
]
Engine = Annotated[
    Literal["auto", "cpu", "cuda", "dask"],
    typer.Option(help="Where it is learnt: on the cores, on a GPU, or on a Dask cluster."),
]
Threads = Annotated[
    int, typer.Option(metavar="N", parser=threads, help="Threads; -1 means every core.")
]

# Which column is what; other columns are found by the names people use
User = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of users.", rich_help_panel=COLUMNS)
]
Item = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of items.", rich_help_panel=COLUMNS)
]
Value = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of values.", rich_help_panel=COLUMNS)
]
Weight = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of weights.", rich_help_panel=COLUMNS)
]
Successes = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The column of successes, with --trials.", rich_help_panel=COLUMNS
    ),
]
Trials = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of trials.", rich_help_panel=COLUMNS)
]
Wide = Annotated[
    bool,
    typer.Option("--wide", help="One row per user, one column per item.", rich_help_panel=COLUMNS),
]
Scale = Annotated[
    str,
    typer.Option(
        metavar="auto|max|LO,HI",
        help="What 0 and 1 are in the table, such as 1,5.",
        rich_help_panel=COLUMNS,
    ),
]
Duplicates = Annotated[
    Literal["error", "mean", "last"],
    typer.Option(help="What a pair that occurs twice gets.", rich_help_panel=COLUMNS),
]

Missing = Annotated[
    str,
    typer.Option(
        metavar="unknown|no|X",
        help="What a pair says that is not in the table: nothing, no, or no with weight X.",
        rich_help_panel=COLUMNS,
    ),
]

Time = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column of times.", rich_help_panel=COLUMNS),
]
HalfLife = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Ratings fade: after this time one counts half. Such as 365D or 12h.",
        rich_help_panel=COLUMNS,
    ),
]

# How text files are written: all that a command reads
Sep = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What separates fields, such as ; or :: or \\t; ' ' for any number of blanks.",
        rich_help_panel=TEXT,
    ),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    typer.Option(help="The decimal mark; the other one marks thousands.", rich_help_panel=TEXT),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Such as latin-1 or utf-16.", rich_help_panel=TEXT),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns.",
        rich_help_panel=TEXT,
    ),
]
Evidence = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Ratings that the model has not seen, to test it on."),
]
Restarts = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=whole(0),
        help="Fit so often again, and count how often the one set lies inside the other.",
    ),
]

# What is known of the items beside their ratings
Titles = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A table that names items: ids first, then a column of titles."
    ),
]
Tags = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A table of items' tags: ids first, tags such as Drama|War last."
    ),
]
Unit = Annotated[
    Literal["probability", "original"],
    typer.Option(help="Probabilities, or values as in the table that was fitted."),
]

Unknown = Annotated[
    Literal["error", "population"],
    typer.Option(help="What an id that the model does not know gets."),
]
Top = Annotated[
    int, typer.Option(metavar="N", parser=whole(1), help="How many of the best for each.")
]

# Where a table goes, and how it looks
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write; - prints.", rich_help_panel=LOOKS
    ),
]
Format = Annotated[
    Literal["csv", "tsv", "parquet"] | None,
    typer.Option(
        "--format",
        help="What to write; else the file's name says it, and a pipe gets CSV.",
        rich_help_panel=LOOKS,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.", rich_help_panel=LOOKS)]
