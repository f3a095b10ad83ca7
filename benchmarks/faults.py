"""Does a fit that is killed go on, and end with the same model? What does a checkpoint cost?

Each kind of fit runs in a process of its own. It is killed (SIGKILL) at a random moment, then run
again to its end, and all that it has learnt is compared to the bit with a fit that was never
disturbed. The fits last a few seconds, so checkpoints are written more often than usual here. What
they cost is measured as they are.

    python -m benchmarks.faults [--kills 200]
    python -m benchmarks.faults --kinds descent model    # these kinds only, and not the cost
    python -m benchmarks.faults --kinds                  # the cost alone
    python -m benchmarks.faults --kills 0 --kinds model  # the full disk alone

The full disk is a real file system with little room, which only root can mount.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks import data
from benchmarks.timing import RESULTS, interleaved, median, publish, save, table
from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations
from eventspace._base import checkpoint

ROOM = {"descent": 200, "posterior": 2000, "model": 3000}  # kB of a disk, which soon is full
OFTEN = 0.2  # seconds between two writes, for fits as short as these
PAIRS = 11  # of fits with and without a checkpoint: one alone is up to some per cent off
ITS_OWN = ("keep", "keep_soon", "flush", "close", "_in_due_time")  # where a checkpoint spends time
MANY: dict[str, Any] = {"n_init": 20, "random_state": 0}
SHORT: dict[str, Any] = {"random_state": 0, "n_jobs": 2}
KINDS: dict[str, Callable[[], Any]] = {
    "descent": lambda: KolmogorovDescent(16, n_init=4, tol=1e-6, n_iter=40, **SHORT),
    "posterior": lambda: KolmogorovPosterior(8, n_chains=4, n_warmup=30, n_draws=40, **SHORT),
    "model": lambda: KolmogorovModel(12, n_chains=4, n_warmup=15, n_draws=15, **SHORT),
    "dask": lambda: KolmogorovDescent(16, n_init=1, tol=0.0, n_iter=40, engine="dask", **SHORT),
    "dask chains": lambda: KolmogorovPosterior(
        8, n_chains=4, n_warmup=30, n_draws=40, engine="dask", **SHORT
    ),
}
NAMES = {
    "descent": "descent",
    "posterior": "posterior",
    "model": "the one model: chains and compression",
    "dask": "descent on a Dask cluster",
    "dask chains": "posterior on a Dask cluster",
}
CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


class Ended(NamedTuple):
    """A process that ran a fit, and what it learnt, unless it was killed."""

    digest: str | None
    seconds: float


def digest_of(model: Any) -> str:
    """All that a fit has learnt, to the bit."""
    found, record = hashlib.blake2b(digest_size=16), model.fitted_.record
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray) and value.dtype != object:
            found.update(field.name.encode() + np.ascontiguousarray(value).tobytes())
        elif isinstance(value, float | int):
            found.update(f"{field.name} {value!r}".encode())
    return found.hexdigest()


def fitted(kind: str, seen: Observations, path: str | None, address: str) -> str:
    """Fit, in this process."""
    model = KINDS[kind]()
    if "dask" in kind:
        from distributed import Client

        with Client(address):
            return digest_of(model.fit(seen, checkpoint=path))
    return digest_of(model.fit(seen, checkpoint=path))


def run(work: Callable[[], str], within: float | None = None) -> Ended:
    """Do it in a child of this process, which is killed if it is not done within some seconds."""
    ours, theirs = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(ours)
        code = 1
        try:
            os.write(theirs, work().encode())
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(theirs)
    heard = bool(select.select([ours], [], [], within)[0])
    digest = os.read(ours, 64).decode() if heard else None
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ours)
    spent = time.monotonic() - began
    if heard and not digest:
        raise RuntimeError("a fit has failed")
    return Ended(digest, spent)


def wrote(path: str) -> bool:
    """Whether a killed fit has written anything; a copy is asked, for asking mends the file."""
    for end in ("", "-journal"):
        if os.path.exists(path + end):
            shutil.copy(path + end, f"{path}-copy{end}")
    if not os.path.exists(f"{path}-copy"):
        return False
    with closing(sqlite3.connect(f"{path}-copy")) as copy:
        (n_tables,) = copy.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (n_rows,) = copy.execute("SELECT count(*) FROM parts").fetchone() if n_tables else (0,)
    os.remove(f"{path}-copy")
    return bool(n_rows)


def killed(kind: str, seen: Observations, n_kills: int, folder: str, address: str) -> Any:
    """Kill a kind of fit again and again, each time at a random moment, and let it end."""
    rng = np.random.default_rng(0)
    alone = [run(partial(fitted, kind, seen, None, address)) for _ in range(3)]
    undisturbed, length = alone[0].digest, median(one.seconds for one in alone)
    same, n_results, n_gone_on, size = 0, 0, 0, 0
    losses: list[float] = []
    while len(losses) < n_kills:
        path = f"{folder}/{kind}-{n_results}"
        work = partial(fitted, kind, seen, path, address)
        first = run(work, rng.uniform(0, length))
        if first.digest is not None:  # it was done sooner than that
            os.remove(path)
            continue
        n_gone_on += wrote(path)
        again = run(work)
        losses.append(first.seconds + again.seconds - length)
        same += again.digest == undisturbed
        n_results += 1
        size = max(size, os.path.getsize(path))
        os.remove(path)
        if n_results % 20 == 0:
            print(f"{kind}: {n_results} kills, {same} the same", flush=True)
    return {
        "fit": NAMES[kind],
        "undisturbed, s": length,
        "kills": len(losses),
        "of them after something was written": n_gone_on,
        "identical results": same,
        "longer by at most, s": max(losses),
        "longer by, median, s": median(losses),
        "checkpoint, MB": size / 1e6,
    }


@contextmanager
def small_disk(kilobytes: int) -> Any:
    """A file system with little room."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder]
        subprocess.run(mount, check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)


