"""Mutations of JSON members, the header and ids, and of ids in whatever form they are kept."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.fuzz.archive import Archive
from tests.fuzz.surgery import Mutation

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 65, 64, 10**9, 10**12, 2**63, -(2**63), 2**64, 10**400, 1e308,
    -1e308, float("nan"), float("inf"), -float("inf"), 0.5, 1e-320, "", "auto", "x", "\0",
    "\x1b[31mred\x1b[0m", "\u202e", "\ud800", "a\nb", "x" * 5000, [], {}, [[]], [None], [5, 1],
    [1, 1], [0, float("inf")], {"solver": "Exact"}, {"a": {"b": []}}, "1", [1, 2, 3],
    ["tuple", []], "0" * 50, [float("nan"), 1], [0, 1e-320], [-1e308, 1e308], ["0", "1"],
    [True, False], "polars", "pyarrow", "os", "__class__",
)  # fmt: skip
MODELS = (
    *("KolmogorovDescent", "KolmogorovEnsemble", "KolmogorovModel", "KolmogorovPosterior"),
    *(
        "Observations",
        "datasets",
        "__version__",
        "eventspace",
        "load",
        "os.system",
        "KolmogorovSelection",
        "Exact",
        "event",
    ),
)
SOLVERS: tuple[dict[str, Any], ...] = (
    {"solver": "SDR", "n_roundings": 10**12}, {"solver": "Local", "n_starts": 10**12},
    {"solver": "Exact", "node_budget": 10**18}, {"solver": "Exact", "node_budget": -1},
    {"solver": "FrankWolfe", "step": "x"}, {"solver": "FrankWolfe", "n_iter": 10**12},
    {"solver": "Pairwise", "tol": float("nan")}, {"solver": "Pairwise", "n_iter": 10**12},
    {"solver": "Pairwise"}, {"solver": "os"}, {"solver": None}, {"solver": []}, {"n_starts": 3},
    {"solver": "Local", "n_starts": "3"}, {"solver": "Local", "__class__": 1}, {"solver": "SDR"},
    {"solver": "OneHot"}, {"solver": "Local", "n_starts": -5},
    {"solver": "Local", "n_starts": 0.5}, {"solver": "FrankWolfe", "tol": -1.0},
    {"solver": "FrankWolfe", "step": "jaggi"},
)  # fmt: skip
IDS: tuple[Any, ...] = (
    None, float("nan"), float("inf"), True, 1, 1.0, "1", "", "\0", "\ud800", "\udfff\ud800",
    "\x1b[2J", "</script><script>alert(1)</script>", "a\r\nb", "\u2028", "x" * 3000, 10**400,
    2**63, -0.0, [], {}, ["tuple", [1, 2]], ["tuple", [["tuple", [["tuple", []]]]]],
    ["frozenset", [1, 1]], ["bytes", "zz"], ["bytes", "00"], ["date", "x"],
    ["date", "2020-01-01"], ["datetime", "2020-13-01"], ["uuid", "x"], ["decimal", "NaN"],
    ["decimal", "sNaN"], ["decimal", "1e999999999"], ["timestamp", "x"], ["timestamp", "NaT"],
    ["timestamp", "2020"], ["nothing", 1], ["tuple"], ["a", "b", "c"], [1, 2], ["tuple", "ab"],
    ["tuple", None], ["frozenset", [[]]], {"a": 1}, ["bytes", 5], [None, None],
    ["tuple", [["frozenset", [["tuple", [1]]]]]], ["decimal", "1" * 5000], 0.1, "é", "e\u0301",
)  # fmt: skip


def _chosen(rng: Random, archive: Archive, ids: bool) -> tuple[int, Any] | None:
    """A member of JSON, of the header or else, and what it holds."""
    at = [
        k
        for k, member in enumerate(archive.members)
        if member.name.endswith(b".json") and (member.name != b"header.json") is ids
    ]
    if not at:
        return None
    k = rng.choice(at)
    try:
        return k, json.loads(archive.members[k].content)
    except (ValueError, RecursionError):  # it was mutated before
        return None


def _put(archive: Archive, k: int, value: Any, ascii_only: bool = True) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    content = text.encode("utf-8", "surrogatepass")
    archive.members[k] = archive.members[k].with_content(content)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in nested lists and dicts: what holds it, and its key there."""
    found, waiting = [], [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
    return found


def field(rng: Random, archive: Archive) -> str:
    """Any field of the header has another value: of another type, out of range, or hostile."""
    found = _chosen(rng, archive, ids=False)
    if found is None or not isinstance(found[1], dict) or not found[1]:
        return ""
    k, head = found
    holder, key = rng.choice(_places(head))
    old = holder[key]
    if isinstance(key, str) and "solver" in key and rng.random() < 0.7:
        holder[key] = dict(rng.choice(SOLVERS))
    elif key == "model" and rng.random() < 0.7:
        holder[key] = rng.choice(MODELS)
    elif isinstance(old, (int, float)) and rng.random() < 0.4:
        holder[key] = old + rng.choice([-1, 1, 0.5, -100, 10**9])
    else:
        holder[key] = rng.choice(VALUES)
    _put(archive, k, head)
    return f"header: {key} = {str(holder[key])[:60]!r}"


def keys(rng: Random, archive: Archive) -> str:
    """A key dropped, added, renamed or doubled."""
    found = _chosen(rng, archive, ids=False)
    if found is None or not isinstance(found[1], dict) or not found[1]:
        return ""
    k, head = found
    holders = [head, *(value for value in head.values() if isinstance(value, dict) and value)]
    holder = rng.choice(holders)
    key, kind = rng.choice(list(holder)), rng.choice(["dropped", "added", "renamed", "doubled"])
    if kind == "dropped":
        del holder[key]
    elif kind == "added":
        key = rng.choice(
            ["x", "", "__class__", "self", "random_state", "n_models", "\x1b", "1" * 99]
        )
        holder[key] = rng.choice(VALUES)
    elif kind == "renamed":
        holder[rng.choice(["x", key.upper(), key + "_", "\ud800"])] = holder.pop(key)
    else:
        text = json.dumps(head)[:-1] + f", {json.dumps(key)}: {json.dumps(rng.choice(VALUES))}}}"
        archive.members[k] = archive.members[k].with_content(text.encode())
        return f"header: {key} doubled"
    _put(archive, k, head)
    return f"header: {key[:40]!r} {kind}"


def text(rng: Random, archive: Archive) -> str:
    """JSON that is none, or hardly any: cut, nested, in other encodings, with other numbers."""
    at = [k for k, member in enumerate(archive.members) if member.name.endswith(b".json")]
    if not at:
        return ""
    k = rng.choice(at)
    content = archive.members[k].content
    kind = rng.choice(["cut", "nested", "deep", "utf-16", "bom", "latin", "digits", "other", "nul"])
    if kind == "cut":
        content = content[: rng.randrange(len(content) + 1)]
    elif kind == "nested":
        n = rng.choice([10, 900, 5000, 100_000])
        content = b"[" * n + b"]" * n
    elif kind == "deep":
        n = rng.choice([900, 5000, 100_000])
        content = content[:-1] + b', "x": ' + b'{"a":' * n + b"1" + b"}" * n + b"}"
    elif kind == "utf-16":
        content = content.decode("utf-8", "replace").encode(
            rng.choice(["utf-16", "utf-32", "utf-7"])
        )
    elif kind == "bom":
        content = b"\xef\xbb\xbf" + content
    elif kind == "latin":
        content = content.replace(b'"', b'"\xff', 1)
    elif kind == "digits":
        content = content[:-1] + b', "x": ' + b"9" * rng.choice([400, 5000, 100_000]) + b"}"
    elif kind == "nul":
        content += rng.choice([b"\0", b"{}", b" " * 1000, b"]"])
    else:
        content = rng.choice([b"", b"null", b"[]", b"{}", b"1", b'"x"', b"NaN", b"[[]]", b"true"])
    archive.members[k] = archive.members[k].with_content(content)
    return f"text of {archive.members[k].key}: {kind}"


def ids(rng: Random, archive: Archive) -> str:
    """Ids doubled, missing, of other kinds, fewer or more."""
    found = _chosen(rng, archive, ids=True)
    if found is None or not isinstance(found[1], list):
        return id_bytes(rng, archive)
    k, elements = found
    kind = rng.choice(["one", "one", "one", "doubled", "fewer", "more", "many"])
    if kind == "one" and elements:
        elements[rng.randrange(len(elements))] = rng.choice(IDS)
    elif kind == "doubled" and elements:
        elements[0] = elements[-1]
    elif kind == "fewer" and elements:
        elements.pop()
    elif kind == "more":
        elements.append(rng.choice(IDS))
    else:
        elements = [rng.choice(IDS)] * rng.choice([0, 1, 1000])
    _put(archive, k, elements, ascii_only=rng.random() < 0.5)
    return f"{archive.members[k].key}: {kind} {str(elements[:1])[:60]!r}"


def id_bytes(rng: Random, archive: Archive) -> str:
    """Ids that are kept as bytes of text: what is no UTF-8, or no text for a terminal."""
    at = [k for k, m in enumerate(archive.members) if "ids" in m.key and m.key.endswith(".npy")]
    if not at:
        return ""
    k = rng.choice(at)
    content = bytearray(archive.members[k].content)
    start = 128 if len(content) > 136 else 0
    if len(content) <= start + 8:
        return ""
    new = rng.choice(
        [b"\xed\xa0\x80", b"\xff", b"\0\0\0", b"\x1b[2J", b"\xc0\x80", b"\xf4\x90\x80\x80"]
    )
    place = rng.randrange(start, len(content) - len(new))
    content[place : place + len(new)] = new
    archive.members[k] = archive.members[k].with_content(bytes(content))
    return f"{archive.members[k].key}: {new!r} at {place}"


MUTATIONS: tuple[Mutation, ...] = (field, field, field, keys, text, ids, ids, id_bytes)
