"""Things of other libraries, told apart without importing these."""

from __future__ import annotations

import sys
from typing import Any

SPARSE = ("scipy.sparse.sparray", "scipy.sparse.spmatrix")


def is_a(thing: Any, *classes: str) -> bool:
    """Whether a thing is of one of these classes, such as "pandas.DataFrame".

    No library is imported for the answer: one that is not loaded has made nothing yet.
    """
    for name in classes:
        module, _, kind = name.rpartition(".")
        if isinstance(thing, getattr(sys.modules.get(module), kind, ())):
            return True
    return False
