"""A file is put in place as a whole, like the one it replaces, and an error names it."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from eventspace import KolmogorovDescent
from eventspace._base import placing
from eventspace._base.placing import alone_with, placed
from tests.command import in_process

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes and limits")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.fixture
def model(ratings, tmp_path) -> Path:
    path: Path = tmp_path / "m"
    KolmogorovDescent(2, n_iter=2, random_state=0).fit(ratings).save(path)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, content: bytes = b"new") -> None:
    with placed(path) as file:
        file.write(content)


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """A disk that is full soon. Python ignores SIGXFSZ, so that a write fails."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@POSIX
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o444, 0o666])
def test_a_replaced_file_keeps_its_mode(tmp_path, kept) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(kept)
    seen = []
    with placed(path) as file:
        file.write(b"new")
        seen = [mode(other) for other in tmp_path.iterdir()]
    assert seen == [kept, kept]  # at no time is it open to more people than it was
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


@POSIX
def test_a_new_file_follows_the_umask(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o640


@POSIX
def test_a_link_goes_on_pointing_to_its_target(tmp_path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert (target.read_bytes(), mode(target)) == (b"new", 0o600)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may chown")
def test_a_replaced_file_keeps_its_owner(tmp_path) -> None:
    path = tmp_path / "file"
    path.touch(0o600)
    os.chown(path, 12345, 23456)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (12345, 23456, 0o600)


@POSIX
def test_a_group_that_cannot_be_kept_gives_no_rights_to_another(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o664)

    def refused(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refused)
    write(path)
    assert mode(path) == 0o604


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
def test_what_fails_leaves_nothing(tmp_path, error) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fail() -> None:
        with placed(tmp_path / "file") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_process_that_ends_where_it_stands_leaves_nothing(tmp_path) -> None:
    with pytest.raises(FileNotFoundError), placed(tmp_path / "file"):
        placing.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_second_ctrl_c_does_not_keep_the_part(tmp_path, monkeypatch) -> None:
    remove, calls = os.unlink, []

    def interrupted(name: str) -> None:
        calls.append(name)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(name)

    monkeypatch.setattr(os, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt), placed(tmp_path / "file"):
        raise KeyboardInterrupt
    assert len(calls) == 2
    assert list(tmp_path.iterdir()) == []


@POSIX
def test_a_full_disk_names_the_file_of_a_model(model, tmp_path) -> None:
    known = KolmogorovDescent.load(model)
    known.report(tmp_path / "page.html").unlink()  # its kernels are to be kept, too
    for path in (model, tmp_path / "new"):
        with files_of_at_most(100), pytest.raises(OSError, match="File too large") as caught:
            known.save(path)
        assert caught.value.filename == str(path)
    with files_of_at_most(100), pytest.raises(OSError, match="File too large") as caught:
        known.report(tmp_path / "page.html")
    assert caught.value.filename == str(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == [model]
    KolmogorovDescent.load(model)


OUTPUTS: dict[str, list[str]] = {
    "csv": ["convert", "m", "out.csv"],
    "tsv": ["convert", "m", "out.tsv"],
    "parquet": ["convert", "m", "out.parquet"],
    "json": ["convert", "m", "out.json", "--json"],
    "info": ["info", "m", "--json", "-o", "out.json"],
    "page": ["report", "m", "-o", "out.html"],
}


@POSIX
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_full_disk_is_one_line_with_the_file(name, model, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    output = next(text for text in OUTPUTS[name] if text.startswith("out."))
    in_process(OUTPUTS[name], capsys)  # its kernels are to be kept, too
    Path(output).unlink()
    with files_of_at_most(10):
        done = in_process(OUTPUTS[name], capsys, code=2)
    assert done.err == f"eventspace: {output}: File too large.\n"
    assert list(tmp_path.iterdir()) == [model]


@FULL
@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_a_full_device_is_named(form, model, capsys) -> None:
    arguments = ["convert", model, "/dev/full", "--format", form]
    done = in_process(arguments, capsys, code=2)
    assert done.err == "eventspace: /dev/full: No space left on device.\n"
    done = in_process(["info", model, "--json", "-o", "/dev/full"], capsys, code=2)
    assert done.err == "eventspace: /dev/full: No space left on device.\n"


def owner(path: Path, number: int) -> None:
    """Write who has the turn."""
    with alone_with(path, wait=lambda: None):
        known = path.read_text()
        time.sleep(0.01)
        write(path, f"{known}{number} ".encode())


@POSIX
def test_everybody_has_a_turn_and_nothing_is_lost(tmp_path) -> None:
    """Also those who wait for a file that has been replaced meanwhile."""
    path = tmp_path / "file"
    path.write_bytes(b"")
    threads = [Thread(target=owner, args=(path, k)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.read_text().split()) == [str(k) for k in range(8)]


@POSIX
def test_a_file_that_goes_away_while_one_waits_needs_no_turn(tmp_path) -> None:
    path, told, done = tmp_path / "file", Signal(), []
    path.write_bytes(b"")

    def other() -> None:
        with alone_with(path, wait=told.set):
            done.append(path.exists())

    with alone_with(path, wait=lambda: None):
        thread = Thread(target=other)
        thread.start()
        assert told.wait(60)
        path.unlink()
    thread.join()
    assert done == [False]


@POSIX
def test_whoever_waits_is_told_once(tmp_path) -> None:
    path, told, counts = tmp_path / "file", Signal(), []
    path.write_bytes(b"")

    def other() -> None:
        def wait() -> None:
            counts.append(1)
            told.set()

        with alone_with(path, wait):
            pass

    turns = [ExitStack(), ExitStack()]
    turns[0].enter_context(alone_with(path, wait=lambda: None))
    thread = Thread(target=other)
    thread.start()
    assert told.wait(60)
    write(path)  # another file, of which somebody else has the turn
    turns[1].enter_context(alone_with(path, wait=lambda: None))
    turns[0].close()
    thread.join(0.3)
    assert thread.is_alive()
    turns[1].close()
    thread.join()
    assert counts == [1]
