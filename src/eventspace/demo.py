"""The demonstration: MovieLens small, from ratings to predictions on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eventspace._base.types import Floats
from eventspace.baselines import BiasModel
from eventspace.data.observations import Observations
from eventspace.datasets import movielens_small
from eventspace.estimators.base import Holder
from eventspace.estimators.model import KolmogorovModel
from eventspace.fitted.statements import caption, statements
from eventspace.report import beside

SEED = 0
SHOWN = 10  # rules, and events
WELL_RATED = 50  # ratings of a film that well identify its set of 16 events


def run(output: Path, console: Console, n_threads: int | None = -1) -> None:
    """Split, fit, compare, reason, recommend; write the model and, next to it, the report."""
    films = movielens_small()
    ratings = films.table
    rng = np.random.default_rng(SEED)
    users = ratings["user"].unique()
    others = ratings["user"].isin(rng.permutation(users)[: len(users) // 5]).to_numpy()
    held_out = rng.random(len(ratings)) < 0.1
    train, test = ratings[~others & ~held_out], ratings[~others & held_out]
    console.print(
        f"[bold]MovieLens small[/]: {len(ratings):,} ratings, {len(users):,} users, "
        f"{ratings['item'].nunique():,} films. A fifth of the users is held out to test rules, and "
        f"a tenth of the others' ratings to test predictions (seed {SEED})."
    )
    table = Observations.from_long(train, scale=films.scale)
    model = KolmogorovModel(random_state=SEED, n_jobs=n_threads)
    seconds = timed(lambda: model.fit(table))
    record = model.fitted_.record
    console.print(
        f"Fitted one model of {record.n_events} events: {seconds}. "
        f"{record.proved.sum():,} of {len(record.proved):,} sets are proved optimal.\n"
    )

    known = (test["item"].map(train["item"].value_counts()).fillna(0) >= WELL_RATED).to_numpy()
    shown = Table("RMSE on held-out ratings, stars", "all films", f"{WELL_RATED} ratings or more")
    for name, stars in {
        "film's mean": item_means(train, test),
        "user + film bias": predicted(BiasModel().fit(table), test),
        f"Kolmogorov model, {record.n_events} events": predicted(model, test),
    }.items():
        errors = stars - test["value"].to_numpy()
        shown.add_row(name, *(f"{rmse(part):.3f}" for part in (errors, errors[known])))
    console.print(shown)

    assert films.items is not None  # which they have
    genres = films.items["genres"]
    show_events(model, genres, console)
    show_rules(model, ratings[others], console)
    user = int(train["user"].value_counts().index[train["user"].nunique() // 2])
    best_films = model.recommend(user, 5, min_evidence=WELL_RATED)
    console.print(f"\nFor user {user}, of the films with {WELL_RATED} ratings or more:")
    films_shown: Any = best_films.itertuples()
    for film in films_shown:
        console.print(f"  {film.probability:.2f}  {escape(film.item)}", highlight=False)
    console.print("\nWhy the first of these:")
    why = model.explain(user, best_films["item"].iloc[0], genres)
    console.print(escape(str(why)), highlight=False)
    write(model, ratings[others | held_out], genres, output, console)


def write(
    model: KolmogorovModel,
    held_out: pd.DataFrame,
    genres: pd.Series[str],
    output: Path,
    console: Console,
) -> None:
    """The model, and a page about it; then what to do with them."""
    model.save(output)
    console.print(f"\nWritten: {output}. Go on with: eventspace info {output}", soft_wrap=True)
    page = beside(output)
    model.report(page, held_out, title="MovieLens small", tags=genres)
    console.print(f"Written: {page}. Open it in a browser.", soft_wrap=True)


def timed(work: Callable[[], object]) -> str:
    """How long a piece of work takes."""
    start = time.perf_counter()
    work()
    return f"{time.perf_counter() - start:.1f} s"


def show_events(model: KolmogorovModel, genres: pd.Series[str], console: Console) -> None:
    """The heaviest events, named by genres, and the films that each likes more than others do."""
    events = model.events(genres)
    events["films"] = [", ".join(films[:3]) for films in model.events()["likes"]]
    table = Table("event", "mass", "label", "likes more", title="The heaviest events")
    heaviest: Any = events.head(SHOWN).itertuples()
    for event in heaviest:
        table.add_row(
            str(event.event), f"{event.mass:.1%}", escape(event.label), escape(event.films)
        )
    console.print("", table)


def show_rules(model: KolmogorovModel, held_out: pd.DataFrame, console: Console) -> None:
    """The first rules, what the held-out users say of each, and how far they agree."""
    found = model.rules(held_out)
    console.print("\n[bold]Rules[/]")
    said = caption(model.liked_from_, "the ratings of the held-out users")
    console.print(said, statements(found, SHOWN), highlight=False)
    for n in (SHOWN, len(found)):
        console.print(agreed(found.head(n)), highlight=False)


def agreed(rules: pd.DataFrame) -> str:
    """How far held-out users agree with rules, in a sentence."""
    tried = rules[rules["held_out_like_if"] > 0]
    told, found = tried["confidence"].mean(), tried["held_out_confidence"].mean()
    n = int((tried["held_out_confidence"] > tried["held_out_base"]).sum())
    return (
        f"The first {len(rules)}: held-out users agree on {n} of {len(tried)} (a gain above 0). On "
        f"average {told:.0%} was promised where {tried['base'].mean():.0%} like it anyway; "
        f"{found:.0%} was found, where {tried['held_out_base'].mean():.0%} do."
    )


def predicted(model: Holder, ratings: pd.DataFrame) -> Floats:
    """Stars; the population stands in for films without ratings."""
    return model.predict(ratings, unit="original", unknown="population")


def item_means(train: pd.DataFrame, test: pd.DataFrame) -> Floats:
    """The mean of each film's ratings; that of all for a film without any."""
    means = test["item"].map(train.groupby("item")["value"].mean())
    return means.fillna(train["value"].mean()).to_numpy()


def rmse(errors: Floats) -> float:
    """The root of the mean of the squares."""
    return float(np.sqrt(np.mean(np.square(errors))))
