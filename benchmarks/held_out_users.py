"""What rules are worth to people who were never asked: fitted on three quarters of the users.

Every rule is checked on all ratings of the other quarter, on MovieLens 100K, latest-small and 1M,
three splits each. A like is four stars or more. Candidates are the pairs that 20 users of the
training part like both; of the two directions of a pair every order keeps its better one.

    python -m benchmarks.held_out_users
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
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
from eventspace import KolmogorovModel, Observations
from eventspace.rules import mining
from eventspace.rules.significance import p_values, q_values
from eventspace.rules.telling import RuleOptions

TABLES: dict[str, tuple[Callable[[], data.Ratings], tuple[float, float]]] = {
    "ML-100K": (lambda: both_parts(), (1, 5)),
    "latest-small": (data.movielens_small, (0.5, 5)),
    "ML-1M": (data.movielens_1m, (1, 5)),
}
SPLITS = (11, 12, 13)  # seeds; 1, 2 and 3 were for choosing
LIKE = 4.0
LENGTHS = (20, 100, 1_000, 10_000)
OURS, BY_AGREEMENT = "eventspace, default", "eventspace, by agreement_gain"
BOOTSTRAP = 1_000
SMOOTHINGS = (2, 5, 10, 20, 30, 50, 80, 120, 200)
FEW = (5, 20)  # raters of both: few
CONFIDENCES = np.linspace(0.3, 1.0, 8)  # edges of the bins of the picture


def both_parts() -> data.Ratings:
    """All of MovieLens 100K."""
    one, other = data.movielens_100k(1)
    return data.Ratings(*(np.concatenate(two) for two in zip(one, other, strict=True)))


@dataclass
class Split:
    """A model of three quarters of the users, and two tables: theirs, and the others'."""

    model: KolmogorovModel
    known: NDArray[np.intp]  # the items of the tables: those with some ratings
    train: Table
    test: Table
    seconds: float

    @classmethod
    def of(cls, name: str, seed: int) -> Split:
        ratings, scale = TABLES[name][0](), TABLES[name][1]
        users, user = np.unique(ratings.users, return_inverse=True)
        others = np.random.default_rng(seed).permutation(len(users))[: len(users) // 4]
        held = np.isin(user, others)
        seen = Observations.of(
            (user[~held], ratings.items[~held], ratings.values[~held]), scale=scale
        )
        start = time.perf_counter()
        model = KolmogorovModel(random_state=0).fit(seen)
        seconds = time.perf_counter() - start
        known = np.flatnonzero(seen.by_item.sizes >= FEW[0])
        place = np.full(seen.n_items + 1, -1)  # the last: unknown
        place[known] = np.arange(len(known))
        item = place[seen.item_ids.positions(ratings.items)]
        tables = []
        for part in (~held & (item >= 0), held & (item >= 0)):
            rows = np.unique(user[part], return_inverse=True)[1]
            rated = np.zeros((rows.max() + 1, len(known)), dtype=bool)
            stars = np.zeros(rated.shape)
            rated[rows, item[part]] = True
            stars[rows, item[part]] = (ratings.values[part] - scale[0]) / (scale[1] - scale[0])
            tables.append(Table(rated, stars, (LIKE - scale[0]) / (scale[1] - scale[0])))
        train, test = tables
        return cls(model, known, train, test, seconds)

    def pairs(self, rules: mining.Rules) -> Pairs:
        """Rules by the positions in the tables."""
        sides = (np.searchsorted(self.known, rules[side]) for side in ("if_item", "then_item"))
        return Pairs(*sides)


class Everything(mining.Miner):
    """All pairs, whatever they gain."""

    def told(self, rules: mining.Rules) -> NDArray[np.bool_]:
        return np.ones(len(rules), dtype=np.bool_)


def miner(split: Split, **options: Any) -> mining.Miner:
    return split.model.fitted_.miner(RuleOptions(like=LIKE, **options))


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
    orders |= {name: np.where(liked, baskets[name], -np.inf) for name in ("confidence", "lift")}
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
    test: Table, found: dict[str, Pairs], measure: Callable[[Table, Pairs], Floats], mine: str
) -> dict[int, dict[str, dict[str, Any]]]:
    """Points that every list gains, and the interval of what ours gains more: users are drawn."""
    rng = np.random.default_rng(0)
    often = rng.multinomial(len(test.rated), np.full(len(test.rated), 1 / len(test.rated)), 1_000)
    result: dict[int, dict[str, dict[str, Any]]] = {}
    for n in LENGTHS:
        drawn, rows = {}, {}
        for name, rules in found.items():
            if f"{OURS}, " in name:
                continue
            own = found.get(f"{name}, {n}", rules)
            first = Pairs(own.if_item[:n], own.then_item[:n])
            sums = measure(test, first)
            drawn[name] = (often @ sums[:, 0]) / np.maximum(often @ sums[:, 1], 1)
            rows[name] = {
                "points": 100 * float(sums[:, 0].sum() / max(sums[:, 1].sum(), 1)),
                "cases": int(sums[:, 1].sum()),
                "items": len(np.unique(np.concatenate(first))),
                "rules": len(first.if_item),
            }
        for name, row in rows.items():
            row["ours is ahead by"] = (100 * (drawn[mine] - drawn[name])).tolist()
        result[n] = rows
    return result


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
        calibrated = min(smoothed, key=lambda k: _calibration(smoothed[k], liked, cases))
        rows[group] = {
            "pairs": int(pairs.sum()),
            "cases": int(cases.sum()),
            "base rate": _log_loss(prior, liked, cases),
            "counts, best smoothing": _log_loss(smoothed[best], liked, cases),
            "smoothing": best,
            "eventspace": _log_loss(confidence[pairs], liked, cases),
            "calibration: counts, best smoothing": _calibration(smoothed[calibrated], liked, cases),
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


def significance(split: Split, n_rules: int) -> dict[str, int]:
    """Half of the held-out users test the first rules; the others judge those let through."""
    rules = mining.best(miner(split).blocks(), n_rules, varied=True)
    pairs = split.pairs(rules)
    half = np.random.default_rng(0).random(len(split.test.rated)) < 0.5
    counts = []
    for some in (half, ~half):
        rated, liked = split.test.rated[some], split.test.liked[some]
        a, b = pairs
        both = rated[:, a] * rated[:, b]
        counts.append(
            [
                c.sum(axis=0).astype(float)
                for c in (both, liked[:, a] * both, liked[:, b] * both, liked[:, a] * liked[:, b])
            ]
        )
    p = p_values(*counts[0])
    through = q_values(p, (counts[0][1] > 0) & (counts[0][2] > 0)) < 0.05
    users, like, then, both = (count[through] for count in counts[1])
    judged = (like >= 5) & (users > like)
    gain = both[judged] / like[judged] - then[judged] / users[judged]
    denied = p_values(
        users[judged], like[judged], users[judged] - then[judged], (like - both)[judged]
    )
    return {
        "rules": len(p),
        "let through": int(through.sum()),
        "judged": int(judged.sum()),
        "no gain found": int((gain <= 0).sum()),
        "loss that is significant": int((denied < 0.05).sum()),
    }


def main() -> None:
    """Measure, keep the figures."""
    figures: dict[str, Any] = {}
    for name in TABLES:
        for seed in SPLITS:
            split = Split.of(name, seed)
            found = lists(split)
            figures[f"{name}, {seed}"] = {
                "fit": split.seconds,
                "slope": miner(split).next_user.slope,
                "gain": of_lists(split.test, found, gains, OURS),
                "agreement": of_lists(split.test, agreement_lists(split), agreements, BY_AGREEMENT),
                "estimates": estimates(split),
                "calibration": calibration(split),
                "significance": [significance(split, n) for n in (100, 1_000)],
            }
            print(name, seed, _short(figures[f"{name}, {seed}"]), flush=True)
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
    return "\n  ".join(["", *rows, str(one["estimates"]), str(one["significance"])])


if __name__ == "__main__":
    main()
