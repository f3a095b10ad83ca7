"""What rules are worth to people who were never asked: fitted on three quarters of the users.

Every rule is checked on all ratings of the other quarter, on MovieLens 100K, latest-small and 1M.
A like is four stars or more. Candidates are the pairs that 20 users of the training part like both;
of the two directions of a pair every order keeps its better one. For the test of significance the
users are cut into thirds: one teaches, one tests, one judges.

    python -m benchmarks.held_out_users
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.held_out_split import BOOTSTRAP, SPLITS, Split, miner
from benchmarks.held_out_tests import tests
from benchmarks.rule_orders import (
    COUNTED,
    COUNTED_LOW,
    LIKED_BOTH,
    Floats,
    Pairs,
    Table,
    by_baskets,
    by_counting,
    by_values,
    candidates,
    check_against_mlxtend,
)
from benchmarks.timing import save
from eventspace.rules import mining

LENGTHS = (20, 100, 1_000, 10_000)
OURS, BY_AGREEMENT = "eventspace, default", "eventspace, by agreement_gain"
SMOOTHINGS = (2, 5, 10, 20, 30, 50, 80, 120, 200)
FEW = (5, 20)  # raters of both: few
CONFIDENCES = np.linspace(0.3, 1.0, 8)  # edges of the bins of the picture


class Everything(mining.Miner):
    """All pairs, whatever they gain."""

    def told(self, rules: mining.Rules) -> NDArray[np.bool_]:
        return np.ones(len(rules), dtype=np.bool_)


def lists(split: Split) -> dict[str, Pairs]:
    """The first rules by every order, of each pair the better direction."""
    pairs = candidates(split.train)
    orders = by_baskets(split.train, pairs)
    if len(split.train.liked) < 1_000:
        check_against_mlxtend(split.train, pairs, orders)
    orders |= by_counting(split.train, pairs) | by_values(split.train, pairs)
    found = {name: _first(pairs, value) for name, value in orders.items()}
    rules = _best(split, sort="gain")
    found |= {f"{OURS}, {n}": split.pairs(mining.best([rules], n, varied=True)) for n in LENGTHS}
    found[OURS] = split.pairs(rules)
    found["eventspace, by gain_low"] = split.pairs(_best(split, sort="gain_low"))
    return found


def _best(split: Split, **options: Any) -> mining.Rules:
    """The first rules by some order."""
    most = LENGTHS[-1] * (2 if options["sort"] == "gain" else 1)  # a varied list reaches deeper
    return mining.best(miner(split, **options).blocks(), most, varied=False)


def agreement_lists(split: Split) -> dict[str, Pairs]:
    """The first rules by agreement, among the pairs that enough users rated both."""
    pairs = candidates(split.train, rated=True)
    orders = by_values(split.train, pairs)
    liked = pairs.of(split.train.both) >= LIKED_BOTH  # mlxtend lists no others
    baskets = by_baskets(split.train, pairs)
    baskets[COUNTED_LOW] = by_counting(split.train, pairs)[COUNTED_LOW]
    orders |= {
        name: np.where(liked, baskets[name], -np.inf)
        for name in ("confidence", "lift", COUNTED_LOW)
    }
    found = {name: _first(pairs, value) for name, value in orders.items()}
    rules = _best(split, sort="agreement_gain", min_evidence=LIKED_BOTH)
    return {BY_AGREEMENT: split.pairs(rules), **found}


def _first(pairs: Pairs, value: Floats) -> Pairs:
    order = np.lexsort((pairs.then_item, pairs.if_item, -np.nan_to_num(value, nan=-np.inf)))
    a, b = pairs.if_item[order], pairs.then_item[order]
    key = np.minimum(a, b) * (max(a.max(), b.max()) + 1) + np.maximum(a, b)
    kept = np.sort(np.unique(key, return_index=True)[1])[: LENGTHS[-1]]
    return Pairs(a[kept], b[kept])


def gains(test: Table, rules: Pairs) -> Floats:
    """Of each held-out user: what the rules gain, and in how many cases.

    A case is a rule and a user who rated both and likes the first. The gain is how much oftener
    the second is liked there than by all who rated both.
    """
    base = rules.of(test.like.T) / np.maximum(rules.of(test.users), 1)
    found = np.zeros((len(test.rated), 2))
    for block in np.array_split(np.arange(len(base)), max(1, len(base) // 500)):
        a, b = rules.if_item[block], rules.then_item[block]
        cases = test.liked[:, a] * test.rated[:, b]
        found[:, 0] += (cases * (test.liked[:, b] - base[block])).sum(axis=1)
        found[:, 1] += cases.sum(axis=1)
    return found


def agreements(test: Table, rules: Pairs) -> Floats:
    """Of each held-out user: agreement beyond what the items' values say apart, and the cases."""
    levels = np.unique(test.value[test.rated > 0])
    share = [((test.value == level) & (test.rated > 0)).astype(np.float32) for level in levels]
    users = np.maximum(rules.of(test.users), 1)
    mine = [rules.of(one.T @ test.rated) / users for one in share]
    theirs = [rules.of(test.rated.T @ one) / users for one in share]
    below = np.cumsum(mine, axis=0)
    apart = sum(
        q * (cumulated - p / 2) for p, q, cumulated in zip(mine, theirs, below, strict=True)
    )
    found = np.zeros((len(test.rated), 2))
    for block in np.array_split(np.arange(len(users)), max(1, len(users) // 500)):
        a, b = rules.if_item[block], rules.then_item[block]
        cases = test.rated[:, a] * test.rated[:, b]
        agrees = (test.value[:, a] < test.value[:, b]) + 0.5 * (
            test.value[:, a] == test.value[:, b]
        )
        found[:, 0] += (cases * (agrees - apart[block])).sum(axis=1)
        found[:, 1] += cases.sum(axis=1)
    return found


def of_lists(
    split: Split,
    found: dict[str, Pairs],
    measure: Callable[[Table, Pairs], Floats],
    mine: str,
    often: Floats,
) -> tuple[dict[int, dict[str, dict[str, Any]]], dict[int, dict[str, Floats]]]:
    """Points that every list gains; and for each draw of users, what ours gains more."""
    rows: dict[int, dict[str, dict[str, Any]]] = {}
    ahead: dict[int, dict[str, Floats]] = {}
    drawn_users = often[:, split.judges]
    for n in LENGTHS:
        drawn, rows[n] = {}, {}
        for name, rules in found.items():
            if f"{OURS}, " in name:
                continue
            own = found.get(f"{name}, {n}", rules)
            first = Pairs(own.if_item[:n], own.then_item[:n])
            sums = measure(split.test, first)
            drawn[name] = (drawn_users @ sums[:, 0]) / np.maximum(drawn_users @ sums[:, 1], 1)
            rows[n][name] = {
                "points": 100 * float(sums[:, 0].sum() / max(sums[:, 1].sum(), 1)),
                "cases": int(sums[:, 1].sum()),
                "items": len(np.unique(np.concatenate(first))),
                "rules": len(first.if_item),
            }
        ahead[n] = {name: 100 * (drawn[mine] - other) for name, other in drawn.items()}
    return rows, ahead


def intervals(ahead: list[dict[int, dict[str, Floats]]]) -> dict[int, dict[str, list[float]]]:
    """95 % of the draws, each the mean over the splits."""
    return {
        n: {
            name: np.quantile(
                np.mean([one[n][name] for one in ahead], axis=0), (0.025, 0.975)
            ).tolist()
            for name in ahead[0][n]
        }
        for n in LENGTHS
    }


def estimates(split: Split) -> dict[str, Any]:
    """Log loss and calibration error of P[like then | like if], for all pairs and those of few."""
    train, test = split.train, split.test
    one = miner(split, min_evidence=0, fold=False)
    known = np.isin(np.arange(one.next_user.likes.n_items), split.known)
    every = Everything(**{**{f.name: getattr(one, f.name) for f in fields(one)}, "items": known})
    confidence = np.full(train.users.shape, np.nan, dtype=np.float32)
    for rules in every.blocks():
        confidence[split.pairs(rules)] = mining.law_of(rules).confidence
    tried = (train.users >= FEW[0]) & (test.like > 0)
    np.fill_diagonal(tried, val=False)
    groups = {"all": tried, "few": tried & (train.users <= FEW[1])}
    base = (train.liked.sum(axis=0) + 2 * train.liked.sum() / train.rated.sum()) / (
        train.rated.sum(axis=0) + 2
    )
    rows: dict[str, Any] = {}
    for group, pairs in groups.items():
        cases, liked = test.like[pairs].astype(float), test.both[pairs].astype(float)
        like, both = train.like[pairs], train.both[pairs]
        prior = np.broadcast_to(base, train.users.shape)[pairs]
        smoothed = {k: (both + k * prior) / (like + k) for k in SMOOTHINGS}
        best = min(smoothed, key=lambda k: _log_loss(smoothed[k], liked, cases))
        calibrated = min(_calibration(one, liked, cases) for one in smoothed.values())
        rows[group] = {
            "pairs": int(pairs.sum()),
            "cases": int(cases.sum()),
            "base rate": _log_loss(prior, liked, cases),
            "counts, best smoothing": _log_loss(smoothed[best], liked, cases),
            "smoothing": best,
            "eventspace": _log_loss(confidence[pairs], liked, cases),
            "calibration: counts, best smoothing": _calibration(smoothed[best], liked, cases),
            "calibration: counts, smoothed for it": calibrated,
            "calibration: eventspace": _calibration(confidence[pairs], liked, cases),
        }
    return rows


def _log_loss(p: Any, liked: Floats, cases: Floats) -> float:
    p = np.clip(p.astype(np.float64), 1e-4, 1 - 1e-4)
    return float(-(liked @ np.log(p) + (cases - liked) @ np.log1p(-p)) / cases.sum())


def _calibration(p: Any, liked: Floats, cases: Floats) -> float:
    """The mean distance between promised and found, over twenty bins, by cases."""
    at = np.minimum((p * 20).astype(int), 19)
    promised, found, n = (np.bincount(at, w, 20) for w in (p * cases, liked, cases))
    return float(np.abs(promised - found).sum() / n.sum())


def calibration(split: Split) -> list[dict[str, float]]:
    """Of the rules in the default list, by promised confidence: what was found."""
    rules = mining.best(miner(split).blocks(), LENGTHS[-1], varied=True)
    pairs = split.pairs(rules)
    promised = mining.law_of(rules).confidence
    cases, liked = pairs.of(split.test.like), pairs.of(split.test.both)
    rows = []
    for low, high in pairwise(CONFIDENCES.tolist()):
        mine = (promised >= low) & (promised < high) & (cases > 0)
        if mine.any():
            rows.append(
                {
                    "low": float(low),
                    "rules": int(mine.sum()),
                    "cases": int(cases[mine].sum()),
                    "promised": float(np.average(promised[mine], weights=cases[mine])),
                    "found": float(liked[mine].sum() / cases[mine].sum()),
                }
            )
    return rows


def main() -> None:
    """Measure, keep the figures."""
    figures: dict[str, Any] = {}
    for name, seeds in SPLITS.items():
        often = np.random.default_rng(0).poisson(1.0, (BOOTSTRAP, 10_000)).astype(np.float64)
        splits: list[Any] = []
        ahead: dict[str, list[Any]] = {"gain": [], "agreement": []}
        for seed in seeds:
            split = Split.of(name, seed)
            gain, draws = of_lists(split, lists(split), gains, OURS, often)
            ahead["gain"].append(draws)
            agreement, draws = of_lists(
                split, agreement_lists(split), agreements, BY_AGREEMENT, often
            )
            ahead["agreement"].append(draws)
            one = {
                "fit": split.seconds,
                "gain": gain,
                "agreement": agreement,
                "estimates": estimates(split),
                "calibration": calibration(split),
            }
            splits.append(one)
            print(name, seed, _short(one), flush=True)
        figures[name] = {
            "splits": splits,
            "ahead": {what: intervals(draws) for what, draws in ahead.items()},
            "significance": tests(name),
        }
        print(name, figures[name]["significance"], flush=True)
    save("held_out_users", figures)


def _short(one: dict[str, Any]) -> str:
    rows = [
        f"{n}: "
        + ", ".join(
            f"{k} {row[k]['points']:.1f}"
            for k in (OURS, "eventspace, by gain_low", COUNTED_LOW, COUNTED, "lift")
        )
        for n, row in one["gain"].items()
    ]
    rows += [
        f"agreement {n}: " + ", ".join(f"{k} {v['points']:.2f}" for k, v in row.items())
        for n, row in one["agreement"].items()
    ]
    return "\n  ".join(["", *rows, str(one["estimates"])])


if __name__ == "__main__":
    main()
