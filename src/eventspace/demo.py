"""The demonstration: MovieLens small, from ratings to predictions on a terminal."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from eventspace.datasets import movielens_small
from eventspace.model import KolmogorovModel
from eventspace.observations import Observations

SEED = 0
PENALTIES = (10.0, 30.0, 100.0)
N_EVENTS = 16
STARS = (0.5, 5.0)


def run(output: Path, console: Console) -> None:
    """Split, choose the penalty on validation data, fit, compare, recommend, save."""
    ratings = movielens_small()
    part = np.random.default_rng(SEED).random(len(ratings))
    test, rest = ratings[part < 0.1], ratings[part >= 0.1]
    validation, train = ratings[(part >= 0.1) & (part < 0.2)], ratings[part >= 0.2]
    console.print(
        f"[bold]MovieLens small[/]: {len(ratings):,} ratings, {ratings['user'].nunique():,} users, "
        f"{ratings['item'].nunique():,} films; every tenth rating held out (seed {SEED})."
    )
    errors = {}
    for penalty in PENALTIES:
        errors[penalty] = rmse(fitted(train, penalty), validation)
    best = min(errors, key=errors.__getitem__)
    shown = ", ".join(f"{penalty:g}: {error:.4f}" for penalty, error in errors.items())
    console.print(f"Penalty by validation (RMSE in stars): {shown}; chosen {best:g}.")

    start = time.perf_counter()
    model = fitted(rest, best)
    seconds = time.perf_counter() - start
    console.print(model.summary(), highlight=False)

    table = Table("held-out ratings", "RMSE, stars", title_justify="left")
    for name, predicted in baselines(rest, test).items():
        table.add_row(name, f"{root_mean_square(predicted - test['rating']):.4f}")
    table.add_row(f"Kolmogorov model, {N_EVENTS} events", f"{rmse(model, test):.4f}", style="bold")
    console.print(table, f"fitted in {seconds:.2f} s")

    user = rest["user"].value_counts().index[len(rest["user"].unique()) // 2]
    console.print(f"\nFor user {user}, not seen yet:")
    for row in model.recommend(user, 5).itertuples():
        console.print(
            f"  {row.probability:.2f}  {row.item}  ({row.ratings} ratings)", highlight=False
        )
    model.save(output)
    console.print(f"\nWritten: {output}. Look at it with: eventspace info {output}")


def fitted(ratings: pd.DataFrame, penalty: float) -> KolmogorovModel:
    """A model of the ratings."""
    table = Observations.from_long(ratings[["user", "item", "rating"]], scale=STARS)
    return KolmogorovModel(N_EVENTS, pmf_penalty=penalty, random_state=SEED).fit(table)


def rmse(model: KolmogorovModel, ratings: pd.DataFrame) -> float:
    """Root mean squared error in stars; the population stands in for films without ratings."""
    predicted = model.predict(ratings, unit="original", unknown="population")
    return root_mean_square(predicted - ratings["rating"])


def baselines(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, pd.Series]:
    """What the item's mean, and damped biases of item and user, predict."""
    mean = train["rating"].mean()
    item_mean = test["item"].map(train.groupby("item")["rating"].mean()).fillna(mean)
    item_bias = damped_mean(train["rating"] - mean, train["item"], 5)
    rest = train["rating"] - mean - train["item"].map(item_bias)
    user_bias = damped_mean(rest, train["user"], 5)
    bias = mean + test["item"].map(item_bias).fillna(0) + test["user"].map(user_bias).fillna(0)
    return {"item mean": item_mean, "user + item bias": bias.clip(*STARS)}


def damped_mean(values: pd.Series, groups: pd.Series, damping: float) -> pd.Series:
    """The sum of each group over its size and some more."""
    grouped = values.groupby(groups)
    return grouped.sum() / (grouped.size() + damping)


def root_mean_square(errors: pd.Series) -> float:
    """The root of the mean of the squares."""
    return float(np.sqrt(np.mean(np.square(errors))))
