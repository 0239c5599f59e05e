"""Rules ``groups``: the networks of the groups of an analysis with ``split_by``, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pairtile import __version__
from pairtile.config.downstream import GROUP_TABLES
from pairtile.config.preprocess import TableAnalysis
from pairtile.config.root import Split
from pairtile.declare.messages import Message, messages_of, notes_of, warnings_of
from pairtile.downstream.groups import Group, compare_groups
from pairtile.downstream.groups_page import groups_page
from pairtile.engine.custody import Custody, custody, note_files
from pairtile.runtime.files import (
    read_json,
    verified,
    write_json,
    write_text,
    write_tsv,
)
from pairtile.runtime.record import recorded
from pairtile.steps.result_files import ResultFiles
from pairtile.steps.summary import remove_old_results

message = messages_of("pairtile.downstream")


def groups(
    name: str,
    split: Split,
    config: TableAnalysis,
    networks: Sequence[Path],
    summaries: Sequence[Path],
    out: Path,
    seed: int,
) -> None:
    """Write tables, figures, ``summary.json`` and the page of an analysis that was split.

    Parameters
    ----------
    name
        Of the analysis in the configuration.
    split
        Its groups, in the order of ``networks``.
    config
        The analysis of one of them.
    networks
        ``network.parquet`` of each group, whose folders have its items and values.
    summaries
        ``summary.json`` of each group.
    out
        The folder ``results/NAME``.
    """
    with (
        custody(Custody(out, config, seed)),
        recorded("groups", out / "steps/groups.json") as step,
    ):
        labels = split.groups.values()
        read = [Group.read(verified(p).parent, n) for p, n in zip(networks, labels, strict=True)]
        tables, found = compare_groups(read, config, seed)
        step.count(**found.counts)
        said = [*doubts_of(split, summaries), *_left_out(split), *found.messages]
        files = ResultFiles(str(out), config)
        own = files.paths([*GROUP_TABLES, "summary.json", "report.html"])
        old = [path for path in (*files.wanted(), *files.exports(0)) if path not in own]
        step.log_messages(*said, *remove_old_results(old))
        for file, table in tables.items():
            write_tsv(out / file, table)
        summary: dict[str, object] = {
            "analysis": name,
            "method": config.method,
            "pairtile_version": __version__,
            "split_by": split.column,
            "groups": split.groups,
            "left_out": split.left_out,
            "counts": step.counts,
            "messages": [said.as_json() for said in step.messages],
            "warnings": warnings_of(step.messages),
            "notes": notes_of(step.messages),
        }
        write_text(out / "report.html", groups_page(summary, tables, out / "figures"))
        write_json(out / "summary.json", summary)
        note_files((out / "figures").iterdir())


def doubts_of(split: Split, summaries: Sequence[Path]) -> list[Message]:
    """The severe messages of the groups, each once, in the words of the first that has it."""
    groups: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for label, path in zip(split.groups.values(), summaries, strict=True):
        for said in read_json(path)["messages"]:
            if said["severity"] == "severe":
                groups.setdefault(said["code"], []).append(label)
                texts.setdefault(said["code"], said["text"][0].lower() + said["text"][1:])
    return [
        message("groups_doubtful", groups=", ".join(labels), first=labels[0], text=texts[code])
        for code, labels in groups.items()
    ]


def _left_out(split: Split) -> list[Message]:
    said = []
    if split.left_out:
        listed = ", ".join(f"{label} ({n})" for label, n in split.left_out.items())
        n = len(split.left_out)
        said.append(message("groups_left_out", n=n, column=split.column, listed=listed))
    if split.unlabelled:
        said.append(message("samples_without_group", n=split.unlabelled, column=split.column))
    return said
