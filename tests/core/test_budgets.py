"""The package stays as small as it is: statements, ``Any``, hooks, internals of Snakemake."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from paths import ROOT

PACKAGE = ROOT / "workflow/pairtile"

# Statements of Python that the package, its core and each method may have: these numbers only ever
# go down. Write the new one when there are fewer.
MAX_PACKAGE = 44_824
CORE = ("engine", "declare", "config", "io", "preprocess", "report", "steps", "runtime", "api")
MAX_CORE = 13_256
MAX_OF_METHODS = {  # without their kernels
    "mirna_targets": 4_753,
    "multimodal_correlation": 3_799,
    "mutual_information": 2_766,
    "predictor_pairs": 2_843,
    "trajectory_correlation": 5_111,
}

PAID = "take as many away in the same part as a change adds (CONTRIBUTING.md, The house)"

# These, too, only ever go down.
MAX_ANY = 120
HOOKS = {"Estimator": 14, "Analysis": 16, "MethodText": 17, "MethodReport": 5}
# A stage that a method may add, by its own count.
HOOKS |= {"NullStage": 3, "FirstPass": 2, "CandidateMerge": 1, "Bootstraps": 2, "NetworkData": 1}
HOOKS |= {"ReusableTiles": 1}

SNAKEMAKE_MANUAL = {"cores", "source_path", "current_basedir"}
"""Attributes of ``workflow`` that rules may read: the first two are documented, and without the
third the package cannot be found."""


@cache
def trees() -> dict[Path, ast.Module]:
    """Every Python file of the package, parsed."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def statements(*folders: Path) -> int:
    """Of all Python files below these, without those of kernels."""
    return sum(
        isinstance(node, ast.stmt)
        for path, tree in trees().items()
        if any(folder in path.parents for folder in folders) and "kernels" not in path.parts
        for node in ast.walk(tree)
    )


def test_the_package_does_not_grow() -> None:
    found = sum(isinstance(node, ast.stmt) for tree in trees().values() for node in ast.walk(tree))
    assert 0 < found <= MAX_PACKAGE, f"{found} statements: {PAID}"


def test_what_the_author_of_a_method_must_know_does_not_grow() -> None:
    found = statements(*(PACKAGE / room for room in CORE))
    assert 0 < found <= MAX_CORE, f"{found} statements in {', '.join(CORE)}: {PAID}"


def test_a_method_does_not_grow() -> None:
    found = {name: statements(PACKAGE / "methods" / name) for name in MAX_OF_METHODS}
    assert {name: n for name, n in found.items() if not 0 < n <= MAX_OF_METHODS[name]} == {}, PAID
    there = {path.parent.name for path in PACKAGE.glob("methods/*/__init__.py")}
    assert there == MAX_OF_METHODS.keys(), "a new method states its statements in MAX_OF_METHODS"


def test_one_place_runs_the_steps_of_an_analysis() -> None:
    """Rules, library, ``pairtile check`` and tests name steps; only ``AnalysisRun`` calls them."""
    steps = {path.stem for path in (PACKAGE / "steps").glob("*.py")}
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    files += [*(ROOT / "tests/support").glob("*.py"), *(ROOT / "workflow/rules").glob("*.smk")]
    call = re.compile(r"from pairtile\.steps\.(\w+) import (?:.*\W)?\1\b")
    found = [(path.name, step) for path in files for step in call.findall(path.read_text())]
    others = [("download.py", "download"), ("groups.py", "groups")]  # not of one analysis
    assert sorted((name, step) for name, step in found if step in steps) == others


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
