"""Text files as people have them: separators, decimal marks, encodings, words, no header.

What is recognised is read as it is meant; what may be meant otherwise is refused with the remedy.
"""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventspace import KolmogorovDescent, Observations, UserError
from eventspace.data.readers import encodings, first_rows, separators
from eventspace.data.readers.tables import read_table
from eventspace.data.readers.text_options import TextKeywords, TextOptions
from tests.command import in_process, written

DATA = os.environ.get("EVENTSPACE_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="EVENTSPACE_DATA is not set")
ONE, TWO = ("ann", "Up", 4.5), ("bob", "Heat", 1.0)


def entries(source: Any, **options: Any) -> list[tuple[Any, Any, float]]:
    """What is observed, in the unit of the table."""
    if isinstance(source, (str, bytes)):
        source = io.BytesIO(source.encode() if isinstance(source, str) else source)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the first line")
        seen = Observations.of(source, **options)
    users, items, p = seen.coo()
    values = seen.from_unit(p).round(5).tolist()
    return [
        (seen.user_ids[u], seen.item_ids[i], v)
        for u, i, v in zip(users.tolist(), items.tolist(), values, strict=True)
    ]


READ: dict[str, tuple[str, list[Any]]] = {
    "commas": ("user,item,value\nann,Up,4.5\nbob,Heat,1\n", [ONE, TWO]),
    "semicolons": ("user;item;value\nann;Up;4.5\nbob;Heat;1\n", [ONE, TWO]),
    "tabs": ("user\titem\tvalue\nann\tUp\t4.5\nbob\tHeat\t1\n", [ONE, TWO]),
    "bars": ("user|item|value\nann|Up|4.5\nbob|Heat|1\n", [ONE, TWO]),
    "double colons": ("user::item::value\nann::Up::4.5\nbob::Heat::1\n", [ONE, TWO]),
    "a colon in a field": (
        "user::item::value\nann::A: B::4.5\nbob::C:D::1\n",
        [("ann", "A: B", 4.5), ("bob", "C:D", 1.0)],
    ),
    "double colons in quotes": (
        'user::item::value\nann::"A::B ""x"""::4.5\nbob::Heat::1\n',
        [("ann", 'A::B "x"', 4.5), TWO],
    ),
    "ml-1m": (
        "17::1193::5::978300760\n17::661::3::978302109\n",
        [(17, 1193, 5.0), (17, 661, 3.0)],
    ),
    "ml-100k": (
        "196\t242\t3\t881250949\n186\t302\t1\t891717742\n",
        [(196, 242, 3.0), (186, 302, 1.0)],
    ),
    "aligned numbers": (
        "  196   242  3\n   22   377  1\n",
        [(196, 242, 3.0), (22, 377, 1.0)],
    ),
    "aligned numbers with names": (
        "user  item  value\n196   242   3\n22    377   1\n",
        [(196, 242, 3.0), (22, 377, 1.0)],
    ),
    "tabs, and a comma in every name": (
        "ann\tDoe, J\t4.5\nbob\tRoe, R\t1\n",
        [("ann", "Doe, J", 4.5), ("bob", "Roe, R", 1.0)],
    ),
    "decimal commas": ("user;item;value\nann;Up;4,5\nbob;Heat;1\n", [ONE, TWO]),
    "decimal commas without names": (
        "7;300;4,5\n8;400;1,0\n",
        [(7, 300, 4.5), (8, 400, 1.0)],
    ),
    "decimal commas in quotes": ('user,item,value\nann,Up,"4,5"\nbob,Heat,1\n', [ONE, TWO]),
    "decimal commas of columns without names": (
        "a\tb\tc\nann\tUp\t4,5\nbob\tHeat\t1\n",
        [ONE, TWO],
    ),
    "ids with points beside decimal commas": (
        "user;item;value\nv1.10;Up;4,5\nv1.1;Heat;1\n",
        [("v1.10", "Up", 4.5), ("v1.1", "Heat", 1.0)],
    ),
    "thousands and a decimal point": (
        'user,item,value\nann,Up,"1,234.5"\nbob,Heat,7\n',
        [("ann", "Up", 1234.5), ("bob", "Heat", 7.0)],
    ),
    "thousands and a decimal comma": (
        "user;item;value\nann;Up;1.234,5\nbob;Heat;1.234\n",
        [("ann", "Up", 1234.5), ("bob", "Heat", 1234.0)],
    ),
    "millions": (
        'user,item,value\nann,Up,"1,234,567"\nbob,Heat,"1,234"\n',
        [("ann", "Up", 1234567.0), ("bob", "Heat", 1234.0)],
    ),
    "thousands with blanks": (
        "user,item,value\nann,Up,1 234\nbob,Heat,1\u00a0\n".replace("1\u00a0", "7"),
        [("ann", "Up", 1234.0), ("bob", "Heat", 7.0)],
    ),
    "thousands with hard blanks": (
        "user,item,value\nann,Up,1\u202f234.5\nbob,Heat,7\n",
        [("ann", "Up", 1234.5), ("bob", "Heat", 7.0)],
    ),
    "thousands with apostrophes": (
        "user,item,value\nann,Up,1'234.5\nbob,Heat,NA\ncid,Up,7\n",
        [("ann", "Up", 1234.5), ("cid", "Up", 7.0)],
    ),
    "yes and no": ("user,item,value\nann,Up,yes\nbob,Heat,No\n", [("ann", "Up", 1.0),
                                                               ("bob", "Heat", 0.0)]),
    "y and n": ("a,b,c\nann,Up,Y\nbob,Heat,n\n", [("ann", "Up", 1.0), ("bob", "Heat", 0.0)]),
    "true and false": ("ann,Up,TRUE\nbob,Heat,False\n", [("ann", "Up", 1.0), ("bob", "Heat", 0.0)]),
    "ja and nein": ("user;item;value\nann;Up;ja\nbob;Heat;nein\ncid;Up;\n",
                    [("ann", "Up", 1.0), ("bob", "Heat", 0.0)]),
    "oui and non, no names": ("ann,Up,oui\nbob,Heat,non\n", [("ann", "Up", 1.0),
                                                           ("bob", "Heat", 0.0)]),
    "words that are ids": ("user,item,value\nno,Up,1\nyes,Up,0\n", [("no", "Up", 1.0),
                                                                 ("yes", "Up", 0.0)]),
    "no names": ("ann,Up,4.5\nbob,Heat,1\n", [ONE, TWO]),
    "no names, and a book": ("ann,Book,4.5\nbob,Heat,1\n", [("ann", "Book", 4.5), TWO]),
    "no names, and times": ("ann,Up,4.5,978300760\nbob,Heat,1,978302109\n", [ONE, TWO]),
    "a row index": (",user,item,value\n0,ann,Up,4.5\n1,bob,Heat,1\n", [ONE, TWO]),
    "items that are numbers": (
        "who,10,20,30,40\nann,5,,1,\nbob,,3,,2\n",
        [("ann", "10", 5.0), ("ann", "30", 1.0), ("bob", "20", 3.0), ("bob", "40", 2.0)],
    ),
    "chances without names": (
        "0.5,0.25,,,1\n0.1,,0.75,0.5,\n",
        [(0, "column 1", 0.5), (0, "column 2", 0.25), (0, "column 5", 1.0), (1, "column 1", 0.1),
         (1, "column 3", 0.75), (1, "column 4", 0.5)],
    ),
    "a wide table of answers": (
        "who;Up;Heat;Ran;Big\nann;yes;no;;yes\nbob;no;;yes;no\n",
        [("ann", "Up", 1.0), ("ann", "Heat", 0.0), ("ann", "Big", 1.0),
         ("bob", "Up", 0.0), ("bob", "Ran", 1.0), ("bob", "Big", 0.0)],
    ),
    "a wide table of decimal commas": (
        "who;Up;Heat;Ran;Big\nann;0,5;;1,0;NA\nbob;;0,25;;1\n",
        [("ann", "Up", 0.5), ("ann", "Ran", 1.0), ("bob", "Heat", 0.25), ("bob", "Big", 1.0)],
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*entries have no value")
@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_is_recognised(name: str, encoding: str) -> None:
    content, expected = READ[name]
    assert entries(content.encode(encoding)) == expected


STATED: dict[str, tuple[Any, dict[str, Any], list[Any]]] = {
    "semicolon": ("user;item;value\nann;Up;4.5\nbob;Heat;1\n", {"sep": ";"}, [ONE, TWO]),
    "a caret": ("user^item^value\nann^Up^4.5\nbob^Heat^1\n", {"sep": "^"}, [ONE, TWO]),
    "two bars": ("user||item||value\nann||Up||4.5\nbob||Heat||1\n", {"sep": "||"}, [ONE, TWO]),
    "a letter of two bytes": (
        "user§item§value\nann§Up§4.5\nbob§Heat§1\n",
        {"sep": "§"},
        [ONE, TWO],
    ),
    "blanks": (
        'user item value\nann  Up   4.5\n bob "Heat"   1  \n',
        {"sep": " "},
        [ONE, TWO],
    ),
    "two readings": (
        "1;Doe, J;5\n2;Roe, R;1\n",
        {"sep": ";"},
        [(1, "Doe, J", 5.0), (2, "Roe, R", 1.0)],
    ),
    "decimal comma": (
        'user,item,value\nann,Up,"1,234"\nbob,Heat,"2,345"\n',
        {"decimal": ","},
        [("ann", "Up", 1.234), ("bob", "Heat", 2.345)],
    ),
    "thousands": (
        'user,item,value\nann,Up,"1,234"\nbob,Heat,"2,345"\n',
        {"decimal": "."},
        [("ann", "Up", 1234.0), ("bob", "Heat", 2345.0)],
    ),
    "points for thousands": (
        "user;item;value\nann;Up;1.234\nbob;Heat;2.345\n",
        {"decimal": ","},
        [("ann", "Up", 1234.0), ("bob", "Heat", 2345.0)],
    ),
    "latin-1": (
        "user;item;value\nann;Amélie;4,5\nbob;Heat;1\n".encode("latin-1"),
        {"encoding": "latin-1"},
        [("ann", "Amélie", 4.5), TWO],
    ),
    "utf-16 without a mark": (
        "user;item;value\nann;Amélie;4,5\nbob;Heat;1\n".encode("utf-16-be"),
        {"encoding": "utf-16-be"},
        [("ann", "Amélie", 4.5), TWO],
    ),
    "no header": (
        "ann,Up,5,7\nbob,Heat,1,8\n",
        {"header": False, "user": "column 1", "item": "column 2", "value": "column 3"},
        [("ann", "Up", 5.0), ("bob", "Heat", 1.0)],
    ),
    "a header": (
        "who,1,2,3,4\nann,5,,1,\nbob,,3,,2\n",
        {"header": True},
        [("ann", "1", 5.0), ("ann", "3", 1.0), ("bob", "2", 3.0), ("bob", "4", 2.0)],
    ),
}


@pytest.mark.parametrize("name", STATED)
def test_what_is_stated(name: str) -> None:
    content, options, expected = STATED[name]
    if "user" in options:
        stream = io.BytesIO(content.encode())
        seen = Observations.from_long(stream, **options)
        assert seen.n_observed == len(expected)
        return
    assert entries(content, **options) == expected


REFUSED = [
    ("1;Doe, J;5\n2;Roe, R;1\n", r"may be separated by commas \(2 fields\) or semicolons \(3"),
    ("1,A|B|C\n2,A|D|C\n", r"separated by commas .* or bars \(3 fields\): say which with .*sep='"),
    ("std::map,5\nstd::set,3\n", r"may be separated by commas .* or double colons"),
    ("Tom Hanks 5\nBob Dylan 4\n", r"is not separated by tabs, .* what is between them: .*sep="),
    ("a,b,c\nann,Up,4.5\nann,Heat,3,5\n", "line 3 has 4 fields and the first line 3"),
    ('user,item,value\nann,Up,"1,234"\nbob,Up,"2,345"\n', r"'1,234' \(line 2, .*1234 with dec"),
    ("user;item;value\nann;Up;4,5\nbob;Up;3.5\n", r"'4,5' \(line 2, .* is text \(4\.5 with d"),
    ('user,item,value\nann,Up,"12,34,5"\n', r"value '12,34,5' \(line 2"),
    ("user,item,value\nann,Up,yes\nbob,Up,nein\n", r"value 'yes' \(line 2, .* is text"),
    ("user,item,value\nann,Up,yes\nbob,Up,1\n", r"value 'yes' \(line 2, .* is text"),
    ("user,item,value\n\nann,Up,1\n\n\"a\nb\",Up,0\nbob,Up,x\n", r"value 'x' \(line 7, user 'bob'"),
    ("user,item,value\n\nann,Up,1\n\n,Up,0\n", "The user id of line 5 is missing"),
    ("ann,Up\nbob,Heat\n", r"first line .* may be a row or the names .*header=False\), or True"),
    ("5,1\n5,2\n", "first line .* may be a row or the names of the columns"),
    ("who,1,2,3,4\nann,5,,1,\nbob,,3,,2\n", "may be a row or the names"),
    ("5,3,1,4,2\n1,2,5,,4\n", "may be a row or the names"),
    ("ann,Up,\nbob,Heat,4\n", "may be a row or the names"),
    ("ann,?,4,5,3\nbob,1,2,2,1\n", "may be a row or the names"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_what_may_be_meant_otherwise_is_refused(content: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        entries(content)
    assert "\n" not in str(caught.value)


def test_another_encoding_is_refused_with_how_it_would_read() -> None:
    rows = "".join(f"{k},Film {k},5\n" for k in range(50_000))
    content = f"user,item,value\n{rows}7,Misérables,5\n".encode("latin-1")
    with pytest.raises(UserError, match=r"not text in UTF-8: see line 50002\. .*'7,Misérables,5'"):
        entries(content)
    assert len(entries(content, encoding="latin-1")) == 50_001
    with pytest.raises(
        UserError, match=r"is not text in ascii: line 50002 or the next holds b'\\x"
    ):
        entries(content, encoding="ascii")
    with pytest.raises(UserError, match=r"see line 1\. If .*encoding=\"utf-16\""):
        entries("user,item,value\nann,Up,1\n".encode("utf-16-le"))
    with pytest.raises(UserError, match="is not text in utf-16: "):
        entries("user,item,value\nann,Up,1\n".encode("utf-16") + b"\0")
    with pytest.raises(UserError, match=r"holds the control character \\x1f"):
        entries("user::item::value\nann::U\x1fp::1\nbob::Heat::1\n", sep="::")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ""}, "sep='' separates no fields"),
        ({"sep": '"'}, "separates no fields"),
        ({"sep": "a" * 9}, "separates no fields: it is at most 8 letters"),
        ({"sep": ";"}, "sep=';' separates nothing in the first line of .*: 'user,item,value'"),
        ({"decimal": ";"}, "decimal=';' is no decimal mark"),
        ({"encoding": "klingon"}, "encoding='klingon' is no encoding of text"),
        ({"encoding": "hex"}, "encoding='hex' is no encoding of text"),
        ({"encoding": "a\0b"}, "is no encoding of text"),
    ],
)
def test_options_that_say_nothing(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        entries("user,item,value\nann,Up,1\n", **options)


def test_options_are_for_files() -> None:
    assert get_type_hints(TextKeywords).keys() == get_type_hints(TextOptions).keys()
    for data in (pd.DataFrame({"a": [1]}), np.eye(2), (["a"], ["b"], [1.0])):
        with pytest.raises(UserError, match="sep says how a text file is written, and this is a"):
            Observations.of(data, sep=";")
    with pytest.raises(TypeError, match="unexpected keyword argument 'seperator'"):
        Observations.of("no.csv", seperator=";")  # type: ignore[call-arg]


# --- round trips ------------------------------------------------------------------------------

SEPS = [",", ";", "\t", "|", "::", "^", "||", "§"]
ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "latin-1",
    "cp1252",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
]
texts = st.text(alphabet="abé1:;,| \"'", max_size=5).map(lambda t: f"x{t}")
values = st.integers(-99999, 99999).map(lambda k: k / 4)


def number(value: float, decimal: str, mark: str) -> str:
    """A number as people write it."""
    swap = {",": mark, ".": decimal}
    return "".join(swap.get(c, c) for c in f"{value:,.2f}")


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(texts, texts, values), min_size=2, max_size=6),
    st.sampled_from(SEPS),
    st.sampled_from([(".", ","), (",", "."), (",", ""), (".", ""), (".", "'"), (",", " ")]),
    st.sampled_from(ENCODINGS),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([7, 64, 1 << 20]),
    st.booleans(),
)
def test_round_trips(rows, sep, marks, encoding, end, size, header) -> None:
    stand_in = "\x1e"  # csv writes separators of one letter
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=stand_in, lineterminator=end, quoting=csv.QUOTE_ALL)
    named = [("user", "item", "value")] if header else []
    writer.writerows(
        [*named, *((f"{k}{u}", i, number(v, *marks)) for k, (u, i, v) in enumerate(rows))]
    )
    content = text.getvalue().replace(stand_in, sep).encode(encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separators, "_BLOCK", max(size, 16))
        patch.setattr(encodings, "_BLOCK", size)
        patch.setattr(first_rows, "HEAD", size)
        found = entries(
            content, sep=sep, decimal=marks[0], encoding=encoding, header=header, scale=(-1e5, 1e5)
        )
    expected = [(f"{k}{u}", i, v) for k, (u, i, v) in enumerate(rows)]
    assert [(u, i) for u, i, _ in found] == [(u, i) for u, i, _ in expected]
    np.testing.assert_allclose([v for *_, v in found], [v for *_, v in expected], atol=0.05)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 99), values), min_size=3, max_size=30),
    st.sampled_from(["\t", ",", ";", "|", "::"]),
    st.sampled_from([".", ","]),
    st.sampled_from(["utf-8", "utf-16"]),
    st.booleans(),
)
def test_what_is_recognised_is_right_or_refused(rows, sep, decimal, encoding, header) -> None:
    """Never a wrong value and never a row less, whatever the numbers are."""
    lines = ["user", *(f"{100 + k}" for k in range(len(rows)))]
    items = ["item", *(f"{1000 + i}" for i, _ in rows)]
    spelt = ["value", *(str(v).replace(".", decimal) for _, v in rows)]
    quote = '"' if sep == decimal else ""
    table = [
        sep.join([u, i, f"{quote}{v}{quote}"]) for u, i, v in zip(lines, items, spelt, strict=True)
    ]
    content = "\n".join(table[not header :]).encode(encoding)
    try:
        found = entries(content, scale=(-1e5, 1e5))
    except UserError:
        assert not header  # with names there is nothing to doubt
        return
    assert [(u, i) for u, i, _ in found] == [(100 + k, 1000 + i) for k, (i, _) in enumerate(rows)]
    np.testing.assert_allclose([v for *_, v in found], [v for _, v in rows], atol=0.05)


