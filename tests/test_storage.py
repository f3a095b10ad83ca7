from __future__ import annotations

import contextlib
import datetime
import decimal
import os
import uuid
import zipfile
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent
from eventspace.indicators import SDR
from eventspace.pmf import FrankWolfe
from eventspace.storage import archive as storage


@pytest.fixture
def model(ratings) -> KolmogorovDescent:
    return KolmogorovDescent(
        3,
        pmf_penalty=0.5,
        indicator_solver=SDR(7),
        pmf_solver=FrankWolfe("jaggi"),
        random_state=3,
    ).fit(ratings)


def test_a_loaded_model_is_the_one_that_was_saved(model, ratings, tmp_path) -> None:
    path = tmp_path / "films.eventspace"
    model.save(path)
    loaded = KolmogorovDescent.load(path)
    assert loaded.get_params() == model.get_params()
    assert repr(loaded) == repr(model)
    assert loaded.summary() == model.summary()
    np.testing.assert_array_equal(loaded.predict(ratings), model.predict(ratings))
    pd.testing.assert_frame_equal(loaded.recommend("u1"), model.recommend("u1"))
    for order in ("by_user", "by_item"):
        for mine, theirs in zip(
            getattr(loaded.observations_, order), getattr(model.observations_, order), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
    new = pd.DataFrame({"user": ["new"], "item": ["i1"], "rating": [3.0]})
    np.testing.assert_array_equal(loaded.update(new).pmf_, model.update(new).pmf_)


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 2],
        [0.5, 1.5, -2.0],
        ["Amélie", "日本", "a\nb"],
        [("a", 1), ("b", (2, 3)), "c"],
        [b"\x00\xff", 7, True],
        [datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5), uuid.UUID(int=5)],
        [pd.Timestamp("2021-02-03 04:05:06.000000007"), decimal.Decimal("1.10"), frozenset({1})],
        [2**70, -1, 5],
    ],
)
def test_ids_of_many_kinds_come_back_as_they_were(ids, tmp_path) -> None:
    users = np.fromiter(ids, dtype=object, count=3)
    path = tmp_path / "m.eventspace"
    model = KolmogorovDescent(2, random_state=0).fit((users, ["x", "y", "x"], [0.1, 0.5, 0.9]))
    model.save(path)
    loaded = KolmogorovDescent.load(path).observations_.user_ids
    assert loaded == model.observations_.user_ids
    found = [loaded[k] for k in loaded.positions(users)]
    assert found == ids
    assert [type(id_) for id_ in found] == [type(id_) for id_ in ids]


def test_an_id_that_no_file_can_hold_is_named(tmp_path) -> None:
    path = tmp_path / "m.eventspace"
    model = KolmogorovDescent(2, random_state=0).fit(([Fraction(1, 3)] * 2, ["x", "y"], [0.1, 0.5]))
    with pytest.raises(ValueError, match=r"Fraction\(1, 3\) is of kind Fraction"):
        model.save(path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(model, tmp_path, monkeypatch) -> None:
    path = tmp_path / "m.eventspace"
    model.save(path)
    before = path.read_bytes()

    def broken(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m.eventspace"]


def test_missing_foreign_truncated_damaged_and_newer_files_are_refused(model, tmp_path) -> None:
    path = tmp_path / "m.eventspace"
    with pytest.raises(FileNotFoundError, match="no such file"):
        KolmogorovDescent.load(path)
    model.save(path)
    content = path.read_bytes()

    for text in (b"", b"hello", b"\x93NUMPY" + bytes(100)):
        path.write_bytes(text)
        with pytest.raises(ValueError, match="is not an eventspace model"):
            KolmogorovDescent.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match="is not an eventspace model"):
        KolmogorovDescent.load(path)

    for size in (10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="damaged or cut short"):
            KolmogorovDescent.load(path)

    refused = 0
    for offset in range(0, len(content), 5):
        damaged = bytearray(content)
        damaged[offset] ^= 0xFF
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(ValueError):  # any other exception is a defect
            # some bytes of a zip file are not looked at: dates, for one
            np.testing.assert_array_equal(KolmogorovDescent.load(path).pmf_, model.pmf_)
            continue
        refused += 1
    assert refused > len(content) // 10

    storage.write(path, {"version": 99}, {})
    with pytest.raises(ValueError, match="newer eventspace"):
        KolmogorovDescent.load(path)
    storage.write(path, {"model": "KolmogorovPosterior"}, {})
    with pytest.raises(ValueError, match="holds a KolmogorovPosterior, not a KolmogorovDescent"):
        KolmogorovDescent.load(path)


def test_nothing_is_pickled(model, tmp_path) -> None:
    path = tmp_path / "m.eventspace"
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    np.lib.format.read_array(member, allow_pickle=False)
            else:
                assert name.endswith(".json")
