"""Vectors for nearest neighbours, beside ``simd.py``: minimum, smallest element, choice."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pairtile.cpu.simd import LANES


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
        left = arguments[0]
        width = LANES
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


def _numbers(values: Any) -> Any:
    lanes = list(values)
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
