"""The inner loops of the sums: the factor rows of some entries, multiplied and added up.

A strip is eight rows of a Gram matrix, and eight or sixteen of its columns. It stays in registers
while the entries go by, so an entry costs its multiply-adds and little else. The strips on top add
up the linear term as well, and ask for factor rows some entries ahead: if these do not fit the
cache, this halves the time. Products and sums of a Gram matrix are of the factors' own type: in 32
bits they are exact for bits, in 64 for all purposes. What some entries have summed is added in 64
bits, as the linear term is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from eventspace._base.vectors import WIDE, Code

AHEAD = 16  # entries between asking for a factor row and using it


def make_strip(n_vectors: int, *, top: bool, weighted: bool) -> Callable[..., Any]:
    """The kernel of strips with ``n_vectors`` vectors of columns; it is called as ``plain`` is."""

    def strip(
        context: Any,
        factors: Any,
        index: Any,
        weight: Any,
        scaled: Any,
        start: Any,
        stop: Any,
        row: Any,
        column: Any,
        gram: Any,
        linear: Any,
    ) -> Any:
        arrays, places = (factors, index, weight, scaled), (types.int64,) * 4
        given = types.void(*arrays, *places, gram, linear)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder, signature, arguments)
            start, stop, row, column = arguments[4:8]
            scalar, double = (code.array(k).data.type.pointee for k in (0, 3))
            cells = [(r, c) for r in range(WIDE) for c in range(n_vectors)]
            last = builder.sub(code.size(1), row.type(1))

            def add(t: Any, sums: list[Any]) -> list[Any]:
                base = code.row(0, builder.load(code.at(1, t)))
                x = [code.load(code.at(0, base, column, WIDE * c)) for c in range(n_vectors)]
                found = []
                if top:
                    later = builder.add(t, row.type(AHEAD))
                    later = builder.select(builder.icmp_signed("<", later, last), later, last)
                    ahead = code.row(0, builder.load(code.at(1, later)))
                    for c in range(n_vectors):
                        code.prefetch(code.at(0, ahead, column, WIDE * c))
                    p = code.spread(builder.load(code.at(3, builder.sub(t, start))))
                    for c in range(n_vectors):
                        total = sums[len(cells) + c]
                        found.append(code.times_plus(p, code.in_64_bits(x[c]), total))
                if weighted:
                    w = builder.load(code.at(2, t))
                    w = code.spread(w if w.type == scalar else code.in_64_bits(w))
                    x = [builder.fmul(w, x[c]) for c in range(n_vectors)]
                y = [code.spread(builder.load(code.at(0, base, row, r))) for r in range(WIDE)]
                squares = zip(cells, sums[: len(cells)], strict=True)
                return [code.times_plus(y[r], x[c], s) for (r, c), s in squares] + found

            zeros = [code.constant(scalar, 0.0)] * len(cells)
            zeros += [code.constant(double, 0.0)] * (n_vectors if top else 0)
            sums = code.loop(start, stop, 1, zeros, add)
            for (r, c), s in zip(cells, sums, strict=False):
                at = code.row(8, builder.add(row, row.type(r)))
                code.add_to(code.at(8, at, column, WIDE * c), s)
            for c, s in enumerate(sums[len(cells) :]):
                code.add_to(code.at(9, column, WIDE * c), s)
            return context.get_dummy_value()

        return given, generate

    def plain(
        factors: Any,
        index: Any,
        weight: Any,
        scaled: Any,
        start: int,
        stop: int,
        row: int,
        column: int,
        gram: Any,
        linear: Any,
    ) -> None:
        columns = slice(column, column + n_vectors * WIDE)
        f = factors[index[start:stop]]
        w = weight[start:stop, None] if weighted else factors.dtype.type(1)
        gram[row : row + WIDE, columns] += f[:, row : row + WIDE].T @ (w * f[:, columns])
        if top:
            linear[columns] += scaled[: stop - start] @ f[:, columns].astype(np.float64)

    return plain if config.DISABLE_JIT else intrinsic(strip)  # type: ignore[attr-defined]


def make_line(n_vectors: int) -> Callable[..., Any]:
    """The kernel that adds up ``n_vectors`` vectors of factor rows; called as ``plain`` is."""

    def line(
        context: Any, factors: Any, index: Any, start: Any, stop: Any, column: Any, sums: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder, signature, arguments)
            start, stop, column = arguments[2:5]
            places = [WIDE * c for c in range(n_vectors)]

            def add(t: Any, totals: list[Any]) -> list[Any]:
                base = code.row(0, builder.load(code.at(1, t)))
                found = zip(places, totals, strict=True)
                return [
                    builder.fadd(x, code.in_64_bits(code.load(code.at(0, base, column, c))))
                    for c, x in found
                ]

            double = code.array(5).data.type.pointee
            totals = code.loop(start, stop, 1, [code.constant(double, 0.0)] * n_vectors, add)
            for c, x in zip(places, totals, strict=True):
                code.add_to(code.at(5, column, c), x)
            return context.get_dummy_value()

        number = types.int64
        return types.void(factors, index, number, number, number, sums), generate

    def plain(factors: Any, index: Any, start: int, stop: int, column: int, sums: Any) -> None:
        columns = slice(column, column + n_vectors * WIDE)
        sums[columns] += factors[index[start:stop], columns].sum(axis=0, dtype=np.float64)

    return plain if config.DISABLE_JIT else intrinsic(line)  # type: ignore[attr-defined]
