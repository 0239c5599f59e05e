"""How it was done: what was cleaned and run, the files that came of it, a paragraph for a paper."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pairtile.config.downstream import PACKAGE
from pairtile.declare.columns import Columns, declared_columns, declared_counts, declared_files
from pairtile.report.formats import count, duration, memory, spaced
from pairtile.report.method_report import CaptionedFigure, PageSection, Results, needed
from pairtile.report.packed_columns import table_cells
from pairtile.report.text import page_text

MAX_ROWS = 500
COLUMNS = ("n_observed", "n_missing_input", "n_zeros_to_missing")
"""Columns of items.parquet that say why."""


# Steps that have notes, in the order in which they run, and what they do.
STEPS = {
    "prepare": "Preparing the input",
    "network_data": "Reading what the network needs",
    "plan": "Planning the work",
    "null": "What chance alone gives",
    "merge_scan": "Joining the first scan of all pairs",
    "merge": "Joining the scores of all pairs",
    "network": "Making the network",
    "evaluate": "Comparing with the gold standard",
    "tables": "Writing the tables",
    "values": "Preparing what follows the network",
}


def cleaning_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Notes and the table of left-out items."""
    done = results.summary.get("preparation") or []
    notes, dropped = _notes(results, {each["text"] for each in done}), results.dropped
    needed(notes or done or len(dropped))
    columns = [column for column in COLUMNS if column in dropped]
    return PageSection(
        id="cleaning",
        title="Cleaning and choices",
        template="section_cleaning.html.j2",
        values={
            "done": [(each["text"], duration(each["after_seconds"])) for each in done],
            "notes": notes,
            "headings": [
                (results.text.item, ""),
                ("left out because", ""),
                *results.text.headings(columns, "items.parquet"),
            ],
            "rows": table_cells(dropped.head(MAX_ROWS)[["name", "reason", *columns]]),
            "shown": min(len(dropped), MAX_ROWS),
            "total": len(dropped),
            "text": results.text,
        },
    )


def _notes(results: Results, listed_before: set[str]) -> list[tuple[str, list[str]]]:
    """The notes of each step with a heading, steps in their order, each note at its first place."""
    found = dict(results.summary.get("notes_by_step") or {})
    steps = dict.fromkeys([step for step in STEPS if step in found] + list(found))
    kept = []
    for step in steps:
        new = [note for note in dict.fromkeys(map(str, found[step])) if note not in listed_before]
        listed_before.update(new)
        if new:
            kept.append((STEPS.get(step, spaced(step).capitalize()), new))
    return kept


def run_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The tables that let a reader repeat the analysis."""
    summary, names = results.summary, declared_counts(results.text.package)
    return PageSection(
        id="run",
        title="What was run",
        template="section_run.html.j2",
        values={
            "inputs": [
                (
                    spaced(key),
                    str(entry.get("path", "")),
                    memory(entry["bytes"]) if entry.get("bytes") is not None else "",
                    str(entry.get("sha256", "")),
                )
                for key, entry in (summary.get("inputs") or {}).items()
                if isinstance(entry, Mapping)
            ],
            "parameters": flattened(results.parameters),
            "backend": summary.get("backend") or {},
            "counts": [
                (key, names.get(key) or spaced(key), count(n)) for key, n in results.counts.items()
            ],
            "steps": [
                (
                    spaced(name),
                    duration(float(step.get("seconds") or 0)),
                    memory(peak) if (peak := step.get("peak_memory_bytes")) else "–",
                )
                for name, step in (summary.get("steps") or {}).items()
            ],
            "versions": [
                ("pairtile", summary.get("pairtile_version", "")),
                *(row for row in (summary.get("versions") or {}).items() if row[1]),
            ],
        },
    )


def flattened(parameters: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as ``preprocess.log2`` and value, values written as in the YAML file."""
    rows: list[tuple[str, str]] = []
    for key, value in parameters.items():
        if isinstance(value, Mapping) and value:
            rows += flattened(value, f"{prefix}{key}.")
        else:
            rows.append((f"{prefix}{key}", _as_written(value)))
    return rows


def _as_written(value: object) -> str:
    if isinstance(value, str):
        return value
    text = json.dumps(value, ensure_ascii=False)
    # YAML reads 1e-05 as a word and 1.0e-05 as a number.
    return text.replace("e-", ".0e-") if isinstance(value, float) and "." not in text else text


# The files of results: what they hold, and what their columns mean.

ALWAYS = frozenset({"items.parquet", "pairs.parquet", "network.parquet", "summary.json"})
"""Files of every analysis, also where the report is made without a copy of them at hand."""


def files_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The files that are there and described."""
    found: dict[str, str] = {}
    columns: dict[tuple[Columns, ...], list[str]] = {}
    for room in (results.text.package, PACKAGE):
        for name, holds in declared_files(room).items():
            if name in ALWAYS or ((results.folder / name).exists() and name not in found):
                found[name] = holds
                columns.setdefault(declared_columns(room, name), []).append(name)
    needed(found)
    columns.pop((), None)
    return PageSection(
        id="files",
        title="Files",
        template="section_files.html.j2",
        values={"files": found, "columns": columns},
        scripts=("file_links.js",),
    )


# How it was done: the rules as sentences, and a paragraph for a paper with what it cites.


def methods_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Rules and paragraph."""
    paragraph, references = page_text(results).cited("methods", "stages_methods")
    needed(paragraph)
    return PageSection(
        id="methods",
        title="Methods",
        template="section_methods.html.j2",
        values={
            "rules": page_text(results).lines("rules"),
            "paragraph": paragraph,
            "references": references,
        },
        scripts=("copy.js",),
    )
