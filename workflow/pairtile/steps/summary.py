"""Rule ``report``: what was done and what to beware of, as JSON for machines."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pairtile import __version__
from pairtile.config.export_formats import exported_formats
from pairtile.declare.messages import Message, messages_of, notes_of, warnings_of
from pairtile.engine.custody import verified_by_record
from pairtile.engine.state import MANIFEST, verified_state
from pairtile.report.results import read_results, warnings_of_results
from pairtile.runtime.files import read_json, write_json
from pairtile.runtime.record import COMMAND, log, recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.result_files import ResultFiles

Content = dict[str, Any]
"""Of a JSON file."""

message = messages_of(__package__)

PACKAGES = (
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "numba",
    "ViennaRNA",
    "MDAnalysis",
    "igraph",
    "statsmodels",
    "snakemake",
    "cupy-cuda12x",
    "cupy-cuda13x",
)


def summary(run: AnalysisRun) -> None:
    """Join the records of an analysis' steps, and the warnings that its results give rise to, into
    ``summary.json`` beside them. Exports and tables that are no longer asked for are removed: they
    would look as if they belonged to the network that is there now."""
    plan = read_json(run.plan)
    steps = [read_json(path) for path in run.files.records(plan)]
    with recorded(f"summary of {len(steps)} steps"):
        _verify(run.files, steps)
        content = _joined(run, plan, steps)
        results = read_results(run.folder, content)
        new, n_edges = warnings_of_results(results), len(results.network)
        if exported_formats(run.config.export, n_edges) != exported_formats(run.config.export, 0):
            new.append(message("graphml_left_away", n=n_edges))
        new += remove_old_results(run.files.no_longer_wanted(n_edges))
        for text in new:
            log.warning(text)
        _add(content, new)
        write_json(run.folder / "summary.json", content)


def _add(content: Content, messages: Sequence[Message]) -> None:
    content["messages"] += [message.as_json() for message in messages]
    content["warnings"] += warnings_of(messages)
    content["notes"] += notes_of(messages)


def _verify(files: ResultFiles, steps: Sequence[Content]) -> None:
    """Check the files that the page is made of, which its code reads as they are."""
    unread = set(files.paths(["pairs.parquet"])) - {*files.optional("pairs.parquet")}
    for name, checksum in (item for step in steps for item in step["files"].items()):
        if files.paths([name])[0] not in unread and Path(name).name != MANIFEST:
            verified_by_record(Path(files.folder, name), checksum)
    for path in files.optional("state"):
        verified_state(path)


def remove_old_results(paths: Iterable[str]) -> list[Message]:
    """Remove those of the files that are there; which these were."""
    old = [path for path in map(Path, dict.fromkeys(paths)) if path.is_file()]
    for path in old:
        path.unlink()
    names = ", ".join(path.name for path in old)
    return [message("old_results_removed", n=len(old), files=names)] if old else []


def _joined(run: AnalysisRun, planned: Content, steps: Sequence[Content]) -> Content:
    content: Content = {
        "analysis": run.name,
        "method": run.config.method,
        "pairtile_version": __version__,
        "run": {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": os.environ.get(COMMAND),
            "git_revision": git_revision(Path(__file__)),
        },
        "inputs": {},
        "parameters": {**run.config.resolved(), "seed": run.seed},
        "backend": {
            "name": planned["backend"],
            "device": planned["device"],
            "reason": "",
            "precision": planned["precision"],
        },
        "counts": {},
        "preparation": [],
        "threshold": {},
        "steps": {},
        "files": {},
        "versions": {"python": platform.python_version(), **_versions()},
        "warnings": [],
        "notes": [],
        "notes_by_step": {},
        "messages": [],
    }
    for step in steps:
        content["counts"] |= step["counts"]
        content["files"] |= step["files"]
        content["steps"][step["step"]] = {
            "seconds": step["seconds"],
            "peak_memory_bytes": step["peak_memory_bytes"],
            "peak_gpu_memory_bytes": step["peak_gpu_memory_bytes"],
        }
        messages = [Message(**said) for said in step["messages"]]
        _add(content, messages)
        if notes := notes_of(messages):
            content["notes_by_step"][step["step"]] = notes
        if step["step"] == "prepare":
            content["preparation"] = step["done"]
        details = step["details"]
        content["inputs"] |= details.get("inputs", {})
        content["threshold"] |= details.get("threshold", {})
        for key, decided in details.get("parameters", {}).items():
            asked = content["parameters"].get(key)
            both = isinstance(asked, dict) and isinstance(decided, dict)
            content["parameters"][key] = asked | decided if both else decided
        if "chunks" in details:
            key = "chunks" if step["step"] == "merge" else "scan"
            content["steps"][key] = _chunks(details["chunks"])
        if "reason" in details:
            content["backend"]["reason"] = details["reason"]
        content |= {key: details[key] for key in ("directed", "ranked_by") if key in details}
    return content


@cache
def git_revision(file: Path) -> str | None:
    """The commit of the repository that tracks ``file``, with ``-dirty`` where tracked files were
    changed; None where none does, or git is not installed."""
    git = ["git", "-C", str(file.parent)]
    try:
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", file.name], check=True, capture_output=True
        )
        found = subprocess.run(
            [*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def _chunks(records: dict[str, Content]) -> Content:
    """All chunks of a stage together: seconds are added up, memory is the largest."""
    return {
        "chunks": len(records),
        "seconds": round(sum(r.get("seconds", 0.0) for r in records.values()), 3),
        "peak_memory_bytes": max(
            (r.get("peak_memory_bytes", 0) for r in records.values()), default=0
        ),
        "peak_gpu_memory_bytes": max(
            (r.get("peak_gpu_memory_bytes", 0) for r in records.values()), default=0
        ),
        "devices": sorted({r["device"] for r in records.values() if "device" in r}),
    }


@cache
def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
