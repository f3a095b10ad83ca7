"""What a checkpoint holds, and when it is written: without any fit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eventspace._base import checkpoint as checkpoints
from eventspace._base import records
from eventspace._base.checkpoint import Checkpoint, CheckpointFile, checkpoint_at
from tests.test_checkpoint import at_every_step as at_every_step

PATIENCE = 20.0  # seconds


def until(holds: Callable[[], object]) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def facts() -> dict[str, str]:
    return {"what": "a test"}


def test_records_come_back_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PIECE", 1000)
    generator = np.random.default_rng(0)
    record = {
        "numbers": generator.random((300, 7)),
        "bits": generator.random(11) < 0.5,
        "codes": generator.integers(0, 2**64, 5, dtype=np.uint64),
        "number": np.float64(0.1),
        "nothing": np.empty((0, 3), np.float32),
        "state": generator.bit_generator.state,
        "list": [0.1, 1e-300],
    }
    with checkpoint_at(tmp_path / "checkpoint", facts) as checkpoint:
        assert checkpoint.keep("one", lambda: {"one": record, "two": {"x": 1}}, at_once=True)
    with checkpoint_at(tmp_path / "checkpoint", facts) as checkpoint:
        again = checkpoint.read("one")
        assert checkpoint.read("two") == {"x": 1}
        assert checkpoint.read("three") is None
    assert again is not None
    for name, value in record.items():
        if isinstance(value, np.ndarray | np.generic):
            np.testing.assert_array_equal(again[name], value)
            assert (again[name].dtype, again[name].shape) == (value.dtype, value.shape)
            assert again[name].flags.writeable
        else:
            assert again[name] == value


def test_writing_takes_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, written = [0.0], []
    monkeypatch.setattr("eventspace._base.checkpoint.time.monotonic", lambda: now[0])

    def slow() -> dict[str, Any]:
        written.append(now[0])
        now[0] += 0.1
        return {"x": {"y": 1}}

    with checkpoint_at(tmp_path / "checkpoint", facts) as checkpoint:
        while now[0] < 16:
            checkpoint.keep("x", slow)
            now[0] += 0.01
    np.testing.assert_allclose(written, [5.0, 15.0], atol=0.02)  # 99 times 0.1 s in between


def written(path: Path) -> set[str]:
    """The records that another process would find."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return {name for (name,) in connection.execute("SELECT DISTINCT record FROM parts")}


def test_what_has_ended_is_written_as_soon_as_it_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, path = [0.0], tmp_path / "checkpoint"
    monkeypatch.setattr("eventspace._base.checkpoint.time.monotonic", lambda: now[0])
    with checkpoint_at(path, facts) as checkpoint:
        now[0] = 3600.0  # the first chain ends after an hour
        checkpoint.keep_soon(lambda: {"a": {"y": 1}})
        assert written(path) == {"fit", "a"}
        now[0] += 1.0
        checkpoint.keep_soon(lambda: {"b": {"y": 1}})
        assert written(path) == {"fit", "a"}
        now[0] += checkpoints.OFTEN
        checkpoint.keep_soon(lambda: {"c": {"y": 1}})
        assert written(path) == {"fit", "a", "b", "c"}
        checkpoint.keep_soon(lambda: {"d": {"y": 1}})
        checkpoint.keep("x", lambda: {"x": {"y": 1}}, at_once=True)  # as after Ctrl-C
        assert written(path) == {"fit", "a", "b", "c", "d", "x"}


def test_what_has_ended_is_written_also_if_nothing_else_ever_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "OFTEN", 0.1)
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        for name in "abc":
            checkpoint.keep_soon(lambda name=name: {name: {"y": 1}})  # type: ignore[misc]
        until(lambda: all(checkpoint.read(name) for name in "abc"))
        assert written(path) == {"fit", "a", "b", "c"}
        checkpoint.keep_soon(lambda: {"d": {"y": 1}})
    assert "d" not in written(path)  # the end of a fit waits for nothing


def test_what_waits_never_takes_the_place_of_what_is_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, path = [0.0], tmp_path / "checkpoint"
    monkeypatch.setattr("eventspace._base.checkpoint.time.monotonic", lambda: now[0])
    with checkpoint_at(path, facts) as checkpoint:
        checkpoint.keep("a", lambda: pytest.fail("too early"))
        checkpoint.keep_soon(lambda: {"a": {"y": 1}, "b": {"y": 1}})
        now[0] += checkpoints.OFTEN
        assert checkpoint.keep("a", lambda: {"a": {"y": 2}})
        checkpoint.keep_soon(dict)
        assert (checkpoint.read("a"), checkpoint.read("b")) == ({"y": 2}, {"y": 1})


@pytest.mark.usefixtures("at_every_step")
def test_what_waits_is_not_lost_by_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        assert isinstance(checkpoint, CheckpointFile)
        checkpoint._connection.execute("PRAGMA max_page_count = 10")
        with pytest.warns(UserWarning, match="cannot be written"):
            checkpoint.keep_soon(lambda: {"x": {"y": np.zeros(100_000)}})
        assert checkpoint.keep("z", lambda: {"z": {"y": 1}})  # small enough
        assert checkpoint.read("x") is None
        checkpoint._connection.execute("PRAGMA max_page_count = 10000")
        checkpoint.keep_soon(dict)
        assert checkpoint.read("x") is not None


@pytest.mark.usefixtures("at_every_step")
def test_a_full_disk_ends_no_fit_and_leaves_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        assert isinstance(checkpoint, CheckpointFile)
        assert checkpoint.keep("x", lambda: {"x": {"y": np.arange(9)}}, at_once=True)
        checkpoint._connection.execute("PRAGMA max_page_count = 10")
        large: dict[str, Any] = {"x": {"y": np.zeros(100_000)}, "z": {"y": 1}}
        with pytest.warns(
            UserWarning, match="cannot be written .*full.*: the fit goes on"
        ) as caught:
            assert not checkpoint.keep("x", lambda: large, at_once=True)
        assert caught[0].filename == __file__
        assert not checkpoint.keep("x", lambda: large, at_once=True)  # said once
    with checkpoint_at(path, facts) as checkpoint:
        known = checkpoint.read("x")
        assert known is not None
        np.testing.assert_array_equal(known["y"], np.arange(9))
        assert checkpoint.read("z") is None


def test_where_nothing_is_kept_nothing_is_found() -> None:
    assert Checkpoint().read("x") is None
    assert not Checkpoint().keep("x", lambda: pytest.fail("asked"), at_once=True)
    Checkpoint().keep_soon(lambda: pytest.fail("asked"))
    Checkpoint().flush()
    assert Checkpoint().first("seed", lambda: 7) == 7
