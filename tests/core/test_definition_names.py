"""Definitions of the package are called by terms that say what they are without their context."""

import ast
import re
from collections.abc import Iterator

from paths import ROOT

WORDS = re.findall(
    r"\w+",
    "about account allowed among asks beside counted decided described fault_beside hot_columns "
    "in_words is_little judge later_inputs listed look_into network_times of of_gene of_row "
    "of_tile plain planned refusal said say slack some stand_for tell teller the there twice "
    "whole works_beside_gpu written",
)
BOUNDS = re.compile(
    r"_?(LEAST|MOST|FEW|FEWEST|MANY|MUCH|LITTLE|LARGEST|SMALLEST|LONGEST|SHORTEST)(_|$)"
)
"""Bounds are called MIN_, MAX_ and N_."""

ACCEPTED = {
    ("score.py", "_allowed"),  # pairs that a list of the user allows
    ("scores.py", "of"),  # the function of a Score, as CONTRIBUTING.md names it
    ("combined_score.py", "of"),
}


def definitions(tree: ast.AST) -> Iterator[str]:
    """Names of functions, classes and constants of a module and of its classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from definitions(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for part in targets if isinstance(part, ast.Name))


def is_vague(name: str) -> bool:
    return name.strip("_").lower() in WORDS or BOUNDS.match(name) is not None


def test_vague_names_are_known() -> None:
    code = (
        "LEAST_BYTES = 1\nclass Written:\n    def say(self): ...\ndef listed(): ...\nMIN_BYTES = 2"
    )
    found = [name for name in definitions(ast.parse(code)) if is_vague(name)]
    assert found == ["LEAST_BYTES", "Written", "say", "listed"]


def test_nothing_in_the_package_is_defined_by_a_vague_name() -> None:
    found = {
        (path.name, name)
        for path in (ROOT / "workflow/pairtile").rglob("*.py")
        for name in definitions(ast.parse(path.read_text(encoding="utf-8")))
        if is_vague(name)
    }
    assert found == ACCEPTED


def test_no_rule_calls_a_function_of_a_vague_name() -> None:
    found = [
        name
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for name in re.findall(r"^def (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if is_vague(name)
    ]
    assert not found
