"""Text files as people have them: separators, decimal marks, encodings, words, no header.

What is recognised is read as it is meant; what may be meant otherwise is refused with the remedy.
"""

from __future__ import annotations

import io
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest

from eventspace import Observations, UserError
from eventspace.data.readers.text_options import TextKeywords, TextOptions
from tests.observing import entries

ONE, TWO = ("ann", "Up", 4.5), ("bob", "Heat", 1.0)


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
    assert sorted(entries(content.encode(encoding))) == sorted(expected)


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
    ("1;4,5\n2;3,5\n", r"may be separated by commas \(2 fields\) or semicolons \(2 fields\)"),
    ("1,0,1,0,1\n0,1,0,1,1\n", r"more than one column named '1'\. If .* a row: .*header=False"),
    ("\nuser,item,value\nann,Up,1\n", "begins with an empty line"),
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
        ({"sep": ";"}, "sep ';' separates nothing in the first line of .*: 'user,item,value'"),
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
