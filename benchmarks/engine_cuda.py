"""How fast is an iteration of the descent on a GPU, and how near to what the machine can do?

    python -m benchmarks.engine_cuda descent als posterior --to build/engine_cuda.json

``descent`` makes a billion ratings on the device (10 million users, 100 thousand items) and times
the parts of an iteration, with bytes and operations counted. ``als`` times alternating least
squares at the same rank on 20 million ratings, in torch. ``posterior`` times the default posterior,
on the device and on the cores; it needs MovieLens 1M in EVENTSPACE_DATA. The others need torch,
which makes the tables. All need a CUDA device.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.timing import machine, table
from eventspace import KolmogorovPosterior, Observations
from eventspace.data.entries import Entries
from eventspace.engines.cpu import CPU
from eventspace.engines.cuda import search
from eventspace.engines.cuda.device import cuda, to_host
from eventspace.engines.cuda.gram import sums_for
from eventspace.engines.cuda.stage import DeviceStage, Work
from eventspace.engines.cuda.tables import DeviceTable
from eventspace.engines.gram import normal_equations
from eventspace.fitting.half_steps import PmfStep
from eventspace.indicators import Exact
from eventspace.pmf import Pairwise

EVENTS = 16
SLICE = 1 << 24  # ratings that are made at a time
REPEATS = 5


class Ratings(NamedTuple):
    """A made table on the device, in both orders."""

    by_user: DeviceTable
    by_item: DeviceTable

    @property
    def size(self) -> int:
        return int(self.by_user.ptr[-1])


def make_ratings(n_users: int, n_items: int, n_ratings: int, seed: int = 0) -> Ratings:
    """Ratings of a planted model with noise; few items have many of them, users differ by ten."""
    import torch

    torch.cuda.empty_cache()
    torch.manual_seed(seed)
    device = torch.device("cuda")
    share = torch.rand(n_users, device=device) ** 2 + 0.05
    sizes = (share * (n_ratings / share.sum())).round().long()
    users = torch.repeat_interleave(torch.arange(n_users, dtype=torch.int32, device=device), sizes)
    n = len(users)
    theta = torch.distributions.Dirichlet(torch.full((EVENTS,), 0.3, device=device)).sample(
        (n_users,)
    )
    psi = (torch.rand(n_items, EVENTS, device=device) < 0.4).float()
    items = torch.empty(n, dtype=torch.int32, device=device)
    value = torch.empty(n, dtype=torch.float32, device=device)
    for first in range(0, n, SLICE):
        part = slice(first, min(first + SLICE, n))
        drawn = torch.rand(part.stop - first, device=device) ** 2
        items[part] = (drawn * n_items).int().clamp_(max=n_items - 1)
        p = (theta[users[part].long()] * psi[items[part].long()]).sum(1)
        value[part] = (p + 0.15 * torch.randn_like(p)).clamp_(0, 1)
    stream = cuda.stream()
    by_user = _on_device(sizes, items, value, stream)
    order = torch.sort(items, stable=True).indices
    counts = torch.bincount(items.long(), minlength=n_items)
    by_item = _on_device(counts, users[order], value[order], stream)
    del order
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return Ratings(by_user, by_item)


def _on_device(sizes: Any, index: Any, value: Any, stream: Any) -> DeviceTable:
    ptr = np.append(0, np.cumsum(sizes.cpu().numpy())).astype(np.int64)
    arrays = [cuda.as_cuda_array(array.contiguous()) for array in (index, value, value[:1].clone())]
    return DeviceTable(ptr, tuple(arrays), False, True, stream)


def seconds(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The median time of a call, until the device is done; the first is not counted."""
    spent = []
    for _ in range(repeats + 1):
        cuda.synchronize()
        start = time.perf_counter()
        call()
        cuda.synchronize()
        spent.append(time.perf_counter() - start)
    return median(spent[1:])


def ceilings() -> dict[str, float]:
    """What the memory gives: bytes a second, read in order, and rows of 64 bytes at random."""
    import torch

    x = torch.empty(1 << 30, dtype=torch.float64, device="cuda")
    in_order = x.nbytes / seconds(lambda: x.sum())
    rows = torch.empty((10_000_000, 16), dtype=torch.float32, device="cuda")
    at = torch.randint(0, len(rows), (1 << 26,), device="cuda")
    out = torch.empty((1 << 26, 16), dtype=torch.float32, device="cuda")
    spent = seconds(lambda: torch.index_select(rows, 0, at, out=out))
    moved = 2 * out.nbytes + at.nbytes
    return {"in order, TB/s": in_order / 1e12, "gather and write, TB/s": moved / spent / 1e12}