# --- pairs, titles and the command line -------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model of users and items that are numbers, and one of such that are text."""
    folder: Path = tmp_path_factory.mktemp("models")
    rows = [(u, i, (u * i) % 3) for u in range(1, 7) for i in (1, 2, 3)]
    users, items, numbers = zip(*rows, strict=True)
    numbered = KolmogorovDescent(2, random_state=0).fit((users, items, numbers))
    numbered.save(folder / "numbers")
    spelt = [f"u{u}" for u in users], [f"Film {i}" for i in items], numbers
    KolmogorovDescent(2, random_state=0).fit(spelt).save(folder / "texts")
    return folder


@pytest.mark.parametrize(
    ("kind", "content", "pairs"),
    [
        ("numbers", "5,1\n5,2\n", ["5,1", "5,2"]),
        ("numbers", "5,1\n", ["5,1"]),
        ("numbers", "5 1\n5 2\n", ["5,1", "5,2"]),
        ("numbers", "5::1\n5::2\n", ["5,1", "5,2"]),
        ("numbers", "user,item\n5,1\n", ["5,1"]),
        ("numbers", "a,b\n5,1\n", ["5,1"]),
        ("texts", "u5,Film 1\nu5,Film 2\n", ["u5,Film 1", "u5,Film 2"]),
        ("texts", "userId|film\nu5|Film 1\n", ["u5,Film 1"]),
    ],
)
def test_the_first_pair_is_not_lost(kind, content, pairs, model, tmp_path, capsys) -> None:
    done = in_process(["predict", model / kind, "-"], capsys, stdin=content.encode())
    assert [line.rsplit(",", 1)[0] for line in done.out.splitlines()[1:]] == pairs
    path = written(tmp_path / "pairs.csv", content)
    assert len(KolmogorovDescent.load(model / kind).predict(path)) == len(pairs)


