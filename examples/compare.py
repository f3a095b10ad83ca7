"""A fair comparison: the same entries hidden from all, and every choice made on the others.

A tool is a function of a table to learn from and of pairs to predict; it gives their chances. Rules
are learnt from half of the users, and tried on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.impute import KNNImputer

from eventspace.baselines import BiasModel
from eventspace.metrics import rmse

Floats = NDArray[np.float64]
Tool = Callable[[pd.DataFrame, pd.DataFrame], Floats]
Measure = Callable[[Floats, Floats], float]
Spread = dict[str, list[float]]  # the values of a measure, one a seed

COLUMNS = ["user", "item", "value"]
INNER = 0.2  # of what may be learnt from, to choose on
RANKS, SHRINKING, NEIGHBOURS, DAMPING = (1, 2, 3, 5, 8), (0.5, 1.0, 2.0), (2, 4, 8, 16), (1.0, 5.0)


def hidden(table: pd.DataFrame, part: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What may be learnt from, and the part that is hidden; nobody there is wholly unknown."""
    test = table.sample(frac=part, random_state=seed)
    train = table.drop(test.index)
    known = test["user"].isin(train["user"]) & test["item"].isin(train["item"])
    return train, test[known]


def wide_table(table: pd.DataFrame) -> pd.DataFrame:
    """Users x items, with holes."""
    return table.pivot_table(index="user", columns="item", values="value")


def compare(
    tools: Mapping[str, Tool],
    measures: Mapping[str, Measure],
    table: pd.DataFrame,
    part: float,
    seeds: Sequence[int],
) -> dict[str, Spread]:
    """Every measure of every tool on the hidden part: one value per seed."""
    found: dict[str, Spread] = {tool: {name: [] for name in measures} for tool in tools}
    for seed in seeds:
        train, test = hidden(table, part, seed)
        truth = test["value"].to_numpy(dtype=np.float64)
        for tool, predict in tools.items():
            chance = np.clip(predict(train, test), 0.0, 1.0)
            for name, measure in measures.items():
                found[tool][name].append(float(measure(truth, chance)))
    return found


def best_of(candidates: Iterable[Tool], error: Measure = rmse) -> Tool:
    """The candidate with the least error on a fifth of what may be learnt from, fitted to all."""
    options = list(candidates)

    def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
        rest, held = hidden(train, INNER, 0)
        truth = held["value"].to_numpy(dtype=np.float64)
        errors = [error(truth, np.clip(option(rest, held), 0.0, 1.0)) for option in options]
        return options[int(np.argmin(errors))](train, pairs)

    return predict


def estimator(model: Any) -> Tool:
    """A model of this library as a tool."""

    def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
        fitted = clone(model).fit(train[COLUMNS])
        return np.asarray(fitted.predict(pairs[["user", "item"]]))

    return predict


def biases() -> Tool:
    """A mean and the offsets of the user and the item."""
    return best_of(estimator(BiasModel(damping)) for damping in DAMPING)


def neighbours() -> Tool:
    """The mean of the nearest users, or of the nearest items, by scikit-learn's KNNImputer."""
    return best_of(_neighbours(n, items) for n in NEIGHBOURS for items in (False, True))


def factors(error: Measure = rmse) -> Tool:
    """Matrix factorisation: principal components of the table, its holes filled in turn."""
    return best_of((_factors(r, s) for r in RANKS for s in SHRINKING), error)


def _neighbours(n: int, by_item: bool) -> Tool:
    def fill(wide: Floats) -> Floats:
        imputer = KNNImputer(n_neighbors=n, weights="distance", keep_empty_features=True)
        full = imputer.fit_transform(wide.T if by_item else wide)
        return np.asarray(full.T if by_item else full)

    return _filled(fill)


def _factors(rank: int, shrinking: float) -> Tool:
    """Singular values, less ``shrinking``, of what the means of rows and columns leave over."""

    def fill(wide: Floats) -> Floats:
        seen = ~np.isnan(wide)
        mean = wide[seen].mean()
        offset = _damped(wide - mean, seen, 0)
        offset = offset + _damped(wide - mean - offset, seen, 1)
        rest = np.where(seen, wide - mean - offset, 0.0)
        guess = np.zeros(wide.shape)
        for _ in range(60):
            guess = _shrunk(np.where(seen, rest, guess), rank, shrinking)
        return np.asarray(mean + offset + guess)

    return _filled(fill)