def make_stage(ratings: Ratings, n_threads: int) -> DeviceStage:
    rng = np.random.default_rng(1)
    pmf = rng.standard_exponential((ratings.by_user.n_rows, EVENTS))
    pmf /= pmf.sum(axis=1, keepdims=True)
    tables = ratings.by_user, ratings.by_item
    return DeviceStage(
        *tables, Exact(), 0.0, Pairwise(), 1.0, pmf, n_threads, ratings.by_user.stream
    )


def iterations(stage: DeviceStage, n: int, check: bool = False) -> Iterator[dict[str, Any]]:
    """Run a descent's iterations and time their parts, as ``fitting.descent`` calls them."""
    n_items = stage.by_item.n_rows
    codes, seeds = np.zeros(n_items, np.uint64), np.ones(n_items, np.uint64)
    for k in range(n):
        clock = [time.perf_counter()]
        centre = stage.centre("mean")
        clock.append(time.perf_counter())
        found = stage.update_indicators(codes, seeds)
        clock.append(time.perf_counter())
        before = codes
        codes = found.codes
        expected = checks(stage, before, codes, centre) if check and k == n - 1 else None
        clock.append(time.perf_counter())
        error = stage.update_pmfs(codes, centre)
        clock.append(time.perf_counter())
        stage.spread(stage.centre("mean"))
        clock.append(time.perf_counter())
        spent = np.diff(clock)
        yield {
            "iteration": k + 1,
            "indicators, s": spent[1],
            "PMFs, s": spent[3],
            "sums, s": spent[0] + spent[4],
            "seconds": float(spent.sum() - spent[2]),
            "changed codes": int((codes != before).sum()),
            "proved": int(found.proved.sum()),
            "RMSE": float(np.sqrt(error / stage.by_user.ptr[-1])),
            **({} if expected is None else expected(stage)),
        }


def checks(stage: DeviceStage, before: Any, codes: Any, centre: Any) -> Callable[[Any], Any]:
    """Solve a sample of items here; gives what compares a sample of users after their solve."""
    import torch

    rng = np.random.default_rng(2)
    pmf = torch.as_tensor(stage.pmf, device="cuda")
    index, value = (torch.as_tensor(array, device="cuda") for array in stage.by_item.entries[:2])
    ptr, wrong = stage.by_item.ptr, 0
    empty = np.empty(0, np.float32)
    some_items = rng.choice(len(codes), min(100, len(codes)), replace=False)
    for i in some_items:
        own = slice(int(ptr[i]), int(ptr[i + 1]))
        theta = pmf[index[own].long()].cpu().numpy()[:, :EVENTS]
        n = len(theta)
        S, v, e = np.empty((1, EVENTS, EVENTS)), np.empty((1, EVENTS)), np.empty(1)
        at, p = np.arange(n, dtype=np.int32), value[own].cpu().numpy()
        normal_equations(np.array([0, n]), at, p, empty, theta, S, v, e)
        code = before[i : i + 1].copy()
        Exact()(S, v, e, code, np.ones(1, np.uint64))
        wrong += int(code[0] != codes[i])
    some_users = np.sort(rng.choice(len(pmf), min(5000, len(pmf)), replace=False))
    start = pmf[torch.as_tensor(some_users, device="cuda")].cpu().numpy()[:, :EVENTS]
    index, value = (torch.as_tensor(array, device="cuda") for array in stage.by_user.entries[:2])
    ptr = stage.by_user.ptr
    sizes = ptr[some_users + 1] - ptr[some_users]
    own_ptr = np.append(0, np.cumsum(sizes))
    at = np.repeat(ptr[some_users] - own_ptr[:-1], sizes) + np.arange(own_ptr[-1])
    at = torch.as_tensor(at, device="cuda")
    entries = Entries(own_ptr, index[at].cpu().numpy(), value[at].cpu().numpy(), empty)
    step = PmfStep(CPU(stage.n_threads), stage.pmf_solver, stage.pmf_penalty)
    expected = step(entries, np.ascontiguousarray(start), codes, centre).pmf

    def compare(stage: DeviceStage) -> dict[str, Any]:
        found = torch.as_tensor(stage.pmf, device="cuda")[
            torch.as_tensor(some_users, device="cuda")
        ]
        away = np.abs(found.cpu().numpy()[:, :EVENTS] - expected).max(axis=1)
        return {
            "items checked": len(some_items),
            "other codes": wrong,
            "users checked": len(some_users),
            "PMFs, largest difference": float(away.max()),
            "PMFs, beyond 1e-6": int((away > 1e-6).sum()),
        }

    return compare


