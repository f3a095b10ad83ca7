"""The search of a pairwise step: where the slope is least, and where it is greatest among some."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from eventspace._base.vectors import WIDE, Code

INFINITE = float("inf")


def _extremes(context: Any, slope: Any, held: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code, held = Code(context, builder, signature, arguments), arguments[1]
        scalar, nothing = ir.DoubleType(), held.type(0)
        low, high = code.constant(scalar, INFINITE), code.constant(scalar, -INFINITE)
        size = code.size(0)

        def both(t: Any) -> tuple[Any, Any]:
            x = code.load(code.at(0, t))
            return x, code.among(held, t, x, high)

        def compare(t: Any, found: list[Any]) -> list[Any]:
            x, among = both(t)
            return [code.better(x, found[0], "<"), code.better(among, found[1], ">")]

        least, greatest = code.loop(0, size, WIDE, [low, high], compare)
        least, greatest = code.fold(least, "<"), code.fold(greatest, ">")

        def mark(t: Any, found: list[Any]) -> list[Any]:
            x, among = both(t)
            here = code.where_equal(x, least, t), code.where_equal(among, greatest, t)
            return [builder.or_(word, bits) for word, bits in zip(found, here, strict=True)]

        words = code.loop(0, size, WIDE, [nothing, nothing], mark)
        return context.make_tuple(
            builder, signature.return_type, [code.first_bit(word) for word in words]
        )

    two: Any = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
    return two(slope, types.uint64), generate


def _plain(slope: Any, held: Any) -> tuple[int, int]:
    """The first of the least slopes, and the first of the greatest among the bits of ``held``.

    The slope has 8, 16, ..., 64 numbers, with infinity where there is no event.
    """
    among = [slope[a] if int(held) >> a & 1 else -INFINITE for a in range(len(slope))]
    return int(np.argmin(slope)), int(np.argmax(among))


extremes: Any = _plain if config.DISABLE_JIT else intrinsic(_extremes)  # type: ignore[attr-defined]
