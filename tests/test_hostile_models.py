"""Model files and pickles from a stranger: refused in one line before a kernel sees them."""

from __future__ import annotations

import copy
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse

from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations
from eventspace.baselines import HypercubeModel
from eventspace.data.entries import Entries
from eventspace.data.ids import Ids
from eventspace.data.invariants import InvariantError, check_entries, simplex_flaw
from eventspace.data.observations import checked_observations
from eventspace.fitted import load
from eventspace.indicators import SDR
from tests.archives import members, npy, put, with_array, with_header
from tests.observing import altered

TABLE = (["a", "a", "b", "b", "c"], ["x", "y", "x", "y", "x"], [1.0, 0.2, 0.4, 0.9, 0.0])
WEIGHTS = [1.0, 2.0, 1.0, 0.5, 1.0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    KolmogorovDescent(3, random_state=0).fit((*TABLE, WEIGHTS)).save(tmp_path / "m.eventspace")
    return tmp_path / "m.eventspace"


@pytest.fixture(scope="module")
def averaged(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A weighed posterior, as it is saved."""
    rng = np.random.default_rng(0)
    table = np.where(rng.random((80, 30)) < 0.9, rng.random((80, 30)).round(2), np.nan)
    posterior = KolmogorovPosterior(
        3, n_chains=4, n_warmup=2, n_draws=4, n_samples=8, random_state=0
    ).fit(table)
    assert posterior.n_together_ > 1
    place = tmp_path_factory.mktemp("averaged") / "p.eventspace"
    posterior.save(place)
    return place.read_bytes()


def assert_refused(path: Path, reason: str) -> None:
    """The file is refused, in one line that names it."""
    with pytest.raises(ValueError, match=reason) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.isprintable()


def set_at(at: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(given: np.ndarray) -> np.ndarray:
        given[at] = value
        return given

    return change


ARRAYS: list[tuple[str, Callable[[np.ndarray], Any], str]] = [
    # the crashes that were found: kernels would follow these out of their arrays
    ("by_user_index", set_at(1, 100_000), "index 100000 of row 0 is beyond 2 items"),
    ("by_user_index", set_at(0, -1), "index -1 of row 0 is beyond 2 items"),
    ("by_user_index", lambda a: np.resize(a, 5_000), "differ in length: 5,000, 5 and 5"),
    ("by_user_value", lambda a: a[:2], "differ in length: 5, 2 and 5"),
    ("by_user_weight", lambda a: a[:2], "differ in length: 5, 5 and 2"),
    ("by_user_ptr", set_at(1, 1 << 60), "ptr does not rise from 0 to 5"),
    ("by_user_ptr", set_at(0, -8), "ptr does not rise from 0 to 5"),
    ("by_user_ptr", set_at(-1, 4), "ptr does not rise from 0 to 5"),
    ("by_user_ptr", lambda a: a[:-1], "there are not 2 user_ids"),
    ("codes", lambda a: a[:1], "there are not 1 item_ids"),
    ("codes", lambda a: a | np.uint64(1 << 3), "codes have events beyond the 3 that there are"),
    ("codes", lambda a: a.astype(np.int64), "codes is no items x words array of uint64"),
    ("proved", lambda a: a[:1], "proved has the shape"),
    ("history", lambda a: a[:0], "history is empty"),
    ("gap", set_at(0, np.nan), "gap has numbers beyond"),
    ("history", set_at(0, np.inf), "history has numbers beyond"),
    # what gave nonsense
    ("by_user_index", lambda a: a[[1, 0, 2, 3, 4]], "index 0 of row 0 does not come after"),
    ("by_user_index", set_at(1, 0), "index 0 of row 0 does not come after"),
    ("by_user_index", lambda a: a.astype(np.int64), "index is not a 1-D array of int32"),
    ("by_user_value", set_at(3, np.nan), "value nan of row 1 is not from 0 to 1"),
    ("by_user_value", set_at(3, 1.5), "value 1.5 of row 1 is not from 0 to 1"),
    ("by_user_weight", set_at(3, -1.0), "weight -1.0 of row 1 is not above zero"),
    ("by_user_weight", set_at(3, np.inf), "weight inf of row 1 is not above zero"),
    ("pmf", set_at((0, 0), np.nan), "row 0 of pmf is no distribution"),
    ("pmf", lambda a: a * 2, "row 0 of pmf is no distribution"),
    ("pmf", set_at((1, slice(3)), [-0.5, 0.5, 1.0]), "row 1 of pmf is no distribution"),
    ("pmf", set_at((2, slice(3)), [0.5, 0.5, 0.5]), "row 2 of pmf is no distribution"),
    ("pmf", lambda a: a[:, :0], r"pmf has the shape \(3, 0\)"),
    ("pmf", lambda a: a.astype(np.float32), "pmf is no users x events array of float64"),
    ("pmf", lambda a: a.astype(">f8"), "'pmf.npy' is no array of numbers"),
    ("pmf", lambda a: a.astype("S8"), "'pmf.npy' is no array of numbers"),
    ("pmf", lambda a: a.astype(object), "'pmf.npy' is no array of numbers"),
    (
        "proved",
        lambda a: np.array([2, 0], np.uint8).view(np.bool_),
        "truth values that are neither",
    ),
]


@pytest.mark.parametrize(("name", "change", "reason"), ARRAYS)
def test_arrays_that_no_model_has(path, name, change, reason) -> None:
    assert_refused(with_array(path, name, change), reason)


HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"scale": [5, 1]}, r"its scale is \[5, 1\]"),
    ({"scale": [1, float("inf")]}, "its scale is"),
    ({"scale": ["1", "5"]}, "its scale is"),
    ({"scale": [1]}, "its scale is"),
    ({"version": float("nan")}, "its version is nan"),
    ({"version": True}, "its version is True"),
    ({"version": 0}, "its version is 0"),
    ({"version": 99}, "was written by a newer eventspace"),
    ({"format": "another"}, "is not an eventspace model"),
    ({"model": "Popen"}, "holds a 'Popen', of which this version knows nothing"),
    ({"model": ["KolmogorovDescent"]}, "of which this version knows nothing"),
    ({"error": float("nan")}, "error is nan, not a number"),
    ({"error": -1.0}, "error is -1.0, not a number from 0 up"),
    ({"n_iter": 1.5}, "n_iter is 1.5, not a whole number"),
    ({"converged": 1}, "converged is 1, not true or false"),
    ({"loss": 0.1}, "its header has another key, 'loss'"),
    ({"given": "both"}, "given is 'both', not 'pmf' or 'indicators'"),
    ({"library": "os"}, "its library is 'os'"),
    ({"more": 1}, "its header has another key, 'more'"),
    ({"parameters": []}, "with which parameters"),
    ({"parameters": {"n_events": [3]}}, r"n_events is \[3\]"),
    ({"parameters": {"n_events": -3}}, "n_events=-3 must be a whole number"),
    ({"parameters": {"n_events": 100}}, "n_events=100 must be a whole number from 1 to 64"),
    ({"parameters": {"verbose": float("nan")}}, "verbose is nan"),
    ({"parameters": {"verbose": 7}}, "verbose is 7"),
    ({"parameters": {"tol": float("inf")}}, "tol is inf"),
    ({"parameters": {"evil": 1}}, "unexpected keyword argument 'evil'"),
    ({"parameters": {"random_state": "x"}}, "random_state is 'x'"),
    ({"parameters": {"random_state": -1}}, "random_state is -1"),
    ({"parameters": {"random_state": 2**70}}, "random_state is 1180591620717411303424"),
    ({"parameters": {"indicator_solver": {"solver": "system"}}}, "is no solver of ours"),
]


@pytest.mark.parametrize(("changes", "reason"), HEADERS)
def test_headers_that_no_model_has(path, changes, reason) -> None:
    assert_refused(with_header(path, **changes), reason)


COMPRESSED: list[tuple[dict[str, Any], str]] = [
    ({"loss": {"solver": "Exact"}}, r"loss is {'solver': 'Exact'}, not a number from 0 to 1e\+06"),
    ({"loss": None}, r"loss is None, not a number from 0 to 1e\+06"),
    ({"loss": -0.1}, r"loss is -0.1, not a number from 0 to 1e\+06"),
    ({"unsure": float("inf")}, r"unsure is inf, not a number from 0 to 1e\+06"),
    ({"unsure": 1e200}, r"unsure is 1e\+200, not a number from 0 to 1e\+06"),
    ({"loss": 1e200}, r"loss is 1e\+200, not a number from 0 to 1e\+06"),
    ({"gap": 0.0}, "its header has another key, 'gap'"),
    ({"n_learnt_users": 0}, "n_learnt_users is 0, not a whole number from 1 up"),
    ({"n_learnt_users": 2.0}, "n_learnt_users is 2.0, not a whole number from 1 up"),
    ({"n_learnt_users": 4}, "more users or items were learnt from than there are"),
    ({"n_learnt_items": 3}, "more users or items were learnt from than there are"),
    ({"model": "KolmogorovDescent"}, "its header lacks 'converged'"),
    ({"parameters": {"n_events": "many"}}, "n_events='many' must be 'auto' or a whole number"),
    ({"parameters": {"n_chains": -1}}, "n_chains=-1 must be 'auto' or a whole number"),
    ({"parameters": {"n_draws": 0}}, "n_draws=0 must be a whole number of at least 4"),
    ({"parameters": {"pmf_penalty": 1.0}}, "unexpected keyword argument 'pmf_penalty'"),
]


@pytest.fixture
def compressed(tmp_path: Path) -> Path:
    """A file with a model that is compressed from chains."""
    model = KolmogorovModel(3, n_chains=2, n_warmup=1, n_draws=4, random_state=0)
    model.fit((*TABLE, WEIGHTS)).save(tmp_path / "c.eventspace")
    return tmp_path / "c.eventspace"


@pytest.mark.parametrize(("changes", "reason"), COMPRESSED)
def test_headers_that_no_compressed_model_has(compressed, changes, reason) -> None:
    assert_refused(with_header(compressed, **changes), reason)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("same_bits", set_at(0, 1.5), "same_bits"),
        ("same_bits", lambda given: given[:2], "same_bits has the shape"),
        ("same_pmf", set_at(1, -1.5), "same_pmf"),
        ("noise", set_at(2, np.nan), "noise"),
        ("noise", lambda given: given[:2], "noise has the shape"),
        ("proved", lambda given: given[:1], "proved has the shape"),
        ("codes", set_at(0, 2**40), "codes"),
        ("half_codes", set_at((0, 1), 2**3), "half_codes have events beyond the 3 that there are"),
        ("half_codes", set_at((1, 0), 2**63), "half_codes have events beyond"),
        ("half_codes", lambda given: given[:, :1], "half_codes has 1 columns, not two or none"),
        ("half_codes", lambda given: np.hstack([given] * 2), "half_codes has 4 columns"),
        ("half_codes", lambda given: given[:1], "half_codes has the shape"),
        ("pmf", set_at((0, 0), -0.5), "pmf"),
        ("met_weights", set_at((0, 0), np.nan), "met_weights has numbers beyond"),
        ("met_weights", set_at((0, 1), np.inf), "met_weights has numbers beyond"),
        ("met_weights", set_at((1, 0), -1e7), "met_weights has numbers beyond"),
        ("met_weights", lambda given: given[:, :-1], "met_mass has the shape"),
        ("met_codes", lambda given: given[:, :-1], "met_mass has"),
        ("met_mass", set_at(0, -0.1), "met_mass"),
        ("met_mass", lambda given: given / 2, "met_mass is no distribution"),
    ],
)
def test_arrays_that_no_compressed_model_has(compressed, name, change, reason) -> None:
    assert_refused(with_array(compressed, name, change), reason)


def test_settings_beyond_what_a_file_may_ask_for_are_cut(path, ratings) -> None:
    """They are legal, and may be somebody's own: the file is opened, and what comes is bounded."""
    solver = {"solver": "SDR", "n_roundings": 10**12}
    with_header(path, parameters={"n_jobs": -(10**9), "indicator_solver": solver})
    with pytest.warns(UserWarning, match="more than a file may ask for") as caught:
        model = load(path)
    assert model.settings.indicator_solver == SDR(10_000)
    assert model.settings.n_jobs == -1024
    assert [str(warning.message) for warning in caught] == [
        f"{path}: n_jobs is -1000000000, more than a file may ask for: -1024 is used.",
        f"{path}: n_roundings is 1000000000000, more than a file may ask for: 10000 is used.",
    ]


def test_chains_beyond_what_a_file_may_ask_for_are_cut(compressed) -> None:
    with_header(compressed, parameters={"n_events": 3, "n_chains": 5000, "n_draws": 10**9})
    with pytest.warns(UserWarning, match="more than a file may ask for") as caught:
        settings: Any = load(compressed).settings
    assert (settings.n_chains, settings.n_draws) == (256, 1_000_000)
    assert len(caught) == 2


def test_those_who_were_learnt_from_have_ratings(tmp_path) -> None:
    """Else nothing would be expected of a new user or item."""
    table = np.array([[np.nan, np.nan, np.nan], [np.nan, 0.2, 0.9], [np.nan, 0.8, 0.1]])
    file = tmp_path / "m.eventspace"
    model = KolmogorovModel(2, n_chains=2, n_warmup=1, n_draws=4, random_state=0)
    model.fit(Observations.of(table, scale=(0, 1))).save(file)
    for name in ("n_learnt_users", "n_learnt_items"):
        model.save(file)
        assert_refused(with_header(file, **{name: 1}), "nobody and nothing that was learnt from")


def test_control_characters_of_a_file_are_shown_and_not_sent(path) -> None:
    parts = members(path)
    assert_refused(with_header(path, model="\x1b]0;evil\x07"), r"holds a '\\x1b\]0;evil\\x07'")
    assert_refused(put(path, {**parts, "\x1b[2J\n.npy": b""}), "a member")


def test_ids_that_are_missing_or_doubled_or_none_of_ours(path) -> None:
    parts = members(path)
    del parts["user_ids.text.npy"], parts["user_ids.ends.npy"]
    assert_refused(put(path, parts), "it has no member 'user_ids.ends.npy'")
    numbers = {**parts, "user_ids.npy": npy(np.array([1.0, np.nan, 2.0]))}
    assert_refused(put(path, numbers), "the user id at 1 is missing")
    assert_refused(
        put(path, {**parts, "user_ids.npy": npy(np.array([7, 8, 7]))}), "user id 7 comes twice"
    )
    for wrong in (np.array([7, 8]), np.eye(3), np.array(7)):
        assert_refused(put(path, {**parts, "user_ids.npy": npy(wrong)}), "there are not 3 user_ids")

    def spelt(*texts: str, ends: list[int] | None = None) -> dict[str, bytes]:
        whole, lengths = "".join(texts).encode(), [len(text) for text in texts]
        return {
            **parts,
            "user_ids.json.npy": npy(np.frombuffer(whole, np.uint8)),
            "user_ids.ends.npy": npy(np.array(ends or np.cumsum(lengths), np.int64)),
        }

    assert list(load(put(path, spelt('"a"', "1.5", '["tuple",[1,2]]'))).user_ids) == [
        "a", 1.5, (1, 2),
    ]  # fmt: skip
    for texts, reason in [
        (('"a"', "null", "2"), "the user id at 1 is missing"),
        (('"a"', "NaN", "2"), "the user id at 1 is missing"),
        (('"a"', "{}", "2"), "an id is a JSON object"),
        (('"a"', '["tuple","ab"]', "2"), "none of ours"),
        (('"a"', '["eval","1"]', "2"), "an id is spelt"),
        (('"a"', '["timestamp","now"]', "2"), "an id is spelt"),
        (('"a"', '["decimal","sNaN"]', "2"), "missing|told apart"),
        (('"a"', '["bytes","0g"]', "2"), "an id is spelt"),
        (('"a"', "[" * 60_000 + "]" * 60_000, "2"), "more than 65,536 bytes"),
        (('"a"', "[" * 20_000 + "]" * 20_000, "2"), "too deeply|none of ours"),
        (('"a"', '["tuple",' * 900 + '["tuple",[]]' + "]" * 900, "2"), "is damaged"),
        (('"a"', "1", "true"), "comes twice"),
        (('"a"', '"\\ud800"', "2"), "surrogates not allowed"),
        (('"a"', '["tuple",["\\ud800"]]', "2"), "an id is spelt"),
    ]:
        assert_refused(put(path, spelt(*texts)), reason)
    for ends in ([-1, 3, 6], [5, 3, 6], [3, 5, 7], [3, 5, 1 << 60]):
        assert_refused(put(path, spelt('"a"', "1", "2", ends=ends)), "the ends of texts")


def test_doubled_keys_and_headers_that_are_no_objects(path) -> None:
    parts = members(path)
    text = parts["header.json"].decode()
    doubled = text.replace("{", '{"version": 1, ', 1).encode()
    assert_refused(put(path, {**parts, "header.json": doubled}), "a key comes twice")
    for content, reason in [
        (b"[]", "is not an eventspace model"),
        (b"{", "is damaged"),
        (b"[" * 60_000, "too deeply|is damaged"),  # Python 3.14 reads as deep as its stack allows
        (b'{"format": "eventspace model"}', "its version is None"),
        (b"\xff\xfe", "is damaged"),
        (b"1" * 5_000, "is damaged"),
    ]:
        assert_refused(put(path, {**parts, "header.json": content}), reason)


# --- the container


def test_members_that_no_model_has(path) -> None:
    parts = members(path)
    for name in ("../../evil.npy", "/etc/passwd", "a/b.npy", "pmf.txt", "more.npy"):
        assert_refused(put(path, {**parts, name: b"x"}), f"a member {name!r}")
    del parts["pmf.npy"]
    assert_refused(put(path, parts), "it has no member 'pmf.npy'")
    assert_refused(put(path, {f"{k}.npy": b"" for k in range(70)} | parts), "too many members")
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("header.json", "pmf.npy"):
            archive.writestr(name, b"{}")
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr(name, b"{}")
    assert_refused(path, "one of them twice")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack(path, method) -> None:
    assert_refused(put(path, members(path), method), "is not packed as ours are")


def npy_head(descr: str, shape: str, order: str = "False", version: bytes = b"\x01\x00") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode()


def test_heads_of_arrays_that_lie(path) -> None:
    parts = members(path)
    content = parts["pmf.npy"]
    numbers = content[-72:]
    for head in (
        npy_head("'<f8'", "(10000000000, 3)"),
        npy_head("'<f8'", "(3, 30)"),
        npy_head("'<f8'", "(3, 1)"),
    ):
        assert_refused(
            put(path, {**parts, "pmf.npy": head + numbers}), "longer or shorter than it says"
        )
    for head in (
        npy_head("'<U0'", "(10000000000,)"),
        npy_head("'|V0'", "(10000000000,)"),
        npy_head("'|O'", "(3, 3)"),
        npy_head("[('a', '<f8')]", "(3, 3)"),
        npy_head("'<f8'", "(-3, -3)"),
        npy_head("'<f8'", "(3, 3)", order="True"),
        npy_head("'<f8'", "(3, 3)", version=b"\x02\x00"),
        npy_head("__import__('os')", "(3, 3)"),
        b"",
    ):
        assert_refused(put(path, {**parts, "pmf.npy": head + numbers}), "is no array of numbers")
    assert_refused(put(path, {**parts, "pmf.npy": npy_head("'<f8'", "(10000000000, 0)")}), "shape")
    # ids of no width, ten thousand million of them
    del parts["user_ids.text.npy"], parts["user_ids.ends.npy"]
    wide = npy_head("'<U0'", "(10000000000,)")
    assert_refused(put(path, {**parts, "user_ids.npy": wide}), "is no array of numbers")


MEASURED = """
import resource, sys
from eventspace.fitted import load
from eventspace import KolmogorovDescent, KolmogorovPosterior
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        load(path)
        print("opened", path)
    except ValueError as error:
        print("refused", path)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_bombs_take_little_memory(path, tmp_path) -> None:
    parts = members(path)
    zeros = bytes(1 << 27)
    put(tmp_path / "more", {**parts, "more.npy": zeros})
    put(tmp_path / "pmf", {**parts, "pmf.npy": npy_head("'<f8'", "(5592405, 3)") + zeros})
    del zeros
    old = dict(parts)
    for name in ("user_ids", "item_ids"):
        del old[f"{name}.text.npy"], old[f"{name}.ends.npy"]
    header = json.loads(parts["header.json"])
    old["header.json"] = json.dumps(header | {"version": 1}).encode()
    old["item_ids.json"] = b'["x", "y"]'
    for name, ids in {
        "lists": b"[" + b"[]," * 9_000_000 + b"[]]",
        "texts": b"[" + b'"",' * 9_000_000 + b'""]',
        "floats": b"[" + b"1.5," * 7_000_000 + b"1]",
    }.items():
        put(tmp_path / name, {**old, "user_ids.json": ids})
    # as many ids as there should be, or more, in as few bytes as deflate makes of them
    for name, text, n in (
        ("spelt", '["frozenset",[1,2,3,4,5]]', 900_000),
        ("doubled", "aaa", 1_000_000),
        ("more ids", "aaa", 2_900_000),
    ):
        rows = 3 if name == "more ids" else n
        many = {k: v for k, v in parts.items() if not k.startswith("user_ids")}
        kind = "json" if text.startswith("[") else "text"
        many[f"user_ids.{kind}.npy"] = npy(np.frombuffer((text * n).encode(), np.uint8))
        many["user_ids.ends.npy"] = npy(np.arange(1, n + 1) * len(text))
        many["by_user_ptr.npy"] = npy(np.zeros(rows + 1, np.int64))
        put(tmp_path / name, many)
    # a list of members as long as the file
    with zipfile.ZipFile(tmp_path / "many", "w") as archive:
        for k in range(20_000):
            archive.writestr(str(k), b"")
    names = (
        *("more", "pmf", "lists", "texts", "floats"),
        *("spelt", "doubled", "more ids", "many"),
    )
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *(tmp_path / name for name in names)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *answers, taken = done.stdout.split("\n")[:-1]
    assert answers == [f"refused {tmp_path / name}" for name in names]
    assert int(taken) < 200, "MB"


def test_averages_that_do_not_go_together(averaged, tmp_path) -> None:
    path = tmp_path / "p.eventspace"
    path.write_bytes(averaged)
    load(path)
    changes: list[tuple[str, Callable[[np.ndarray], Any], str]] = [
        ("noise", set_at(0, 0.0), "noise is not above zero"),
        ("noise", lambda a: a[:-1], "noise has the shape"),
        ("open", set_at(0, -1.0), "open has numbers beyond"),
        ("covariance", lambda a: -a, "not positive definite"),
        ("covariance", lambda a: a * 0, "not positive definite"),
        ("covariance", set_at((0, 0, 1), 0.9), "not symmetric"),
        ("covariance", lambda a: a[:, :3, :3], "a covariance is of 3 events, not"),
        ("covariance", lambda a: a[:0], "0 covariances do not go with"),
        ("cost", lambda a: a[:, :2], "fewer than four|watched has the shape"),
        ("watched", lambda a: a[:, :, :0], "nothing of them was watched"),
        ("user_attributes", lambda a: np.ones((80, 2)), "user_attribute"),
        ("pmf", lambda a: a * np.r_[2.0, np.zeros(a.shape[1] - 1)], "is no distribution"),
    ]
    for name, change, reason in changes:
        path.write_bytes(averaged)
        assert_refused(with_array(path, name, change), reason)
    for header, reason in [
        ({"n_samples": 7}, "events do not divide into 7 samples"),
        ({"n_samples": 10**18}, "n_samples is 1000000000000000000, not a whole number from 1 to"),
        ({"n_together": 5}, "does not divide into 5 draws"),
        ({"n_together": 1}, "do not go with 1 draws|does not divide"),
        ({"seed": -1}, "seed is -1"),
        ({"concentration": float("inf")}, "concentration is inf"),
    ]:
        path.write_bytes(averaged)
        assert_refused(with_header(path, **header), reason)


# --- other doors


def test_entries_from_a_pickle_are_checked() -> None:
    seen = Observations.of(TABLE)
    again = pickle.loads(pickle.dumps(seen))
    for order in ("by_user", "by_item"):
        for mine, theirs in zip(getattr(again, order), getattr(seen, order), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    seen.by_user.index[0] = 1_000_000
    with pytest.raises(InvariantError, match="index 1000000 of row 0 is beyond 2 items"):
        pickle.loads(pickle.dumps(seen))
    with pytest.raises(InvariantError):
        copy.deepcopy(seen)


@pytest.mark.parametrize("kind", [KolmogorovDescent, KolmogorovModel])
def test_models_from_pickle_and_joblib_are_checked(kind, ratings, tmp_path) -> None:
    quick = {"n_chains": 1, "n_warmup": 1, "n_draws": 4}
    model: Any = kind(3, random_state=0, **quick if kind is KolmogorovModel else {}).fit(ratings)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(), model.predict())
    pickle.loads(pickle.dumps(kind(3)))  # not fitted
    model.fitted_ = altered(model.fitted_, codes=model.codes_[:2])
    with pytest.raises(InvariantError, match="codes has the shape"):
        pickle.loads(pickle.dumps(model))
    joblib.dump(model, tmp_path / "m.joblib")
    with pytest.raises(InvariantError, match="codes has the shape"):
        joblib.load(tmp_path / "m.joblib")
    other = HypercubeModel(2, random_state=0).fit(ratings)
    pickle.loads(pickle.dumps(other))
    other.fitted_.pmf = other.pmf_[:2]
    with pytest.raises(InvariantError, match="does not fit the observations"):
        pickle.loads(pickle.dumps(other))


def test_given_parts_are_checked() -> None:
    seen = Observations.of(TABLE)
    pmf, sets = np.full((3, 2), 0.5), np.ones((2, 2))
    KolmogorovDescent.from_parts(pmf, sets, seen)
    for wrong in (np.nan, -0.5, 2.0, np.inf):
        with pytest.raises(ValueError, match="must be non-negative and add up to 1"):
            KolmogorovDescent.from_parts(np.where([[1, 0]], wrong, pmf), sets, seen)
    with pytest.raises(ValueError, match="must be 0 or 1"):
        KolmogorovDescent.from_parts(pmf, sets * np.nan, seen)
    with pytest.raises(ValueError, match="is wanted"):
        KolmogorovDescent.from_parts(pmf, sets[:1], seen)


def damaged_sparse() -> list[Any]:
    def changed(kind: str, name: str, at: Any, value: Any) -> Any:
        matrix = getattr(sparse, f"{kind}_array")(np.eye(4))
        getattr(matrix, name)[at] = value
        return matrix

    short = sparse.csr_array(np.eye(4))
    short.data = short.data[:1]
    coo = sparse.coo_array(np.eye(4))
    coo.coords[1][0] = -1
    lil = sparse.lil_array(np.eye(4))
    lil.rows[0] = [1_000_000]
    return [
        changed("csr", "indices", 1, 1_000_000),
        changed("csr", "indices", 1, -1),
        changed("csr", "indptr", 1, 1_000_000),
        changed("csc", "indices", 1, 1_000_000),
        changed("bsr", "indices", 0, 1_000_000),
        short, coo, lil,
    ]  # fmt: skip


@pytest.mark.parametrize("matrix", damaged_sparse(), ids=lambda matrix: matrix.format)
def test_sparse_matrices_whose_indices_lead_outside(matrix) -> None:
    with pytest.raises(ValueError, match="does not hold together"):
        Observations.of(matrix)
    with pytest.raises(ValueError, match="does not hold together"):
        KolmogorovDescent(2, random_state=0).fit(matrix)


# --- the checks themselves


def test_whatever_we_make_is_in_order(ratings) -> None:
    for data in (ratings, (*TABLE, WEIGHTS), np.eye(3), sparse.eye_array(5)):
        seen = Observations.of(data)
        check_entries(seen.by_user, seen.n_users, seen.n_items)
        check_entries(seen.by_item, seen.n_items, seen.n_users)


def test_the_first_flaw_against_plain_python() -> None:
    """Random damage: what the kernel finds is what loops over the rows find."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        seen = Observations.of(np.where(rng.random((4, 5)) < 0.6, rng.random((4, 5)), np.nan)[:, :])
        ptr, index, value = (part.copy() for part in seen.by_user[:3])
        weight = rng.random(len(index)).astype(np.float32) + np.float32(0.1)
        for part, wrong in (
            (index, (-1, 5, 0, 2)),
            (value, (np.nan, -1, 2)),
            (weight, (0, np.nan)),
        ):
            if rng.random() < 0.3:
                part[rng.integers(len(part))] = rng.choice(wrong)
        fine = all(
            0 <= index[k] < 5
            and (k == ptr[row] or index[k] > index[k - 1])
            and 0 <= value[k] <= 1
            and 0 < weight[k] < np.inf
            for row in range(4)
            for k in range(ptr[row], ptr[row + 1])
        )
        entries = Entries(ptr, index, value, weight)
        if fine:
            check_entries(entries, 4, 5)
        else:
            with pytest.raises(InvariantError):
                check_entries(entries, 4, 5)


@pytest.mark.parametrize(
    ("rows", "n_samples", "flaw"),
    [
        ([[0.5, 0.5], [1.0, 0.0]], 1, -1),
        ([[0.5, 0.5], [0.6, 0.5]], 1, 1),
        ([[0.5, 0.5], [1.0, np.nan]], 1, 1),
        ([[0.5, 0.5], [np.inf, -np.inf]], 1, 1),
        ([[1.5, -0.5], [0.5, 0.5]], 1, 0),
        ([[0.25, 0.25, 0.5, 0.0], [0.5, 0.25, 0.25, 0.0]], 2, 1),
        ([[0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.25, 0.25]], 2, -1),
    ],
)
def test_the_first_row_that_is_no_distribution(rows, n_samples, flaw) -> None:
    pmf = np.array(rows)
    assert simplex_flaw(pmf, n_samples) == flaw
    assert simplex_flaw(np.asfortranarray(pmf), n_samples) == flaw


def test_ids_twice_are_named() -> None:
    by_user = Observations.of(TABLE).by_user
    with pytest.raises(InvariantError, match="the item id 'x' comes twice"):
        checked_observations(Ids(["a", "b", "c"]), Ids(["x", "x"]), by_user, (0.0, 1.0), "pandas")
