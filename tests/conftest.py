from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from tests.kernels.instances import INTERPRETED
from tests.planted import chances, long, wide

settings.register_profile("any machine", deadline=None)  # no test asserts a time
settings.load_profile("any machine")


# a shell has Ctrl-C ignored in what it runs in the background, and all processes after it would
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if INTERPRETED:
    np.seterr(over="ignore")  # words wrap around, as in compiled kernels


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
    frame = long(wide((1 + 4 * chances(rng, 30, 20, 3)).round(2)))
    return frame[rng.random(len(frame)) < 0.67].reset_index(drop=True)