def kernels(stage: DeviceStage, ratings: Ratings) -> list[dict[str, Any]]:
    """The kernels alone, with the bytes and the operations that they cannot do without."""
    D, n = EVENTS, ratings.size
    n_items = ratings.by_item.n_rows
    work: list[dict[str, Any]] = []
    held: dict[str, Any] = {}

    def sums() -> None:
        for part in stage.by_item.parts(stage.stream, sums_for(D)):
            key = "items", part.rows.start
            if key not in stage._work:
                rows = np.arange(part.rows.start, part.rows.stop)
                stage._work[key] = Work.with_segments(stage.by_item, rows, stage.stream)
            held["quadratics"] = stage.quadratics(part, stage._work[key], stage.fixed)

    spent = seconds(sums)
    n_bytes, fmas = n * (8 + 4 * D), n * (D * (D + 1) // 2 + D)
    work.append(_row("S_i, v_i of all items", spent, n_bytes, fmas))
    S, v, e = held["quadratics"]
    codes = cuda.to_device(np.zeros(len(S), np.uint64))
    cost, ends = cuda.device_array(len(S), np.float64), cuda.device_array(len(S), np.uint8)
    kernel = search.make_search(D)[len(S), search.threads_for(D), stage.stream]
    spent = seconds(lambda: kernel(S, v, e, 0.0, codes, cost, ends)) * n_items / len(S)
    work.append(_row("every code of all items", spent, n_items * 8 * (D * D + D), n_items * 2 << D))
    found = np.asarray(to_host(codes, stage.stream))
    share = (to_host(ends, stage.stream) == search.OPEN).mean()
    print(f"{len(np.unique(found))} codes; left to the CPU: {share:.2%} of the items")
    return work


def _row(name: str, spent: float, n_bytes: int, operations: int) -> dict[str, Any]:
    return {
        "what": name,
        "ms": 1e3 * spent,
        "GB": n_bytes / 1e9,
        "TB/s": n_bytes / spent / 1e12,
        "G operations": operations / 1e9,
        "T operations/s": operations / spent / 1e12,
    }


def descent(n_users: int, n_items: int, n_ratings: int, n_threads: int) -> dict[str, Any]:
    top = ceilings()
    print(top)
    ratings = make_ratings(n_users, n_items, n_ratings)
    stage = make_stage(ratings, n_threads)
    runs = []
    for row in iterations(stage, 8, check=True):
        print(row, flush=True)
        runs.append(row)
    alone = kernels(stage, ratings)
    pmfs = median(run["PMFs, s"] for run in runs[2:])
    n_bytes = ratings.size * 8 + n_users * (8 * EVENTS * 2 + 4 * EVENTS + 16 + 16)
    counted = ratings.size // 32 * EVENTS * (EVENTS + 1) // 2 + ratings.size * EVENTS
    alone.append(_row("Q_u, r_u and the solve of all users", pmfs, n_bytes, counted))
    whole = median(run["seconds"] for run in runs[2:])
    floor = sum(row["GB"] for row in alone) / 1e3 / top["in order, TB/s"]
    print(table(alone))
    print(f"{ratings.size:,} ratings: {whole:.4f} s, floor {floor:.4f} s ({whole / floor:.1f} x)")
    return {"ceilings": top, "kernels": alone, "iterations": runs, "seconds": whole, "floor": floor}


def als(n_users: int, n_items: int, n_ratings: int, n_threads: int) -> dict[str, Any]:
    """Alternating least squares on the same table, rows of like length solved as one batch."""
    import torch

    ratings = make_ratings(n_users, n_items, n_ratings)
    sides = [_batches(side) for side in ratings]
    factors = [torch.randn(side.n_rows, EVENTS, device="cuda") * 0.1 for side in ratings]
    ridge = 0.1 * torch.eye(EVENTS, device="cuda")

    def half_step(k: int) -> None:
        other = torch.cat([factors[1 - k], torch.zeros(1, EVENTS, device="cuda")])
        for rows, index, value in sides[k]:
            F = other[index]  # rows x length x rank; what is padded points to the zero row
            A = torch.bmm(F.transpose(1, 2), F) + ridge
            b = torch.bmm(F.transpose(1, 2), value[:, :, None])
            factors[k][rows] = torch.cholesky_solve(b, torch.linalg.cholesky(A))[:, :, 0]

    def iterate() -> None:
        half_step(0)
        half_step(1)

    theirs = seconds(iterate)
    stage = make_stage(ratings, n_threads)
    runs = list(iterations(stage, 8))
    ours = median(run["seconds"] for run in runs[2:])
    print(f"{ratings.size:,} ratings: ALS {theirs:.4f} s, ours {ours:.4f} s an iteration")
    return {"ALS": theirs, "ours": ours, "iterations": runs}


def _batches(side: DeviceTable) -> list[Any]:
    """Rows by length, padded to the next quarter of a power of two, some million ratings each."""
    import torch

    n_columns = int(torch.as_tensor(side.entries[0], device="cuda").max()) + 1
    index, value = (torch.as_tensor(array, device="cuda") for array in side.entries[:2])
    sizes = np.diff(side.ptr)
    power = np.exp2(np.floor(np.log2(np.maximum(sizes, 4))) - 2)
    length = (np.ceil(sizes / power) * power).astype(np.int64)
    batches = []
    for size in np.unique(length[sizes > 0]):
        rows = np.flatnonzero((length == size) & (sizes > 0))
        for some in np.array_split(rows, max(1, len(rows) * size // (1 << 22))):
            place = torch.arange(int(size), device="cuda")[None]
            own = torch.as_tensor(sizes[some], device="cuda")[:, None]
            at = torch.as_tensor(side.ptr[some], device="cuda")[:, None] + place
            inside = place < own
            at = torch.where(inside, at, 0)
            where = torch.where(inside, index[at].long(), n_columns)
            number = torch.where(inside, value[at], 0.0)
            batches.append((torch.as_tensor(some, device="cuda"), where, number))
    return batches


def posterior(n_threads: int) -> list[dict[str, Any]]:
    """Seconds of the default posterior, on the device and on the cores, once all is compiled."""
    rows: list[dict[str, Any]] = []
    tables: dict[str, Callable[[], data.Ratings]] = {
        "100,000 generated": partial(data.generated, 100_000, 1_000, 1_700),
        "ML-1M": data.movielens_1m,
        "20 M generated": partial(data.generated, 20_000_000, 138_000, 27_000),
    }
    for name, make in tables.items():
        observations = Observations.of(tuple(make()), scale=(1, 5))
        for machine_name in ("cuda", "cpu") if observations.n_observed < 2e6 else ("cuda",):
            options = {"random_state": 0, "engine": machine_name, "n_jobs": n_threads}
            first = seconds_of(observations, **options) if len(rows) < 2 else "-"
            spent = seconds_of(observations, **options)
            rows.append(
                {"table": name, "on": machine_name, "s": spent, "first in the process": first}
            )
            print(rows[-1], flush=True)
    return rows


def seconds_of(observations: Observations, **options: Any) -> float:
    """Seconds of a posterior's fit."""
    start = time.perf_counter()
    KolmogorovPosterior(**options).fit(observations)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["descent"])
    parser.add_argument("--ratings", type=float, default=1e9)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    figures: dict[str, Any] = {}
    for what in given.what:
        if what == "descent":
            scale = given.ratings / 1e9
            shape = int(1e7 * scale), max(int(1e5 * scale), 1000), int(given.ratings)
            figures[what] = descent(*shape, given.threads)
        elif what == "als":
            figures[what] = als(138_000, 27_000, 20_000_000, given.threads)
        else:
            figures[what] = posterior(given.threads)
        if given.to:
            given.to.parent.mkdir(parents=True, exist_ok=True)
            given.to.write_text(json.dumps({**machine(), "figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
