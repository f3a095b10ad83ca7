"""Rows of matrices, added up in vectors. They are padded: whole vectors, with zeros at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from eventspace._base.jit import njit
from eventspace._base.types import Floats
from eventspace._base.vectors import WIDE, Code


def _set_row(
    context: Any, to: Any, i: Any, base: Any, k: Any, scale: Any, rows: Any, j: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder, signature, arguments)
        here, old, added = (code.row(at, arguments[at + 1]) for at in (0, 2, 5))
        scale = code.spread(arguments[4])
        n_columns = builder.extract_value(code.array(0).shape, 1)

        def add(t: Any, nothing: list[Any]) -> list[Any]:
            x, y = code.load(code.at(2, old, t)), code.load(code.at(5, added, t))
            code.store(code.at(0, here, t), code.times_plus(scale, y, x))
            return nothing

        code.loop(0, n_columns, WIDE, [], add)
        return context.get_dummy_value()

    number, place = types.float64, types.int64
    return types.void(to, place, base, place, number, rows, place), generate


def _plain(to: Any, i: int, base: Any, k: int, scale: float, rows: Any, j: int) -> None:
    """``to[i] = base[k] + scale * rows[j]``; all have the same number of columns."""
    to[i] = base[k] + scale * rows[j]


set_row: Any = _plain if config.DISABLE_JIT else intrinsic(_set_row)  # type: ignore[attr-defined]


@njit(cache=True, nogil=True)
def wide(n_rows: int, n_columns: int) -> Floats:
    """A matrix of zeros with rows of whole vectors."""
    return np.zeros((n_rows, -(-n_columns // WIDE) * WIDE))
