"""The package stays as small as it is: lines of rooms, ``Any``, hooks, internals of Snakemake."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cache
from pathlib import Path

import pytest
from paths import ROOT

PACKAGE = ROOT / "workflow/pairtile"

# Rooms: lines that the design gives them, and the most that they may have. The second number only
# ever goes down: write the new one, 15 % above what is left, when a room has become smaller. (Five
# rose once, by what two tables, groups of samples and more scores took; io by MuData and Zarr.)
ROOMS = {
    "declare": (900, 1035),
    "config": (900, 2400),
    "io preprocess": (4200, 8565),
    "engine": (1800, 1996),
    "gpu cpu": (600, 740),
    "statistics splines": (2600, 3250),
    "report": (2800, 4798),
    "runtime steps command": (2600, 5122),
    "api": (1024, 2060),
    "downstream": (6000, 6900),
    "view": (1500, 1725),
    "simulate": (994, 1143),
    "methods/mutual_information": (4600, 6440),
    "methods/multimodal_correlation": (9300, 13543),
    "methods/predictor_pairs": (6000, 8560),
    "methods/mirna_targets": (10500, 15809),
    "methods/trajectory_correlation": (9000, 13856),
}

# These, too, only ever go down.
MAX_ANY = 130
HOOKS = {"Estimator": 14, "Analysis": 17, "MethodText": 18, "MethodReport": 5}
# A stage that a method may add, by its own count.
HOOKS |= {"NullStage": 3, "FirstPass": 2, "CandidateMerge": 1, "Bootstraps": 2, "NetworkData": 1}
HOOKS |= {"ReusableTiles": 1}

SOURCES = {".py", ".pyi", ".cu", ".cuh", ".j2", ".toml", ".js", ".css"}
SNAKEMAKE_MANUAL = {"cores", "source_path", "current_basedir"}
"""Attributes of ``workflow`` that rules may read: the first two are documented, and without the
third the package cannot be found."""


@cache
def trees() -> dict[Path, ast.Module]:
    """Every Python file of the package, parsed."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.mark.parametrize("rooms", ROOMS)
def test_a_room_does_not_grow(rooms: str) -> None:
    files = [path for room in rooms.split() for path in (PACKAGE / room).rglob("*")]
    own = [path for path in files if path.suffix in SOURCES and "vendor" not in path.parts]
    lines = sum(len(path.read_bytes().splitlines()) for path in own)
    budget, most = ROOMS[rooms]
    assert 0 < lines <= most
    if lines > budget:
        warnings.warn(f"{rooms}: {lines:,} lines; the design has {budget:,}", stacklevel=1)


def test_every_room_has_a_budget() -> None:
    rooms = {path.parent.relative_to(PACKAGE) for path in PACKAGE.glob("*/__init__.py")}
    rooms |= {path.parent.relative_to(PACKAGE) for path in PACKAGE.glob("methods/*/__init__.py")}
    assert {str(room) for room in rooms} - {"methods"} == {r for key in ROOMS for r in key.split()}


def test_types_are_named() -> None:
    names = (node for tree in trees().values() for node in ast.walk(tree))
    found = sum(isinstance(node, ast.Name) and node.id == "Any" for node in names)
    assert found <= MAX_ANY


def test_the_contract_of_a_method_does_not_grow() -> None:
    """Public functions, attributes and fields in the bodies of the classes that a method extends or
    fills in."""
    classes = {
        node.name: node
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in HOOKS
    }
    found = {}
    for name, node in classes.items():
        functions = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        fields = {
            part.target.id
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        }
        found[name] = len([hook for hook in functions | fields if not hook.startswith("_")])
    assert found.keys() == HOOKS.keys()
    assert all(found[name] <= HOOKS[name] for name in HOOKS), found


def test_one_file_touches_the_internals_of_snakemake() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and "snakemake" in {name.name for name in node.names})
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "snakemake")
    }
    assert found == {"snakemake_internals.py"}
    rules = [ROOT / "workflow/Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
    read = {name for path in rules for name in re.findall(r"\bworkflow\.(\w+)", path.read_text())}
    assert read - {"pairtile"} <= SNAKEMAKE_MANUAL
