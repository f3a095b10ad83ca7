"""Tables that a planted model explains: what most tests fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def chances(
    rng: np.random.Generator,
    n_users: int,
    n_items: int,
    n_events: int,
    *,
    concentration: float = 1.0,
    share: float = 0.5,
) -> NDArray[np.float64]:
    """P[X = 1], users x items: PMFs of a Dirichlet law; each set has this share of the events."""
    theta = rng.dirichlet(np.full(n_events, concentration), n_users)
    psi = rng.random((n_items, n_events)) < share
    return np.asarray(theta @ psi.T)


def wide(table: NDArray[np.float64]) -> pd.DataFrame:
    """A table with the users u0, u1, ... and the items i0, i1, ..."""
    n_users, n_items = table.shape
    users, items = [f"u{u}" for u in range(n_users)], [f"i{i}" for i in range(n_items)]
    return pd.DataFrame(table, index=users, columns=items)


def long(table: pd.DataFrame) -> pd.DataFrame:
    """user, item and rating of what a wide table holds, user by user."""
    u, i = np.nonzero(table.notna())
    rating = table.to_numpy()[u, i]
    return pd.DataFrame({"user": table.index[u], "item": table.columns[i], "rating": rating})


def noisy_stars() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stars of 150 users for 60 items, with noise of 0.4: a quarter to learn from, some to test."""
    rng = np.random.default_rng(2)
    chance = chances(rng, 150, 60, 4, concentration=0.5)
    frame = long(wide(np.clip(1.8 + 2.4 * chance + rng.normal(0, 0.4, chance.shape), 1, 5)))
    part = rng.random(len(frame))
    return frame[part < 0.25], frame[(part >= 0.25) & (part < 0.4)]
