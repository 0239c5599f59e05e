"""Load the CUDA kernels of this folder, compiled at run time for the GPU at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent

_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"\n', re.MULTILINE)

OPTIONS = ("--std=c++17",)
"""Compiler options common to all kernels (``--use_fast_math`` is not among them: it would change
comparisons with subnormal numbers; kernels name the fast functions they mean)."""

UNFUSED = frozenset({"pair_mixtures"})
"""Kernels whose floating-point results are the CPU's bit for bit: products and sums are fused only
where the source says so."""


def source(name: str) -> str:
    """Text of ``kernels/NAME.cu``, with the files of this folder that it includes (``#include
    "PART.cuh"``, alone in its line) in their places: the compiler needs no search path, and CuPy's
    cache of compiled code sees all of it."""
    return _with_parts((FOLDER / f"{name}.cu").read_text(encoding="utf-8"))


def _with_parts(text: str) -> str:
    return _INCLUDE.sub(lambda found: (FOLDER / found[1]).read_text(encoding="utf-8"), text)


def options(defines: Mapping[str, str | int]) -> tuple[str, ...]:
    """Compiler options for a set of compile-time settings."""
    return OPTIONS + tuple(f"-D{key}={value}" for key, value in sorted(defines.items()))


@cache
def _module(name: str, opts: tuple[str, ...], device: int) -> Any:
    import cupy

    return cupy.RawModule(code=source(name), options=opts, backend="nvrtc")


def load(name: str, defines: Mapping[str, str | int]) -> Any:
    """``cupy.RawModule`` of ``kernels/NAME.cu`` with the given macros, for the current device.

    CuPy keeps compiled code in its own cache folder, so only a first run compiles.
    """
    import cupy

    unfused = ("--fmad=false",) if name in UNFUSED else ()
    return _module(name, options(defines) + unfused, cupy.cuda.Device().id)
