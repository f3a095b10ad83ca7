"""docs/format.md and the code say the same, and files of every version are read."""

from __future__ import annotations

import io
import json
import re
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eventspace import KolmogorovDescent
from eventspace.data.invariants import ARRAYS, MOST, NUMBERS
from eventspace.fitted import files, load
from eventspace.fitted.fit import CompressedFit, DescentFit, EnsembleFit, Fit, PosteriorFit
from eventspace.indicators import SDR
from eventspace.pmf import Pairwise
from eventspace.storage import archive as storage
from tests.archives import members, with_header
from tests.observing import altered

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
OLD = ROOT / "tests" / "files"
KINDS: dict[str, type[Fit]] = {
    "model": CompressedFit,
    "descent": DescentFit,
    "posterior": PosteriorFit,
    "ensemble": EnsembleFit,
}


def rows(heading: str) -> dict[str, list[str]]:
    """The tables of a section: the cells of each row by its first one."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `([^`]+)` \|(.*)\|$", section, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in lines}


def holders(name: str) -> str:
    kinds = [
        short
        for short, kind in KINDS.items()
        if name in [field.name for field in fields(kind)] + ["n_iter"] * (kind is DescentFit)
    ]
    return "all" if len(kinds) == len(KINDS) else ", ".join(kinds)


def test_the_page_names_every_array_with_its_dtype_and_shape() -> None:
    said = rows("The arrays")
    for name, rule in ARRAYS.items():
        member = name if rule.dtype == "object" else f"{name}.npy"
        dtype, shape, _, where = said.pop(member)
        assert (dtype, shape) == (rule.dtype, " x ".join(rule.axes)), name
        assert where == holders(name)
    assert {name.removesuffix(".npy") for name in said} == {
        *(f"by_user_{field}" for field in files.ENTRIES), "user_ids", "item_ids",
    }  # fmt: skip


def test_the_page_names_every_key_of_the_header() -> None:
    said = rows("The header")
    words = {float: "number", int: "whole number", bool: "truth value", str: "text"}
    for name, rule in NUMBERS.items():
        kind, allowed, where = said.pop(name)
        assert kind == words[rule.kind] + " or null" * rule.none, name
        assert where == holders(name)
        if rule.kind in (int, float):
            most = f"{rule.low:g} to {rule.high:.10g}" if rule.high < MOST else f"from {rule.low:g}"
            assert allowed == most, name
    assert set(said) == set(files.HEADER_KEYS)
    for limit in (storage.MOST_MEMBERS, storage.SMALL >> 20, storage.MOST_HEADER >> 10):
        assert f" {limit}" in PAGE
    for name in ("n_jobs", "n_chains", "node_budget", "n_starts", "n_roundings", "max_steps"):
        assert f"{files.MOST[name]:,}" in PAGE


def test_numpy_opens_a_file(ratings, tmp_path) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    model.save(tmp_path / "m.eventspace")
    with np.load(io.BytesIO((tmp_path / "m.eventspace").read_bytes())) as arrays:
        np.testing.assert_array_equal(arrays["pmf"], model.pmf_)
        ends = [0, *arrays["user_ids.ends"]]
        text = arrays["user_ids.text"].tobytes().decode()
    assert [text[a:b] for a, b in pairwise(ends)] == list(model.user_ids_)


@pytest.mark.parametrize("folder", sorted(OLD.iterdir()), ids=lambda folder: folder.name)
def test_files_of_every_version_are_read(folder: Path, tmp_path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert len(expected) >= 4
    for name, was in expected.items():
        path = folder / f"{name}.eventspace"
        version = json.loads(members(path)["header.json"])["version"]
        assert folder.name == f"version-{version}"
        model = load(path)
        assert model.name == was["class"]
        # what a model says is a sum of a few products: other machines add in other orders
        np.testing.assert_allclose(model.predict(), was["predictions"], atol=1e-12)
        model.save(tmp_path / "again.eventspace")
        again = load(tmp_path / "again.eventspace")
        np.testing.assert_array_equal(again.predict(), model.predict())
        assert list(again.user_ids) == list(model.user_ids)
        assert again.summary() == model.summary()


@pytest.mark.parametrize("version", [1, 2])
def test_a_descent_had_another_name_before_format_3(version, tmp_path) -> None:
    old = OLD / f"version-{version}" / "text.eventspace"
    assert json.loads(members(old)["header.json"])["model"] == "KolmogorovModel"
    KolmogorovDescent.load(old).save(tmp_path / "new")
    assert json.loads(members(tmp_path / "new")["header.json"])["model"] == "KolmogorovDescent"


def test_there_is_a_file_of_every_kind_in_this_version() -> None:
    folder = OLD / f"version-{storage.VERSION}"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert {was["class"] for was in expected.values()} == {k.estimator for k in KINDS.values()}


def test_large_files_are_stored_as_they_are(ratings, tmp_path, monkeypatch) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    model.save(tmp_path / "small.eventspace")
    monkeypatch.setattr(storage, "SMALL", 1000)
    model.save(tmp_path / "large.eventspace")
    small, large = ((tmp_path / f"{name}.eventspace") for name in ("small", "large"))
    assert members(small) == members(large)
    assert large.stat().st_size > sum(map(len, members(large).values()))
    assert load(large).summary() == model.summary()
    with pytest.raises(ValueError, match="would inflate to"):
        load(small)


def test_a_table_of_a_library_that_is_not_here_is_answered_in_pandas(
    ratings, tmp_path, monkeypatch
) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    model.save(tmp_path / "m.eventspace")
    with_header(tmp_path / "m.eventspace", library="cudf")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert load(tmp_path / "m.eventspace").observations.library == "pandas"


def test_what_could_not_be_read_again_is_not_written(ratings, tmp_path) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    model.set_params(n_events="x")
    with pytest.raises(ValueError, match="n_events='x' must be a whole number"):
        model.save(tmp_path / "m.eventspace")
    model.n_events = 3
    model.fitted_ = altered(model.fitted_, codes=model.codes_[:-1])
    with pytest.raises(ValueError, match="codes has the shape"):
        model.save(tmp_path / "m.eventspace")
    far = np.array(["29999-01-01", "2000-01-01"], "M8[s]")
    other = KolmogorovDescent(2, random_state=0).fit((far, ["x", "y"], [0.1, 0.5]))
    with pytest.raises(ValueError, match=r"29999.* cannot be written to a file and read again"):
        other.save(tmp_path / "m.eventspace")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "settings",
    [
        {"verbose": 0, "warm_start": 1},
        {"n_jobs": 2000},
        {"indicator_solver": SDR(np.int64(20_000))},
        {"pmf_solver": Pairwise(max_steps=np.int64(50)), "random_state": np.random.RandomState(0)},
    ],
)
@pytest.mark.filterwarnings("ignore:.*more than a file may ask for")
def test_unusual_settings_come_back(settings, ratings, tmp_path) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings).set_params(**settings)
    model.save(tmp_path / "m.eventspace")
    again = KolmogorovDescent.load(tmp_path / "m.eventspace")
    np.testing.assert_array_equal(again.predict(), model.predict())


@pytest.mark.parametrize("kind", ["f2", ">i4", ">u8", ">f8", "u1", "u8", "f4"])
def test_ids_of_every_number_come_back(kind, tmp_path) -> None:
    users = np.array([3, 1, 2], kind)
    model = KolmogorovDescent(2, random_state=0).fit((users, ["x", "y", "x"], [0.1, 0.5, 0.9]))
    model.save(tmp_path / "m.eventspace")
    again = KolmogorovDescent.load(tmp_path / "m.eventspace")
    assert list(again.user_ids_) == [1, 2, 3]
    np.testing.assert_array_equal(
        again.predict((users, ["x"] * 3)), model.predict((users, ["x"] * 3))
    )


def test_the_same_model_is_the_same_bytes(ratings, tmp_path) -> None:
    for name in ("one", "two"):
        KolmogorovDescent(3, random_state=0).fit(ratings).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
