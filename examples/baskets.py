"""Baskets of a grocery: only what was bought is known. What is a Kolmogorov model worth there?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eventspace import KolmogorovDescent, KolmogorovEnsemble
from eventspace.datasets.groceries import groceries
from examples.compare import Floats

COMMON = 0.01  # of all baskets at least have a good that takes part
FREQUENT = 0.005  # of the baskets have both goods of an association rule
N_RULES, N_EVENTS, N_SHOWN = 30, 32, 10


def baskets() -> pd.DataFrame:
    """Baskets x common goods, with a zero for what was not bought."""
    table = groceries().table
    wide = pd.crosstab(table["user"], table["item"]).clip(upper=1).astype(float)
    return wide.loc[:, wide.mean() >= COMMON]


def association_rules(bought: pd.DataFrame) -> pd.DataFrame:
    """All rules between two goods by counting, as mlxtend finds them with ``max_len=2``."""
    counts = bought.to_numpy().T @ bought.to_numpy() / len(bought)
    a, b = np.nonzero((counts >= FREQUENT) & ~np.eye(len(counts), dtype=bool))
    support, single = counts[a, b], np.diag(counts)
    names = bought.columns.to_numpy()
    rules = pd.DataFrame({"if_item": names[a], "then_item": names[b], "support": support})
    confidence = support / single[a]
    return rules.assign(confidence=confidence, lift=confidence / single[b])


def evidence(bought: pd.DataFrame, rules: pd.DataFrame) -> dict[str, float]:
    """The mean confidence and lift of rules in a table, and in how many baskets both are."""
    a, b = (bought[rules[side]].to_numpy() for side in ("if_item", "then_item"))
    confidence = (a * b).sum(axis=0) / a.sum(axis=0)
    return {
        "confidence": float(confidence.mean()),
        "lift": float((confidence / b.mean(axis=0)).mean()),
        "support": float((a * b).mean()),
    }


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
    positive = train.where(train > 0).dropna(how="all")
    blind = KolmogorovDescent(8, random_state=seed).fit(positive)
    proved = single.rules(top=N_RULES, like=1.0)
    counted = association_rules(train)
    kinds = {
        "inclusions": proved,
        "by confidence": counted.nlargest(N_RULES, "confidence"),
        "by lift": counted.nlargest(N_RULES, "lift"),
    }
    return {
        "positive_only": float(blind.inverse_transform(blind.pmf_).min()),
        "share": float(train.to_numpy().mean()),
        "said": {name: float(rules["confidence"].mean()) for name, rules in kinds.items()},
        "rules": {name: evidence(test, rules) for name, rules in kinds.items()},
        "completion": completion(
            train, test, {"KolmogorovDescent": single, "KolmogorovEnsemble": ensemble}, seed
        ),
    }
