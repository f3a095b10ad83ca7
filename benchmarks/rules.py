"""Finding rules: time and memory of model.rules, and of mlxtend on baskets of likes.

The two do not find the same thing. mlxtend lists the pairs that at least n users like both.
model.rules estimates these and lists the ones that gain. On MovieLens 100K (u4) the contenders take
turns. Memory, and everything on MovieLens 1M and on a generated table of 100,000 items, is measured
in one process per contender. How long rules take does not depend on how good a fit is: that of the
posterior has few sweeps, and the large table is fitted by a few iterations of a descent.

    python -m benchmarks.rules
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlxtend.frequent_patterns import apriori, association_rules, fpgrowth

from benchmarks import data
from benchmarks.timing import interleaved, median, publish, save, table, timed
from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations

LIKE = 4
SUPPORTS = (20, 10)  # users who like both
REPEATS = 3
SECONDS, GIGABYTES = 400, 12  # what a process may take
FIT, FIRST = "fit", "model.rules()"
ALL, STREAM = "model.rules(top=None, fold=False)", "model.iter_rules(fold=False)"
LONGER = "model.rules(conditions=2)"
OF_AVERAGE = "posterior.rules()"
MEMORY = "peak beyond the data, MB"
ON_1M = (
    FIT, FIRST, ALL, LONGER, OF_AVERAGE,
    "mlxtend, fpgrowth, 20 users",
    "mlxtend, apriori(low_memory=True), 20 users",
)  # fmt: skip
WIDE = (FIRST, STREAM)
N_WIDE = 5_000_000, 50_000, 100_000  # ratings, users, items

Calls = dict[str, Callable[[], int]]  # each gives the number of rules (the fit, that of items)


def ours(ratings: data.Ratings, name: str = "") -> Calls:
    observations = Observations.of(tuple(ratings), scale=(1, 5))

    def fit() -> KolmogorovModel:
        return KolmogorovModel(random_state=0).fit(observations)

    if name == OF_AVERAGE:
        posterior = KolmogorovPosterior(n_warmup=4, n_draws=16, random_state=0).fit(observations)
        return {OF_AVERAGE: lambda: len(posterior.rules(like=LIKE))}
    if observations.n_items >= N_WIDE[-1]:
        few: Any = KolmogorovDescent(16, n_iter=3, random_state=0)
        model = few.fit(observations)
    else:
        model = fit()

    def rules(**options: Any) -> int:
        return len(model.rules(like=LIKE, **options))

    return {
        FIT: lambda: len(fit().codes_),
        FIRST: rules,
        ALL: partial(rules, top=None, fold=False),
        STREAM: lambda: sum(map(len, model.iter_rules(like=LIKE, fold=False))),
        LONGER: partial(rules, conditions=2),
    }


def mlxtends(ratings: data.Ratings) -> Calls:
    liked = ratings.values >= LIKE
    users, user = np.unique(ratings.users, return_inverse=True)
    items, item = np.unique(ratings.items, return_inverse=True)
    baskets = np.zeros((len(users), len(items)), dtype=bool)
    baskets[user[liked], item[liked]] = True
    frame = pd.DataFrame(baskets)

    def rules(sets: Callable[[], pd.DataFrame]) -> int:
        return len(association_rules(sets(), metric="confidence", min_threshold=0.0))

    calls: Calls = {}
    for n in SUPPORTS:
        options = {"min_support": n / len(users), "max_len": 2}
        quick = partial(apriori, frame, low_memory=True, **options)
        calls[f"mlxtend, fpgrowth, {n} users"] = partial(rules, partial(fpgrowth, frame, **options))
        calls[f"mlxtend, apriori(low_memory=True), {n} users"] = partial(rules, quick)
        calls[f"mlxtend, association_rules alone, {n} users"] = partial(rules, cache(quick))
    return calls


def in_turn() -> list[dict[str, Any]]:
    """Everyone on MovieLens 100K: medians of some rounds, and memory."""
    train, _ = data.movielens_100k(4)
    calls = ours(train) | mlxtends(train)
    spent = interleaved(calls, REPEATS)
    rows = []
    for name, seconds in spent.items():
        alone = apart("100k", name)
        time = {"s": median(seconds), f"/ {FIRST}": median(seconds) / median(spent[FIRST])}
        rows.append({"ML-100K u4": name, "rules": alone["rules"], **time, MEMORY: alone[MEMORY]})
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def large(title: str, ratings: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Ours on a large table, and mlxtend as far as it gets."""
    rows = []
    for name in names:
        rows.append({title: name, **apart(ratings, name)})
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def apart(ratings: str, name: str) -> dict[str, Any]:
    """One run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.rules", ratings, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"rules": "-", "s": f"over {SECONDS}", MEMORY: "-"}
    if "MemoryError" in done.stderr:
        return {"rules": "-", "s": "-", MEMORY: f"over {1000 * GIGABYTES}"}
    done.check_returncode()
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(ratings: str, name: str) -> dict[str, Any]:
    """Rules, seconds and what a run adds to the peak of memory, after a small one to warm up."""
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    prepare = mlxtends if name.startswith("mlxtend") else partial(ours, name=name)
    prepare(data.generated(10_000, 200, 300))[name]()
    tables: dict[str, Callable[[], data.Ratings]] = {
        "100k": lambda: data.movielens_100k(4)[0],
        "1m": data.movielens_1m,
        "wide": lambda: data.generated(*N_WIDE),
    }
    call = prepare(tables[ratings]())[name]
    if "alone" in name:
        call()  # so that the sets are there
    Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on (Linux)
    before = _peak()
    found: list[int] = []
    spent = timed(lambda: found.append(call()))
    if name == FIT:  # the model was fitted already: what a fit adds to the peak, fit.py says
        return {"rules": "-", "s": spent, MEMORY: "-"}
    return {"rules": found[0], "s": spent, MEMORY: round((_peak() - before) / 1e6)}


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Print and publish the tables."""
    figures = {
        "ML-100K": in_turn(),
        "ML-1M": large("ML-1M", "1m", ON_1M),
        "wide": large("5 M ratings of 100,000 items", "wide", WIDE),
    }
    save("rules", {**figures, "mlxtend": version("mlxtend")})
    publish("rules", "\n\n".join(table(rows) for rows in figures.values()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        main()