def test_pairs_of_which_nobody_knows(model, tmp_path, capsys) -> None:
    path = written(tmp_path / "pairs.csv", "zoe,Zodiac\nu5,Film 1\n")
    arguments = ["predict", model / "texts", path, "--unknown", "population"]
    done = in_process(arguments, capsys, code=2)
    assert "may be a row or the names of the columns: say --no-header or --header." in done.err
    assert len(in_process([*arguments, "--no-header"], capsys).out.splitlines()) == 3
    assert len(in_process([*arguments, "--header"], capsys).out.splitlines()) == 2
    path = written(tmp_path / "pairs.csv", "user,item\nu5,Film 1\n\nu5,\n")
    done = in_process(arguments, capsys, code=2)
    assert "The item id of line 4 is missing" in done.err


def test_options_hold_wherever_a_table_is_read(model, tmp_path, capsys) -> None:
    titles = tmp_path / "films.dat"
    titles.write_bytes("1||Amélie||a\n2||Up||b\n3||Heat||a\n".encode("latin-1"))
    how = ["--titles", titles, "--sep", "||", "--encoding", "latin-1"]
    names = {"Amélie", "Up", "Heat"}
    out = in_process(["recommend", model / "numbers", "5", "--seen", *how], capsys).out
    assert {line.split(",")[1] for line in out.splitlines()[1:]} == names
    assert "Amélie" in in_process(["explain", model / "numbers", "5", "Amélie", *how], capsys).out
    in_process(["query", model / "numbers", "Amélie & Up", *how], capsys)
    in_process(["info", model / "numbers", "--events", *how], capsys)
    in_process(["rules", model / "numbers", *how], capsys)
    in_process(["report", model / "numbers", "-o", tmp_path / "page.html", *how], capsys)
    done = in_process(["recommend", model / "numbers", "5", *how[:4]], capsys, code=2)
    assert "see line 1. In latin-1 it is '1||Amélie||a'." in done.err
    assert "name its encoding: --encoding latin-1, say." in done.err
    table = written(tmp_path / "r.txt", "7\\8\\1,5\n8\\8\\2,5\n8\\9\\4,5\n".replace("\\", "\t"))
    for options in ([], ["--sep", "\\t", "--decimal", ",", "--no-header"]):
        out = in_process(["convert", table, "-", *options], capsys).out
        assert out.splitlines()[1:] == ["7,8,1.5", "8,8,2.5", "8,9,4.5"]
    ages = written(tmp_path / "ages.csv", "7;4,5\n8;1,5\n")
    fit = ["fit", table, "-o", tmp_path / "m", "--events", "1", "--user-attributes", ages]
    in_process(fit, capsys)
    done = in_process(["convert", model / "texts", "-", "--sep", ";"], capsys, code=2)
    assert "--sep is for a table, and" in done.err
    done = in_process(["convert", table, "-", "--encoding", "klingon"], capsys, code=2)
    assert "--encoding klingon is no encoding of text" in done.err


