"""The demonstration: MovieLens small, from ratings to predictions on a terminal."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eventspace.datasets import movielens_small
from eventspace.model import KolmogorovModel
from eventspace.observations import Observations

SEED = 0
PENALTIES = (30.0, 60.0, 120.0)
N_EVENTS = 16
STARS = (0.5, 5.0)
LIKE = 4.0
SHOWN = 10  # rules, and events
WELL_RATED = 50  # ratings of a film that well identify its set of 16 events


def run(output: Path, console: Console) -> None:
    """Split, choose the penalty on validation data, fit, compare, reason, recommend, save."""
    ratings = movielens_small()
    part = np.random.default_rng(SEED).random(len(ratings))
    test, rest = ratings[part < 0.1], ratings[part >= 0.1]
    validation, train = ratings[(part >= 0.1) & (part < 0.2)], ratings[part >= 0.2]
    console.print(
        f"[bold]MovieLens small[/]: {len(ratings):,} ratings, {ratings['user'].nunique():,} users, "
        f"{ratings['item'].nunique():,} films. A tenth of the ratings is held out (seed {SEED})."
    )
    errors = {
        penalty: root_mean_square(predicted(fitted(train, penalty), validation) - validation.rating)
        for penalty in PENALTIES
    }
    best = min(errors, key=errors.__getitem__)
    shown = ", ".join(f"{penalty:g}: {error:.3f}" for penalty, error in errors.items())
    console.print(f"Penalty chosen on a validation part, RMSE in stars: {shown}. So {best:g}.\n")

    start = time.perf_counter()
    model = fitted(rest, best)
    seconds = time.perf_counter() - start
    console.print(model.summary(), highlight=False, soft_wrap=True)

    known = test["item"].map(rest["item"].value_counts()).fillna(0) >= WELL_RATED
    predictions = baselines(rest, test)
    predictions[f"Kolmogorov model, {N_EVENTS} events"] = predicted(model, test)
    table = Table("RMSE on held-out ratings, stars", "all films", f"{WELL_RATED} ratings or more")
    for name, stars in predictions.items():
        errors_of_all, errors_of_known = stars - test["rating"], (stars - test["rating"])[known]
        table.add_row(
            name,
            f"{root_mean_square(errors_of_all):.3f}",
            f"{root_mean_square(errors_of_known):.3f}",
        )
    console.print(f"\nFitted in {seconds:.1f} s.", table)

    genres = ratings.drop_duplicates("item").set_index("item")["genres"]
    show_events(model, genres, console)
    show_rules(model, test, console)
    user = int(rest["user"].value_counts().index[rest["user"].nunique() // 2])
    best_films = model.recommend(user, 5, min_evidence=WELL_RATED)
    console.print(f"\nFor user {user}, of the films with {WELL_RATED} ratings or more:")
    for film in best_films.itertuples():
        console.print(f"  {film.probability:.2f}  {film.item}", highlight=False)
    console.print("\nWhy the first of these:")
    why = model.explain(user, best_films["item"].iloc[0], genres)
    console.print(escape(str(why)), highlight=False)
    model.save(output)
    console.print(f"\nWritten: {output}. Look at it with: eventspace info {output}")


def show_events(model: KolmogorovModel, genres: pd.Series[str], console: Console) -> None:
    """The heaviest events, by genres and by films."""
    events = model.events(genres)
    events["films"] = model.events()["label"]
    table = Table("event", "mass", "genres", "films", title="The heaviest events")
    for event in events.head(SHOWN).itertuples():
        table.add_row(
            str(event.event), f"{event.mass:.1%}", escape(event.label), escape(event.films)
        )
    console.print("", table)


def show_rules(model: KolmogorovModel, test: pd.DataFrame, console: Console) -> None:
    """The first rules, and what the few held-out ratings of both films say of each."""
    held_out = test[["user", "item", "rating"]]
    found = model.rules(held_out, top=SHOWN, min_evidence=WELL_RATED, like=LIKE)
    table = Table(
        *("whoever likes", "", "likes", "users", "like", "anyway"),
        title="The most surprising rules; on the right, held-out users of both, and how many "
        f"gave {LIKE:g} stars to the second: of those who did to the first, and of all",
    )
    for rule in found.itertuples():
        arrow = "<=>" if rule.kind == "equivalent" else "=>"
        rates = (
            "-" if np.isnan(rate) else f"{rate:.0%}" for rate in (rule.like_rate, rule.base_rate)
        )
        table.add_row(escape(rule.if_item), arrow, escape(rule.then_item), str(rule.users), *rates)
    console.print("", table)


def fitted(ratings: pd.DataFrame, penalty: float) -> KolmogorovModel:
    """A model of the ratings."""
    table = Observations.from_long(ratings[["user", "item", "rating"]], scale=STARS)
    return KolmogorovModel(N_EVENTS, pmf_penalty=penalty, random_state=SEED).fit(table)


def predicted(model: KolmogorovModel, ratings: pd.DataFrame) -> pd.Series[float]:
    """Stars; the population stands in for films without ratings."""
    stars = model.predict(ratings, unit="original", unknown="population")
    return pd.Series(stars, index=ratings.index)


def baselines(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """What the film's mean, and damped biases of film and user, predict."""
    mean = train["rating"].mean()
    item_mean = test["item"].map(train.groupby("item")["rating"].mean()).fillna(mean)
    item_bias = damped_mean(train["rating"] - mean, train["item"])
    rest = train["rating"] - mean - train["item"].map(item_bias)
    user_bias = damped_mean(rest, train["user"])
    bias = mean + test["item"].map(item_bias).fillna(0) + test["user"].map(user_bias).fillna(0)
    return {"film's mean": item_mean, "user + film bias": bias.clip(*STARS)}


def damped_mean(
    values: pd.Series[float], groups: pd.Series, damping: float = 5.0
) -> pd.Series[float]:
    """The sum of each group over its size and some more."""
    grouped = values.groupby(groups)
    return grouped.sum() / (grouped.size() + damping)


def root_mean_square(errors: pd.Series[float]) -> float:
    """The root of the mean of the squares."""
    return float(np.sqrt(np.mean(np.square(errors))))
