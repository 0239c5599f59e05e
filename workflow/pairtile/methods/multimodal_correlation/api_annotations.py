"""Sample annotations in memory: a DataFrame (such as ``adata.obs``) or a file, as conditions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairtile.errors import InputError
from pairtile.io.annotations import (
    EMPTY,
    Annotations,
    AnnotationTable,
    ConditionEntry,
    annotations_of_table,
    quoted,
    read_annotations,
)

_NAME = "annotations"


def conditions_of(
    annotations: Any, samples: Sequence[str], entries: Iterable[Mapping[str, Any]]
) -> Annotations:
    """The conditions of ``samples`` (as text), from a table in memory or the path of one.

    ``entries`` as the configuration resolves them: name, kind, levels.

    Raises
    ------
    ValueError
        ``annotations`` is neither a DataFrame nor a path, or names a sample or column twice.
    InputError
        Samples without a row; conditions that are no column or have one value only.
    """
    asked = [ConditionEntry(**entry) for entry in entries]
    if isinstance(annotations, str | os.PathLike):
        return read_annotations(annotations, samples, asked)
    if not isinstance(annotations, pd.DataFrame):
        raise ValueError(
            f"{_NAME}: found {type(annotations).__name__}; expected a DataFrame with samples as "
            "its index, or the path of a table"
        )
    return annotations_of_table(_table(annotations, list(samples)), asked)


def _table(frame: pd.DataFrame, samples: list[str]) -> AnnotationTable:
    rows = pd.Index([str(label) for label in frame.index])
    columns = [str(label) for label in frame.columns]
    for kind, labels in (("sample", rows), ("column", pd.Index(columns))):
        if not labels.is_unique:
            twice = labels[labels.duplicated()][0]
            raise ValueError(f"{_NAME}: found {kind} {twice!r} twice; expected each once")
    place = rows.get_indexer(pd.Index(samples))
    lacking = [name for name, row in zip(samples, place, strict=True) if row < 0]
    if lacking:
        found = f"no row for {len(lacking)} of {len(samples)} samples: {quoted(lacking)}"
        raise InputError.at(
            _NAME, "", found, f"a row for every sample (rows: {quoted(list(rows))})"
        )
    extra = [name for name in rows if name not in set(samples)]
    notes = []
    if extra:
        found = quoted(extra)
        notes.append(f"{len(extra)} annotated samples are not in the expression table: {found}.")
    cells = {
        name: [_cell(value) for value in frame.iloc[place, k].tolist()]
        for k, name in enumerate(columns)
    }
    lines = [int(row) + 1 for row in place]
    return AnnotationTable(_NAME, samples, cells, lines, notes)


def _cell(value: Any) -> str:
    """A value as a file would hold it; whole numbers without a point."""
    if pd.isna(value):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    text = str(value).strip()
    return "" if text in EMPTY else text
