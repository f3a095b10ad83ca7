"""Where a fit keeps how far it is: killed at any moment, the next one goes on from there.

The file is an SQLite database. What is written together is there as a whole or not at all, whenever
the process is killed, and also if the disk is full. One fit at a time has it. Each row has a
digest, and the file knows how many rows it has: damage is found when it is opened.

A record that is written again replaces itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import Any, TypeVar

from eventspace._base.errors import UserError, UserTypeError, callers_line, warn
from eventspace._base.records import Record, digest, rows_of, value_of

T = TypeVar("T")

SHARE = 100  # paced writes take at most a hundredth of the time
OFTEN = 5.0  # seconds between two writes of the same record, at least
OURS = 0x45565350  # what SQLite calls the application: EVSP
DAMAGED = "The checkpoint is damaged: delete it to begin again."
OTHER = "The checkpoint is damaged, or of another version of eventspace: delete it to begin again."
FACTS = "fit"  # the record that says what the others belong to
TABLE = "the table"  # a fact, by a text that tells people nothing
BESIDE = "what is given beside the table, such as attributes,"  # another

_TABLE = (
    "CREATE TABLE parts (record TEXT, name TEXT, piece INTEGER, dtype TEXT, shape TEXT, "
    "content BLOB, digest BLOB, UNIQUE (record, name, piece))"
)
_PUT = "INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)"
_GET = "SELECT name, dtype, shape, content FROM parts WHERE record = ? ORDER BY name, piece"

# A child that is forked while SQLite writes would wait for its lock for ever. So a fork waits.
_lock = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class Checkpoint:
    """A place that keeps nothing: for a fit without a checkpoint."""

    def read(self, name: str) -> Record | None:
        """What was written under a name."""
        return None

    def keep(
        self, name: str, records: Callable[[], Mapping[str, Record]], *, at_once: bool = False
    ) -> bool:
        """Write records together, if it is time to do so again for this name, or ``at_once``.

        Gives whether they are written.
        """
        return False

    def keep_soon(self, records: Callable[[], Mapping[str, Record]]) -> None:
        """Write what changes no more as soon as it is time, together with what else has ended."""

    def flush(self) -> None:
        """Write what waits for its time at once, for the fit ends before it is done."""

    def first(self, name: str, make: Callable[[], T]) -> T:
        """What a fit made when it first began, such as a seed: a value that JSON holds.

        It is made again in any case, so that a generator of the caller's goes on as before.
        """
        return make()

    def damaged(self) -> UserError:
        """The error for a record that cannot be gone on from."""
        return UserError("The checkpoint is damaged.")

    @contextmanager
    def reviving(self) -> Iterator[None]:
        """Where records are read: what is not as it was written is damaged."""
        try:
            yield
        except UserError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self.damaged() from error


NOWHERE = Checkpoint()


class CheckpointFile(Checkpoint):
    """A checkpoint in a database."""

    def __init__(self, connection: Any, path: str, file: Path) -> None:
        self._connection, self.path, self._file = connection, path, file
        self._next: dict[str, float] = {}  # when a record may be written again
        self._first: dict[str, Record] = {}  # to be written with the first record
        self._waiting: dict[str, Record] = {}  # to be written when it is time
        self._due = time.monotonic() + OFTEN
        self._timer: Timer | None = None
        self._closed = False
        self._trouble, self._line, self._told = "", callers_line(), False

    def close(self) -> None:
        """Close the file, after a write that is under way. What waits is needed no more."""
        self._closed = True
        closing = Thread(target=self._close)  # there Ctrl-C does not come
        try:
            closing.start()
        except RuntimeError:  # there is no thread to be had
            self._close()
        else:
            closing.join()

    def _close(self) -> None:
        with _lock:
            self._waiting.clear()
            if self._timer is not None:
                self._timer.cancel()
            self._connection.close()

    def read(self, name: str) -> Record | None:
        """What was written under a name."""
        with _lock:
            rows = self._connection.execute(_GET, (name,)).fetchall()
        parts: dict[str, list[Any]] = {}
        for part, dtype, shape, content in rows:
            parts.setdefault(part, [dtype, shape, bytearray()])[2] += content
        with self.reviving():
            return {part: value_of(*stored) for part, stored in parts.items()} or None

    def keep(
        self, name: str, records: Callable[[], Mapping[str, Record]], *, at_once: bool = False
    ) -> bool:
        """Write records together, if it is time to do so again for this name, or ``at_once``."""
        began = time.monotonic()
        if not at_once and began < self._next.setdefault(name, began + OFTEN):
            return False
        known = records()
        with _lock:
            written = self._write(known)
            if written:
                for newer in known:
                    self._waiting.pop(newer, None)
        self._next[name] = _after(began)
        if at_once:
            self.flush()
        self.tell()
        return written

    def keep_soon(self, records: Callable[[], Mapping[str, Record]]) -> None:
        """Write what changes no more as soon as it is time, together with what else has ended."""
        known = records()
        with _lock:
            self._waiting.update(known)
            self._write_waiting()
        self.tell()

    def flush(self) -> None:
        """Write what waits for its time at once, for the fit ends before it is done."""
        with _lock:
            self._due = time.monotonic()
            self._write_waiting()

    def tell(self) -> None:
        """Warn, once, if it cannot be written; the thread that writes in due time tells nobody."""
        with _lock:
            new = "" if self._told else self._trouble
            self._told |= new != ""
        if new:
            warn(f"{self.path!r} {new}", self._line)

    def _write_waiting(self) -> None:
        """Write it if it is time; what is left is for a thread of its own, in due time."""
        began = time.monotonic()
        if self._waiting and began >= self._due:
            if self._write(self._waiting):
                self._waiting.clear()
            self._due = _after(began)
        if self._waiting and self._timer is None and not self._closed:
            timer = Timer(self._due - time.monotonic(), self._in_due_time)
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError:  # there is no thread to be had: it is written with what comes next
                return
            self._timer = timer

    def _in_due_time(self) -> None:
        with _lock:
            self._timer = None
            self._write_waiting()

    def first(self, name: str, make: Callable[[], T]) -> T:
        """What a fit made when it first began; it is written with the first record, or later."""
        value, known = make(), self.read(name)
        if known is None:
            self._first[name] = {"value": value}
            return value
        with self.reviving():
            found: T = known["value"]
        return found

    @property
    def empty(self) -> bool:
        """Whether nothing was written yet."""
        with _lock:
            (n_parts,) = self._connection.execute("SELECT count(*) FROM parts").fetchone()
        return bool(n_parts == 0)

    def damaged(self) -> UserError:
        """The error for a record that cannot be gone on from."""
        return UserError(DAMAGED, where=repr(self.path))

    def _write(self, records: Mapping[str, Record]) -> bool:
        """All of them or none: a disk that is full, say, ends no fit."""
        import sqlite3

        if self._closed:
            return False
        if not os.path.exists(self._file):  # False also where nobody may look
            self._trouble = "was moved or deleted: the fit goes on without a checkpoint"
            return False
        first = dict(self._first)
        together = {**first, **records}
        rows = (
            row
            for name, record in together.items()
            for part, value in record.items()
            for row in rows_of(name, part, value)
        )
        try:
            with self._connection:
                for name in together:
                    self._connection.execute("DELETE FROM parts WHERE record = ?", (name,))
                self._connection.executemany(_PUT, rows)
                (n_rows,) = self._connection.execute("SELECT count(*) FROM parts").fetchone()
                self._connection.execute(f"PRAGMA user_version = {n_rows}")
        except (sqlite3.Error, MemoryError) as error:
            why = str(error) or "out of memory"
            self._trouble = (
                f"cannot be written ({why}): the fit goes on, and the checkpoint stays as it was"
            )
            return False
        for name in first:
            del self._first[name]
        self._trouble = ""
        return True


def _after(began: float) -> float:
    """When a write may follow on one that began then, and ends now."""
    now = time.monotonic()
    return now + max(OFTEN, (SHARE - 1) * (now - began))


@contextmanager
def checkpoint_at(
    path: str | os.PathLike[str] | None, facts: Callable[[], dict[str, str]]
) -> Iterator[Checkpoint]:
    """The checkpoint in a file, a new one or one of a fit with the same facts; None: nowhere.

    Of the facts that differ the first is told.
    """
    if path is None:
        yield NOWHERE
        return
    import sqlite3

    where = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if not isinstance(where, str) or not where or "\0" in where:
        raise UserTypeError("is no path: name a file.", parameter="checkpoint", value=path)
    try:
        file = _file_at(where)
        with _lock:
            connection = _opened(file)
        with closing(CheckpointFile(connection, where, file)) as checkpoint:
            _check(checkpoint, facts())
            try:
                yield checkpoint
            except BaseException:
                checkpoint.flush()
                raise
            checkpoint.tell()
    except sqlite3.DatabaseError as error:
        raise UserError(_said(error), where=repr(where)) from error


def _file_at(path: str) -> Path:
    """The whole path of a file: some short names mean no file to SQLite."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise UserError(f"The folder {str(folder)!r} of the checkpoint does not exist: make it.")
    if os.path.isdir(path):
        raise UserError("is a folder: name a file.", parameter="checkpoint", value=path)
    return folder / Path(path).name


