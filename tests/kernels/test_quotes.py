"""Where rows end: the kernels against a state machine that takes its time, and against csv."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventspace.data.readers.quotes import (
    LONGEST,
    last_line,
    lines_in,
    quotes_in,
    row_from,
    rows_in,
    uneven_row,
)

texts = st.text(alphabet='ab,"\n\r', max_size=40).map(str.encode)


def array(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8)


def naive_states(text: bytes) -> list[str]:
    """The state in which each byte is read: at a field's start, within, quoted, behind a quote."""
    states, state = [], "start"
    for c in text.decode():
        if state in ("start", "within", "behind"):
            states.append(state)
            if c in ",\r\n":
                state = "start"
            elif c == '"' and state in ("start", "behind"):
                state = "quoted"
            else:
                state = "within"
        else:
            states.append(state)
            state = "behind" if c == '"' else state
    return [*states, state]


def looks_like_rows(quoted: bytes) -> bool:
    """Whether the whole lines in a field have all as many commas, and there are at least three."""
    lines = quoted.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[1:-1]
    return len(lines) >= 3 and len({line.count(b",") for line in lines}) == 1


@settings(deadline=None)
@given(texts)
def test_whole_rows_end_where_a_line_does_outside_of_quotes(text: bytes) -> None:
    states = naive_states(text)
    breaks = [
        k + 1
        for k in range(len(text))
        if states[k] != "quoted"
        and (text[k] == 10 or (text[k] == 13 and k + 1 < len(text) and text[k + 1] != 10))
    ]
    end, broken, opened, amiss = rows_in(array(text), len(text), ord(","), False)
    if amiss:
        # something follows a field in quotes, or it hides rows
        assert text[opened] == ord('"')
        assert states[opened] == "start"
        behind = states.index("behind", opened)
        while states[behind + 1] == "quoted":
            behind = states.index("behind", behind + 1)
        follows = text[behind : behind + 1] not in (b",", b"\n", b"\r", b"")
        assert follows or looks_like_rows(text[opened:behind])
        return
    assert opened == -1
    assert end == max(breaks, default=0)
    inside = [k for k in range(end) if states[k] == "quoted" and text[k] in (10, 13)]
    assert broken == bool(inside)


@settings(deadline=None)
@given(texts)
def test_a_quote_that_is_open_at_the_end_is_found(text: bytes) -> None:
    states = naive_states(text)
    end, _, opened, amiss = rows_in(array(text), len(text), ord(","), True)
    if not amiss:
        assert (opened >= 0) == (states[-1] == "quoted")
        assert end == len(text) or opened >= 0
        assert opened < 0 or states[opened] == "start"


@settings(deadline=None)
@given(texts)
def test_rows_are_those_of_csv(text: bytes) -> None:
    data, start, found = array(text), 0, []
    while start < len(text):
        start, fields, _, amiss = row_from(data, start, len(text), ord(","), True)
        if start < 0:
            return
        assert not amiss
        found.append(fields)
    expected = [max(len(row), 1) for row in csv.reader(io.StringIO(text.decode(), newline=""))]
    assert found == expected


@settings(deadline=None)
@given(texts)
def test_lines_and_quotes_are_counted(text: bytes) -> None:
    universal = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert lines_in(array(text), len(text)) == universal.count(b"\n")
    assert quotes_in(array(text), len(text)) == text.count(b'"')


@settings(deadline=None)
@given(texts.map(lambda text: text.replace(b'"', b"")))
def test_without_quotes_the_last_line_is_the_last_row(text: bytes) -> None:
    data, n = array(text), len(text)
    for final in (False, True):
        assert last_line(data, n, final) == rows_in(data, n, ord(","), final)[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"a,b\nc,d\n", (-1, -1, 0)),
        (b"a,b\nc\nd,e\n", (4, 6, 1)),
        (b'a,b\n\n"c,d","\n"\ne,f,g', (15, 20, 3)),
        (b"a,b\r\rc,d,", (5, 9, 3)),
    ],
)
def test_the_first_row_with_another_number_of_fields(text: bytes, place: tuple) -> None:
    assert uneven_row(array(text), len(text), ord(","), 2) == place


def test_a_field_with_line_breaks_may_be_long_but_not_endless() -> None:
    for n, amiss in ((LONGEST - 10, False), (LONGEST + 10, True)):
        text = b'a,b\n"' + b"x\n" * (n // 2) + b'",c\n'
        for cut in (len(text), len(text) - 4):
            found = rows_in(array(text), cut, ord(","), False)
            assert found[2:] == ((4, True) if amiss else (-1, False))
    one_line = b'"' + b"x" * (LONGEST + 10) + b'",c\n'
    assert rows_in(array(one_line), len(one_line), ord(","), False) == (
        len(one_line),
        False,
        -1,
        False,
    )


@pytest.mark.parametrize(
    ("text", "amiss"),
    [
        (b'"ab"c,x\n', True),
        (b'"ab" ,x\n', True),
        (b'a"b"c,x\n', False),
        (b'"a""b",x\n', False),
        # rows between two stray quotes; lines of prose; too few to tell
        (b'1,"2,3\n4,5,6\n7,8,9\n1,2,3\n4,5",6\n', True),
        (b'1,"so, it was good,\nvery good\nand, in short, fine\nindeed",6\n', False),
        (b'1,"2,3\n4,5,6\n7,8",9\n', False),
    ],
)
def test_quotes_that_are_legal_and_surely_a_mistake(text: bytes, amiss: bool) -> None:
    assert rows_in(array(text), len(text), ord(","), True)[3] == amiss
    assert rows_in(array(text), len(text), ord(","), False)[3] == amiss
