"""The Dask engine: against the CPU engine, with workers that die, out of core, and two at once.

python -m benchmarks.engine_dask
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster

from benchmarks import data
from benchmarks.timing import median, save, table
from eventspace import KolmogorovDescent, Observations
from eventspace.fitting.descent import Descent, descend, random_start
from eventspace.fitting.settings import DescentSettings, checked_steps, engine_to_learn

PENALTY = 30.0
N_ITER, REPEATS = 8, 5
RANKS = (8, 16)
KILLS = 10


@contextmanager
def cluster(memory: str = "auto", n_workers: int = 2) -> Iterator[Client]:
    """Processes of one thread each; the client is the current one."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": memory}
    # a local cluster gives up a worker that is dead 15 s after a death of its own
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=n_workers, **options) as workers,
        Client(workers) as client,
    ):
        yield client


def against_cpu() -> list[dict[str, Any]]:
    """Milliseconds of an iteration with two workers and with two threads, in turn."""
    ratings = {
        "ML-1M": data.movielens_1m(),
        "10 M generated": data.generated(10_000_000, 100_000, 20_000),
    }
    rows = []
    for name, columns in ratings.items():
        seen = Observations.of(tuple(columns), scale=(1, 5))
        for rank in RANKS:
            spent: dict[str, list[float]] = {"cpu": [], "dask": []}
            ends: dict[str, Descent] = {}
            settings = {e: DescentSettings(rank, engine=e, n_jobs=2) for e in spent}
            with (
                cluster(),
                engine_to_learn(settings["cpu"]) as cpu,
                engine_to_learn(settings["dask"]) as workers,
            ):
                for turn in range(-1, REPEATS):
                    for engine, machine in (("cpu", cpu), ("dask", workers)):
                        now = iterations(seen, settings[engine], machine)
                        ends[engine] = now[0]
                        spent[engine] += now[1] if turn >= 0 else []
            rows.append(
                {
                    "table": name,
                    "events": rank,
                    "CPU, ms": 1e3 * median(spent["cpu"]),
                    "Dask, ms": 1e3 * median(spent["dask"]),
                    "ratio": median(spent["dask"]) / median(spent["cpu"]),
                    "same codes": bool((ends["cpu"].codes == ends["dask"].codes).all()),
                    "PMFs differ by": float(np.abs(ends["cpu"].pmf - ends["dask"].pmf).max()),
                }
            )
    return rows


def iterations(seen: Observations, settings: Any, machine: Any) -> tuple[Descent, list[float]]:
    """A descent, and the seconds of each of its iterations but the first."""
    settings.pmf_penalty = PENALTY
    rng, ticks = np.random.default_rng(0), [0.0]
    descent = descend(
        random_start(seen, settings.n_events, rng),
        seen,
        checked_steps(settings, machine),
        prior="mean",
        n_iter=N_ITER,
        tol=0.0,
        rng=rng,
        on_iteration=lambda _, pmfs: ticks.append(time.perf_counter()),
    )
    return descent, np.diff(ticks[1:]).tolist()


def descent(n_iter: int = 20, seed: int = 0) -> KolmogorovDescent:
    return KolmogorovDescent(
        8, pmf_penalty=PENALTY, n_iter=n_iter, tol=0.0, n_init=1, engine="dask", random_state=seed
    )


def same(one: KolmogorovDescent, other: KolmogorovDescent) -> bool:
    """Whether two fits have the same bits."""
    parts = ("codes_", "pmf_", "history_")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


def killed() -> list[dict[str, Any]]:
    """Ten workers of a fit killed at random moments: its bits, and the seconds it takes longer."""
    seen = Observations.of(tuple(data.generated(10_000_000, 100_000, 20_000)), scale=(1, 5))
    n_iter = 150
    with cluster() as client:
        descent(2).fit(seen)
        start = time.perf_counter()
        undisturbed = descent(n_iter).fit(seen)
        seconds = time.perf_counter() - start
        done, kills = threading.Event(), [0]
        killer = threading.Thread(target=kill, args=(client, seconds, done, kills))
        start = time.perf_counter()
        killer.start()
        disturbed = descent(n_iter).fit(seen)
        longer = time.perf_counter() - start - seconds
        done.set()
        killer.join()
    return [
        {
            "table": "10 M generated",
            "iterations": n_iter,
            "undisturbed, s": seconds,
            "killed": kills[0],
            "longer, s": longer,
            "longer per kill, s": longer / max(kills[0], 1),
            "same bits": same(undisturbed, disturbed),
        }
    ]


