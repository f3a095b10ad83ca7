"""Fits that tests share: each is made once in a process, and given out as a copy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

_made: dict[bytes, Any] = {}


def fitted(estimator: Any, table: Any, **attributes: Any) -> Any:
    """The estimator fitted to the table; a test of the fit itself calls ``fit``."""
    asked = pickle.dumps((type(estimator), estimator.get_params(), table, attributes))
    if asked not in _made:
        _made[asked] = estimator.fit(table, **attributes)
    return copy.deepcopy(_made[asked])
