"""How a checkpoint ends: by an error, Ctrl-C, a fork, or what its own thread meets."""

from __future__ import annotations

import os
import select
import signal
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event as Signal
from typing import Any

import numpy as np
import pytest

from eventspace import KolmogorovModel, UserError
from eventspace._base import checkpoint as checkpoints
from eventspace._base import records
from eventspace._base.checkpoint import CheckpointFile, checkpoint_at
from eventspace.fitting.compression import Compression
from tests.test_checkpoint import SHORT, table
from tests.test_checkpoint_file import PATIENCE, facts, until, written


def timers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


@pytest.mark.parametrize("ended_by", [KeyboardInterrupt, RuntimeError])
def test_what_waits_is_written_if_the_fit_ends_early(ended_by: Any, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with suppress(ended_by), checkpoint_at(path, facts) as checkpoint:
        checkpoint.keep_soon(lambda: {"a": {"y": 1}})
        raise ended_by
    assert written(path) == {"fit", "a"}


def test_ctrl_c_in_a_later_phase_keeps_what_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains, and who meets what, wait for their time while the model is compressed."""
    settled, calls = Compression.settled, [0]

    def interrupted(self: Any, *given: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyboardInterrupt
        return settled(self, *given, **options)

    monkeypatch.setattr(Compression, "settled", interrupted)
    path = tmp_path / "checkpoint"
    with pytest.warns(UserWarning, match="interrupted"):
        model = KolmogorovModel(4, **SHORT).fit(table(), checkpoint=path)
    assert model.interrupted_
    assert {"chain 0", "chain 3", "meeting 0"} <= written(path)


def test_what_waits_takes_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, began = [0.0], []
    monkeypatch.setattr("eventspace._base.checkpoint.time.monotonic", lambda: now[0])
    write = CheckpointFile._write

    def slow(self: CheckpointFile, known: Any) -> bool:
        began.append(now[0])
        now[0] += 0.1
        return write(self, known)

    monkeypatch.setattr(CheckpointFile, "_write", slow)
    with checkpoint_at(tmp_path / "checkpoint", facts) as checkpoint:
        while now[0] < 16:
            checkpoint.keep_soon(lambda: {"x": {"y": 1}})
            now[0] += 0.01
    np.testing.assert_allclose(began, [5.0, 15.0], atol=0.02)  # 99 times 0.1 s in between


def test_after_the_end_nothing_waits_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a thread of the fit goes on for a moment after Ctrl-C."""
    monkeypatch.setattr(checkpoints, "OFTEN", 60.0)
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        checkpoint.keep_soon(lambda: {"a": {"y": 1}})
        (timer,) = timers()
    timer.join(PATIENCE)
    assert not timer.is_alive()
    checkpoint.keep_soon(lambda: {"b": {"y": 1}})
    assert not checkpoint.keep("c", lambda: {"c": {"y": 1}}, at_once=True)
    assert not timers()
    assert not written(path)


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """Whatever ran in this process before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_interrupts")
def test_ctrl_c_while_the_last_write_is_waited_for_leaves_nothing_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "OFTEN", 0.0)
    path, writes, go_on = tmp_path / "checkpoint", Signal(), Signal()
    digest, n_threads = records.digest, threading.active_count()

    def slow(*row: Any) -> bytes:
        writes.set()
        assert go_on.wait(PATIENCE)
        return digest(*row)

    def interrupt() -> None:
        assert writes.wait(PATIENCE)
        time.sleep(0.2)  # until the fit waits
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        go_on.set()

    def fit() -> None:
        with checkpoint_at(path, facts) as checkpoint, monkeypatch.context() as patch:
            patch.setattr(records, "digest", slow)
            record = {"a": {"y": 1}}
            threading.Thread(target=checkpoint.keep, args=("a", lambda: record)).start()
            assert writes.wait(PATIENCE)
            threading.Thread(target=interrupt).start()

    with pytest.raises(KeyboardInterrupt):
        fit()
    until(lambda: not threading.active_count() > n_threads)
    with checkpoint_at(path, facts) as checkpoint:
        assert checkpoint.read("a") == {"y": 1}


def test_a_disk_that_is_full_only_in_due_time_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "OFTEN", 0.05)

    def fit() -> None:
        with checkpoint_at(tmp_path / "checkpoint", facts) as checkpoint:
            assert isinstance(checkpoint, CheckpointFile)
            checkpoint._connection.execute("PRAGMA max_page_count = 3")
            checkpoint.keep_soon(lambda: {"x": {"y": np.zeros(100_000)}})
            until(lambda: checkpoint._trouble)

    with pytest.warns(UserWarning, match="cannot be written .*full") as caught:
        fit()
    assert [warning.filename for warning in caught] == [__file__]


def test_what_could_be_written_in_the_end_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "OFTEN", 0.5)
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        assert isinstance(checkpoint, CheckpointFile)
        checkpoint._connection.execute("PRAGMA max_page_count = 3")
        checkpoint.keep_soon(lambda: {"x": {"y": np.zeros(100_000)}})
        until(lambda: checkpoint._trouble)
        with checkpoints._lock:
            checkpoint._connection.execute("PRAGMA max_page_count = 10000")
        until(lambda: checkpoint.read("x"))
    assert written(path) == {"fit", "x"}


def test_a_warning_of_a_worker_stands_at_the_line_that_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: CheckpointFile, known: Any) -> bool:
        self._trouble = "cannot be written (full)"
        return False

    monkeypatch.setattr(checkpoints, "OFTEN", 0.0)
    monkeypatch.setattr(CheckpointFile, "_write", full)
    with pytest.warns(UserWarning, match="cannot be written") as caught:
        KolmogorovModel(4, **SHORT, n_jobs=2).fit(table(), checkpoint=tmp_path / "checkpoint")
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("error", [MemoryError(), sqlite3.OperationalError("disk I/O error")])
def test_what_goes_wrong_in_due_time_is_tried_again(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "OFTEN", 0.5)
    path, left, digest = tmp_path / "checkpoint", [2], records.digest

    def failing(*row: Any) -> bytes:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return digest(*row)

    with checkpoint_at(path, facts) as checkpoint:
        monkeypatch.setattr(records, "digest", failing)
        checkpoint.keep_soon(lambda: {"x": {"y": 1}})
        until(lambda: checkpoint.read("x"))
    assert left[0] < 0
    assert written(path) == {"fit", "x"}


def test_without_a_thread_to_be_had_the_fit_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        monkeypatch.setattr(threading.Thread, "start", none)
        checkpoint.keep_soon(lambda: {"x": {"y": 1}})
        checkpoint.flush()
    assert written(path) == {"fit", "x"}


@pytest.mark.skipif(os.name != "posix", reason="a link needs rights there")
def test_a_path_that_leads_up_from_behind_a_link_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "disk" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "data")
    with checkpoint_at(tmp_path / "link" / ".." / "checkpoint", facts) as checkpoint:
        assert checkpoint.keep("x", lambda: {"x": {"y": 1}}, at_once=True)
    assert written(tmp_path / "disk" / "checkpoint") == {"fit", "x"}


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be deleted there")
def test_a_checkpoint_that_is_deleted_under_a_fit_is_told(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        path.unlink()
        with pytest.warns(UserWarning, match="was moved or deleted: the fit goes on without"):
            checkpoint.keep("x", lambda: {"x": {"y": 1}}, at_once=True)
    assert not path.exists()


def test_a_folder_that_nobody_may_look_into_any_more_ends_no_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, look = tmp_path / "checkpoint", os.stat

    def refused(file: Any, **options: Any) -> Any:
        if str(file) == str(path):
            raise PermissionError(13, "Permission denied", str(file))
        return look(file, **options)

    with checkpoint_at(path, facts) as checkpoint:
        monkeypatch.setattr(os, "stat", refused)
        with pytest.warns(UserWarning, match="moved or deleted"):
            checkpoint.keep("a", lambda: {"a": {"y": 1}}, at_once=True)
        monkeypatch.setattr(os, "stat", look)
    assert not written(path)


def test_a_path_that_no_system_takes_is_refused() -> None:
    with pytest.raises(UserError, match="is no path: name a file"):
        KolmogorovModel(4).fit(table(), checkpoint="a\0b")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_child_that_is_forked_while_a_thread_writes_does_not_hang(tmp_path: Path) -> None:
    stop = Signal()

    def write() -> None:
        with checkpoint_at(tmp_path / "parent", facts) as checkpoint:
            while not stop.is_set():
                checkpoint.keep("x", lambda: {"x": {"y": np.zeros(200_000)}}, at_once=True)

    def child(k: int) -> bool:
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            pid = os.fork()
        if pid == 0:
            with checkpoint_at(tmp_path / f"child {k}", facts) as checkpoint:
                checkpoint.keep("x", lambda: {"x": {"y": 1}}, at_once=True)
            os.write(theirs, b"1")
            os._exit(0)
        ended = bool(select.select([ours], [], [], PATIENCE)[0])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ours)
        os.close(theirs)
        return ended

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(child(k) for k in range(60))
    finally:
        stop.set()
        writer.join()
