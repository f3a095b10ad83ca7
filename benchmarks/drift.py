"""Data that move: what following and forgetting are worth, and what they cost.

``python -m benchmarks.drift [generated] [movielens] [cheap] [sets] [picture] [1m]`` measures the
parts that are named, or all but the last; ``python -m benchmarks.drift tables`` only writes tables
and pictures.
"""

import json
import math
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks import timing
from benchmarks.drift_shown import NAMES, tables
from eventspace import KolmogorovModel, Observations
from eventspace.datasets import movielens_1m, movielens_100k, movielens_latest_small
from eventspace.datasets.generators import drifting
from eventspace.fitted import compressed

DAY = 86_400.0
N_TIMES, N_EARLY = 16, 6
DRIFT = {"n_users": 300, "n_items": 200, "n_events": 8, "per_item": 10, "noise": 0.2}
DRIFT |= {"step": 0.15, "moving": 0.03}
HALF_LIVES = {"generated": (2, 4, 8, 16), "MovieLens 100K": (30, 90, 365),
              "MovieLens latest-small": (365, 1461, 3652)}  # fmt: skip
BLOCKS = 10


def learner() -> KolmogorovModel:
    return KolmogorovModel(random_state=0, meets=False)


def seen(rows: pd.DataFrame, scale: Any, half_life: float | None) -> Observations:
    return Observations.of(rows, scale=scale, duplicates="last", half_life=half_life)


