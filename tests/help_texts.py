"""The help of each command as docs/command-line.md has it.

`python -m tests.help_texts` puts it there; a test compares. It is made of the options themselves,
not of the boxes around them, which each version of typer draws in its own way.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_args

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
BLOCK = re.compile(r"<!-- help (\w+) -->\n(.*?)<!-- /help -->", re.DOTALL)


def commands() -> dict[str, Any]:
    """The functions of the commands, by their names."""
    from eventspace.cli.app import app

    found = [command.callback for command in app.registered_commands]
    return {function.__name__: function for function in found if function is not None}


def text(function: Any) -> str:
    """What the help says of each argument and option, as a table."""
    lines = [function.__doc__.splitlines()[0], "", "| | |", "| --- | --- |"]
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind, info = get_args(parameter.annotation)
        is_option = type(info).__name__ == "OptionInfo"
        # in Annotated the first name stands where a default would
        said = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
        names = ", ".join(said or [f"--{name.replace('_', '-')}"]) if is_option else ""
        value = "" if kind is bool else info.metavar or "|".join(_choices(kind))
        default = parameter.default
        told = [info.help]
        if is_option and default is inspect.Parameter.empty:
            told.append("Required.")
        elif is_option and default is not None and default is not False:
            told.append(f"Default: {default}.")
        left = " ".join(part for part in (names, value) if part)
        lines.append(f"| `{_cell(left)}` | {_cell(' '.join(told))} |")
    return "\n".join(lines) + "\n"


def _choices(kind: Any) -> list[str]:
    """The words of a Literal, or of one within a union."""
    words: list[str] = []
    for part in get_args(kind):
        words += [part] if isinstance(part, str) else _choices(part)
    return words


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


def main() -> None:
    """Put the texts into the page."""
    found = commands()
    page = PAGE.read_text(encoding="utf-8")
    page = BLOCK.sub(lambda m: f"<!-- help {m[1]} -->\n{text(found[m[1]])}<!-- /help -->", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
