"""The runner: workers for a target, a table of how the cases ended, a folder with the findings."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.environment import ROOT, environment
from tests.fuzz.judge import FINE, Kind
from tests.fuzz.targets import NAMES, target
from tests.fuzz.worker import Board, Job

FINDINGS = ROOT / "build" / "fuzz"
PATIENCE = 10.0  # seconds that a case may take
SHOWN = 60  # sorts of findings in the table


class Outcome(NamedTuple):
    """How many cases ended how, and what was found: lines as the workers wrote them."""

    counts: dict[Kind, int]
    judging: dict[Kind, float]  # seconds
    findings: list[dict[str, Any]]
    seconds: float

    @property
    def cases(self) -> int:
        return sum(self.counts.values())

    @property
    def fine(self) -> bool:
        return sum(self.counts[kind] for kind in FINE) == self.cases

    def table(self) -> str:
        lines = [
            f"{n:>10,}  {kind.value:<27} {1e3 * self.judging[kind] / max(n, 1):>10,.1f} ms each"
            for kind, n in self.counts.items()
        ]
        rate = self.cases / max(self.seconds, 1e-9)
        lines.append(f"{self.cases:>10,}  cases in {self.seconds:,.0f} s, {rate:,.0f} a second")
        sorts = Counter((line["kind"], line["where"]) for line in self.findings)
        first = {(line["kind"], line["where"]): line for line in reversed(self.findings)}
        for (kind, where), n in sorts.most_common(SHOWN):
            example = first[kind, where]
            lines.append(f"{n:>8,} x {kind}: {where}")
            lines.append(f"           case {example['case']}: {example['what'][:150]}")
        if len(sorts) > SHOWN:
            lines.append(f"{len(sorts) - SHOWN:,} more sorts of findings.")
        return "\n".join(lines)


def run(
    name: str,
    *,
    cases: int,
    seed: int = 1,
    workers: int = 1,
    seconds: float | None = None,
    first: int = 0,
    patience: float = PATIENCE,
    findings: Path = FINDINGS,
    quiet: bool = True,
) -> Outcome:
    """Run cases ``first`` to ``first + cases`` of a target, for this many seconds at most."""
    folder = findings / f"{name}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="eventspace-fuzz-", dir=memory if memory.is_dir() else None
    ) as scratch:
        started = time.time()
        jobs = [
            Job(
                *(name, seed, first + k, workers, first + cases, seconds, patience),
                *(scratch, str(folder)),
            )
            for k in range(min(workers, cases))
        ]
        _prepare(name, Path(scratch), jobs)
        running = [_started(job) for job in jobs]
        try:
            _wait(running, jobs, quiet)
        finally:
            for process in running:
                process.kill()
                process.wait()
        boards = [Board(Path(scratch) / f"board-{job.first}") for job in jobs]
        counts, judging = Counter[Kind](), Counter[Kind]()
        for board in boards:
            counts.update(board.counts)
            judging.update(board.seconds)
        if any(process.returncode for process in running):
            raise RuntimeError(f"A worker of {name} failed: what it wrote says why.")
        return Outcome(
            {kind: counts[kind] for kind in Kind},
            {kind: judging[kind] for kind in Kind},
            _lines(folder),
            time.time() - started,
        )


def _prepare(name: str, scratch: Path, jobs: list[Job]) -> None:
    """Make once what every worker reads."""
    if name.endswith("models"):
        from tests.fuzz import models

        for file in models.save_all(scratch / "models"):
            for job in jobs:
                folder = scratch / f"worker-{job.first}" / "models"
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, folder)
                (folder / "done").touch()


def _started(job: Job) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.worker", json.dumps(job)],
        cwd=ROOT,
        env={**os.environ, **environment()},
        stdout=subprocess.DEVNULL,
    )


def _wait(running: list[subprocess.Popen[bytes]], jobs: list[Job], quiet: bool) -> None:
    told = time.time()
    while any(process.poll() is None for process in running):
        time.sleep(0.05)
        if not quiet and time.time() - told > 30:
            told = time.time()
            boards = [Path(job.scratch) / f"board-{job.first}" for job in jobs]
            counts = [Board(path).counts for path in boards if path.exists()]
            done = sum(sum(count.values()) for count in counts)
            bad = done - sum(count[kind] for count in counts for kind in FINE)
            print(f"{done:,} cases, {bad:,} findings", file=sys.stderr, flush=True)


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for log in sorted(folder.glob("findings-*.jsonl"))
        for line in log.read_text().splitlines()
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command ``python -m tests.fuzz``."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--file", type=Path, help="judge the bytes of this file only")
    given = parser.parse_args(arguments)
    if given.file:
        with tempfile.TemporaryDirectory() as scratch:
            verdict = target(given.target, Path(scratch))(given.file.read_bytes())
        print(verdict.kind.value, verdict.where, verdict.detail, sep="\n")
        return 0 if verdict.fine else 1
    outcome = run(
        *(given.target,),
        cases=given.cases,
        seed=given.seed,
        workers=given.workers,
        seconds=given.seconds,
        first=given.first,
        quiet=False,
    )
    print(f"{given.target}, seed {given.seed}, from case {given.first} on:")
    print(outcome.table())
    if not outcome.fine:
        print(f"The findings are in {FINDINGS / f'{given.target}-{given.seed}'}.")
    return 0 if outcome.fine else 1
