"""Arithmetic of vectors of 32 float32 (``cpu.vectors``): the samples of a pair, spread over lanes.

Each operation rounds on its own, as the CUDA kernel does; ``fma`` is the fused one. exp2 and log2
are polynomials of +, * and fma, so that both backends give the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from pairtile.cpu.njit import subroutine
from pairtile.cpu.vectors import LANES, Vector, address_of

EXP2: Final = (1.326472725e-03, 9.671512786e-03, 5.550733744e-02, 2.402224208e-01, 6.931469776e-01)
"""(2^f - 1) / f for f in [-1/2, 1/2], highest power first; relative error of 2^f below 1.6e-7."""

LOG2: Final = (
    *(1.292643720e-01, -2.089339071e-01, 2.152122644e-01, -2.386756684e-01, 2.879390924e-01),
    *(-3.607162643e-01, 4.809102799e-01, -7.213471993e-01, 1.442695005e00),
)
"""log2(1 + z) / z for 1 + z in [sqrt(1/2), sqrt(2)), highest power first; error below 4e-8."""

MIN_EXPONENT: Final = -127.0
"""exp2 from half above this down is 0: the bits of its power of two are 0 then."""

ROOT_HALF_BITS: Final = 0x3F3504F3
"""sqrt(1/2) as float32 bits."""

_FLOAT = ir.FloatType()
_FLOATS = ir.VectorType(_FLOAT, LANES)
_INTS = ir.VectorType(ir.IntType(32), LANES)


LANES_TYPE = Vector(types.float32)


def _constant(number: float) -> ir.Constant:
    return ir.Constant(_FLOATS, [number] * LANES)


def _integers(number: int) -> ir.Constant:
    return ir.Constant(_INTS, [number] * LANES)


def _call(builder: ir.IRBuilder, name: str, arguments: Sequence[ir.Value]) -> ir.Instruction:
    kind = arguments[0].type
    suffix = f"v{LANES}f32" if isinstance(kind, ir.VectorType) else "f32"
    function_type = ir.FunctionType(kind, [kind] * len(arguments))
    function = builder.module.globals.get(f"llvm.{name}.{suffix}")
    if function is None:
        function = ir.Function(builder.module, function_type, f"llvm.{name}.{suffix}")
    return builder.call(function, arguments)


@intrinsic
def fma(typing_context, first, second, added):  # type: ignore[no-untyped-def]
    """first * second + added, rounded once; vectors or float32."""
    kind = LANES_TYPE if isinstance(first, Vector) else types.float32

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _call(builder, "fma", tuple(arguments))

    return kind(kind, kind, kind), generate


@intrinsic
def exp2(typing_context, vector):  # type: ignore[no-untyped-def]
    """2^t for t <= 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        t = arguments[0]
        least = _constant(MIN_EXPONENT)
        t = builder.select(builder.fcmp_ordered(">", t, least), t, least)
        whole = _call(builder, "rint", (t,))
        f = builder.fsub(t, whole)
        p = _constant(EXP2[0])
        for coefficient in (*EXP2[1:], 1.0):
            p = _call(builder, "fma", (p, f, _constant(coefficient)))
        exponent = builder.add(builder.fptosi(whole, _INTS), _integers(127))
        power = builder.bitcast(builder.shl(exponent, _integers(23)), _FLOATS)
        return builder.fmul(p, power)

    return LANES_TYPE(vector), generate


@intrinsic
def log2(typing_context, number):  # type: ignore[no-untyped-def]
    """Base-2 logarithm of normal numbers above 0; a vector or one float32."""
    vector = isinstance(number, Vector)
    kind = LANES_TYPE if vector else types.float32
    float_type = _FLOATS if vector else _FLOAT
    int_type = _INTS if vector else ir.IntType(32)

    def real(value: float) -> ir.Constant:
        return ir.Constant(float_type, [value] * LANES if vector else value)

    def whole(value: int) -> ir.Constant:
        return ir.Constant(int_type, [value] * LANES if vector else value)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        bits = builder.bitcast(arguments[0], int_type)
        exponent = builder.ashr(builder.sub(bits, whole(ROOT_HALF_BITS)), whole(23))
        mantissa = builder.sub(bits, builder.shl(exponent, whole(23)))
        z = builder.fsub(builder.bitcast(mantissa, float_type), real(1.0))
        p = real(LOG2[0])
        for coefficient in LOG2[1:]:
            p = _call(builder, "fma", (p, z, real(coefficient)))
        return _call(builder, "fma", (z, p, builder.sitofp(exponent, float_type)))

    return kind(kind), generate


