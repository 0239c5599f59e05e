"""Every CUDA kernel compiles for every architecture, on a machine without a GPU.

``make test`` takes one architecture, ``make nightly`` the others: with all settings where the
source asks for the architecture, else with the first of each kernel.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from pairtile.gpu import compiling as cuda
from pairtile.methods.mirna_targets.kernels.duplex_energy import OFFSETS
from pairtile.methods.mirna_targets.null_cuda import DEFINES
from pairtile.methods.multimodal_correlation import mixtures
from paths import ROOT

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="needs the package cuda-bindings")

PACKAGE = ROOT / "workflow" / "pairtile"
KERNELS = {path.stem: path for path in PACKAGE.rglob("*.cu")}

ARCHITECTURES = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
ORDINARY = "sm_90"
LIKE_ANOTHER = {"sm_75": "sm_70", "sm_86": "sm_80", "sm_89": "sm_80"}
"""Architectures that compile the same source as another, which takes all settings."""

SEARCH_MACROS = ("LEVELS", "CARDINALITY", "PENALTY", "WORDS", "COUNT_ALL", "TIGHT", "SHARED")

VARIANTS = {
    "mutual_information": [
        {"REAL": "float", "WEIGHT": "__half", "BINS": 10, "ORDER": 3},
        {"REAL": "double", "WEIGHT": "double", "BINS": 10, "ORDER": 3},
        {"REAL": "float", "WEIGHT": "__half", "BINS": 1, "ORDER": 1},
        {"REAL": "double", "WEIGHT": "double", "BINS": 64, "ORDER": 8},
    ],
    "bin_sums": [{"BINS": 10, "ORDER": 3}, {"BINS": 1, "ORDER": 1}, {"BINS": 64, "ORDER": 8}],
    "permuted_rows": [{}],
    "duplex_energy": [OFFSETS],
    "miranda_alignment": [
        {},
        {"ROWS": 9, "TRACKED": 4},
        {"ROWS": 19, "TRACKED": 4},
        {"ROWS": 25, "TRACKED": 8},
        {"ROWS": 49, "TRACKED": 49},
    ],
    "miranda_traceback": [{}],
    "shuffled_sites": [DEFINES],
    "mean_conditional_entropy": [
        dict(zip(SEARCH_MACROS, values, strict=True))
        for values in (
            (2, 2, 1, 2, 0, 0, 1),
            (3, 2, 1, 2, 0, 0, 1),
            (3, 2, 1, 16, 0, 1, 1),
            (4, 2, 0, 2, 0, 0, 1),
            (2, 2, 1, 2, 1, 0, 1),
            (3, 3, 2, 2, 1, 0, 1),
            (3, 4, 1, 2, 1, 0, 1),
            (4, 4, 0, 2, 1, 0, 1),
            (2, 1, 0, 1, 0, 0, 1),
            (3, 2, 0, 700, 1, 1, 0),
        )
    ],
    "mean_conditional_entropy_best": [{}],
    "transfer_entropy": [
        {"LEVELS": 2, "CELLS": 4},
        {"LEVELS": 3, "CELLS": 27},
        {"LEVELS": 4, "CELLS": 64},
    ],
    "ksg": [
        {"DIM": 3, "MAX_NORM": 0, "VARIANT": 1, "COLUMNS": 4, "STRETCH": 16},
        {"DIM": 1, "MAX_NORM": 1, "VARIANT": 2, "COLUMNS": 4, "STRETCH": 16},
        {"DIM": 16, "MAX_NORM": 0, "VARIANT": 2, "COLUMNS": 4, "STRETCH": 16},
    ],
    "ksg_scalars": [
        {"K": 6, "VARIANT": 1, "THREADS": 128},
        {"K": 64, "VARIANT": 2, "THREADS": 128},
    ],
    "gaussian": [{"DIM": 1}, {"DIM": 3}, {"DIM": 16}],
    "plain_correlation": [
        {"INDEX": "unsigned short", "SUM": "unsigned int", "SPEARMAN": 1},
        {"INDEX": "unsigned int", "SUM": "unsigned long long", "SPEARMAN": 1},
        {"INDEX": "unsigned short", "SUM": "unsigned int", "SPEARMAN": 0},
    ],
    "dpi": [{"REAL": "float"}, {"REAL": "double"}],
    "pair_mixtures": [
        {"KINC": 0, "SPEARMAN": 1},
        {"KINC": 0, "SPEARMAN": 0},
        {"KINC": 1, "SPEARMAN": 1},
        {"KINC": 1, "SPEARMAN": 0},
    ],
}
"""Compile-time settings that stand for what users can ask for."""

UNFUSED = ("bin_sums", "pair_mixtures", "permuted_rows", "shuffled_sites")
"""Kernels whose results are the CPU's bit for bit."""


