"""Orders of rules that need no model: those of mlxtend and arules, correlation, counted gain.

All work on the same candidates, pairs of items that enough users of the training part like both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from mlxtend.frequent_patterns import association_rules, fpgrowth
from numpy.typing import NDArray
from scipy.special import ndtr

from eventspace.rules.law import Law

Floats = NDArray[np.float64]
LIKED_BOTH = 20  # users: the candidates, for everyone
MLXTEND = (
    "confidence", "lift", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty",
    "kulczynski", "representativity",
)  # fmt: skip
COUNTED, COUNTED_LOW = "counted gain", "counted gain, lower end"
CORRELATION = "correlation alone"
AGREEMENT = "counted agreement gain"


class Table:
    """Users x items: which are rated, which are liked, and the values from 0 to 1."""

    def __init__(self, rated: NDArray[np.bool_], stars: Floats, like: float) -> None:
        self.rated, self.value = rated.astype(np.float32), np.where(rated, stars, 0.0)
        self.liked = (rated & (stars >= like)).astype(np.float32)
        self.like = self.liked.T @ self.rated  # of the first item, among those who rated both
        self.both = self.liked.T @ self.liked
        self.users = self.rated.T @ self.rated


class Pairs(NamedTuple):
    """Candidates, ordered pairs of items."""

    if_item: NDArray[np.intp]
    then_item: NDArray[np.intp]

    def of(self, square: NDArray[Any]) -> Floats:
        """An entry for each pair."""
        return square[self].astype(np.float64)


def candidates(train: Table, *, rated: bool = False) -> Pairs:
    """The pairs that enough users like both, or rated both."""
    enough = (train.users if rated else train.both) >= LIKED_BOTH
    np.fill_diagonal(enough, val=False)
    return Pairs(*np.nonzero(enough))


def by_baskets(train: Table, pairs: Pairs) -> dict[str, Floats]:
    """mlxtend's measures and some of arules', of baskets of likes."""
    n = len(train.liked)
    likes = train.liked.sum(axis=0).astype(np.float64)
    a, b, ab = likes[pairs.if_item] / n, likes[pairs.then_item] / n, pairs.of(train.both) / n
    with np.errstate(invalid="ignore"):
        confidence, leverage = ab / a, ab - a * b
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "confidence": confidence,
            "lift": confidence / b,
            "leverage": leverage,
            "conviction": np.where(confidence < 1, (1 - b) / (1 - confidence), np.inf),
            "zhangs_metric": leverage / np.maximum(ab * (1 - a), a * (b - ab)),
            "jaccard": ab / (a + b - ab),
            "certainty": (confidence - b) / (1 - b),
            "kulczynski": (confidence + ab / b) / 2,
            "representativity": np.ones(len(a)),
            "arules, phi": leverage / np.sqrt(a * b * (1 - a) * (1 - b)),
            "arules, cosine": ab / np.sqrt(a * b),
            "arules, added value": confidence - b,
            "arules, odds ratio": ab * (1 - a - b + ab) / np.maximum((a - ab) * (b - ab), 1e-12),
        }


def check_against_mlxtend(train: Table, pairs: Pairs, found: dict[str, Floats]) -> None:
    """The package itself gives the same numbers."""
    baskets = pd.DataFrame(train.liked > 0)
    sets = fpgrowth(baskets, min_support=LIKED_BOTH / len(baskets), use_colnames=True, max_len=2)
    rules = association_rules(sets, metric="confidence", min_threshold=0.0)
    sides = [[next(iter(s)) for s in rules[c]] for c in ("antecedents", "consequents")]
    order = np.lexsort(sides[::-1])
    np.testing.assert_array_equal(np.array(sides)[:, order], np.array(pairs))
    for name in MLXTEND:
        np.testing.assert_allclose(rules[name].to_numpy()[order], found[name], rtol=1e-4, atol=1e-6)


def by_counting(train: Table, pairs: Pairs) -> dict[str, Floats]:
    """Gain as it is counted among those who rated both, and the lower end of its interval."""
    users, like, like_then, both = (
        pairs.of(square) for square in (train.users, train.like, train.like.T, train.both)
    )
    cells = both, like - both, like_then - both, users - like - like_then + both
    law = Law(*(cell + 0.5 for cell in cells))  # Jeffreys' prior
    return {COUNTED: both / np.maximum(like, 1) - like_then / users, COUNTED_LOW: law.gain_low}


def by_values(train: Table, pairs: Pairs) -> dict[str, Floats]:
    """Correlation of the values, shrunk, the lower mean first; and agreement beyond the means."""
    rated, value = train.rated.astype(np.float64), train.value
    n = pairs.of(rated.T @ rated)
    x, y = pairs.of(value.T @ rated) / n, pairs.of(rated.T @ value) / n
    square = (value**2).T @ rated
    variances = pairs.of(square) / n - x**2, pairs.of(square.T) / n - y**2
    covariance = pairs.of(value.T @ value) / n - x * y
    shrunk = n / (n + 20)
    scale = np.sqrt(np.maximum(variances[0] * variances[1], 1e-12))
    correlation = np.clip(shrunk * covariance / scale, -0.95, 0.95)
    mean = value.sum(axis=0) / np.maximum(rated.sum(axis=0), 1)
    first = mean[pairs.if_item] <= mean[pairs.then_item]
    total = variances[0] + variances[1]
    rest = np.sqrt(np.maximum(total - 2 * correlation * scale, 1e-12))
    apart = shrunk * (y - x)
    return {
        CORRELATION: np.where(first, correlation, -1.0),
        AGREEMENT: ndtr(apart / rest) - ndtr(apart / np.sqrt(np.maximum(total, 1e-12))),
    }
