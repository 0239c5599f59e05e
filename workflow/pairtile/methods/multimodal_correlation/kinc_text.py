"""The three texts in which KINC 3.4 extracts a network, for programs that read these.

| file | one line for | columns |
|---|---|---|
| ``kinc.txt`` | each edge | ``TEXT_COLUMNS``, then p-value (and R²) of each test |
| ``kinc_tidy.txt`` | each edge and test | ``TEXT_COLUMNS``, test, p-value, R² |
| ``kinc_minimal.txt`` | each edge | ``MINIMAL_COLUMNS`` |

As in KINC, the source is the later of both genes in the order of the table, and lines go by source,
target and mode. Numbers have eight significant digits; what is undefined is ``nan``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.multimodal_correlation.conditions import (
    REGRESSION,
    ConditionTest,
    ConditionTests,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples, tukey_outliers
from pairtile.runtime.files import atomic_path

_EDGE = ("Source", "Target", "Similarity_Score")
MINIMAL_COLUMNS = (*_EDGE, "Cluster_Index", "Num_Clusters")
TEXT_COLUMNS = (*_EDGE, "Interaction", "Cluster_Index", "Cluster_Size", "Samples")

_CHARACTERS = 16_000_000  # of sample strings that are held at a time


def write_kinc_texts(
    edges: pd.DataFrame,
    samples: ModeSamples,
    tests: ConditionTests,
    outliers_before: bool,
    folder: Path,
) -> None:
    """Write the three texts into ``folder``, each whole or not at all.

    A test that is NaN for an edge has no line in the tidy text. An edge without any test has one
    line, with no name and ``nan``: every edge is in the file, and readers always find all columns.

    edges : ``source``, ``target`` (names of the genes ``i`` and ``j``), ``i``, ``j``, ``cluster``,
        ``n_clusters`` (modes of the pair), ``n_samples``, ``correlation``.
    samples, tests : of the same edges.
    outliers_before : as for ``sample_strings``.

    Raises ValueError for masks that do not fit the values, see ``sample_strings``.
    """
    # As many edges at a time as fit into memory well, in KINC's order.
    i, j = edges["i"].to_numpy(), edges["j"].to_numpy()
    order = np.lexsort((edges["cluster"].to_numpy(), np.minimum(i, j), np.maximum(i, j)))
    step = max(1, _CHARACTERS // max(1, samples.n_samples))
    parts = [order[start : start + step] for start in range(0, len(order), step)]
    columns = [
        *TEXT_COLUMNS,
        *(called for test in tests.tests for called in _columns(test).values()),
    ]

    def common(part: NDArray[np.int64]) -> list[list[str]]:
        strings = sample_strings(samples.take(part), outliers_before)
        return [
            *_ends(edges, part),
            ["co"] * len(part),
            *_counts(edges, part, "cluster", "n_samples"),
            [string.decode("ascii") for string in strings.tolist()],
        ]

    rows = (row for part in parts for row in _text_rows(common(part), tests, part))
    _write(folder / "kinc.txt", [columns], rows)
    rows = (row for part in parts for row in _tidy_rows(common(part), tests, part))
    _write(folder / "kinc_tidy.txt", [(*TEXT_COLUMNS, "Test_Name", "p_value", "r_squared")], rows)
    of_modes = "cluster", "n_clusters"
    columns_of = ([*_ends(edges, part), *_counts(edges, part, *of_modes)] for part in parts)
    rows = (row for found in columns_of for row in zip(*found, strict=True))
    _write(folder / "kinc_minimal.txt", [MINIMAL_COLUMNS], rows)


def _text_rows(
    columns: list[list[str]], tests: ConditionTests, part: NDArray[np.int64]
) -> Iterator[Sequence[str]]:
    results = [
        _numbers(test.results[name].to_numpy()[part])
        for test in tests.tests
        for name in _columns(test)
    ]
    yield from zip(*columns, *results, strict=True)


def _columns(test: ConditionTest) -> dict[str, str]:
    """The results of a test that have a column each, and what this is called."""
    ends = {"p_value": "pVal"} | ({"r_squared": "RSqr"} if test.kind == REGRESSION else {})
    return {name: f"{_name(test)}_{end}" for name, end in ends.items()}


def _tidy_rows(
    columns: list[list[str]], tests: ConditionTests, part: NDArray[np.int64]
) -> Iterator[Sequence[str]]:
    tested: list[list[tuple[str, str, str]]] = [[] for _ in part]
    for test in tests.tests:
        p_value, r_squared = (
            _numbers(test.results[name].to_numpy()[part]) for name in ("p_value", "r_squared")
        )
        for of_edge, p, r2 in zip(tested, p_value, r_squared, strict=True):
            if p != "nan":
                of_edge.append((_name(test), p, r2))
    for edge, of_edge in zip(zip(*columns, strict=True), tested, strict=True):
        for result in of_edge or [("", "nan", "nan")]:
            yield (*edge, *result)


def _counts(edges: pd.DataFrame, part: NDArray[np.int64], *names: str) -> list[list[str]]:
    return [[*map(str, edges[name].to_numpy()[part].tolist())] for name in names]


def _ends(edges: pd.DataFrame, part: NDArray[np.int64]) -> list[list[str]]:
    """Names of the later and of the earlier gene, and the correlation."""
    rows = edges[["source", "target", "i", "j", "correlation"]].iloc[part]
    source, target = (rows[end].to_numpy(dtype=object) for end in ("source", "target"))
    later = (rows["i"] > rows["j"]).to_numpy()
    ends = np.where(later, source, target), np.where(later, target, source)
    return [*(end.tolist() for end in ends), _numbers(rows["correlation"].to_numpy())]


def _name(test: ConditionTest) -> str:
    """``Treatment__Heat``; it stays in its field: labels may hold a tab or a line end."""
    return " ".join("__".join(filter(None, (test.condition, test.label))).split())


def _numbers(values: NDArray[np.generic]) -> list[str]:
    return [f"{value:.8g}" for value in values.tolist()]


def _write(path: Path, *parts: Iterable[Sequence[str]]) -> None:
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as output,
    ):
        output.writelines("\t".join(fields) + "\n" for fields in chain(*parts))


# --- sample strings: what became of every sample in one mode of a pair ---

IN_MODE, ELSEWHERE, OUT_OF_RANGE, OUTLIER_BEFORE, OUTLIER_AFTER, MISSING = 1, 0, 6, 7, 8, 9
"""The digits: in the mode, in another one, beyond the limits of expression, an outlier taken away
before the mixture or after it, missing in either gene."""


def sample_strings(modes: ModeSamples, outliers_before: bool) -> NDArray[np.bytes_]:
    """One digit for each sample, as KINC writes them: bytes (modes,), of S digits each.

    ``modes.values``: what was paired, in the precision in which outliers were found (single in
    KINC). Which pass took an outlier away is found again from them by Tukey's rule.

    Raises ValueError where a member of a mode is missing, out of range or an outlier.
    """
    strings = np.empty(len(modes), dtype=f"S{modes.n_samples}")
    inside = modes.inside()
    for block in modes.blocks():
        x, y = (genes[block.rows] for genes in (modes.i, modes.j))
        observed, usable = block.observed_i & block.observed_j, inside[x] & inside[y]
        before = np.zeros_like(usable)
        if outliers_before:
            touched = np.flatnonzero((block.outliers & usable).any(axis=1))
            for genes in (x[touched], y[touched]):
                before[touched] |= tukey_outliers(modes.values[genes], usable[touched])
        states = np.full(usable.shape, ELSEWHERE, dtype=np.uint8)
        states[block.members] = IN_MODE
        states[block.outliers & before] = OUTLIER_BEFORE
        states[block.outliers & ~before] = OUTLIER_AFTER
        states[~usable] = OUT_OF_RANGE
        states[~observed] = MISSING
        lost = block.members & (states != IN_MODE)
        if lost.any():
            row, sample = np.argwhere(lost)[0]
            raise ValueError(
                f"row {block.rows.start + row}: sample {sample} is in the mode, but missing, out "
                "of range or an outlier; expected masks of these values"
            )
        strings[block.rows] = (states + ord("0")).view(strings.dtype)[:, 0]
    return strings


# --- matrices as KINC's import and export have them ---


def write_emx(
    values: NDArray[np.floating], genes: Sequence[str], samples: Sequence[str], path: Path
) -> None:
    """Write expression as ``kinc run import-emx`` reads it (``--nan NaN``): a line of the names of
    samples, then a line for each gene."""
    rows = (
        [gene, *("NaN" if x != x else f"{x:.9g}" for x in row.tolist())]
        for gene, row in zip(genes, values, strict=True)
    )
    _write(path, [samples], rows)


def write_cmx(modes: pd.DataFrame, samples: ModeSamples, outliers_before: bool, path: Path) -> None:
    """Write modes as ``kinc run export-cmx`` does and ``import-cmx`` reads them: no header; gene,
    earlier gene, mode, number of modes, samples, correlation, and a digit for each sample.

    modes : ``i``, ``j``, ``cluster``, ``n_clusters``, ``n_samples``, ``correlation``; samples : of
    the same modes. outliers_before : as for ``sample_strings``, whose ValueError is raised.
    """
    later, earlier = (pick(modes["i"], modes["j"]) for pick in (np.maximum, np.minimum))
    order = np.lexsort((modes["cluster"], earlier, later))
    step = max(1, _CHARACTERS // max(1, samples.n_samples))
    columns = ["i", "j", "cluster", "n_clusters", "n_samples"]
    numbers = modes.assign(i=later, j=earlier)[columns].to_numpy(dtype=np.int64)

    def rows() -> Iterator[Sequence[str]]:
        for begin in range(0, len(order), step):
            part = order[begin : begin + step]
            strings = sample_strings(samples.take(part), outliers_before).tolist()
            correlations = _numbers(modes["correlation"].to_numpy()[part])
            for row, r, digits in zip(numbers[part].tolist(), correlations, strings, strict=True):
                yield [*map(str, row), r, digits.decode("ascii")]

    _write(path, rows())
