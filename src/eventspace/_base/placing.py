"""Files are put in place when they are complete: whatever happens before, none is half written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO

_PART = ".part"
_parts: set[str] = set()  # that are being written
n_placed = 0  # files that this process has put in place: what an interrupted command tells


@contextmanager
def placed(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that is put in place at the end, and not at all if anything fails.

    One that it replaces leaves it its mode, owner and group. An error of the system's that names
    no file, such as a full disk, gets this one's name.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a device, or a pipe
            with open(path, "wb") as file:
                yield file
        else:
            with _beside(os.path.realpath(path)) as file:
                yield file
    except OSError as error:
        named = error.filename is not None and not str(error.filename).endswith(_PART)
        if error.errno is not None and not named:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _beside(target: str) -> Iterator[BinaryIO]:
    """A file next to the target that takes its place at the end."""
    global n_placed
    name = f"{target}.{os.getpid()}-{os.urandom(4).hex()}{_PART}"
    try:
        _parts.add(name)
        with os.fdopen(_opened(name, target), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
        n_placed += 1
    except BaseException:
        try:
            _remove(name)
        finally:  # also if a second Ctrl-C came before it was removed
            _remove(name)
        raise
    finally:
        _parts.discard(name)


@contextmanager
def alone_with(path: str | os.PathLike[str], wait: Callable[[], None]) -> Iterator[None]:
    """While a file is read, changed and put in place again, others who do so wait for their turn.

    ``wait`` is told once if it is another's turn. Windows, and some file systems of a network, know
    no such turns.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    told = False
    with ExitStack() as turn:
        while os.path.isfile(path):
            try:
                file = turn.enter_context(open(path, "rb"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not told:
                        wait()
                    told = True
                    fcntl.flock(file, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                    break
            except FileNotFoundError:  # it went away meanwhile
                continue
            except OSError:
                break
            turn.close()  # another has put a new file in place: its turn is to be had
        yield


def abandon() -> None:
    """Remove what is being written: for a process that ends where it stands."""
    for name in list(_parts):
        with suppress(OSError):
            os.unlink(name)


def _remove(name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name)


def _opened(name: str, target: str) -> int:
    """A new file like the target, or as the umask has it where there is none."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return os.open(name, flags, 0o666)
    handle = os.open(name, flags, 0o600)
    with suppress(OSError):  # where the file system has no modes
        _make_like(handle, old)
    return handle


def _make_like(handle: int, old: os.stat_result) -> None:
    """Give a file the owner, group and mode of another, as far as we may."""
    if not hasattr(os, "fchown"):  # Windows
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    try:
        os.fchown(handle, old.st_uid, old.st_gid)
    except PermissionError:
        try:
            os.fchown(handle, -1, old.st_gid)
        except PermissionError:
            mode &= ~0o070  # our group is another one
    os.fchmod(handle, mode)
