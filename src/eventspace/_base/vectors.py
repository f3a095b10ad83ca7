"""Vector instructions for the loops in which numba does not find them by itself.

An intrinsic here is written with a ``Code``: the vectors that a loop carries stay in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

WIDE = 8  # numbers in a vector; arrays are padded to a multiple of it
_WORD, _INDEX = ir.IntType(64), ir.IntType(32)
_BYTE, _BIT = ir.IntType(8), ir.IntType(1)


class Code:
    """The code of one intrinsic, over the numbers of one type."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.signature, self.arguments = signature, arguments

    def array(self, k: int) -> Any:
        """The k-th argument, an array."""
        make = self.context.make_array(self.signature.args[k])
        return make(self.context, self.builder, self.arguments[k])

    def at(self, k: int, *where: Any) -> Any:
        """The address of an element of the k-th argument: offsets are added up."""
        array, total = self.array(k), _WORD(0)
        for offset in where:
            total = self.builder.add(total, _WORD(offset) if isinstance(offset, int) else offset)
        return self.builder.gep(array.data, [total])

    def row(self, k: int, row: Any) -> Any:
        """Where a row of the k-th argument, a matrix, begins."""
        row = self.builder.sext(row, _WORD) if row.type != _WORD else row
        return self.builder.mul(row, self.builder.extract_value(self.array(k).shape, 1))

    def size(self, k: int) -> Any:
        """The number of elements of the k-th argument, a vector."""
        return self.builder.extract_value(self.array(k).shape, 0)

    def load(self, address: Any) -> Any:
        """The vector at an address."""
        scalar = address.type.pointee
        vector = ir.VectorType(scalar, WIDE)
        align = 4 if isinstance(scalar, ir.FloatType) else 8
        return self.builder.load(self.builder.bitcast(address, vector.as_pointer()), align=align)

    def store(self, address: Any, x: Any) -> None:
        """Put a vector at an address."""
        align = 4 if isinstance(x.type.element, ir.FloatType) else 8
        self.builder.store(x, self.builder.bitcast(address, x.type.as_pointer()), align=align)

    def add_to(self, address: Any, x: Any) -> None:
        """Add a vector to the numbers of 64 bits at an address."""
        self.store(address, self.builder.fadd(self.load(address), self.in_64_bits(x)))

    def spread(self, x: Any) -> Any:
        """The vector of a number."""
        vector = ir.VectorType(x.type, WIDE)
        none = ir.Constant(vector, ir.Undefined)
        first = ir.Constant(ir.VectorType(_INDEX, WIDE), [0] * WIDE)
        return self.builder.shuffle_vector(
            self.builder.insert_element(none, x, _INDEX(0)), none, first
        )

    def constant(self, scalar: Any, x: float) -> Any:
        """The vector of a constant."""
        return ir.Constant(ir.VectorType(scalar, WIDE), [x] * WIDE)

    def times_plus(self, x: Any, y: Any, z: Any) -> Any:
        """X y + z, rounded once where the machine can."""
        product = self.builder.fmul(x, y, flags=["contract"])
        return self.builder.fadd(product, z, flags=["contract"])

    def in_64_bits(self, x: Any) -> Any:
        """A number or a vector of either type as one of 64 bits."""
        element = x.type.element if isinstance(x.type, ir.VectorType) else x.type
        if isinstance(element, ir.DoubleType):
            return x
        double: Any = ir.DoubleType()
        wide = isinstance(x.type, ir.VectorType)
        return self.builder.fpext(x, ir.VectorType(double, WIDE) if wide else double)

    def fold(self, vector: Any, relation: str) -> Any:
        """The least (``"<"``) or greatest (``">"``) of a vector's numbers, in each place."""
        none = ir.Constant(vector.type, ir.Undefined)
        for shift in (4, 2, 1):
            turned = [(k + shift) % WIDE for k in range(WIDE)]
            other = self.builder.shuffle_vector(
                vector, none, ir.Constant(ir.VectorType(_INDEX, WIDE), turned)
            )
            vector = self.better(other, vector, relation)
        return vector

    def better(self, new: Any, old: Any, relation: str) -> Any:
        """In each place the new number where the relation holds, else the old one."""
        return self.builder.select(self.builder.fcmp_ordered(relation, new, old), new, old)

    def where_equal(self, x: Any, y: Any, shift: Any) -> Any:
        """A word of bits: where two vectors are equal, from bit ``shift`` on."""
        equal = self.builder.bitcast(self.builder.fcmp_ordered("==", x, y), _BYTE)
        return self.builder.shl(self.builder.zext(equal, _WORD), shift)

    def popcounts(self, words: Any) -> Any:
        """How many bits each word of a vector has."""
        name, module = f"llvm.ctpop.v{WIDE}i64", self.builder.module
        count = module.globals.get(name)
        if count is None:
            count = ir.Function(module, ir.FunctionType(words.type, [words.type]), name)
        return self.builder.call(count, [words])

    def any_of(self, words: Any, bits: Any) -> Any:
        """In which places two vectors of words have a bit in common."""
        none = ir.Constant(words.type, [0] * WIDE)
        return self.builder.icmp_unsigned("!=", self.builder.and_(words, bits), none)

    def as_word(self, mask: Any) -> Any:
        """What holds in the places of a vector, as the lowest bits of a word."""
        return self.builder.zext(self.builder.bitcast(mask, _BYTE), _WORD)

    def among(self, word: Any, shift: Any, x: Any, otherwise: Any) -> Any:
        """X where the bits of a word are set, from bit ``shift`` on, else the other vector."""
        bits = self.builder.trunc(self.builder.lshr(word, shift), _BYTE)
        mask = self.builder.bitcast(bits, ir.VectorType(_BIT, WIDE))
        return self.builder.select(mask, x, otherwise)

    def first_bit(self, word: Any) -> Any:
        """The number of a word's lowest bit; zero if it has none."""
        nothing = self.builder.icmp_unsigned("==", word, _WORD(0))
        return self.builder.select(nothing, _WORD(0), self.builder.cttz(word, _BIT(0)))

    def loop(
        self,
        start: Any,
        stop: Any,
        step: int,
        carried: list[Any],
        body: Callable[[Any, list[Any]], list[Any]],
    ) -> list[Any]:
        """Run the body from start to stop; it gets the position and the values carried along."""
        builder = self.builder
        before = builder.block
        inside, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
        start, stop = (_WORD(x) if isinstance(x, int) else x for x in (start, stop))
        builder.cbranch(builder.icmp_signed("<", start, stop), inside, after)
        builder.position_at_end(inside)
        t = builder.phi(_WORD)
        t.add_incoming(start, before)
        values = []
        for x in carried:
            value = builder.phi(x.type)
            value.add_incoming(x, before)
            values.append(value)
        found = body(t, values)
        after_step, end = builder.add(t, _WORD(step)), builder.block
        t.add_incoming(after_step, end)
        for value, x in zip(values, found, strict=True):
            value.add_incoming(x, end)
        builder.cbranch(builder.icmp_signed("<", after_step, stop), inside, after)
        builder.position_at_end(after)
        last = []
        for x, new in zip(carried, found, strict=True):
            value = builder.phi(x.type)
            value.add_incoming(x, before)
            value.add_incoming(new, end)
            last.append(value)
        return last

    def prefetch(self, address: Any) -> None:
        """Ask for the memory at an address, to read it soon."""
        pointer = self.builder.bitcast(address, _BYTE.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, _INDEX, _INDEX, _INDEX])
        fetch = self.builder.module.declare_intrinsic("llvm.prefetch", (pointer.type,), kind)
        self.builder.call(fetch, [pointer, _INDEX(0), _INDEX(3), _INDEX(1)])  # to read, keep, data
