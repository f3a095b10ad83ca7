"""Ask for memory before it is needed: what makes sums over a large table wait for nothing."""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

LINE = 8  # float64 numbers in a cache line


def _prefetch(typing_context: Any, rows: Any, row: Any, column: Any) -> Any:
    """Fetch the cache line of ``rows[row, column]``, a contiguous float64 array, into the cache."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, flag = ir.IntType(64), ir.IntType(32)
        at = builder.mul(builder.sext(arguments[1], word), builder.extract_value(array.shape, 1))
        at = builder.add(at, arguments[2])
        address = builder.bitcast(builder.gep(array.data, [at]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
        builder.call(fetch, [address, flag(0), flag(3), flag(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(rows, types.int32, types.int64), generate


def _nothing(rows: Any, row: Any, column: Any) -> None:
    """Plain Python has no use for it."""


prefetch: Any = (
    _nothing if config.DISABLE_JIT else intrinsic(_prefetch)  # type: ignore[attr-defined]
)
