"""The default, one model to read: how well it predicts, how long it takes, what reading costs.

MovieLens 100K, u1 to u5, in stars, beside peers with the options that ``benchmarks.accuracy`` chose
on a tenth of each training part, and beside a descent that is validated there. On u1 five seeds.
Then latest-small, 1M and the shapes of ``benchmarks.accuracy_shapes``, beside biases and the same
descent. On 1M the descent has 8 events and no choice of them, for time.

    python -m benchmarks.one_model
"""

from __future__ import annotations

import json

import numpy as np

from benchmarks import data
from benchmarks.comparison import Result, as_json, compare, measured, of, rows, warm_up
from benchmarks.methods import BIAS, PEERS, POSTERIOR, SINGLE, SVDPP, Options, ours
from benchmarks.shapes import GENERATED, REAL
from benchmarks.timing import RESULTS, publish, save, table
from benchmarks.validated import ValidatedDescent
from eventspace import KolmogorovModel, KolmogorovPosterior

SIZES, SEEDS = (8, 16, 32), (0, 1, 2, 3, 4)
SPLITS = (1, 2, 3, 4, 5)
SHOWN = ("Surprise SVD, tuned", SVDPP, "Cornac MF, tuned")
BEHIND = 1.005  # times the error of biases is what is allowed


def named(n_events: int) -> str:
    """What the default with this many events is called."""
    return f"KolmogorovModel, {n_events} events"


def model(n_events: int, seed: int = 0) -> Options:
    """The default with this many events."""
    return {"": ours(KolmogorovModel, n_events=n_events, random_state=seed)}


def peers(table_name: str) -> dict[str, Options]:
    """Those that are shown, with the options that were chosen for the table."""
    before = json.loads((RESULTS / "accuracy.json").read_text())["figures"]
    chosen = {r["method"]: r["options"] for r in before if r["table"] == table_name}
    return {name: {chosen[name]: PEERS[name][chosen[name]]} for name in SHOWN}


def on_movielens_100k() -> list[Result]:
    """Every method on u1 to u5; on u1 the default with five seeds."""
    results = []
    for k in SPLITS:
        name, split = f"u{k}", data.movielens_100k(k)
        methods = {"user + item bias": BIAS, **peers(name), SINGLE: {"": ours(ValidatedDescent)}}
        methods |= {named(n): model(n) for n in SIZES}
        methods[POSTERIOR] = {"": ours(KolmogorovPosterior)}
        results += compare([(name, split)], methods)
        for n in SIZES if k == 1 else ():
            for seed in SEEDS[1:]:
                fit = model(n, seed)[""]
                results.append(measured(name, f"{named(n)}, seed {seed}", "", fit, *split))
    return results


def seeds_text(results: list[Result]) -> str:
    """The five seeds on u1, in words."""
    parts = []
    for n in SIZES:
        errors = [r.error for r in results if r.table == "u1" and r.method.startswith(named(n))]
        parts.append(f"{n} events {np.mean(errors):.4f} ({min(errors):.4f} to {max(errors):.4f})")
    return f"Five seeds on u1, mean and range: {'; '.join(parts)}."


def elsewhere() -> list[Result]:
    """The default beside biases and the validated descent, on tables of other shapes."""
    methods: dict[str, Options] = {
        "bias": BIAS,
        SINGLE: {"": ours(ValidatedDescent)},
        named(16): model(16),
    }
    results = []
    for shape in GENERATED + REAL:
        splits = ((shape.name, shape.split(k)) for k in range(shape.n_tables))
        results += compare(splits, methods)
    results += compare([("latest-small", data.random_split(data.movielens_small()))], methods)
    large = methods | {
        SINGLE: {"": ours(ValidatedDescent, n_events=(8,), indicator_penalty=(0.2,))}
    }
    return results + compare([("ML-1M", data.random_split(data.movielens_1m()))], large)


def row_of(name: str, results: list[Result]) -> dict[str, object]:
    """A line of the second table: means over the tables of this shape."""

    def mean(method: str, what: str = "error") -> float:
        return float(np.mean([getattr(r, what) for r in of(results, table=name, method=method)]))

    ours_, bias = mean(named(16)), mean("bias")
    return {
        "RMSE": name,
        "bias": f"{bias:.4f}",
        "validated descent": f"{mean(SINGLE):.4f}",
        "KolmogorovModel": f"{ours_:.4f}",
        "to biases": f"{ours_ / bias - 1:+.1%}",
        "to the descent": f"{ours_ / mean(SINGLE) - 1:+.1%}",
        "fit, s": mean(named(16), "seconds"),
    }


def main() -> None:
    """Print and publish both tables."""
    warm_up({named(16): model(16), SINGLE: {"": ours(ValidatedDescent)}})
    results = on_movielens_100k()
    save("one_model", as_json(results))
    methods = ["user + item bias", *SHOWN, SINGLE, *(named(n) for n in SIZES), POSTERIOR]
    text = f"{table(rows(results, methods))}\n\n{seeds_text(results)}"
    print(text, flush=True)
    publish("one_model", text)
    results = elsewhere()
    save("one_model_elsewhere", as_json(results))
    names = list(dict.fromkeys(r.table for r in results))
    text = table([row_of(name, results) for name in names])
    print(text)
    publish("one_model_elsewhere", text)


if __name__ == "__main__":
    main()
