"""Vectors of ``LANES`` numbers inside numba functions: load, store, add, compare, choose, reduce.

The compiler's own vectoriser gives up on loops over many arrays that might overlap, and numba
widens every int16 sum to 64 bits. These intrinsics say plainly what is meant, as LLVM vectors; LLVM
splits them into whatever registers the processor has (AVX-512, AVX2, SSE, NEON), with the same
result on each. Arrays are one-dimensional and contiguous; a vector starts at any element.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.extending import intrinsic, models, register_model

LANES: Final = 32
"""Numbers in a vector: one AVX-512 register of int16; more gains little and wastes more."""


class Vector(types.Type):
    """``LANES`` integers of one type, or float32."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"Vector({element} x {LANES})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: object, vector: Vector) -> None:
        whole = isinstance(vector.element, types.Integer)
        element = ir.IntType(vector.element.bitwidth) if whole else ir.FloatType()
        super().__init__(manager, vector, ir.VectorType(element, LANES))


def address_of(
    context: BaseContext, builder: ir.IRBuilder, kind: types.Array, array: ir.Value, index: ir.Value
) -> ir.Instruction:
    """Where a vector that starts at an element of an array lies."""
    data = context.make_array(kind)(context, builder, array).data
    vector = context.get_value_type(Vector(kind.dtype))
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


@intrinsic
def load(typing_context, array, start):  # type: ignore[no-untyped-def]
    """Elements start .. start + LANES - 1 of an array."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address = address_of(context, builder, signature.args[0], *arguments)
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return Vector(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing_context, array, start, vector):  # type: ignore[no-untyped-def]
    """Write a vector to elements start .. start + LANES - 1 of an array."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address = address_of(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic
def splat(typing_context, like, number):  # type: ignore[no-untyped-def]
    """A vector of equal numbers, of the type of the array ``like``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = context.get_value_type(Vector(like.dtype))
        element = context.cast(builder, arguments[1], signature.args[1], like.dtype)
        nothing = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(nothing, element, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, nothing, zeros)

    return Vector(like.dtype)(like, number), generate


@intrinsic
def add(typing_context, first, second):  # type: ignore[no-untyped-def]
    """Sum of two vectors; wraps where the type overflows."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.add(*arguments)

    return first(first, second), generate


@intrinsic
def maximum(typing_context, first, second):  # type: ignore[no-untyped-def]
    """The larger of two vectors, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        whole = isinstance(first.element, types.Integer)
        compare = builder.icmp_signed if whole else builder.fcmp_ordered
        return builder.select(compare(">", *arguments), *arguments)

    return first(first, second), generate


@intrinsic
def at_least(typing_context, first, second):  # type: ignore[no-untyped-def]
    """Bit k of the uint32 is 1 where lane k of ``first`` is as large as that of ``second``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(builder.icmp_signed(">=", *arguments), ir.IntType(LANES))

    return types.uint32(first, second), generate


@intrinsic
def minimum(typing_context, first, second):  # type: ignore[no-untyped-def]
    """The smaller of two vectors, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        smaller = builder.icmp_signed("<", *arguments)
        return builder.select(smaller, *arguments)

    return first(first, second), generate


@intrinsic
def smallest(typing_context, vector):  # type: ignore[no-untyped-def]
    """The smallest element of a vector, found by halving."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        left, width = arguments[0], LANES
        while width > 1:
            width //= 2
            nothing = ir.Constant(left.type, ir.Undefined)
            low, high = (
                builder.shuffle_vector(left, nothing, _numbers(range(begin, begin + width)))
                for begin in (0, width)
            )
            left = builder.select(builder.icmp_signed("<", low, high), low, high)
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return vector.element(vector), generate


@intrinsic
def choose(typing_context, mask, where_set, elsewhere):  # type: ignore[no-untyped-def]
    """Lane k of ``where_set`` where bit k of the uint32 ``mask`` is 1, of ``elsewhere`` if not."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        bits = context.cast(builder, arguments[0], signature.args[0], types.uint32)
        lanes = builder.bitcast(bits, ir.VectorType(ir.IntType(1), LANES))
        return builder.select(lanes, arguments[1], arguments[2])

    return where_set(mask, where_set, elsewhere), generate


def _numbers(values: range) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(values)), list(values))
