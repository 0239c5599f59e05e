"""Load the CUDA kernels of this folder, compiled at run time for the GPU at hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent

OPTIONS = ("--std=c++17",)
"""Compiler options common to all kernels (``--use_fast_math`` is not among them: it would change
comparisons with subnormal numbers; kernels name the fast functions they mean)."""


def source(name: str) -> str:
    """Text of ``kernels/NAME.cu``."""
    return (FOLDER / f"{name}.cu").read_text(encoding="utf-8")


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

    return _module(name, options(defines), cupy.cuda.Device().id)
