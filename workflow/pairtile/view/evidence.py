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
from pairtile.report.method_report import CaptionedFigure, PageSection, SectionMaker, needed
from pairtile.report.packed_columns import base64_of
from pairtile.report.results import Results
from pairtile.report.sections.network import drawn, ends

MAX_BYTES = 300_000
"""Bytes of values in a page; base64 makes 400 kB of them."""

MAX_SAMPLES = 1_000
"""So many samples of a longer table are in the page, evenly spaced."""

MAX_LABELS = 12
"""Labels of an annotation that samples are coloured by; of more only numbers are taken."""

State: TypeAlias = Mapping[str, NDArray[np.generic]]
Rows: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.generic]]
"""Items (numbers among those that were kept) and samples -> values, float (items, samples), NaN
where missing."""


@dataclass(frozen=True)
class Samples:
    """What pairs were scored from, for the panel.

    n : samples. values : of an item in them. label : what values are. sources : values of an item
    as source, where sources are read earlier than their targets. names : of the samples. groups :
    heading -> a text for each sample. series : int (samples,), the course of each sample, those of
    one in the order of time. members : edges -> bool (edges, samples), the samples of their modes.
    """

    n: int
    values: Rows
    label: str
    sources: Rows | None = None
    names: NDArray[np.generic] | None = None
    groups: Mapping[str, Iterable[object]] = field(default_factory=dict)
    series: NDArray[np.generic] | None = None
    members: Callable[[pd.DataFrame], NDArray[np.bool_]] | None = None


def table_samples(
    results: Results,
    state: State,
    values: NDArray[np.generic],
    label: str,
    sources: NDArray[np.generic] | None = None,
    groups: Mapping[str, Iterable[object]] | None = None,
) -> Samples:
    """The samples of a table: ``values`` and ``sources`` (items, samples), coloured by ``groups``,
    the batch or series, and every annotation of ``values/``, where the analysis has them."""
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
    return Samples(
        n,
        partial(copy_rows, values),
        label,
        None if sources is None else partial(copy_rows, sources),
        state.get("quality_samples"),
        {name: labels for name, labels in known.items() if len(list(labels)) == n},
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
                    "samples": None if found is None else _packed_samples(results, found),
                }
            },
            scripts=(
                "network_data.js", "network_style.js", "packed_columns.js", "name_links.js",
                "links_out.js", "sample_drawing.js", "evidence.js",
            ),
        )  # fmt: skip

    return section


def _packed_samples(results: Results, samples: Samples) -> dict[str, object]:
    """What sample_drawing.js reads. First come the items of pairs that differ between groups, then
    those of the strongest edges, until the page is full."""
    ends = ["source", "target"]
    differ = results.labelled(results.table("differential.tsv", PACKAGE), ends)
    differ = differ.dropna(subset="class").head(100)  # the surest
    nodes = (str(node[0]) for node in results.cached(drawn)["nodes"])
    names = list(dict.fromkeys([*differ[ends].to_numpy().ravel(), *nodes]))
    columns = np.linspace(0, samples.n - 1, min(samples.n, MAX_SAMPLES)).round().astype(np.int64)
    if samples.series is not None:
        columns = columns[np.argsort(samples.series[columns], kind="stable")]
    blocks = {"values": samples.values, "sources": samples.sources}
    given = {name: rows for name, rows in blocks.items() if rows}
    room = MAX_BYTES // max(len(columns) * len(given), 1)
    width = 2 if 2 * len(names) <= room else 1
    items = names[: room // width]
    rows = pd.Index([*results.rows]).get_indexer(pd.Index(items)).astype(np.int64)
    packed: dict[str, object] = {
        "n": len(columns),
        "total": samples.n,
        "label": samples.label,
        "width": width,
        "items": items,
        "names": None if samples.names is None else samples.names[columns].tolist(),
        "groups": _groups(samples.groups, columns),
        "series": None if samples.series is None else samples.series[columns].tolist(),
    }
    packed |= {name: _packed(values(rows, columns), width) for name, values in given.items()}
    if samples.members:
        size = -(-len(columns) // 8)
        edges = results.strongest(MAX_EDGES).head(MAX_BYTES // (3 * size))
        bits = np.packbits(samples.members(edges)[:, columns], axis=1)
        packed |= {"members": base64_of(bits), "members_of": len(edges)}
    return packed


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
            scale = _packed(numbers.to_numpy(dtype=np.float64)[None], 1)
            found.append({"heading": heading, **scale})
        elif 1 < len(distinct) <= MAX_LABELS:
            codes = pd.Index(distinct).get_indexer(pd.Index(texts))
            found.append({"heading": heading, "labels": distinct, "of": codes.tolist()})
    return found