def _opened(file: Path) -> Any:
    """The database, which is ours alone from now on."""
    import sqlite3

    connection = sqlite3.connect(file, timeout=0.0, check_same_thread=False)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application != OURS and n_tables:
                raise sqlite3.DatabaseError("it is a database of something else")
            if not n_tables:
                connection.execute(f"PRAGMA application_id = {OURS}")
                connection.execute(_TABLE)
            elif not _sound(connection):
                raise sqlite3.DatabaseError("malformed")
    except UnicodeDecodeError as error:  # SQLite says what it does not understand
        connection.close()
        raise sqlite3.DatabaseError("malformed") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _sound(connection: Any) -> bool:
    """Whether all rows are there, as they were written, and where SQLite looks for them."""
    import sqlite3

    schema = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    if schema != [(_TABLE,), (None,)]:
        raise sqlite3.DatabaseError(OTHER)
    if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        return False
    (n_rows,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute("SELECT * FROM parts NOT INDEXED")
    try:
        same = [digest(*row) == kept for *row, kept in rows]
    except TypeError:  # a text, say, where bytes were
        return False
    return all(same) and len(same) == n_rows


def _said(error: Exception) -> str:
    """What SQLite means, in the words of a checkpoint."""
    text = str(error)
    if text == OTHER:
        return OTHER
    if "locked" in text:
        return "Another fit is learning with this checkpoint: wait for it, or name another."
    if "not a database" in text or "something else" in text:
        return "This file is no checkpoint, and stays as it is: name another."
    if any(sign in text for sign in ("malformed", "decode", "too big")):
        return DAMAGED
    return (
        f"The checkpoint cannot be opened or written ({text}): name a file in a folder where you "
        "may write, on a disk with room."
    )


def _check(checkpoint: CheckpointFile, facts: dict[str, str]) -> None:
    """Refuse to go on from a fit of something else."""
    if not checkpoint.empty and checkpoint.read(FACTS) is None:
        raise checkpoint.damaged()
    with checkpoint.reviving():
        known = dict(checkpoint.first(FACTS, lambda: facts))
    for name in (*facts, *known):
        before, now = known.get(name, "nothing"), facts.get(name, "nothing")
        if before != now:
            told = f"was {before}, and is {now}"
            how = "is something else" if name in (TABLE, BESIDE) else told
            raise UserError(
                f"The checkpoint is of another fit: {name} {how}.",
                where=repr(checkpoint.path),
                remedy="Each fit needs its own: name another file, or delete it to begin again.",
            )