def rmse_of(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """The squared errors of predictions; the population stands in for who and what is new."""
    pairs = rows["user"].to_numpy(), rows["item"].to_numpy()
    predicted = model.predict(pairs, unit="original", unknown="population")
    return np.asarray(np.square(predicted - rows["value"].to_numpy()))


def chosen(
    blocks: list[pd.DataFrame], n_first: int, scale: Any, candidates: Any
) -> dict[Any, float]:
    """The RMSE of the next block, by half-life, for a model that follows."""
    found = {}
    for half_life in (None, *candidates):
        model = learner().fit(seen(pd.concat(blocks[:n_first]), scale, half_life)).fitted_
        squares = []
        for block in blocks[n_first:]:
            squares.append(rmse_of(model, block))
            model = model.update(block)
        found[half_life] = math.sqrt(float(np.concatenate(squares).mean()))
    return found


def best(found: dict[Any, float]) -> Any:
    """The half-life that was best; some half-life in any case."""
    return min((h for h in found if h is not None), key=lambda h: found[h])


def contenders(
    blocks: list[pd.DataFrame], n_first: int, scale: Any, half_life: float
) -> Iterator[tuple[int, dict[str, Any], dict[str, float]]]:
    """Before each block after the first: the models, and the seconds that they took."""
    early = pd.concat(blocks[:n_first])
    fixed, forgetful = (learner().fit(seen(early, scale, h)).fitted_ for h in (None, half_life))
    models: dict[str, Any] = {"fixed": fixed, "follow": fixed, "forget": forgetful}
    models |= {"refit": fixed, "refit, forget": forgetful}
    seconds = dict.fromkeys(models, 0.0)
    for k in range(n_first, len(blocks) + 1):
        yield k, models, seconds
        if k == len(blocks):
            return
        known = pd.concat(blocks[: k + 1])
        for name, model in models.items():
            start = time.perf_counter()
            if name in ("follow", "forget"):
                models[name] = model.update(blocks[k])
            elif name != "fixed":
                life = half_life if name == "refit, forget" else None
                models[name] = learner().fit(seen(known, scale, life)).fitted_
            seconds[name] = time.perf_counter() - start


def generated(n_seeds: int = 3) -> dict[str, Any]:
    """Tracking errors: the RMS distance from the true chances of the time, over all pairs."""
    errors: dict[str, list[list[float]]] = {name: [] for name in NAMES}
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    lives, early = [], []
    for seed in range(n_seeds):
        times = drifting(N_TIMES, random_state=seed, **DRIFT)
        blocks = [data.table.assign(timestamp=float(k)) for k, data in enumerate(times)]
        found = chosen(blocks[:N_EARLY], N_EARLY // 2, (0, 1), HALF_LIVES["generated"])
        lives.append(best(found))
        early.append({str(h): e for h, e in found.items()})
        rows: dict[str, list[float]] = {name: [] for name in NAMES}
        for k, models, spent in contenders(blocks, N_EARLY, (0, 1), lives[-1]):
            truth = times[k - 1].truth
            pmf, bits = truth["pmf"], truth["indicators"]
            chance = pmf.to_numpy() @ bits.to_numpy().T
            u, i = (np.ravel(x) for x in np.indices(chance.shape))
            pairs = pmf.index.to_numpy()[u], bits.index.to_numpy()[i]
            for name, model in models.items():
                p = model.predict(pairs, unknown="population")
                rows[name].append(float(np.sqrt(np.mean(np.square(p - chance.ravel())))))
                if k > N_EARLY:
                    seconds[name].append(spent[name])
        for name, row in rows.items():
            errors[name].append(row)
        print(
            "generated", seed, lives[-1], {n: round(r[-1], 4) for n, r in rows.items()}, flush=True
        )
    return {"settings": {**DRIFT, "n_times": N_TIMES, "n_early": N_EARLY, "seeds": n_seeds},
            "half_life": lives, "early": early, "errors": errors,
            "seconds": {n: timing.median(s) if s else 0.0 for n, s in seconds.items()}}  # fmt: skip


def timed_table(name: str) -> tuple[pd.DataFrame, tuple[float, float]]:
    load = {"MovieLens 100K": movielens_100k, "MovieLens latest-small": movielens_latest_small}
    data = load[name](times=True)
    return data.table.sort_values("timestamp", kind="stable"), data.scale


def movielens(name: str) -> dict[str, Any]:
    """Fit on the first half, then predict the next block and take it in."""
    table, scale = timed_table(name)
    half = len(table) // 2
    early, late = table.iloc[:half], table.iloc[half:]
    parts = [early.iloc[rows] for rows in np.array_split(np.arange(half), 10)]
    found = chosen(parts, 5, scale, [days * DAY for days in HALF_LIVES[name]])
    life = best(found)
    print(name, "early", {h and h / DAY: round(e, 4) for h, e in found.items()}, flush=True)
    blocks = [early, *(late.iloc[rows] for rows in np.array_split(np.arange(len(late)), BLOCKS))]
    squares: dict[str, list[np.ndarray]] = {n: [] for n in NAMES}
    seconds: dict[str, list[float]] = {n: [] for n in NAMES}
    known = []
    for k, models, spent in contenders(blocks, 1, scale, life):
        if k > 1:
            for n in NAMES:
                seconds[n].append(spent[n])
        if k == len(blocks):
            break
        before = set(pd.concat(blocks[:k])["user"])
        known.append(blocks[k]["user"].isin(before).to_numpy())
        for n, model in models.items():
            squares[n].append(rmse_of(model, blocks[k]))
    judged = np.concatenate(known)
    all_of = {n: np.concatenate(s) for n, s in squares.items()}
    result = {
        "half_life_days": life / DAY,
        "early": {("none" if h is None else str(h / DAY)): e for h, e in found.items()},
        "known_share": float(judged.mean()),
        "rmse": {n: float(np.sqrt(s.mean())) for n, s in all_of.items()},
        "rmse_known": {n: float(np.sqrt(s[judged].mean())) for n, s in all_of.items()},
        "seconds": {n: timing.median(s) for n, s in seconds.items()},
    }
    print(name, result["rmse"], result["rmse_known"], flush=True)
    return result


def sets() -> list[dict[str, Any]]:
    """Should sets of the fit follow? Never, with the log odds of staying that we take, freely."""
    rows = []
    data = movielens_100k()
    x = np.random.default_rng(0).random(len(data.table))
    late = data.table[(x >= 0.1) & (x < 0.235)]
    tests = [
        (
            "MovieLens 100K, at random",
            data.table[x >= 0.235],
            [late, data.table[x < 0.1]],
            data.scale,
        )
    ]
    for name in ("MovieLens 100K", "MovieLens latest-small"):
        table, scale = timed_table(name)
        half = len(table) // 2
        parts = np.array_split(np.arange(half, len(table)), BLOCKS)
        blocks = [table.iloc[part] for part in parts]
        tests.append((f"{name}, in time", table.iloc[:half], blocks, scale))
    for name, early, blocks, scale in tests:
        fitted = learner().fit(seen(early, scale, None)).fitted_
        row: dict[str, Any] = {"table": name}
        judged = blocks[1:] if "random" in name else blocks
        row["fixed"] = root(np.concatenate([rmse_of(fitted, block) for block in judged]))
        for stay in (math.inf, compressed.STAY, 0.0):
            with mock.patch.object(compressed, "STAY", min(stay, 1e6)):
                model, squares = fitted, []
                for k, block in enumerate(blocks):
                    if len(judged) == len(blocks) or k:
                        squares.append(rmse_of(model, block))
                    model = model.update(block)
            row[str(stay)] = root(np.concatenate(squares))
        rows.append(row)
        print(row, flush=True)
    return rows


def root(squares: np.ndarray) -> float:
    return math.sqrt(float(squares.mean()))


def cheap(name: str, n_seeds: int) -> dict[str, Any]:
    """One per cent of the ratings comes late; a tenth is held out. Update, or fit again?

    The default model is timed, with who meets what: both in turn, and the median of three.
    """
    data = {"MovieLens 100K": movielens_100k, "MovieLens 1M": movielens_1m}[name]()
    rows = []
    for seed in range(n_seeds):
        x = np.random.default_rng(seed).random(len(data.table))
        test, new = data.table[x < 0.1], data.table[(x >= 0.1) & (x < 0.109)]
        old = data.table[x >= 0.109]
        known, both = (
            Observations.of(some, scale=data.scale) for some in (old, pd.concat([old, new]))
        )
        model = KolmogorovModel(random_state=seed).fit(known).fitted_
        update = partial(model.update, new)
        refit = partial(KolmogorovModel(random_state=seed).fit, both)
        seconds = timing.interleaved({"update": update, "refit": refit}, 3)
        models = model, update(), refit().fitted_
        errors = [math.sqrt(float(rmse_of(m, test).mean())) for m in models]
        row = dict(zip(("before", "update", "refit"), errors, strict=True))
        rows.append(row | {f"{way}_s": timing.median(seconds[way]) for way in seconds})
        print(name, rows[-1], flush=True)
    return {"seeds": n_seeds, "rows": rows}


def picture() -> dict[str, Any]:
    """One user of latest-small over the years: the PMF after each quarter with ratings."""
    table, scale = timed_table("MovieLens latest-small")
    when = pd.to_datetime(table["timestamp"], unit="s")
    quarter = when.dt.to_period("Q")
    of_user = quarter.groupby(table["user"]).nunique()
    user = of_user.index.to_numpy()[of_user.to_numpy().argmax()].item()
    own = quarter[table["user"] == user]
    start = own.min()
    films = movielens_latest_small().items
    assert films is not None
    title = films["title"]
    shared = title.duplicated(keep=False)
    name = title.where(~shared, title + " #" + title.index.astype(str))
    table["item"] = table["item"].map(name)
    model = learner().fit(seen(table[quarter <= start + 1], scale, 730 * DAY)).fitted_
    tags = dict(zip(name, films["genres"], strict=True))
    labels = list(model.events(tags)["label"])
    dates, pmfs, counts = [], [], []
    for now in sorted(quarter[quarter > start + 1].unique()):
        block = table[quarter == now]
        model = model.update(block)
        n = int((block["user"] == user).sum())
        if n:
            at = int(np.flatnonzero(model.user_ids == user)[0])
            dates.append(str(now.end_time.date()))
            pmfs.append(model.pmf[at].tolist())
            counts.append(n)
    return {"user": user, "dates": dates, "pmf": pmfs, "ratings": counts, "labels": labels}


def kept(**new: Any) -> dict[str, Any]:
    """All figures so far, with new ones; parts may be measured side by side."""
    path = timing.RESULTS / "drift.json"
    figures = json.loads(path.read_text())["figures"] if path.exists() else {}
    for name, part in new.items():
        figures[name] = {**figures.get(name, {}), **part} if isinstance(part, dict) else part
    if new:
        timing.save("drift", figures)
    return figures


def main(parts: list[str]) -> None:
    parts = parts or ["generated", "movielens", "cheap", "sets", "picture"]
    if "generated" in parts:
        kept(generated=generated())
    if "movielens" in parts:
        for name in ("MovieLens 100K", "MovieLens latest-small"):
            kept(movielens={name: movielens(name)})
    if "cheap" in parts:
        kept(cheap={"MovieLens 100K": cheap("MovieLens 100K", 2)})
    if "1m" in parts:
        kept(cheap={"MovieLens 1M": cheap("MovieLens 1M", 2)})
    if "sets" in parts:
        kept(sets=sets())
    if "picture" in parts:
        kept(picture=picture())
    tables(kept())


if __name__ == "__main__":
    main(sys.argv[1:])
