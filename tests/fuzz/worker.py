"""A worker: it warms up once, then runs cases in a child, and forks another when that one dies.

The child writes the number of each case into shared memory before it begins, so the worker knows
which case ended it or takes too long.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.judge import Kind, Verdict, described, place_of
from tests.fuzz.targets import Target, target

KINDS = list(Kind)
# the last case (-1: none), when it began (0: it ended), the next, counts, nanoseconds of each kind
_FIELDS = 3 + 2 * len(KINDS)
_SLOT = struct.Struct("<q")
SLACK, FACTOR = 200 << 20, 4  # bytes that a case may take, and how many times its own size
ROOM = 3 << 30  # beyond it there is a MemoryError
STARTER = os.getppid()
FAILED = 3  # exit code of a child in which the harness itself failed
KEPT = 20  # findings of a kind at a place whose bytes are written to disk


class Job(NamedTuple):
    """Which cases of what a worker runs, and where it writes what it finds."""

    target: str
    seed: int
    first: int
    step: int
    stop: int
    seconds: float | None  # after this many it ends, once it is warm
    patience: float  # seconds until a case counts as hanging
    scratch: str
    findings: str


class Board:
    """What child and watcher share."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_SLOT.pack(-1) + bytes((_FIELDS - 1) * 8))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def get(self, field: int) -> int:
        return int(_SLOT.unpack_from(self._map, field * 8)[0])

    def put(self, field: int, value: int) -> None:
        _SLOT.pack_into(self._map, field * 8, value)

    def begin(self, number: int, following: int) -> None:
        self.put(2, following)
        self.put(0, number)
        self.put(1, time.monotonic_ns())

    def count(self, kind: Kind) -> None:
        field, began = 3 + KINDS.index(kind), self.get(1)
        self.put(field, self.get(field) + 1)
        if began:
            taken = time.monotonic_ns() - began
            self.put(field + len(KINDS), self.get(field + len(KINDS)) + taken)
        self.put(1, 0)

    @property
    def counts(self) -> dict[Kind, int]:
        return {kind: self.get(3 + k) for k, kind in enumerate(KINDS)}

    @property
    def seconds(self) -> dict[Kind, float]:
        return {kind: self.get(3 + len(KINDS) + k) / 1e9 for k, kind in enumerate(KINDS)}


class Findings:
    """A line for each finding, and for the first of a sort its bytes and its story."""

    def __init__(self, job: Job) -> None:
        self.folder = Path(job.findings)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / f"findings-{job.first}.jsonl"
        self.seed, self.kept = job.seed, dict[tuple[str, str], int]()

    def add(self, number: int, verdict: Verdict, what: str, content: bytes) -> None:
        sort = verdict.kind.value, verdict.where
        self.kept[sort] = self.kept.get(sort, 0) + 1
        line = {"case": number, "kind": verdict.kind.value, "where": verdict.where, "what": what}
        with self.log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if self.kept[sort] > KEPT:
            return
        name = f"{verdict.kind.name.lower()}-{self.seed}-{number}"
        (self.folder / f"{name}.bin").write_bytes(content)
        story = (
            f"{verdict.kind.value}\n{verdict.where}\ncase {number} of seed {self.seed}: {what}\n"
        )
        text = story + "\n" + verdict.detail + "\n"
        (self.folder / f"{name}.txt").write_text(text, encoding="utf-8", errors="replace")


def main() -> None:
    """Run the job that is described in the one argument."""
    job = Job(*json.loads(sys.argv[1]))
    scratch = Path(job.scratch)
    tried = target(job.target, scratch / f"worker-{job.first}")
    tried.warm_up()
    board = Board(scratch / f"board-{job.first}")
    board.put(2, job.first)
    findings = Findings(job)
    deadline = float("inf") if job.seconds is None else time.time() + job.seconds
    while board.get(2) < job.stop and time.time() < deadline:
        trace = scratch / f"trace-{job.first}"
        child = os.fork()
        if child == 0:
            try:
                _run(job, tried, board, findings, trace, deadline)
            except BaseException as error:  # of the harness: the judges catch all others
                trace.write_text(described(error))
                os._exit(FAILED)
            os._exit(0)
        ended = _watch(job, board, child)
        if ended is None:
            break
        number = board.get(0)
        story = trace.read_text(errors="replace")[-6000:]
        if ended.where == f"exit code {FAILED}" or number < 0:
            raise SystemExit(f"The harness itself failed, at case {number} or the next: {story}")
        # memory that a case has spoilt may end the process after it
        place = _frame(story) if board.get(1) else "after this case or one before"
        case = tried.case(job.seed, number)
        verdict = ended._replace(where=f"{ended.where}: {place}", detail=story)
        findings.add(number, verdict, case.what, case.content)
        board.count(verdict.kind)


def _watch(job: Job, board: Board, child: int) -> Verdict | None:
    """Wait for the child: None if it is done, else how it ended."""
    limit = job.patience
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == 0:
                return None
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return Verdict(Kind.CRASH, name)
        began = board.get(1)
        if began and (time.monotonic_ns() - began) / 1e9 > limit:
            os.kill(child, signal.SIGABRT)  # faulthandler says where it is
            time.sleep(0.2)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Verdict(Kind.HANG, f"over {limit:g} s")
        if os.getppid() != STARTER:  # the process that started us is gone
            os.kill(child, signal.SIGKILL)
            raise SystemExit(1)
        time.sleep(0.02)


def _run(
    job: Job, tried: Target, board: Board, findings: Findings, trace: Path, deadline: float
) -> None:
    """The cases that are left, one after the other."""
    with trace.open("w") as file:
        faulthandler.enable(file)
        _end_with_parent()
        _limit_memory()
        for number in range(board.get(2), job.stop, job.step):
            if time.time() > deadline:
                return
            case = tried.case(job.seed, number)
            board.begin(number, number + job.step)
            verdict = judged(tried, case.content, number)
            if not verdict.fine:
                findings.add(number, verdict, case.what, case.content)
            board.count(verdict.kind)


def judged(tried: Target, content: bytes, number: int) -> Verdict:
    """The verdict, with an eye on the memory that it took."""
    before = _resident()
    try:
        verdict = tried(content, number)
    except Exception as error:
        verdict = Verdict(Kind.LOADING, f"harness: {place_of(error)}", described(error))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if peak - before > SLACK // 2:
        _forget_peak()
    if peak - before > SLACK + FACTOR * len(content):
        grown = f"{(peak - before) >> 20} MB for a file of {len(content):,} bytes"
        return Verdict(Kind.MEMORY, f"{verdict.kind.value}: {verdict.where}", grown)
    return verdict


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


def _forget_peak() -> None:
    """Let the high-water mark begin anew, where the kernel allows it."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _limit_memory() -> None:
    _forget_peak()
    with open("/proc/self/statm", "rb") as file:
        taken = int(file.read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_parent() -> None:
    """So that nothing runs on when a run is interrupted; only Linux can do it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _frame(story: str) -> str:
    """The innermost frame of ours that faulthandler names."""
    lines: list[Any] = [line.strip() for line in story.splitlines() if "eventspace" in line]
    if not lines:
        return "no frame of ours"
    file, _, rest = lines[0].removeprefix("File ").partition(", line ")
    return f"{Path(file.strip(chr(34))).name}{rest[rest.find(' ') :]}"


if __name__ == "__main__":
    main()
