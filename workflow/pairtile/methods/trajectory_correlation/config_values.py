"""Kinds of value that only the keys of trajectories have: selections, lists of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator
from pydantic_core import CoreSchema, core_schema

from pairtile.config.values import Form, Text, Value, Whole, refusal

_PRINTABLE = re.compile(r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$")

DihedralName = Literal["phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4", "chi5"]
DIHEDRALS = ("phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4", "chi5")


@dataclass(frozen=True)
class SelectionOrFalse(Value):
    """A selection of atoms, or false for none."""

    def allowed(self, annotation: Any) -> str:
        return "a selection of atoms (text) or false"

    def schema(self, annotation: Any) -> CoreSchema:
        text = Text("a selection").schema(str)
        only_false = core_schema.chain_schema(
            [core_schema.bool_schema(strict=True), core_schema.literal_schema([False])]
        )
        return core_schema.union_schema([only_false, text])


@dataclass(frozen=True)
class FrameNumber(Whole):
    """A frame; negative counts from the end. ``optional``: null means the end."""

    def allowed(self, annotation: Any) -> str:
        text = "a frame number (integer; negative counts from the end)"
        return f"{text}, or null" if self.optional else text


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(_PRINTABLE.match(value))


_RUNS = "a list of paths, one trajectory each, or [part1, part2] in place of one"
_FILES = "a list of paths, one table each"


def _runs(value: Any) -> Any:
    """One path stands for a list of one."""
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple):
        raise refusal(_RUNS)
    runs = []
    for entry in entries:
        parts = list(entry) if isinstance(entry, list | tuple) else [entry]
        if not parts or not all(_is_path(part) for part in parts):
            raise refusal(_RUNS)
        runs.append(tuple(parts) if isinstance(entry, list | tuple) else entry)
    _once([part for run in runs for part in ([run] if isinstance(run, str) else run)])
    return tuple(runs)


def _files(value: Any) -> Any:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or not all(_is_path(path) for path in entries):
        raise refusal(_FILES)
    _once(list(entries))
    return tuple(entries)


def _once(paths: list[str]) -> None:
    repeated = [path for n, path in enumerate(paths) if path in paths[:n]]
    if repeated:
        raise refusal(f"each file once, but {repeated[0]!r} is there twice")


def _dihedrals(value: Any) -> Any:
    form = f"a list of {', '.join(DIHEDRALS)}"
    if not isinstance(value, list | tuple) or not value:
        raise refusal(form)
    if any(name not in DIHEDRALS for name in value):
        raise refusal(form, DIHEDRALS)
    if len(set(value)) < len(value):
        raise refusal("each dihedral once")
    return tuple(value)


def _distances(value: Any) -> Any:
    form = "a mapping of NAME: [selection, selection]"
    if not isinstance(value, Mapping):
        raise refusal(form)
    for name, ends in value.items():
        pair = ends if isinstance(ends, list | tuple) else ()
        if not _is_path(name) or len(pair) != 2 or not all(_is_path(end) for end in pair):
            raise refusal(form)
    return {name: tuple(ends) for name, ends in value.items()}


def _domains(value: Any) -> Any:
    texts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else [None]
    if not all(_is_path(text) for text in texts):
        raise refusal("a mapping of NAME: selection")
    return dict(value)


TrajectoryList = Annotated[
    tuple[str | tuple[str, ...], ...],
    BeforeValidator(_runs, json_schema_input_type=str | list[str | list[str]]),
    Form(_RUNS),
]
FileList = Annotated[
    tuple[str, ...], BeforeValidator(_files, json_schema_input_type=str | list[str]), Form(_FILES)
]
DihedralList = Annotated[
    tuple[DihedralName, ...],
    BeforeValidator(_dihedrals, json_schema_input_type=list[DihedralName]),
    Form(f"a list of {', '.join(DIHEDRALS)}"),
]
DistanceMap = Annotated[
    dict[str, tuple[str, str]],
    BeforeValidator(_distances, json_schema_input_type=dict[str, tuple[str, str]]),
    Form("a mapping of NAME: [selection, selection]"),
]
DomainMap = Annotated[
    dict[str, str],
    BeforeValidator(_domains, json_schema_input_type=dict[str, str]),
    Form("a mapping of NAME: selection"),
]
