"""Notes and warnings: whole sentences, joined and shown by the step that they are of."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
import pairtile
import pandas as pd
import pytest
from pairtile.config import load_config
from pairtile.engine.state import write_state
from pairtile.method import methods
from pairtile.report.page import render_page
from pairtile.report.results import read_results
from pairtile.runtime.files import atomic_path, write_arrays, write_json
from pairtile.steps.summary import summary
from result_files import write_results

PACKAGE = Path(pairtile.__file__).parent
STEPS = ("prepare", "plan", "null", "merge", "network")
TELLING = [
    *("io", "preprocess", "steps"),
    *(f"methods/{name}" for name in methods()),
]
"""Folders whose code reports something to the user: a note, a warning."""


def groups_of(folder: Path) -> dict[str, list[str]]:
    """Headings of the section on cleaning and what stands below each."""
    page = lxml.html.fromstring(render_page(read_results(folder), []))
    part = page.get_element_by_id("cleaning")
    found: dict[str, list[str]] = {}
    for element in part.xpath("h3 | ul/li"):
        if element.tag == "h3":
            found[element.text_content()] = []
        else:
            found[list(found)[-1]].append(element.text_content())
    return found


def with_notes(folder: Path, **more: Any) -> Path:
    """Change the summary of a results folder."""
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    return folder


def test_notes_stand_under_their_steps_in_the_order_of_the_steps(tmp_path: Path) -> None:
    by_step = {
        "network": ["Kept.", "Kept."],
        "of_tomorrow": ["New."],
        "prepare": ["Read.", "Cut."],
        "plan": ["Read.", "Planned."],
    }
    notes = [note for step in by_step.values() for note in step]
    folder = write_results(tmp_path / "demo")
    items = pd.read_parquet(folder / "items.parquet")
    items.assign(constant=items["name"] == items["name"][items["kept"]].iloc[0]).to_parquet(
        folder / "items.parquet"
    )
    groups = groups_of(with_notes(folder, notes=notes, notes_by_step=by_step))
    assert list(groups) == [
        "Preparing the input", "Planning the work", "Making the network", "of tomorrow", "Left out",
    ]  # fmt: skip
    texts = list(groups.values())
    constant = "1 gene kept although constant: no score above 0 is possible there."
    assert texts == [["Read.", "Cut.", constant], ["Planned."], ["Kept."], ["New."], []]


def test_notes_of_an_earlier_versions_summary_are_shown_without_steps(tmp_path: Path) -> None:
    folder = with_notes(write_results(tmp_path / "demo"), notes=["One.", "Two.", "One."])
    assert "notes_by_step" not in json.loads((folder / "summary.json").read_text())
    assert groups_of(folder)["Notes"] == ["One.", "Two."]


def test_the_summary_keeps_notes_by_step_and_all_together(tmp_path: Path) -> None:
    records = []
    for step in STEPS:
        record = {"step": step, "counts": {}, "warnings": [], "details": {}, "seconds": 0.1}
        record |= {"peak_memory_bytes": 1, "peak_gpu_memory_bytes": 0}
        record["notes"] = [] if step == "merge" else [f"Note of {step}.", "Said twice."]
        records.append(tmp_path / "steps" / f"{step}.json")
        records[-1].parent.mkdir(exist_ok=True)
        write_json(records[-1], record)
    plan = {"backend": "cpu", "device": "d", "precision": "float64"}
    write_json(tmp_path / "plan.json", plan)
    write_results(tmp_path)
    for name in ("items", "network"):
        with atomic_path(tmp_path / f"{name}.parquet") as temporary:
            pd.read_parquet(tmp_path / f"{name}.parquet").to_parquet(temporary)
    write_arrays(tmp_path / "scores.npz", dict(np.load(tmp_path / "scores.npz")))
    write_state(tmp_path / "state", {})
    (tmp_path / "evaluation.json").unlink(missing_ok=True)
    out = tmp_path / "summary.json"
    least = {"method": "mutual_information", "expression": "e.tsv"}
    config = load_config({"analyses": {"demo": least}}).analyses["demo"]
    summary("demo", config, 1, tmp_path / "plan.json", records, out)
    written = json.loads(out.read_text())
    assert list(written["notes_by_step"]) == ["prepare", "plan", "null", "network"]
    assert written["notes_by_step"]["null"] == ["Note of null.", "Said twice."]
    assert written["notes"] == [n for notes in written["notes_by_step"].values() for n in notes]


def texts_of(node: ast.AST) -> Iterator[str]:
    """The text of a constant or an f-string, each value in it as {}; of both ends of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "{}"
                      for part in node.values)  # fmt: skip
    elif isinstance(node, ast.IfExp):
        yield from texts_of(node.body)
        yield from texts_of(node.orelse)
    elif isinstance(node, ast.List):
        for entry in node.elts:
            yield from texts_of(entry)


def is_told(node: ast.AST) -> bool:
    """Whether a call reports something to a user: a note, a warning."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = ast.unparse(node.func.value).split(".")[-1]
    if node.func.attr == "append":
        return owner in ("notes", "warnings", "cautions")
    return (node.func.attr == "warn" and owner != "log") or node.func.attr == "note"


def is_teller(node: ast.AST) -> bool:
    """Whether a function returns notes or warnings, as its name says."""
    if not isinstance(node, ast.FunctionDef):
        return False
    name = node.name.strip("_")
    return any(part in name for part in ("warn", "caution")) or name in ("why_empty", "untested")


def told_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Where something is reported, and its text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found: list[ast.AST] = []
        if is_told(node):
            assert isinstance(node, ast.Call)
            found = list(node.args[:1])
        elif is_teller(node):
            for inside in ast.walk(node):
                if isinstance(inside, ast.Return) and inside.value:
                    found.append(inside.value)
                elif isinstance(inside, ast.Call) and ast.unparse(inside.func) == "found.append":
                    found += inside.args
        for value in found:
            for text in texts_of(value):
                yield f"{path.relative_to(PACKAGE)}:{getattr(value, 'lineno', 0)}", text


@pytest.mark.parametrize("folder", TELLING)
def test_notes_and_warnings_are_whole_sentences(folder: str) -> None:
    reported = [
        place for path in sorted((PACKAGE / folder).rglob("*.py")) for place in told_texts(path)
    ]
    wrong = [
        f"{place}: {text}"
        for place, text in reported
        if " " in text and (text[0].islower() or not text.endswith((".", "?", "!", "{}")))
    ]
    assert not wrong
    assert reported