def kill(client: Client, seconds: float, done: threading.Event, kills: list[int]) -> None:
    """SIGKILL to a worker, ten times within the given seconds."""
    rng = random.Random(0)
    while kills[0] < KILLS and not done.wait(rng.uniform(0, 2 * seconds / KILLS)):
        processes = workers_of(client)
        if processes:
            os.kill(rng.choice(processes).pid, signal.SIGKILL)
            kills[0] += 1


def workers_of(client: Client) -> list[psutil.Process]:
    """The processes of the workers, as their nannies know them."""
    nannies = client.cluster.workers.values()
    return [psutil.Process(nanny.pid) for nanny in nannies if nanny.pid]


def two_at_once() -> list[dict[str, Any]]:
    """Two fits, one after the other and at the same time, on one cluster."""
    seen = Observations.of(tuple(data.generated(10_000_000, 100_000, 20_000)), scale=(1, 5))
    with cluster():
        descent(2).fit(seen)
        start = time.perf_counter()
        alone = [descent(seed=seed).fit(seen) for seed in range(2)]
        middle = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda seed: descent(seed=seed).fit(seen), range(2)))
        end = time.perf_counter()
    return [
        {
            "table": "10 M generated",
            "one after the other, s": middle - start,
            "at once, s": end - middle,
            "same bits": all(map(same, alone, together)),
        }
    ]


def out_of_core(n: int = 100_000_000, n_iter: int = 3) -> list[dict[str, Any]]:
    """A folder of Parquet files, learnt from by two workers with 2 GB each."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "ratings"
        write(folder, n)
        (Path(place) / "scratch").mkdir()
        with (
            dask.config.set({"eventspace.scratch": f"{place}/scratch"}),
            cluster("2GB") as client,
            watched(client) as most,
        ):
            start = time.perf_counter()
            model = descent(n_iter).fit(folder)
            seconds = time.perf_counter() - start
        assert model.observations_.n_observed == n
    return [
        {
            "ratings": n,
            "users": model.observations_.n_users,
            "items": model.observations_.n_items,
            "iterations": n_iter,
            "in all, s": seconds,
            "a worker's most, MB": most["worker"] / 1e6,
            "this process's most, MB": most["driver"] / 1e6,
            "restarted workers": most["restarts"],
        }
    ]


def write(folder: Path, n: int, each: int = 5_000_000) -> None:
    """Generated ratings in files, by users, without ever holding more than one of these."""
    folder.mkdir()
    n_files = -(-n // each)
    for k in range(n_files):
        size = min(each, n - k * each)
        part = data.generated(size, size // 100, n // 500, seed=k)
        frame = pd.DataFrame(part._asdict())
        frame["users"] += k * (each // 100)
        frame.columns = ["user", "item", "rating"]
        frame.to_parquet(folder / f"{k:05}.parquet", index=False, row_group_size=1_000_000)


@contextmanager
def watched(client: Client) -> Iterator[dict[str, int]]:
    """The most memory of any worker, and of this process, as long as it lasts."""
    most = {"worker": 0, "driver": 0, "restarts": 0}
    done, first = threading.Event(), {process.pid for process in workers_of(client)}

    def watch() -> None:
        here = psutil.Process()
        while not done.wait(0.05):
            found = workers_of(client)
            most["restarts"] = max(most["restarts"], len({p.pid for p in found} - first))
            for name, processes in (("worker", found), ("driver", [here])):
                for process in processes:
                    most[name] = max(most[name], process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def main() -> None:
    figures = {}
    for measure in (against_cpu, killed, two_at_once, out_of_core):
        figures[measure.__name__] = measure()
        print(table(figures[measure.__name__]), flush=True)
        save("engine_dask", figures)


if __name__ == "__main__":
    main()
