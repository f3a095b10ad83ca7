"""Half an hour of load: fits, predictions, updates and reports in threads and forked processes.

Three programs run at once, each under a limit of memory, over and over:

- threads: four threads of one process learn, predict, update and report.
- forks: a server in the manner of gunicorn. The parent reads a model, forks two workers that answer
  requests, and new ones when these have answered enough. Meanwhile its own thread learns.
- joblib: models are fitted by joblib, on processes of loky's, then on forked ones.

Every answer is compared with the first of its kind. The memory of each program is sampled, with
that of its children: shared pages count once. A program that does nothing for two minutes hangs.

    python -m benchmarks.soak              # 30 minutes
    python -m benchmarks.soak --minutes 3
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import numpy as np

from benchmarks.data import generated
from benchmarks.memory import family, memory
from benchmarks.timing import median, publish, save, table
from eventspace import KolmogorovDescent, KolmogorovModel, Observations

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "soak.svg"
LIMIT = 2 << 30  # bytes of memory that a process may ask for
PATIENCE = 120.0  # seconds without a step that are a hang
EVERY = 1.0  # seconds between samples
N_USERS, N_ITEMS, N_RATINGS = 500, 300, 20_000
REQUESTS = 300  # that a worker answers before another takes its place

Do = Callable[[], object]


def ratings(seed: int = 0) -> Observations:
    """A table of stars."""
    return Observations.of(tuple(generated(N_RATINGS, N_USERS, N_ITEMS, seed)))


def descent(seed: int) -> KolmogorovDescent:
    """A quick fit, in two threads."""
    model = KolmogorovDescent(8, n_iter=5, n_init=1, n_jobs=2, random_state=seed, verbose=False)
    return model.fit(ratings())


def step(name: str) -> None:
    """Tell the one who samples that something was done; short lines of processes do not mix."""
    os.write(1, f"{name}\n".encode())


class Answers:
    """What a model says, compared with what it said first."""

    def __init__(self, path: Path) -> None:
        self.path, self.model = path, KolmogorovDescent.load(path)
        self.first = self.predicted(self.model)

    def predicted(self, model: KolmogorovDescent) -> bytes:
        """The predictions for some pairs."""
        users, items = self.model.user_ids_[:50], self.model.item_ids_[:50]
        return model.predict((users, items)).tobytes()

    def predict(self) -> None:
        """Predict, and recommend to one user."""
        assert self.predicted(self.model) == self.first
        self.model.recommend(self.model.user_ids_[:1])
        step("predict")

    def update(self) -> None:
        """A copy of the model takes in new ratings; the model says what it said."""
        model = KolmogorovDescent.load(self.path)
        model.update((["new"] * 3, model.item_ids_[:3].tolist(), [5.0, 1.0, 3.0]))
        assert "new" in model.user_ids_.tolist()
        step("update")

    def report(self) -> None:
        """Write the page."""
        with tempfile.TemporaryDirectory() as folder:
            self.model.report(Path(folder) / "page.html")
        step("report")

    def fit(self) -> None:
        """The same seed gives the same model."""
        assert self.predicted(descent(0)) == self.first
        step("fit")

    def learn(self) -> None:
        """A posterior, compressed: the default way to learn."""
        KolmogorovModel(8, n_chains=2, n_warmup=5, n_draws=5, n_jobs=2, verbose=False).fit(
            ratings()
        )
        step("learn")

    def tasks(self) -> list[Do]:
        """All of it."""
        return [self.fit, self.predict, self.update, self.report, self.learn]


def forever(tasks: list[Do], end: float) -> None:
    """One task after the other until the time is over."""
    for k in count():
        if time.monotonic() > end:
            return
        tasks[k % len(tasks)]()


def threads(answers: Answers, end: float) -> None:
    """Four threads of one process, which begin with different tasks."""
    tasks = answers.tasks()
    failed: list[BaseException] = []

    def work(k: int) -> None:
        try:
            forever(tasks[k:] + tasks[:k], end)
        except BaseException as error:
            failed.append(error)
            raise

    running = [Thread(target=work, args=(k,)) for k in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if failed:
        raise failed[0]


def forks(answers: Answers, end: float) -> None:
    """Workers are forked while a thread of the parent learns."""
    stop = Signal()

    def learn() -> None:
        while not stop.is_set():
            answers.fit()

    def serve() -> None:
        for request in range(REQUESTS):
            signal.alarm(int(PATIENCE))  # ends a worker that hangs
            answers.predict()
            if request % 100 == 50:
                answers.update()
                answers.fit()
            if time.monotonic() > end:
                return

    with ThreadPoolExecutor(1) as pool:
        learning = pool.submit(learn)
        try:
            workers = {fork(serve) for _ in range(2)}
            while workers:
                pid, status = os.wait()
                assert status == 0, f"a worker ended with {status}"
                step("worker")
                workers.remove(pid)
                if time.monotonic() < end:
                    workers.add(fork(serve))
        finally:
            stop.set()
        learning.result()


def fork(work: Do) -> int:
    """A child that does the work, and ends without the parent's clean-up."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def joblib(answers: Answers, end: float) -> None:
    """Fits by processes of joblib's, of both kinds in turn."""
    from joblib import Parallel, delayed

    def fits(backend: str) -> None:
        models = Parallel(n_jobs=2, backend=backend)(delayed(descent)(seed) for seed in (0, 1))
        assert answers.predicted(models[0]) == answers.first
        step(backend)

    forever([lambda: fits("loky"), lambda: fits("multiprocessing"), answers.report], end)


