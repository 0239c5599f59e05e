"""Rules, scripts and environment files keep the form that the house asks for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from programs import python
from workflow_runs import ROOT

SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
RULE_FILES = sorted((ROOT / "workflow/rules").glob("*.smk"))


def rules() -> dict[str, str]:
    """Name -> text of every rule and checkpoint in workflow/rules."""
    found = {}
    for path in RULE_FILES:
        parts = re.split(r"^ *(?:rule|checkpoint)( \w+)?:\n", path.read_text(), flags=re.M)
        names = [name.strip() if name else path.stem for name in parts[1::2]]
        found |= dict(zip(names, parts[2::2], strict=True))
    return found


def test_every_rule_has_script_log_message_and_environment() -> None:
    lacking = {
        name: [key for key in ("script", "log", "message", "conda") if f"    {key}:\n" not in text]
        for name, text in rules().items()
    }
    assert len(lacking) >= 12
    assert {name: keys for name, keys in lacking.items() if keys} == {}


def test_every_rule_names_an_existing_script_and_every_script_has_a_rule() -> None:
    named = {re.search(r'"../../scripts/(\w+\.py)"', text)[1] for text in rules().values()}  # type: ignore[index]
    assert named == {path.name for path in SCRIPTS}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_thin(path: Path) -> None:
    text = path.read_text()
    assert 10 <= len(text.splitlines()) <= 40
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    # Threads are set in job(), before anything that brings numba or BLAS is imported.
    (only,) = imports
    assert isinstance(only, ast.ImportFrom)
    assert only.module == "pairtile.runtime.job"
    assert [type(node) for node in tree.body[2:]] == [ast.With]
    assert "def " not in text


def test_what_scripts_import_first_is_light() -> None:
    code = (
        "import sys, pairtile.runtime.job; "
        "print([m for m in ('numba', 'numpy') if m in sys.modules])"
    )
    assert python(code).strip() == "[]"


def test_every_rule_uses_the_environment() -> None:
    for name, text in rules().items():
        assert re.search(r"^ +conda:\n +ENVIRONMENT$", text, re.M), name


def test_the_image_of_the_workflow_is_the_one_that_is_built_and_that_pages_name() -> None:
    image = "ghcr.io/pairtile/pairtile"
    assert (
        f'container: f"docker://{image}:{{VERSION}}"' in (ROOT / "workflow/Snakefile").read_text()
    )
    assert f"IMAGE ?= {image}\n" in (ROOT / "Makefile").read_text()
    assert f" {image} demo\n" in (ROOT / "docs/install.md").read_text()
