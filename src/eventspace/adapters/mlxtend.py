"""Rules as mlxtend makes them: a frame with its columns, in its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eventspace._base.errors import UserError
from eventspace.data.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["association_rules"]


def association_rules(rules: Any) -> pd.DataFrame:
    """The rules of ``model.rules()`` as ``mlxtend.frequent_patterns.association_rules`` has them.

    Both sides are frozensets. Supports are chances of the next user who meets both items:
    ``antecedent support`` is P[A], ``consequent support`` P[C], ``support`` P[A and C]. All other
    columns follow from these three, by mlxtend's formulas. It is a pandas DataFrame in any case;
    mlxtend itself is not needed.
    """
    import narwhals as nw

    table = nw.from_native(rules, eager_only=True)
    if "conditions" in table.columns and (table["conditions"] > 1).any():
        raise UserError(
            "Rules with several conditions may have items that are not liked, and mlxtend's sets "
            "have no place for these: take rules(conditions=1)."
        )
    support, confidence, lift, C = (
        table[name].to_numpy() for name in ("support", "confidence", "lift", "base")
    )
    A = support / confidence
    leverage = support - A * C
    with np.errstate(divide="ignore", invalid="ignore"):
        conviction = np.where(confidence < 1, (1 - C) / (1 - confidence), np.inf)
        most = np.maximum(support * (1 - A), A * (C - support))
        zhang = np.where(most == 0, 0, leverage / most)
        certainty = np.where(C == 1, 0, (confidence - C) / (1 - C))
    columns = {
        "antecedents": [frozenset([item]) for item in table["if_item"].to_list()],
        "consequents": [frozenset([item]) for item in table["then_item"].to_list()],
        "antecedent support": A,
        "consequent support": C,
        "support": support,
        "confidence": confidence,
        "lift": lift,
        "representativity": np.ones(len(A)),
        "leverage": leverage,
        "conviction": conviction,
        "zhangs_metric": zhang,
        "jaccard": support / (A + C - support),
        "certainty": certainty,
        "kulczynski": (confidence + support / C) / 2,
    }
    return data_frame(columns, "pandas")