@intrinsic
def sum_16_rows(typing_context, rows, start, sums, place):  # type: ignore[no-untyped-def]
    """sums[place + i] = sum over the lanes of row i of 16 rows of 32, which begin at ``start``.

    Lane l is added to lane l xor 16, then xor 8, 4, 2, 1. From the second step on, two rows share
    a vector, then four, and so on: a third of the instructions of one row after another.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        def shuffled(first, second, lanes):  # type: ignore[no-untyped-def]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
            return builder.shuffle_vector(first, second, mask)

        vectors = []
        for i in range(16):
            index = builder.add(arguments[1], ir.Constant(arguments[1].type, i * LANES))
            row = builder.load(
                address_of(context, builder, signature.args[0], arguments[0], index), align=4
            )
            low = shuffled(row, row, list(range(16)))
            high = shuffled(row, row, list(range(16, 32)))
            vectors.append(builder.fadd(low, high))
        # width: lanes that one row still has in a vector. Rows i and i + half share one next.
        width = 16
        while width > 1:
            half = width // 2
            pairs = len(vectors) // 2
            low_lanes, high_lanes = [], []
            for group in range(16 // width):
                for source in (0, 16):
                    begin = source + group * width
                    low_lanes += range(begin, begin + half)
                    high_lanes += range(begin + half, begin + width)
            vectors = [
                builder.fadd(
                    shuffled(vectors[i], vectors[i + pairs], low_lanes),
                    shuffled(vectors[i], vectors[i + pairs], high_lanes),
                )
                for i in range(pairs)
            ]
            width = half
        data = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        address = builder.bitcast(
            builder.gep(data, [arguments[3]]), ir.VectorType(_FLOAT, 16).as_pointer()
        )
        # The rows' places after the pairings above.
        order = [0]
        step = 8
        while step:
            order = [value for row in order for value in (row, row + step)]
            step //= 2
        back = [order.index(i) for i in range(16)]
        builder.store(shuffled(vectors[0], vectors[0], back), address, align=4)
        return context.get_dummy_value()

    return types.void(rows, types.intp, sums, types.intp), generate


def _binary(name: str) -> Callable[..., object]:
    @intrinsic
    def operation(typing_context, first, second):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return getattr(builder, name)(*arguments)

        return LANES_TYPE(LANES_TYPE, LANES_TYPE), generate

    return operation


def _overload(symbol: Callable[..., object], name: str) -> None:
    operation = _binary(name)

    @overload(symbol)
    def choose(first, second):  # type: ignore[no-untyped-def]
        if isinstance(first, Vector) and isinstance(second, Vector):
            return lambda first, second: operation(first, second)
        return None


_overload(operator.add, "fadd")
_overload(operator.sub, "fsub")
_overload(operator.mul, "fmul")
_overload(operator.truediv, "fdiv")


@overload(operator.neg)
def _negative(vector):  # type: ignore[no-untyped-def]
    if isinstance(vector, Vector):
        return lambda vector: _negate(vector)
    return None


@intrinsic
def _negate(typing_context, vector):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.fneg(arguments[0])

    return LANES_TYPE(vector), generate


@subroutine()
def lane_sum(lanes):  # type: ignore[no-untyped-def]
    """Sum of 32 numbers in an array, lane l with lane l xor 16, 8, 4, 2, 1; it is used up."""
    half = LANES // 2
    while half > 0:
        for lane in range(half):
            lanes[lane] = lanes[lane] + lanes[lane + half]
        half //= 2
    return lanes[0]
