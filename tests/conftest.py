from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def movielens_100k() -> tuple[pd.DataFrame, pd.DataFrame]:
    """GroupLens's split u4 (train, test): user, item, rating."""
    folder = os.environ.get("EVENTSPACE_DATA")
    if not folder:
        pytest.skip("EVENTSPACE_DATA is unset: no MovieLens 100K")
    names = ["user", "item", "rating", "timestamp"]
    train, test = (
        pd.read_csv(Path(folder) / "movielens-100k" / f"u4.{part}", sep="\t", names=names)
        for part in ("base", "test")
    )
    return train, test


@pytest.fixture
def ratings() -> pd.DataFrame:
    """A small table of stars, 30 users x 20 items, a third of them missing."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(3), 30)
    psi = rng.random((20, 3)) < 0.5
    stars = 1 + 4 * (theta @ psi.T)
    frame = pd.DataFrame(
        {
            "user": np.repeat([f"u{u}" for u in range(30)], 20),
            "item": np.tile([f"i{i}" for i in range(20)], 30),
            "rating": stars.ravel().round(2),
        }
    )
    return frame[rng.random(len(frame)) < 0.67].reset_index(drop=True)
