"""Ratings to measure on: real ones from EVENTSPACE_DATA, and generated tables of any size."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Ratings(NamedTuple):
    """Users and items as integers, values in their own unit; three columns of one length."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    values: NDArray[np.float32]

    def take(self, rows: NDArray[np.intp]) -> "Ratings":
        return Ratings(self.users[rows], self.items[rows], self.values[rows])


def folder(name: str) -> Path:
    """The folder of one data set under EVENTSPACE_DATA."""
    if "EVENTSPACE_DATA" not in os.environ:
        raise SystemExit("set EVENTSPACE_DATA to the folder that holds movielens-100k/ and others")
    return Path(os.environ["EVENTSPACE_DATA"]) / name


def movielens_100k(split: int = 4) -> tuple[Ratings, Ratings]:
    """GroupLens's own split u1..u5 of MovieLens 100K: (train, test)."""
    base, test = (
        pd.read_csv(folder("movielens-100k") / f"u{split}.{part}", sep="\t", header=None)
        for part in ("base", "test")
    )
    return as_ratings(base), as_ratings(test)


def movielens_1m() -> Ratings:
    """All of MovieLens 1M, in the order of the file."""
    return as_ratings(pd.read_parquet(folder("movielens-1m") / "ratings.parquet"))


def movielens_small() -> Ratings:
    """MovieLens latest-small: half stars from 0.5 to 5."""
    return as_ratings(pd.read_csv(folder("movielens-latest-small") / "ratings.csv"))


def house_votes() -> Ratings:
    """The 16 key votes of the House in 1984: yea 1, nay 0; neither is missing."""
    path = folder("house-votes-84") / "house-votes-84.data"
    votes = pd.read_csv(path, header=None).iloc[:, 1:]
    return observed(np.select([votes == "y", votes == "n"], [1.0, 0.0], np.nan))


def senate() -> Ratings:
    """The roll calls of the 109th Senate, without the President: yea 1, nay 0."""
    votes = pd.read_csv(folder("senate109") / "votes_binary.csv", index_col=0)
    return observed(votes.to_numpy(np.float64)[1:])


def links() -> Ratings:
    """The share of packets that one mote of the Intel lab delivers to another, not to itself."""
    path = folder("intel-lab-connectivity") / "connectivity.txt"
    frame = pd.read_csv(path, sep=r"\s+", header=None).dropna()
    return as_ratings(frame[frame[0] != frame[1]])


def observed(table: NDArray[np.float64]) -> Ratings:
    """The entries of a table, users x items, that are not NaN."""
    users, items = np.nonzero(~np.isnan(table))
    return as_ratings(pd.DataFrame({"user": users, "item": items, "value": table[users, items]}))


def random_split(ratings: Ratings, share: float = 0.8, seed: int = 0) -> tuple[Ratings, Ratings]:
    """Train and test, drawn at random; each keeps the order of the original."""
    train = np.random.default_rng(seed).random(len(ratings.values)) < share
    return ratings.take(np.flatnonzero(train)), ratings.take(np.flatnonzero(~train))


def generated(
    n_ratings: int, n_users: int, n_items: int, seed: int = 0, exponent: float = 0.8
) -> Ratings:
    """Sparse ratings 1..5, users equally active, items popular by a power law, no pair twice.

    The mean of a rating is an item's and a user's bias and a term of rank 4. Made and deduplicated
    by blocks of users, about a million ratings each: 12 bytes per rating and little else is held.
    """
    if 2 * n_ratings > n_users * n_items:
        raise ValueError(
            f"{n_ratings} ratings are over half of the {n_users} x {n_items} possible pairs"
        )
    rng = np.random.default_rng(seed)
    popularity = np.cumsum(np.arange(1, n_items + 1) ** -exponent)
    popularity /= popularity[-1]
    item_of_rank = rng.permutation(n_items).astype(np.int32)
    user_traits = rng.normal(0, 0.6, (n_users, 5)).astype(np.float32)
    item_traits = rng.normal(0, 0.6, (n_items, 5)).astype(np.float32)

    ratings = Ratings(
        np.empty(n_ratings, np.int32),
        np.empty(n_ratings, np.int32),
        np.empty(n_ratings, np.float32),
    )
    n_blocks = min(n_users, 1 + n_ratings // 1_000_000)
    first_user = np.arange(n_blocks + 1) * n_users // n_blocks
    first_row = first_user * n_ratings // n_users
    for block in range(n_blocks):
        low, high = first_user[block : block + 2]
        rows = slice(*first_row[block : block + 2])
        pairs = np.empty(0, np.int64)
        while (missing := rows.stop - rows.start - len(pairs)) > 0:
            draws = missing + missing // 3 + 64
            users = rng.integers(low, high, draws)
            ranks = np.searchsorted(popularity, rng.random(draws))
            pairs = np.union1d(pairs, users * n_items + ranks)
        pairs = np.sort(rng.choice(pairs, rows.stop - rows.start, replace=False, shuffle=False))
        users, ranks = np.divmod(pairs, n_items)
        items = item_of_rank[ranks]
        U, V = user_traits[users], item_traits[items]
        mean = 3.5 + U[:, 0] + V[:, 0] + np.einsum("nd,nd->n", U[:, 1:], V[:, 1:])
        noisy = mean + rng.normal(0, 0.8, len(mean))
        ratings.users[rows], ratings.items[rows] = users, items
        ratings.values[rows] = noisy.round().clip(1, 5)
    return ratings


def as_ratings(frame: pd.DataFrame) -> Ratings:
    """The first three columns: user, item, value."""
    users, items, values = (frame.iloc[:, k].to_numpy() for k in range(3))
    return Ratings(users.astype(np.int32), items.astype(np.int32), values.astype(np.float32))
