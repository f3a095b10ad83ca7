"""The first twenty rules of MovieLens 1M, by name, with what unseen users say of each.

python -m benchmarks.first_rules
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.held_out_split import LIKE, SPLITS
from benchmarks.timing import save
from eventspace import KolmogorovModel, Observations


def titles() -> pd.Series[str]:
    """The titles of MovieLens 1M by id."""
    path = data.folder("movielens-1m") / "movies.dat"
    lines = [line.split("::") for line in path.read_text(encoding="latin-1").splitlines()]
    return pd.Series({int(number): title for number, title, _ in lines})


def main() -> None:
    """Fit on three quarters of the users, ask the others."""
    ratings = data.movielens_1m()
    users = np.unique(ratings.users)
    others = users[
        np.random.default_rng(SPLITS["ML-1M"][0]).permutation(len(users))[: len(users) // 4]
    ]
    held = np.isin(ratings.users, others)
    parts = [tuple(column[some] for column in ratings) for some in (~held, held)]
    model = KolmogorovModel(random_state=0).fit(Observations.of(parts[0], scale=(1, 5)))
    rules: Any = model.rules(parts[1], like=LIKE, top=20)
    for side in ("if_item", "then_item"):
        rules[side] = titles().loc[rules[side]].to_numpy()
    print(rules.round(2).to_string())
    save("first_rules", rules.to_dict("records"))


if __name__ == "__main__":
    main()
