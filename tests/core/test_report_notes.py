"""Notes: joined, and shown by the step that they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
import pandas as pd
from pairtile.config.load import load_config
from pairtile.declare.messages import Message
from pairtile.engine.state import write_state
from pairtile.report.page import render_page
from pairtile.report.results import read_results
from pairtile.runtime.files import atomic_path, read_json, write_arrays, write_json
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.summary import summary
from result_files import write_results

STEPS = ("prepare", "plan", "null", "merge", "network")


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
    write_json(path, read_json(path) | more)
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
    groups = groups_of(with_notes(folder, notes=notes, notes_by_step=by_step))
    assert list(groups.values()) == [["Read.", "Cut."], ["Planned."], ["Kept."], ["New."], []]


def test_what_preparation_did_stands_first_in_order_and_only_there(tmp_path: Path) -> None:
    done = [{"text": "Read.", "after_seconds": 0.1}, {"text": "Cut.", "after_seconds": 62.0}]
    notes = {"prepare": ["Cut.", "Chosen."]}
    folder = with_notes(write_results(tmp_path / "demo"), preparation=done, notes_by_step=notes)
    assert list(groups_of(folder).values()) == [["Chosen."], []]
    page = lxml.html.fromstring(render_page(read_results(folder), []))
    listed = [each.text_content().strip() for each in page.xpath("//ol[@id='preparation']/li")]
    assert listed == ["Read. (after 100 ms)", "Cut. (after 1 min 2 s)"]


def test_the_summary_keeps_notes_by_step_and_all_together(tmp_path: Path) -> None:
    for step in STEPS:
        record = {"step": step, "counts": {}, "details": {}, "files": {}}
        record["done"] = [{"text": "Cut.", "after_seconds": 0.1}] if step == "prepare" else []
        record |= {"seconds": 0.1, "peak_memory_bytes": 1, "peak_gpu_memory_bytes": 0}
        texts = [] if step == "merge" else [f"Note of {step}.", "Said twice."]
        record["messages"] = [Message(text, "said", "note").as_json() for text in texts]
        path = tmp_path / "steps" / f"{step}.json"
        path.parent.mkdir(exist_ok=True)
        write_json(path, record)
    plan = {"backend": "cpu", "device": "d", "precision": "float64", "scan": False}
    write_json(tmp_path / "plan.json", plan)
    write_results(tmp_path)
    for name in ("items", "network"):
        with atomic_path(tmp_path / f"{name}.parquet") as temporary:
            pd.read_parquet(tmp_path / f"{name}.parquet").to_parquet(temporary)
    write_arrays(tmp_path / "scores.npz", dict(np.load(tmp_path / "scores.npz")))
    write_state(tmp_path / "state", {})
    (tmp_path / "evaluation.json").unlink(missing_ok=True)
    least = {"method": "mutual_information", "expression": "e.tsv"}
    config = load_config({"analyses": {"demo": least}}).analyses["demo"]
    summary(AnalysisRun("demo", config, tmp_path))
    written = json.loads((tmp_path / "summary.json").read_text())
    assert written["preparation"] == [{"text": "Cut.", "after_seconds": 0.1}]
    assert list(written["notes_by_step"]) == ["prepare", "plan", "null", "network"]
    assert written["notes_by_step"]["null"] == ["Note of null.", "Said twice."]
    assert written["notes"] == [n for notes in written["notes_by_step"].values() for n in notes]
