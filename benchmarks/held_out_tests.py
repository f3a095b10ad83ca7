"""Do rules that pass the test of some users hold for others? A third each teach, test and judge."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.held_out_split import SPLITS, Split, miner
from eventspace.rules import mining
from eventspace.rules.significance import p_values, q_values


def tests(name: str) -> list[dict[str, Any]]:
    """What passes the test of a third of the users, in the eyes of another third."""
    splits = [Split.of(name, seed, 2 / 3) for seed in SPLITS[name]]
    rows = []
    for sort, n in (("gain", 100), ("gain", 1_000), ("gain_low", 1_000)):
        found = [significance(split, n, sort) for split in splits]
        row: dict[str, Any] = {"sort": sort, "first": n}
        for key in ("rules", "let through", "judged", "no gain found", "significant losses"):
            row[key] = sum(one[key] for one in found)
        rows.append(row)
    return rows


def significance(split: Split, n_rules: int, sort: str) -> dict[str, Any]:
    """Half of the held-out users test the first rules; the others judge those let through."""
    rules = mining.best(miner(split, sort=sort).blocks(), n_rules, varied=True)
    a, b = split.pairs(rules)
    half = np.random.default_rng(0).random(len(split.test.rated)) < 0.5
    testers, judges = (
        [
            c[some]
            for c in (
                split.test.rated[:, a] * split.test.rated[:, b],
                split.test.liked[:, a] * split.test.rated[:, b],
                split.test.rated[:, a] * split.test.liked[:, b],
                split.test.liked[:, a] * split.test.liked[:, b],
            )
        ]
        for some in (half, ~half)
    )
    counts = [c.sum(axis=0).astype(np.float64) for c in testers]
    through = q_values(p_values(*counts), (counts[1] > 0) & (counts[2] > 0)) < 0.05
    users, like, then, both = (c[:, through].sum(axis=0).astype(np.float64) for c in judges)
    judged = (like >= 5) & (users > like)
    none = both[judged] / like[judged] <= then[judged] / users[judged]
    denied = p_values(users, like, users - then, like - both) < 0.05
    return {
        "rules": len(rules),
        "let through": int(through.sum()),
        "judged": int(judged.sum()),
        "no gain found": int(none.sum()),
        "significant losses": int(denied.sum()),
    }
