"""Events written as text: ``Toy Story & ~(Heat | "Alien (1979)")``."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from eventspace._base.errors import UserError
from eventspace._base.printable import printable, shown
from eventspace.logic.algebra import PRECEDENCE, Event
from eventspace.logic.space import Space

T = TypeVar("T")

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "-": operator.sub,
}
_CHARACTER = r"""[^\s~\-&^|()"']"""  # what may stand anywhere in a name without quotes
_TOKEN = re.compile(
    rf"""
    (?P<quoted> "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' )
    | (?P<bare> {_CHARACTER}+ (?:
          {_CHARACTER}+ | '          # Schindler's
        | \s+ (?={_CHARACTER})       # Toy Story
        | -+ (?=\s*{_CHARACTER})     # Spider-Man
        | \s+ -+ (?={_CHARACTER})
      )* )
    | (?P<symbol> [~\-&^|()] )
    | (?P<stray> ["'] )
    """,
    re.VERBOSE | re.DOTALL,
)
_WINDOW = 50  # characters of the expression that an error shows on either side of its place


class ExpressionError(UserError):
    """What is wrong with an expression; below it are the expression and a caret at the place."""

    picture = ""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.picture}"


class _Token(NamedTuple):
    kind: str  # "name", "symbol", "start" or "end"
    text: str  # the name without its quotes, or the symbol
    place: int

    @property
    def ends_operand(self) -> bool:
        return self.kind == "name" or self.text == ")"


def event_of(space: Space, text: str, others: Mapping[str, int] | None = None) -> Event:
    """The event that an expression over items describes.

    The operators are Python's, the tightest first: ``~`` not, ``-`` but not, ``&`` and, ``^``
    either or, ``|`` or. A title may stand as it is, spaces, hyphens and apostrophes included
    (``Spider-Man - Schindler's List``: the minus has spaces on both sides); one with operators,
    parentheses or quotes in it stands in quotes, single or double, with a backslash before a
    backslash and before the same quote. An id that is not a string goes by what ``str`` makes of
    it, unless a string is spelt the same. ``others`` are other names of items, for what no id is.
    """
    if not isinstance(text, str):
        raise UserError(f"An expression is text, such as 'Alien & ~Heat', not {shown(text)}.")
    ids = space.observations.item_ids
    positions: dict[str, int] = {}
    for k, id_ in enumerate(ids):
        if isinstance(id_, str) or str(id_) not in positions:
            positions[str(id_)] = k
    positions = {**(others or {}), **positions}

    def item(name: str) -> Event:
        try:
            k = positions[name] if name in positions else space.item(name)
        except UserError as error:
            raise UserError(f"{error}{_hint(name, positions)}") from error
        return Event.at(space, k) if space.ratings[k] else Event.of_item(space, ids[k])

    return parse(text, item)


def _hint(name: str, known: Container[str]) -> str:
    """The items that a misspelt name may mean."""
    if re.search(r"\b(and|or|not)\b|!", name):
        return ' For "and", "or", "not" write & | ~.'
    if re.search("[<>=]", name):
        return " To ask whether one implies another, compare two events."
    parts = name.split("-")
    minus = len(parts) > 1 and any(part.strip() in known for part in parts)
    return " A minus needs a space on either side." if minus else ""


def parse(text: str, resolve: Callable[[str], T]) -> T:
    """The value of an expression, where ``resolve`` gives the value of a name.

    A UserError of ``resolve`` becomes an :class:`ExpressionError`, which shows the name's place.
    """
    values: list[Any] = []
    for token in _postfix(text):
        if token.kind == "name":
            try:
                values.append(resolve(token.text))
            except UserError as error:
                raise _error(str(error), text, token.place) from None
        elif token.text == "~":
            values.append(~values.pop())
        else:
            right = values.pop()
            values.append(_BINARY[token.text](values.pop(), right))
    value: T = values.pop()
    return value


def _postfix(text: str) -> list[_Token]:
    """The names and operators of an expression, each operator behind what it applies to."""
    done: list[_Token] = []
    waiting: list[_Token] = []  # operators whose right side is not complete, and open parentheses
    last = _Token("start", "", 0)
    for token in _tokens(text):
        if token.kind == "name" or token.text in ("~", "("):
            if last.ends_operand:
                raise _error(_operator_missing(text, last, token), text, token.place)
            (done if token.kind == "name" else waiting).append(token)
        elif not last.ends_operand:
            raise _error(_operand_missing(last, token), text, token.place)
        else:
            # an operator waits for those that bind as tight; ")" and the end, for all but "("
            while waiting and PRECEDENCE.get(waiting[-1].text, 0) >= PRECEDENCE.get(token.text, 1):
                done.append(waiting.pop())
            if token.text in _BINARY:
                waiting.append(token)
            elif token.kind == "end" and waiting:
                raise _error('this "(" is never closed.', text, waiting[-1].place)
            elif token.text == ")" and not waiting:
                raise _error('this ")" was never opened.', text, token.place)
            elif token.text == ")":
                waiting.pop()
        last = token
    return done


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind, found, place = match.lastgroup, match[0], match.start()
        if kind == "stray":
            raise _error("this quote is never closed.", text, place)
        if kind == "quoted":
            found = re.sub(r"\\([\"'\\])", r"\1", found[1:-1])
        yield _Token("symbol" if kind == "symbol" else "name", found, place)
    yield _Token("end", "", len(text.rstrip()))


def _operand_missing(last: _Token, found: _Token) -> str:
    if last.kind != "start":
        twice = f" One {last.text} is enough." if last.text == found.text in ("&", "|") else ""
        return f'expected an item or "(" after "{last.text}".{twice}'
    if found.kind != "end":
        return 'expected an item or "(" at the beginning.'
    return "the expression is empty."


def _operator_missing(text: str, last: _Token, found: _Token) -> str:
    problem = "expected one of & | ^ - before this"
    if found.kind == "name" and re.match(r"(and|or|not)\b|!", found.text):
        problem += '; for "and", "or", "not" write & | ~'
    bare = last.kind == "name" and text.startswith(last.text, last.place)
    if bare and text[found.place] == "(":
        closed = text.find(")", found.place) + 1 or len(text)
        title = _line(text[last.place : min(closed, last.place + 2 * _WINDOW)])
        problem += f'; a "(" in a title needs quotes: "{title}"'
    return problem + "."


def _error(problem: str, text: str, place: int) -> ExpressionError:
    """The problem, the expression or the part of it around the place, and a caret."""
    start, stop = max(0, place - _WINDOW), place + _WINDOW
    before = "..." * (start > 0) + _line(text[start:place])
    after = _line(text[place:stop]) + "..." * (stop < len(text))
    caret = " " * sum(map(_width, before)) + "^"
    error = ExpressionError(problem, where=f"At character {place + 1}")
    error.picture = f"{before}{after}\n{caret}"
    return error


def _line(text: str) -> str:
    """A text in one line, each character still in its place."""
    return "".join(" " if c.isspace() else c if len(printable(c)) == 1 else "\ufffd" for c in text)


def _width(character: str) -> int:
    """How many columns of a terminal a character takes, as far as Unicode says."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 1 + (unicodedata.east_asian_width(character) in ("W", "F"))