def on_a_full_disk(kind: str, seen: Observations, address: str) -> Any:
    """The checkpoint grows until the disk is full; the fit ends, and a killed one goes on."""
    undisturbed = run(partial(fitted, kind, seen, None, address))
    with small_disk(ROOM[kind]) as folder:
        path = f"{folder}/checkpoint"

        def warned() -> str:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                digest = fitted(kind, seen, path, address)
            full = any("cannot be written" in str(warning.message) for warning in said)
            return f"{digest} {full}"

        first = run(warned, 0.7 * undisturbed.seconds)
        again = run(warned)
        used = os.statvfs(folder)
        free = used.f_bavail * used.f_frsize
    digest, full = (again.digest or " ").split(" ")
    return {
        "fit": NAMES[kind],
        "disk, kB": ROOM[kind],
        "killed at, s": first.seconds,
        "disk was full": full == "True",
        "left free, kB": free / 1e3,
        "identical result": digest == undisturbed.digest,
    }


@contextmanager
def watched(spent: list[float]) -> Iterator[None]:
    """How many seconds fits spend in their checkpoint, those of two threads twice."""

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*given, **options)
            finally:
                spent.append(time.perf_counter() - began)

        return called

    with ExitStack() as patches:
        for name in ITS_OWN:
            method = timed(getattr(checkpoint.CheckpointFile, name))
            patches.enter_context(mock.patch.object(checkpoint.CheckpointFile, name, method))
        yield


def cost() -> list[dict[str, Any]]:
    """Seconds of fits with a checkpoint, as usual, and without; and those in the checkpoint."""
    small = Observations.of(tuple(data.movielens_100k(1)[0]))
    large = Observations.of(tuple(data.random_split(data.movielens_1m())[0]))
    rows = []
    for name, seen, model in (
        ("KolmogorovModel(), u1", small, KolmogorovModel(random_state=0)),
        ("KolmogorovPosterior(), u1", small, KolmogorovPosterior(random_state=0)),
        ("KolmogorovModel(), ML-1M", large, KolmogorovModel(random_state=0)),
        ("KolmogorovDescent(16, n_init=20), ML-1M", large, KolmogorovDescent(16, **MANY)),
    ):
        spent: list[float] = []  # by each fit with a checkpoint

        def kept(model: Any = model, seen: Observations = seen, spent: list[float] = spent) -> None:
            own: list[float] = []
            with tempfile.TemporaryDirectory() as folder, watched(own):
                model.fit(seen, checkpoint=f"{folder}/cost")
            spent.append(sum(own))

        times = interleaved({"without": partial(model.fit, seen), "with": kept}, PAIRS)
        ratios = [b / a - 1 for a, b in zip(times["without"], times["with"], strict=True)]
        rows.append(
            {
                "fit": name,
                "without, s": median(times["without"]),
                "with, s": median(times["with"]),
                "in the checkpoint": f"{100 * sum(spent[1:]) / sum(times['with']):.1f} %",
                "longer by, median": f"{100 * median(ratios):.1f} %",
            }
        )
        print(rows[-1], flush=True)
    return rows


@contextmanager
def cluster_of(wanted: bool) -> Iterator[str]:
    """The address of a cluster in a process of its own, if one is wanted."""
    if not wanted:
        yield ""
        return
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        assert cluster.stdout is not None
        try:
            yield cluster.stdout.readline().strip()
        finally:
            cluster.kill()


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    asked = parser.parse_args()
    kept = RESULTS / "faults.json"
    before = json.loads(kept.read_text())["figures"] if kept.exists() else {}
    train, _ = data.movielens_100k(1)
    few = np.isin(train.users, np.unique(train.users)[::3])
    seen = Observations.of((train.users[few], train.items[few], train.values[few]))
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster_of(any("dask" in kind for kind in asked.kinds)) as address,
    ):
        for kind in asked.kinds:  # all is compiled, and read, before any process is forked
            if "dask" not in kind:
                fitted(kind, seen, f"{folder}/warm-{kind}", address)
        usual, checkpoint.OFTEN = checkpoint.OFTEN, OFTEN
        kinds = asked.kinds if asked.kills else []
        kills = [killed(kind, seen, asked.kills, folder, address) for kind in kinds]
        full = [
            on_a_full_disk(kind, seen, address)
            for kind in asked.kinds
            if kind in ROOM and os.geteuid() == 0
        ]
        checkpoint.OFTEN = usual
    costs = cost() if asked.kinds in ([], list(KINDS)) else []
    figures = {"kills": kills, "full_disk": full, "cost": costs}
    for name, rows in figures.items():  # those of other kinds stay
        known = before.get(name, []) if asked.kinds != list(KINDS) else []
        figures[name] = list({row["fit"]: row for row in (*known, *rows)}.values())
        publish(f"faults_{name}", table(figures[name]))
    save("faults", figures)


if __name__ == "__main__":
    main()
