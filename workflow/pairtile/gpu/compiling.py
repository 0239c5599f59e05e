"""Compile CUDA kernels at run time, for the GPU at hand.

A kernel lies beside the Python that calls it, as ``kernels/NAME.cu`` of its method; what several
kernels include lies beside them or, where methods share it, in this folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pairtile.arrays import CupyModule
from pairtile.runtime.record import COMPILING
from pairtile.runtime.user_cache import code_folder

log = logging.getLogger(__name__)

OPTIONS = ("--std=c++17",)
"""Compiler options common to all kernels (``--use_fast_math`` is not among them: it would change
comparisons with subnormal numbers; kernels name the fast functions they mean)."""

CACHE = "CUPY_CACHE_DIR"
"""Where CuPy keeps compiled code, in the environment; without it, below the home folder."""


def secure_cache() -> Path:
    """Where CuPy keeps compiled code from here on: elsewhere if others can write to its folder."""
    given = os.environ.get(CACHE) or os.path.expanduser("~/.cupy/kernel_cache")
    folder = code_folder(Path(given), "cupy")
    os.environ[CACHE] = str(folder)
    return folder


def source(kernel: Path) -> str:
    """Text of a ``.cu`` file with the files it includes (``#include "PART.cuh"``, alone in its
    line) in their places: the compiler needs no search path, and CuPy's cache of compiled code
    sees all of it. Parts are looked for beside the kernel, then in ``gpu/``."""

    def part(found: re.Match[str]) -> str:
        beside = kernel.with_name(found[1])
        path = beside if beside.is_file() else Path(__file__).parent / found[1]
        return path.read_text(encoding="utf-8")

    text = kernel.read_text(encoding="utf-8")
    return re.sub(r'^#include "(\w+\.cuh)"\n', part, text, flags=re.MULTILINE)


def options(defines: Mapping[str, str | int], *, fused: bool = True) -> tuple[str, ...]:
    """Compiler options for a set of compile-time settings.

    ``fused=False``: products and sums are fused only where the source says so, for kernels whose
    floating-point results are the CPU's bit for bit.
    """
    macros = tuple(f"-D{key}={value}" for key, value in sorted(defines.items()))
    return OPTIONS + macros + (() if fused else ("--fmad=false",))


@cache
def _module(kernel: Path, opts: tuple[str, ...], device: int) -> CupyModule:
    import cupy

    code = source(kernel)
    module = cupy.RawModule(code=code, options=opts, backend="nvrtc")
    # What CuPy's name for compiled code depends on, as far as it is known here.
    version = cupy.__version__, cupy.cuda.runtime.runtimeGetVersion()
    made_of = code, opts, version, cupy.cuda.Device(device).compute_capability
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    mark = secure_cache() / f"pairtile-{kernel.stem}-{digest}.compiled"
    if not mark.exists():
        log.info("Compiling %s for this GPU, once: later runs find it done.", kernel.stem)
    COMPILING.start()
    module.compile()
    COMPILING.stop()
    if mark.parent.is_dir():
        mark.touch()
    return module


def load(kernel: Path, defines: Mapping[str, str | int], *, fused: bool = True) -> CupyModule:
    """A ``.cu`` file compiled with the given macros, for the current device.

    CuPy keeps compiled code in the user's cache folder, whatever the environment, so only a first
    run compiles; it says so.
    """
    import cupy

    return _module(kernel, options(defines, fused=fused), cupy.cuda.Device().id)