# --- files of others --------------------------------------------------------------------------


@needs_data
def test_movielens_as_it_comes(tmp_path: Path) -> None:
    assert DATA
    folder = Path(DATA)
    seen = Observations.of(folder / "movielens-100k" / "u.data")
    assert (seen.n_users, seen.n_items, seen.n_observed) == (943, 1682, 100_000)
    ratings = pd.read_parquet(folder / "movielens-1m" / "ratings.parquet")
    path = tmp_path / "ratings.dat"  # as GroupLens gives it away
    ratings.assign(time=978300760).to_csv(path, sep="|", header=False, index=False)
    path.write_text(path.read_text().replace("|", "::"))
    seen = Observations.of(path)
    assert (seen.n_users, seen.n_items, seen.n_observed) == (6040, 3706, 1_000_209)
    users, items, p = seen.coo()
    frame = pd.DataFrame({"u": seen.user_ids.values[users], "i": seen.item_ids.values[items]})
    merged = frame.assign(v=seen.from_unit(p)).merge(
        ratings.set_axis(["u", "i", "w"], axis=1), on=["u", "i"]
    )
    assert len(merged) == len(ratings)
    assert (merged["v"] == merged["w"]).all()


@needs_data
def test_tables_beside_movielens() -> None:
    assert DATA
    for file, rows, columns in (
        ("movielens-1m/movies.dat", 3883, 3),
        ("movielens-1m/users.dat", 6040, 5),
        ("movielens-100k/u.item", 1682, 24),
        ("movielens-100k/u.user", 943, 5),
    ):
        path = Path(DATA) / file
        lines = path.read_text(encoding="latin-1").splitlines()
        sep = "::" if path.suffix == ".dat" else "|"
        options = TextOptions(encoding="latin-1", header=False)
        table = read_table(path, (), options)
        assert (len(table), len(table.names)) == (rows, columns)
        first = [str(table.ids(j)[0].as_py() or "") for j in range(columns)]
        assert first[:2] == lines[0].split(sep)[:2]
        titles = table.ids(1).to_pylist()
        assert [str(title) for title in titles] == [re.split(re.escape(sep), s)[1] for s in lines]
