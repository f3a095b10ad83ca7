"""What MovieLens 100K and 1M know of films and viewers, as tables of numbers by id.

Films: a column of zeros and ones per genre, and the year. Viewers: sex, and a column per age group,
those of 1M for both tables. Occupation and zip code are read for 100K if asked for.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks.data import folder

AGES = (0, 18, 25, 35, 45, 50, 56, 200)  # where the age groups of MovieLens 1M begin


def films_100k() -> pd.DataFrame:
    """Genres and the year of each film of MovieLens 100K."""
    films = read("movielens-100k", "u.item", "|")
    genres = films.iloc[:, 5:]  # without "unknown"
    genres.columns = [f"genre {k}" for k in range(genres.shape[1])]
    year = pd.to_datetime(films[2], format="%d-%b-%Y").dt.year
    return genres.assign(year=year).astype(float)


def viewers_100k(*, more: bool = False) -> pd.DataFrame:
    """Sex and age of each viewer of MovieLens 100K; ``more``: occupation and zip code, too."""
    viewers = read("movielens-100k", "u.user", "|")
    age = pd.cut(viewers[1], AGES, right=False, labels=False)
    columns = [pd.get_dummies(age, prefix="age"), viewers[2].eq("M").rename("sex")]
    if more:
        columns += [pd.get_dummies(viewers[3], prefix="occupation")]
        columns += [pd.get_dummies(viewers[4].str[0], prefix="zip")]
    return pd.concat(columns, axis=1).astype(float)


def films_1m() -> pd.DataFrame:
    """Genres and the year of each film of MovieLens 1M."""
    films = read("movielens-1m", "movies.dat", "::")
    year = films[1].str.extract(r"\((\d{4})\)\s*$")[0]
    return films[2].str.get_dummies("|").assign(year=year).astype(float)


def viewers_1m() -> pd.DataFrame:
    """Sex and age group of each viewer of MovieLens 1M."""
    viewers = read("movielens-1m", "users.dat", "::")
    ages = pd.get_dummies(viewers[2], prefix="age")
    return pd.concat([ages, viewers[1].eq("M").rename("sex")], axis=1).astype(float)


def read(table: str, name: str, separator: str) -> pd.DataFrame:
    """A file of GroupLens, with the ids in its index."""
    path = folder(table) / name
    engine: Any = "python" if len(separator) > 1 else "c"
    return pd.read_csv(
        path, sep=separator, header=None, index_col=0, encoding="latin-1", engine=engine
    )
