"""Whether the default tells the same story twice: ten seeds on u4 of MovieLens 100K.

Each pair of models has its events matched by the assignment with which most bits agree, weighted by
ratings. Given are the bits that agree, the correlation of the masses that users give to matched
events, how many of the first hundred rules of one model are among those of the other, and how many
of the first hundred that it proves the other proves, too.

    python -m benchmarks.repeats
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import data
from benchmarks.timing import publish, save, table
from eventspace import KolmogorovModel, Observations
from eventspace._base.codes import inside

SPLIT, SIZES, SEEDS, FIRST, LIKE = 4, (8, 16), range(10), 100, 4


def agreement(one: Any, other: Any) -> tuple[float, float, float, float]:
    """Of two models: bits, PMFs, the first rules that both have, and the proofs that both have."""
    weights = one.observations_.by_item.sizes.astype(np.float64)
    a, b = one.indicators_.astype(np.float64), other.indicators_.astype(np.float64)
    same = ((a * weights[:, None]).T @ b + ((1 - a) * weights[:, None]).T @ (1 - b)) / weights.sum()
    mine, theirs = linear_sum_assignment(same, maximize=True)
    pairs = zip(one.pmf_.T[mine], other.pmf_.T[theirs], strict=True)
    pmf = np.mean([np.corrcoef(x, y)[0, 1] for x, y in pairs])
    rules = [first(model) for model in (one, other)]
    lower, upper = np.transpose(first(one, proved=True))
    sets = other.fitted_.space.sets
    return (
        float(same[mine, theirs].mean()),
        float(pmf),
        len(set(rules[0]) & set(rules[1])) / len(rules[0]),
        float(inside(sets[lower], sets[upper]).mean()),
    )


@cache
def first(model: Any, **options: Any) -> list[tuple[int, int]]:
    """The first rules, as positions of items."""
    rules, ids = model.rules(top=FIRST, like=LIKE, **options), model.observations_.item_ids
    at = [ids.positions(rules[c].to_numpy()).tolist() for c in ("if_item", "then_item")]
    return list(zip(*at, strict=True))


def main() -> None:
    """Print and publish the table."""
    train, _ = data.movielens_100k(SPLIT)
    seen = Observations.of(tuple(train))
    rows, figures = [], {}
    for n in SIZES:
        models = [KolmogorovModel(n, random_state=seed).fit(seen) for seed in SEEDS]
        found = np.array([agreement(a, b) for a, b in permutations(models, 2)])
        halves = [(m.same_bits_.mean(), m.same_pmf_.mean()) for m in models]
        figures[n] = {"pairs": found.tolist(), "halves": np.array(halves).tolist()}
        bits, pmf, rules, proofs = found.mean(axis=0)
        rows.append(
            {
                "events": n,
                "bits that agree": f"{bits:.1%}",
                "correlation of PMFs": f"{pmf:.3f}",
                "first hundred rules that recur": f"{FIRST * rules:.0f}",
                "first hundred proved that recur": f"{FIRST * proofs:.0f}",
                "least pair": " / ".join(f"{x:.2f}" for x in found.min(axis=0)),
                "diagnostics(): halves of the chains": "{:.1%} / {:.3f}".format(
                    *np.mean(halves, axis=0)
                ),
            }
        )
    print(table(rows))
    save("repeats", figures)
    publish("repeats", table(rows))


if __name__ == "__main__":
    main()
