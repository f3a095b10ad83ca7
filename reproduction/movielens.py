"""MovieLens 100K for the experiments; where it cannot be had, one line says why."""

from __future__ import annotations

import pandas as pd

from benchmarks.data import Ratings, as_ratings
from eventspace.datasets import Dataset, movielens_100k


def split(number: int = 4) -> tuple[Ratings, Ratings]:
    """GroupLens's own split u1..u5: (train, test)."""
    return as_ratings(loaded(f"u{number}.base").table), as_ratings(loaded(f"u{number}.test").table)


def films() -> pd.DataFrame:
    """Titles and genres of the films, by their id."""
    items = loaded("u4.base").items
    assert items is not None
    return items


def loaded(part: str) -> Dataset:
    """A part of the data set, from EVENTSPACE_DATA or from GroupLens."""
    try:
        return movielens_100k(part)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
