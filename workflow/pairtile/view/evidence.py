"""The side panel: what the page has to say of an item or a pair that is chosen, and the samples
behind the pairs that it lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.downstream import PACKAGE
from pairtile.engine.state import MANIFEST, copy_rows, open_state
from pairtile.io.networks.drawing import MAX_EDGES
from pairtile.report.method_report import (
    CaptionedFigure,
    PageSection,
    Results,
    SectionMaker,
    needed,
)
from pairtile.report.packed_columns import base64_of
from pairtile.report.sections.network import drawn, ends

MAX_BYTES = 300_000
"""Bytes of values in a page; base64 makes 400 kB of them."""

MAX_SAMPLES = 1_000
"""So many samples of a longer table are in the page, evenly spaced."""

MAX_LABELS = 12
"""Labels of an annotation that samples are coloured by; of more only numbers are taken."""

PROFILES = {
    "module_traits.tsv": ("eigengenes.tsv", "module", "trait", "eigengene of module {}"),
    "activity_tests.tsv": ("activity.tsv", "regulator", "label", "activity of {}"),
}
"""Tables of tests of a profile (a number for each sample) with an annotation: the file of the
profiles, the columns that name profile and annotation, and what the page calls the profile."""

State: TypeAlias = Mapping[str, NDArray[np.generic]]
Rows: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.generic]]
"""Items (numbers among those that were kept) and samples -> values, float (items, samples), NaN
where missing."""


@dataclass(frozen=True)
class Samples:
    """What pairs were scored from, for the panel.

    n : samples. values : of an item in them. label : what values are. sources : lag -> values of an
    item as source, where sources are read earlier than their targets. names : of the samples.
    groups : heading -> a text for each sample. series : int (samples,), the course of each sample,
    those of one in the order of time. members : edges -> bool (edges, samples), the samples of
    their modes.
    """

    n: int
    values: Rows
    label: str
    sources: Mapping[int, Rows] = field(default_factory=dict)
    names: NDArray[np.generic] | None = None
    groups: Mapping[str, Iterable[object]] = field(default_factory=dict)
    series: NDArray[np.generic] | None = None
    members: Callable[[pd.DataFrame], NDArray[np.bool_]] | None = None


def table_samples(
    results: Results,
    state: State,
    values: NDArray[np.generic],
    label: str,
    sources: Mapping[int, NDArray[np.generic]] | None = None,
    groups: Mapping[str, Iterable[object]] | None = None,
    at: NDArray[np.integer] | slice = slice(None),
) -> Samples:
    """The samples of a table: ``values``, and ``sources`` by lag, (items, samples), coloured by
    ``groups``, the batch or series, and every annotation of ``values/``, where the analysis has
    them. at : the samples of the table that these are, where they are not all of it."""
    n, known = values.shape[1], dict(groups or {})
    stated = results.parameters.get("samples") or {}
    compared = (results.parameters.get("differential") or {}).get("label")
    column = stated.get("batch") or stated.get("series")
    if column and "quality_group" in state:
        known.setdefault(column, state["quality_labels"][state["quality_group"]])
    if (results.folder / "values" / MANIFEST).is_file():
        given = open_state(results.folder / "values")
        cells = dict(zip(given["columns"].tolist(), given["cells"], strict=True))
        known = ({compared: cells[compared]} if compared else {}) | known | cells
    taken = {name: np.array([*labels], dtype=object)[at] for name, labels in known.items()}
    names = state["quality_samples"][at] if "quality_samples" in state else np.empty(0)
    return Samples(
        n,
        partial(copy_rows, values),
        label,
        {lag: partial(copy_rows, rows) for lag, rows in (sources or {}).items()},
        names if len(names) == n else None,  # with a lag values may be of fewer samples
        {name: labels for name, labels in taken.items() if len(labels) == n},
        state.get("sample_series"),
    )


def evidence_section(
    samples: Callable[[Results, State], Samples | None], symbols: bool = True
) -> SectionMaker:
    """The panel; ``samples`` is asked where the state is there. ``symbols``: names are those of
    genes, which databases can look up."""

    def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
        needed(results.network)
        found = samples(results, results.state) if results.state else None
        # An entry of the Protein Data Bank, where a topology is named after one.
        stem = Path(str(results.parameters.get("topology") or "")).name.partition(".")[0]
        entry = re.fullmatch(r"[1-9](?=\d*[A-Za-z])[A-Za-z0-9]{3}", stem)
        return PageSection(
            id="evidence",
            title="",  # that of what is chosen
            template="section_evidence.html.j2",
            values={
                "data": {
                    "folder": results.name,
                    "item": results.text.item,
                    "edge": results.text.edge,
                    "ends": ends(results),
                    "strength": results.text.column(results.strength) if results.strength else "",
                    "symbols": symbols,
                    "structure": stem.upper() if entry else "",
                    "samples": None if found is None else _packed_pairs(results, found),
                    "profiles": _packed_profiles(results),
                    # Table, two headings (a link stands in the second), words for the first.
                    "tests": [
                        *((file.partition(".")[0], *t) for file, (_, *t) in PROFILES.items()),
                        ("enrichment", "list", "gene set", ""),
                    ],
                }
            },
            scripts=(
                "network_data.js", "network_style.js", "packed_columns.js", "name_links.js",
                "links_out.js", "sample_drawing.js", "evidence.js",
            ),
        )  # fmt: skip

    return section


def _packed_pairs(results: Results, samples: Samples) -> dict[str, object]:
    """The samples behind pairs: first of those that differ between groups, then of the strongest
    edges, until the page is full."""
    ends = ["source", "target"]
    differ = results.labelled(results.table("differential.tsv", PACKAGE), ends)
    differ = differ.dropna(subset="class").head(100)  # the surest
    nodes = (str(node[0]) for node in results.cached(drawn)["nodes"])
    names = list(dict.fromkeys([*differ[ends].to_numpy().ravel(), *nodes]))
    rows = pd.Index([*results.rows]).get_indexer(pd.Index(names)).astype(np.int64)
    packed, columns = _packed_samples(samples, names, rows)
    edges = results.strongest(MAX_EDGES)
    if len(samples.sources) > 1:
        packed["lags"] = edges["lag"].tolist()
    if samples.members:
        edges = edges.head(MAX_BYTES // (3 * -(-len(columns) // 8)))
        bits = np.packbits(samples.members(edges)[:, columns], axis=1)
        packed |= {"members": base64_of(bits), "members_of": len(edges)}
    return packed


def _packed_profiles(results: Results) -> dict[str, object] | None:
    """The samples behind rows of ``PROFILES``, the surest first; None without such a table."""
    asked: list[tuple[str, str]] = []
    for file, (_, name, by, words) in PROFILES.items():
        tests = results.labelled(results.table(file, PACKAGE), ["regulator"])
        tests = tests.sort_values("q_value", kind="stable")
        asked += zip(map(words.format, tests[name]), tests[by], strict=True)
    if not asked:
        return None
    items = list(dict.fromkeys(item for item, _ in asked))
    given = open_state(results.folder / "values")

    def values(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.generic]:
        tables = [
            results.table(file, PACKAGE, [0, *(columns + 1).tolist()])
            .set_index(name)
            .rename(words.format)
            for file, name, _, words in PROFILES.values()
            if (results.folder / file).is_file()
        ]
        found = pd.concat([table for table in tables if len(table)])
        return found.loc[[items[row] for row in rows]].to_numpy()

    cells = dict(zip(given["columns"].tolist(), given["cells"], strict=True))
    samples, groups = given["samples"], {by: cells[by] for _, by in asked}
    return _packed_samples(
        Samples(len(samples), values, "", names=samples, groups=groups),
        items,
        np.arange(len(items)),
    )[0]


def _packed_samples(
    samples: Samples, names: list[str], rows: NDArray[np.int64]
) -> tuple[dict[str, object], NDArray[np.int64]]:
    """What sample_drawing.js reads of the first items, as many as a page may carry; and the samples
    that it has of them. names, rows : of all items."""
    columns = np.linspace(0, samples.n - 1, min(samples.n, MAX_SAMPLES)).round().astype(np.int64)
    if samples.series is not None:
        columns = columns[np.argsort(samples.series[columns], kind="stable")]
    room = MAX_BYTES // max(len(columns) * (1 + len(samples.sources)), 1)
    width = 2 if 2 * len(names) <= room else 1
    items, rows = names[: room // width], rows[: room // width]
    return {
        "n": len(columns),
        "total": samples.n,
        "label": samples.label,
        "width": width,
        "items": items,
        "names": None if samples.names is None else samples.names[columns].tolist(),
        "groups": _groups(samples.groups, columns),
        "series": None if samples.series is None else samples.series[columns].tolist(),
        "values": _packed(samples.values(rows, columns), width),
        "sources": {
            lag: _packed(read(rows, columns), width) for lag, read in samples.sources.items()
        },
    }, columns


def _packed(values: NDArray[np.generic], width: int) -> dict[str, object]:
    """Rows as whole numbers of ``width`` bytes between their least and largest value, the largest
    such number where a value is missing."""
    values, top = np.asarray(values, dtype=np.float64), 256**width - 2
    ends = [np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)]
    low, high = (np.array([float(f"{x:.6g}") for x in np.nan_to_num(end)]) for end in ends)
    span = np.where(high > low, high - low, 1.0)
    codes = np.clip(np.rint((values - low[:, None]) / span[:, None] * top), 0, top)
    codes = np.where(np.isnan(codes), top + 1, codes).astype(f"<u{width}")
    return {"low": low.tolist(), "high": high.tolist(), "codes": base64_of(codes)}


def _groups(
    groups: Mapping[str, Iterable[object]], columns: NDArray[np.int64]
) -> list[dict[str, object]]:
    """Annotations that samples can be coloured by: few labels, or numbers on a scale."""
    found = []
    for heading, labels in groups.items():
        texts = pd.Series([str(label) for label in labels])[columns].reset_index(drop=True)
        numbers = pd.to_numeric(texts, errors="coerce")
        distinct = sorted(set(texts) - {""})
        if len(distinct) > MAX_LABELS and numbers.notna().sum() == (texts != "").sum():
            found.append(
                {"heading": heading, **_packed(numbers.to_numpy(dtype=np.float64)[None], 1)}
            )
        elif 1 < len(distinct) <= MAX_LABELS:
            codes = pd.Index(distinct).get_indexer(pd.Index(texts))
            found.append({"heading": heading, "labels": distinct, "of": codes.tolist()})
    return found