PROGRAMS: dict[str, Callable[[Answers, float], None]] = {
    program.__name__: program for program in (threads, forks, joblib)
}


class Watched:
    """A program under load: its steps, and its memory over time."""

    def __init__(self, name: str, seconds: float, model: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.soak", "--program", name]
        command += ["--minutes", str(seconds / 60), "--model", str(model)]
        self.name, self.start = name, time.monotonic()
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.steps: Counter[str] = Counter()
        self.last, self.longest = self.start, 0.0
        self.samples: list[tuple[float, float]] = []
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            now = time.monotonic()
            self.longest, self.last = max(self.longest, now - self.last), now
            self.steps[line.strip()] += 1

    def look(self) -> bool:
        """Sample; whether it goes on. One that hangs ends the soak."""
        if self.process.poll() is not None:
            assert self.process.returncode == 0, f"{self.name} ended: {self.process.returncode}"
            return False
        now = time.monotonic()
        self.samples.append((round(now - self.start, 1), round(memory(self.process.pid), 1)))
        if now - self.last > PATIENCE:
            for pid in family(self.process.pid):
                os.kill(pid, 9)
            raise SystemExit(f"{self.name} hangs: no step for {PATIENCE:.0f} s")
        return True

    def row(self) -> dict[str, Any]:
        """The memory in the second quarter and in the last, and the slope from the half on."""
        at, held = np.array(self.samples[: -max(3, len(self.samples) // 20)]).T  # before it ends
        quarter = len(at) // 4
        slope = np.polyfit(at[2 * quarter :] / 3600, held[2 * quarter :], 1)[0]
        return {
            "program": self.name,
            "steps": f"{sum(self.steps.values()):,}",
            "MB, second quarter": round(median(held[quarter : 2 * quarter].tolist())),
            "MB, last quarter": round(median(held[3 * quarter :].tolist())),
            "MB, most": round(max(held)),
            "slope of the second half, MB per hour": round(float(slope)),
            "longest pause, s": round(self.longest, 1),
        }


def draw(watched: list[Watched], path: Path = PICTURE) -> None:
    """Memory over time."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "soak"  # the same picture for the same figures
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for one in watched:
        at, held = np.array(one.samples).T
        axes.plot(at / 60, held, label=one.name, linewidth=1)
    axes.set(xlabel="minutes", ylabel="MB, with children", ylim=(0, None))
    axes.legend(loc="lower right", ncols=3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def soak(minutes: float) -> list[Watched]:
    """All programs at once."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "m.eventspace"
        descent(0).save(model)
        for task in Answers(model).tasks():  # what is compiled now is not compiled then
            task()
        watched = [Watched(name, 60 * minutes, model) for name in PROGRAMS]
        try:
            while sum(one.look() for one in watched):
                time.sleep(EVERY)
        finally:
            for one in watched:
                one.process.kill()
    return watched


def main() -> None:
    """Measure, save, draw and publish; or be one of the programs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--program", choices=list(PROGRAMS))
    parser.add_argument("--model", type=Path)
    asked = parser.parse_args()
    if asked.program:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        PROGRAMS[asked.program](Answers(asked.model), time.monotonic() + 60 * asked.minutes)
        return
    watched = soak(asked.minutes)
    rows = [one.row() for one in watched]
    print(table(rows))
    figures = [
        {
            **row,
            "steps": dict(one.steps),
            "seconds, MB": one.samples[:: len(one.samples) // 300 + 1],
        }
        for row, one in zip(rows, watched, strict=True)
    ]
    save("soak", {"minutes": asked.minutes, "limit, MB": LIMIT >> 20, "programs": figures})
    publish("soak", table(rows))
    draw(watched)


if __name__ == "__main__":
    main()
