"""The three texts in which KINC 3.4 extracts a network, for programs that read these.

| file | one line for | columns |
|---|---|---|
| ``kinc.txt`` | each edge | ``TEXT_COLUMNS``, then p-value (and R²) of each test |
| ``kinc_tidy.txt`` | each edge and test | ``TIDY_COLUMNS`` |
| ``kinc_minimal.txt`` | each edge | ``MINIMAL_COLUMNS`` |

As in KINC, the source is the later of both genes in the order of the table, and lines go by source,
target and mode. Numbers have eight significant digits; what is undefined is ``nan``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.runtime.files import atomic_path

MINIMAL_COLUMNS = ("Source", "Target", "Similarity_Score")
TEXT_COLUMNS = (*MINIMAL_COLUMNS, "Interaction", "Cluster_Index", "Cluster_Size", "Samples")
TIDY_COLUMNS = (*TEXT_COLUMNS, "Test_Name", "p_value", "r_squared")

_CHARACTERS = 16_000_000  # of sample strings that are held at a time


@dataclass(frozen=True)
class EdgeTest:
    """One test of every edge: ``name`` as KINC writes it (``Treatment__Heat``, ``Duration``),
    ``p_value`` and, of a regression, ``r_squared``; float, shape (edges,), NaN where not tested."""

    name: str
    p_value: NDArray[np.floating]
    r_squared: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class ModeEdges:
    """Edges of a network with the modes behind them.

    edges : one row an edge, with columns ``source``, ``target`` (names of the genes ``i`` and
        ``j``), ``i``, ``j`` (rows of ``values``), ``cluster``, ``n_samples``, ``correlation``.
    samples, outliers, values, rules : as for ``sample_strings``.
    tests : in the order of columns.
    """

    edges: pd.DataFrame
    samples: NDArray[np.uint8]
    outliers: NDArray[np.uint8]
    values: NDArray[np.floating]
    rules: SampleRules
    tests: Sequence[EdgeTest] = ()


def write_kinc_text(network: ModeEdges, path: str | os.PathLike[str]) -> int:
    """Write ``kinc.txt``, whole or not at all; returns the number of lines below the header.

    Raises:
        ValueError: masks that do not fit the values, see ``sample_strings``.
    """
    columns = list(TEXT_COLUMNS)
    for test in network.tests:
        columns.append(f"{_field(test.name)}_pVal")
        if test.r_squared is not None:
            columns.append(f"{_field(test.name)}_RSqr")
    return _write(path, columns, _text_rows(network))


def write_kinc_tidy(network: ModeEdges, path: str | os.PathLike[str]) -> int:
    """Write ``kinc_tidy.txt``, as ``write_kinc_text``.

    A test that is NaN for an edge has no line there. An edge without any test has one line, with
    no name and ``nan``: every edge is in the file, and readers always find all columns.
    """
    return _write(path, TIDY_COLUMNS, _tidy_rows(network))


def write_kinc_minimal(network: ModeEdges, path: str | os.PathLike[str]) -> int:
    """Write ``kinc_minimal.txt``, as ``write_kinc_text``."""
    rows = (
        fields
        for part in _parts(network)
        for fields in zip(*_names(network.edges, part), _scores(network.edges, part), strict=True)
    )
    return _write(path, MINIMAL_COLUMNS, rows)


def _text_rows(network: ModeEdges) -> Iterator[Sequence[str]]:
    for part in _parts(network):
        columns = _common(network, part)
        for test in network.tests:
            columns.append(_numbers(test.p_value[part]))
            if test.r_squared is not None:
                columns.append(_numbers(test.r_squared[part]))
        yield from zip(*columns, strict=True)


def _tidy_rows(network: ModeEdges) -> Iterator[Sequence[str]]:
    for part in _parts(network):
        results: list[list[tuple[str, str, str]]] = [[] for _ in part]
        for test in network.tests:
            p_value = test.p_value[part]
            nothing = np.full(len(part), np.nan)
            r_squared = nothing if test.r_squared is None else test.r_squared[part]
            tested = ~np.isnan(p_value)
            numbers = zip(_numbers(p_value), _numbers(r_squared), strict=True)
            for of_edge, there, both in zip(results, tested.tolist(), numbers, strict=True):
                if there:
                    of_edge.append((_field(test.name), *both))
        for common, of_edge in zip(zip(*_common(network, part), strict=True), results, strict=True):
            for result in of_edge or [("", "nan", "nan")]:
                yield (*common, *result)


def _common(network: ModeEdges, part: NDArray[np.int64]) -> list[list[str]]:
    """Columns that the text and the tidy text share, of the edges ``part``."""
    edges = network.edges
    strings = sample_strings(
        edges["i"].to_numpy()[part],
        edges["j"].to_numpy()[part],
        network.samples[part],
        network.outliers[part],
        network.values,
        network.rules,
    )
    return [
        *_names(edges, part),
        _scores(edges, part),
        ["co"] * len(part),
        [str(cluster) for cluster in edges["cluster"].to_numpy()[part].tolist()],
        [str(size) for size in edges["n_samples"].to_numpy()[part].tolist()],
        [string.decode("ascii") for string in strings.tolist()],
    ]


def _parts(network: ModeEdges) -> Iterator[NDArray[np.int64]]:
    """Row numbers of the edges in KINC's order, as many at a time as fit into memory well."""
    edges = network.edges
    i, j = edges["i"].to_numpy(), edges["j"].to_numpy()
    order = np.lexsort((edges["cluster"].to_numpy(), np.minimum(i, j), np.maximum(i, j)))
    step = max(1, _CHARACTERS // max(1, network.values.shape[1]))
    for start in range(0, len(order), step):
        yield order[start : start + step]


def _names(edges: pd.DataFrame, part: NDArray[np.int64]) -> tuple[list[str], list[str]]:
    """Names of the later and of the earlier gene."""
    source, target = (edges[end].to_numpy(dtype=object)[part] for end in ("source", "target"))
    later = edges["i"].to_numpy()[part] > edges["j"].to_numpy()[part]
    return np.where(later, source, target).tolist(), np.where(later, target, source).tolist()


def _scores(edges: pd.DataFrame, part: NDArray[np.int64]) -> list[str]:
    return _numbers(edges["correlation"].to_numpy()[part])


def _field(name: str) -> str:
    """A name that stays in its field: labels of samples may hold a tab or a line end."""
    return " ".join(name.split())


def _numbers(values: NDArray[Any]) -> list[str]:
    return [f"{value:.8g}" for value in values.tolist()]


def _write(
    path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> int:
    written = 0
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as output,
    ):
        output.write("\t".join(columns) + "\n")
        for fields in rows:
            output.write("\t".join(fields) + "\n")
            written += 1
    return written


# --- sample strings: what became of every sample in one mode of a pair ---

IN_MODE, ELSEWHERE, OUT_OF_RANGE, OUTLIER_BEFORE, OUTLIER_AFTER, MISSING = 1, 0, 6, 7, 8, 9
"""The digits: in the mode, in another one, beyond the limits of expression, an outlier taken away
before the mixture or after it, missing in either gene."""

_CELLS = 2_000_000  # values of one gene that are looked at together


class SampleRules(Protocol):
    """The settings that decide which samples a pair uses."""

    @property
    def min_expression(self) -> float | None: ...
    @property
    def max_expression(self) -> float | None: ...
    @property
    def outliers_before(self) -> bool: ...


def sample_strings(
    i: NDArray[Any],
    j: NDArray[Any],
    samples: NDArray[np.uint8],
    outliers: NDArray[np.uint8],
    values: NDArray[np.floating],
    rules: SampleRules,
) -> NDArray[np.bytes_]:
    """One digit for each sample, as KINC writes them.

    Parameters
    ----------
    i, j : integers, shape (modes,)
        Rows of ``values``: the genes of each mode's pair.
    samples, outliers : uint8, shape (modes, ceil(n_samples / 8))
        Bit masks (``numpy.packbits``, first sample in the highest bit): members of the mode, and
        samples that were taken away from the pair as outliers, before the mixture or after it.
    values : float, shape (genes, n_samples)
        What was paired, in the precision in which outliers were found (single in KINC); NaN where
        missing.
    rules : SampleRules
        Which pass took an outlier away is found again from ``values`` by Tukey's rule.

    Returns
    -------
    bytes, shape (modes,), of ``n_samples`` digits each.

    Raises
    ------
    ValueError
        A mask of another width than ``values`` asks for, or a member of the mode that is missing,
        out of range or an outlier.
    """
    n_samples = values.shape[1]
    width = -(-n_samples // 8)
    for name, mask in (("samples", samples), ("outliers", outliers)):
        if mask.shape != (len(i), width):
            raise ValueError(f"{name} has shape {mask.shape}; expected {(len(i), width)}")
    strings = np.empty(len(i), dtype=f"S{n_samples}")
    block = max(1, _CELLS // n_samples)
    for start in range(0, len(i), block):
        rows = slice(start, start + block)
        member = _unpacked(samples[rows], n_samples)
        states = _states(
            values[i[rows]], values[j[rows]], member, _unpacked(outliers[rows], n_samples), rules
        )
        lost = member & (states != IN_MODE)
        if lost.any():
            row, sample = np.argwhere(lost)[0]
            raise ValueError(
                f"row {start + row}: sample {sample} is in the mode, but missing, out of range or "
                "an outlier; expected masks of these values"
            )
        strings[rows] = (states + ord("0")).view(strings.dtype)[:, 0]
    return strings


def tukey_outliers(values: NDArray[np.floating], usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which usable values of each row lie more than 1.5 interquartile ranges beyond a quartile.

    ``values`` and ``usable`` have shape (rows, samples). With n usable values v in ascending order
    the quartiles are v[floor(n / 4)] and v[floor(3 n / 4)], without interpolation (KINC 3.4).
    """
    n_usable = usable.sum(axis=1)
    # Values that do not count go to the end.
    ascending = np.sort(np.where(usable, values, np.inf), axis=1)
    rows = np.arange(len(values))
    # A row without a usable value has no outlier, whatever its quartiles.
    first = ascending[rows, n_usable // 4]
    third = ascending[rows, np.minimum(3 * n_usable // 4, values.shape[1] - 1)]
    with np.errstate(invalid="ignore"):
        reach = 1.5 * (third - first)
        beyond = (values < (first - reach)[:, None]) | (values > (third + reach)[:, None])
    return np.asarray(beyond & usable)


def _states(
    x: NDArray[np.floating],
    y: NDArray[np.floating],
    member: NDArray[np.bool_],
    outlier: NDArray[np.bool_],
    rules: SampleRules,
) -> NDArray[np.uint8]:
    missing = np.isnan(x) | np.isnan(y)
    out_of_range = ~missing & (_beyond(x, rules) | _beyond(y, rules))
    usable = ~(missing | out_of_range)
    before = np.zeros_like(usable)
    if rules.outliers_before:
        touched = np.flatnonzero((outlier & usable).any(axis=1))
        known = usable[touched]
        before[touched] = tukey_outliers(x[touched], known) | tukey_outliers(y[touched], known)
    states = np.full(x.shape, ELSEWHERE, dtype=np.uint8)
    states[member] = IN_MODE
    states[outlier & before] = OUTLIER_BEFORE
    states[outlier & ~before] = OUTLIER_AFTER
    states[out_of_range] = OUT_OF_RANGE
    states[missing] = MISSING
    return states


def _beyond(values: NDArray[np.floating], rules: SampleRules) -> NDArray[np.bool_]:
    low = -np.inf if rules.min_expression is None else rules.min_expression
    high = np.inf if rules.max_expression is None else rules.max_expression
    return np.asarray((values < low) | (values > high))


def _unpacked(mask: NDArray[np.uint8], n_samples: int) -> NDArray[np.bool_]:
    return np.unpackbits(mask, axis=1, count=n_samples).view(np.bool_)
