"""Baskets of a grocery: only what was bought is known. What is a Kolmogorov model worth there?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eventspace import KolmogorovDescent, KolmogorovEnsemble
from eventspace.datasets.groceries import groceries
from examples.compare import Floats, counted_rules, held_out

COMMON = 0.01  # of all baskets at least have a good that takes part
FREQUENT = 0.005  # of the baskets have both goods of a rule
N_RULES, N_EVENTS, N_SHOWN = 30, 32, 10
SORTED_BY = ("gain", "confidence", "lift")


def baskets() -> pd.DataFrame:
    """Baskets x common goods, with a zero for what was not bought."""
    table = groceries().table
    wide = pd.crosstab(table["user"], table["item"]).clip(upper=1).astype(float)
    return wide.loc[:, wide.mean() >= COMMON]


def rules(train: pd.DataFrame, model: KolmogorovDescent) -> dict[str, pd.DataFrame]:
    """The first rules of a model, and as many association rules, both sorted by the same."""
    least = FREQUENT * len(train)
    counted = counted_rules(train, 1.0, least)
    options: dict[str, Any] = {"top": N_RULES, "min_evidence": math.ceil(least), "fold": False}
    found: dict[str, Any] = {"proved": model.rules(proved=True, **options)}
    for by in SORTED_BY:
        sort = "gain_low" if by == "gain" else by
        found[f"model, {by}"] = model.rules(sort=sort, **options)
        found[f"counted, {by}"] = counted.nlargest(N_RULES, by)
    return found


def completion(train: pd.DataFrame, test: pd.DataFrame, models: dict[str, Any], seed: int) -> Any:
    """Hide one good of every basket with three or more: how often is it among the ten shown?"""
    rng = np.random.default_rng(seed)
    left = test.to_numpy()[test.sum(axis=1) >= 3].copy()
    hidden = np.array([rng.choice(np.flatnonzero(basket)) for basket in left])
    left[np.arange(len(left)), hidden] = 0.0
    seen = train.to_numpy()
    together = seen.T @ seen
    confidence = together / np.diag(together)[:, None]
    scores = {
        "the best-sold goods": np.tile(seen.mean(axis=0), (len(left), 1)),
        "association: sum of confidences": left @ confidence,
    }
    rest = pd.DataFrame(left, columns=test.columns)
    for name, model in models.items():
        scores[name] = model.inverse_transform(model.transform(rest))
    return {name: _found(score, left, hidden) for name, score in scores.items()}


def _found(score: Floats, left: Floats, hidden: NDArray[np.integer[Any]]) -> float:
    score = np.where(left > 0, -np.inf, score)
    shown = np.argsort(-score, axis=1, kind="stable")[:, :N_SHOWN]
    return float((shown == hidden[:, None]).any(axis=1).mean())


def measure_baskets(seed: int) -> dict[str, Any]:
    """Learn from half of the baskets, look at the others."""
    wide = baskets()
    half = np.random.default_rng(seed).random(len(wide)) < 0.5
    train, test = wide[half], wide[~half]
    single = KolmogorovDescent(N_EVENTS, random_state=seed).fit(train)
    ensemble = KolmogorovEnsemble(n_models=4, random_state=seed).fit(train)
    found = rules(train, single)
    return {
        "share": float(train.to_numpy().mean()),
        "said": {name: float(some["confidence"].mean()) for name, some in found.items()},
        "rules": {name: held_out(test, some, 1.0) for name, some in found.items()},
        "completion": completion(
            train, test, {"KolmogorovDescent": single, "KolmogorovEnsemble": ensemble}, seed
        ),
    }