def headers() -> list[str]:
    """Folders with cuda_fp16.h, from the pip wheels."""
    found = importlib.util.find_spec("nvidia")
    assert found is not None, "needs the package nvidia-cuda-runtime-cu12"
    places = found.submodule_search_locations or []
    return [str(p) for top in places for p in Path(top).glob("**/include") if p.is_dir()]


def compiled(name: str, defines: dict[str, str | int], architecture: str, more: str = "") -> str:
    """Compile to machine code; returns the compiler's log with the resources of each kernel.

    ``more``: source that is added at the end.
    """

    def check(result):
        assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, result[0]
        return result[1] if len(result) > 1 else None

    program = check(
        nvrtc.nvrtcCreateProgram(
            (cuda.source(KERNELS[name]) + more).encode(), f"{name}.cu".encode(), 0, [], []
        )
    )
    options = [
        *cuda.options(defines, fused=name not in UNFUSED),
        f"--gpu-architecture={architecture}",
    ]
    options += ["--ptxas-options=-v", *(f"--include-path={folder}" for folder in headers())]
    encoded = [option.encode() for option in options]
    result = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)[0]
    size = check(nvrtc.nvrtcGetProgramLogSize(program))
    log = b" " * size
    check(nvrtc.nvrtcGetProgramLog(program, log))
    text = log.decode(errors="replace")
    assert result == nvrtc.nvrtcResult.NVRTC_SUCCESS, f"{name} {defines} {architecture}:\n{text}"
    assert check(nvrtc.nvrtcGetCUBINSize(program)) > 0
    return text


SLOW = ("gaussian", {"DIM": 16})
"""Takes as long as all others together: once."""

CASES = [
    pytest.param(
        *(name, defines, architecture),
        marks=[] if architecture == ORDINARY and (name, defines) != SLOW else pytest.mark.nightly,
    )
    for architecture in ARCHITECTURES
    for name, variants in VARIANTS.items()
    for defines in variants[: 1 if architecture in LIKE_ANOTHER else None]
    if (name, defines) != SLOW or architecture == ORDINARY
]


@pytest.mark.parametrize(("name", "defines", "architecture"), CASES, ids=str)
def test_kernel_compiles(name, defines, architecture):
    compiled(name, defines, architecture)


def test_no_source_tells_an_architecture_from_one_like_it():
    """The bounds in conditions lie between none of ``LIKE_ANOTHER`` and what it is like."""
    numbers = {name: 10 * int(name.removeprefix("sm_")) for name in ARCHITECTURES}
    text = "".join(path.read_text() for end in ("cu", "cuh") for path in PACKAGE.rglob(f"*.{end}"))
    uses = len(re.findall(r"__CUDA_ARCH__(?!\))", text))  # beside defined(__CUDA_ARCH__)
    bounds = [int(bound) for bound in re.findall(r"__CUDA_ARCH__ (?:>=|<) (\d+)", text)]
    assert len(bounds) == uses > 5
    for name, other in LIKE_ANOTHER.items():
        assert not any(numbers[other] < bound <= numbers[name] for bound in bounds)


@pytest.mark.parametrize("name", ["Genes", "Places", "Settings", "Found", "Sums"])
def test_structures_of_mixtures_are_laid_out_alike_in_numpy_and_cuda(name):
    """The same fields, as large and in the same order, each aligned by its size."""
    layout = getattr(mixtures, name.upper())
    claims = [f"sizeof({name}) == {layout.itemsize}"]
    claims += [f"sizeof({name}::{field}) == {layout[field].itemsize}" for field in layout.names]
    places = [f"(const void *)&held.{field}" for field in layout.names]  # NVRTC has no offsetof
    claims += [f"{before} < {after}" for before, after in pairwise(places)]
    source = f"constexpr {name} held = {{}};\n"
    source += "".join(f'static_assert({claim}, "");\n' for claim in claims)
    compiled("pair_mixtures", VARIANTS["pair_mixtures"][0], ORDINARY, source)


def test_every_kernel_file_is_covered():
    assert set(KERNELS) == set(VARIANTS)


def test_every_part_stands_in_a_kernel_and_travels_with_the_package():
    parts = {path.name for path in PACKAGE.rglob("*.cuh")}
    used = [path.read_text() for path in KERNELS.values()]
    assert parts == {name for text in used for name in re.findall(r'#include "(\w+\.cuh)"', text)}
    assert not any('#include "' in cuda.source(kernel) for kernel in KERNELS.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "**/*.cuh" in project["tool"]["setuptools"]["package-data"]["pairtile"]


@pytest.mark.parametrize("defines", VARIANTS["mutual_information"][:2], ids=str)
def test_common_settings_spill_no_registers(defines):
    log = compiled("mutual_information", defines, "sm_90")
    spills = [int(n) for n in re.findall(r"(\d+) bytes spill", log)]
    assert spills, "the compiler reported no resources"
    assert max(spills) == 0, log