def _shrunk(x: Floats, rank: int, shrinking: float) -> Floats:
    """The first singular values of a table, each made smaller, with their vectors."""
    if x.shape[0] > x.shape[1]:
        return _shrunk(x.T, rank, shrinking).T
    squares, vectors = np.linalg.eigh(x @ x.T)
    s, u = np.sqrt(np.maximum(squares[-rank:], 1e-12)), vectors[:, -rank:]
    return np.asarray((u * np.maximum(1 - shrinking / s, 0.0)) @ (u.T @ x))


def _damped(values: Floats, seen: NDArray[np.bool_], axis: int) -> Floats:
    total = np.where(seen, values, 0.0).sum(axis=axis, keepdims=True)
    return np.asarray(total / (seen.sum(axis=axis, keepdims=True) + 1.0))


def _filled(fill: Callable[[Floats], Floats]) -> Tool:
    """A tool out of a function that fills the holes of users x items."""

    def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
        wide = wide_table(train)
        full = fill(wide.to_numpy(dtype=np.float64))
        rows = wide.index.get_indexer(pd.Index(pairs["user"]))
        return full[rows, wide.columns.get_indexer(pd.Index(pairs["item"]))]

    return predict


def halves(table: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What half of the users say, and what the others say."""
    ours = table["user"].drop_duplicates().sample(frac=0.5, random_state=seed)
    known = table["user"].isin(ours)
    return table[known], table[~known]


def counted_rules(wide: pd.DataFrame, like: float, least: float) -> pd.DataFrame:
    """By counting: all rules between two items that so many users like both at least."""
    rated, likes = (each.to_numpy(dtype=np.float64) for each in (wide.notna(), wide >= like))
    both, liked = likes.T @ likes, likes.T @ rated  # of those who rated both: like both, the first
    a, b = np.nonzero((both >= least) & ~np.eye(len(both), dtype=bool))
    names = wide.columns.to_numpy()
    rules = pd.DataFrame({"if_item": names[a], "then_item": names[b]})
    confidence, base = both[a, b] / liked[a, b], liked[b, a] / (rated.T @ rated)[a, b]
    return rules.assign(confidence=confidence, gain=confidence - base, lift=confidence / base)


def folded(rules: pd.DataFrame, by: str, n: int) -> pd.DataFrame:
    """The first rules by a measure; of two directions only the better one."""
    ordered = rules.sort_values(by, ascending=False, kind="stable")
    pairs = map(frozenset, ordered[["if_item", "then_item"]].to_numpy().tolist())
    return ordered[~pd.Series(list(pairs), ordered.index).duplicated()].head(n)


def held_out(wide: pd.DataFrame, rules: pd.DataFrame, like: float) -> dict[str, float]:
    """What comes of rules in another table, the mean over those that it can try.

    Of those who like the first item, how many like the second; how many do anyway; the ratio.
    """
    a, b = (wide[rules[side]].to_numpy() for side in ("if_item", "then_item"))
    both = ~np.isnan(a) & ~np.isnan(b)
    liked, then = both & (a >= like), both & (b >= like)
    tried = liked.any(axis=0)
    confidence = (liked & then).sum(axis=0)[tried] / liked.sum(axis=0)[tried]
    base = then.sum(axis=0)[tried] / both.sum(axis=0)[tried]
    lift = confidence[base > 0] / base[base > 0]
    found = {"confidence": confidence, "base": base, "lift": lift}
    return {name: float(values.mean()) for name, values in found.items()}


def spread(values: Sequence[float], digits: int = 3) -> str:
    """The mean of some seeds, and their standard deviation."""
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def markdown(
    rows: Mapping[str, Mapping[str, Sequence[float]]], names: Mapping[str, str], bold: bool = True
) -> str:
    """A table, one row per tool: ``names`` says what a measure is called, with - if less is better.

    The best mean of a column is bold.
    """
    signs = {key: -1 if name.startswith("-") else 1 for key, name in names.items()}
    best = {key: max(signs[key] * np.mean(row[key]) for row in rows.values()) for key in names}
    lines = ["| | " + " | ".join(name.strip("-") for name in names.values()) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for tool, row in rows.items():
        cells = [spread(row[key]) for key in names]
        for k, key in enumerate(names):
            if bold and signs[key] * np.mean(row[key]) == best[key]:
                cells[k] = f"**{cells[k]}**"
        lines.append(f"| {tool} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
