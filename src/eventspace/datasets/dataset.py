"""What every loader returns: a table, attributes, and whom to cite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from eventspace.data.observations import Observations


@dataclass(frozen=True, repr=False)
class Dataset:
    """A table of chances with its scale, attributes, known answers, and citation."""

    name: str
    table: pd.DataFrame  # user, item, value; one row per observed entry
    scale: tuple[float, float]  # the values that mean never and always
    citation: str
    licence: str
    users: pd.DataFrame | None = None  # what is known of users, their ids in the index
    items: pd.DataFrame | None = None
    truth: dict[str, pd.DataFrame] = field(default_factory=dict)  # what a fit ought to find
    missing: Literal["unknown", "no"] = "unknown"  # what a pair says that is not in the table

    def observations(self) -> Observations:
        """The table, ready to be learnt from."""
        table = self.table[["user", "item", "value"]]
        return Observations.from_long(table, scale=self.scale, missing=self.missing)

    def __repr__(self) -> str:
        n_users, n_items = self.table["user"].nunique(), self.table["item"].nunique()
        low, high = self.scale
        return (
            f"{self.name}: {len(self.table):,} entries, {n_users:,} users x {n_items:,} items, "
            f"scale {low:g} to {high:g}\n{self.citation}\n{self.licence}"
        )


def long_table(wide: pd.DataFrame) -> pd.DataFrame:
    """The entries of a wide table, users x items, that are not missing: user, item, value."""
    rows, columns = np.nonzero(wide.notna().to_numpy())
    value = wide.to_numpy(dtype=np.float64)[rows, columns]
    return pd.DataFrame({"user": wide.index[rows], "item": wide.columns[columns], "value": value})
