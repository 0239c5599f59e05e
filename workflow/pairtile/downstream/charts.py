"""Figures of the stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from pairtile.arrays import Int64Array
from pairtile.downstream.eigengenes import standardise
from pairtile.downstream.given import Q_VALUE
from pairtile.downstream.group_comparison import CLASSES
from pairtile.engine.state import open_state
from pairtile.io.annotations import KIND_LIMIT
from pairtile.report.charts import DIVERGING, Ticks, bars, heat_map, lines, scatter
from pairtile.report.formats import shortened
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.statistics.dependence import evenly_spaced

SHOWN = 20
"""Sets, or regulators, in a figure."""

BY_SAMPLE = {"module_genes", "activity"}
"""Figures whose samples stand in the order of an annotation."""

MAX_NAMED = 8

MAX_MODULES = 40
"""Modules in the heat map, the largest."""

_NAME = 44


def module_traits_figure(results: Results) -> Drawn:
    """Correlations of eigengenes with traits, a dot where q is small."""
    table = needed(results.table("module_traits.tsv", __package__))
    table = table[table["module"] <= MAX_MODULES]  # some are: they are numbered from 1
    r = table.pivot(index="module", columns="trait", values="correlation")
    q = table.pivot(index="module", columns="trait", values="q_value").to_numpy()
    drawn = heat_map(
        r.to_numpy(dtype=float), "correlation", cmap=DIVERGING, aspect="auto",
        rows={k: f"module {name}" for k, name in enumerate(r.index)},
        columns={k: shortened(str(name), 18) for k, name in enumerate(r.columns)},
        hover={"module": [*map(str, r.index)], "trait": [*map(str, r.columns)]},
        dots=np.nan_to_num(q, nan=1.0) <= Q_VALUE, size=(6.4, 1.8 + 0.25 * len(r)),
    )  # fmt: skip
    numbers = {"modules": len(r), "traits": r.shape[1], "found": int((q <= Q_VALUE).sum())}
    return Drawn(drawn, numbers)


def differential_figure(results: Results) -> Drawn:
    """Scores of pairs in the two groups of the comparison with most pairs that differ."""
    table = needed(results.table("differential.tsv", __package__))
    kinds = table["class"].fillna("")
    called = table["comparison"][kinds != ""]
    shown = table[table["comparison"] == called.mode().get(0, table["comparison"][0])]
    kinds = kinds[shown.index]
    labels = [name.removeprefix("score_") for name in map(str, table) if name.startswith("score_")]
    compared = {
        f"{second} vs {first}": (first, second) for first, second in permutations(labels, 2)
    }
    first, second = compared[str(shown["comparison"].iloc[0])]
    x, y = shown[f"score_{first}"], shown[f"score_{second}"]
    best = shown[kinds != ""].head(MAX_NAMED)
    named = [
        (f"{results.labels.get(one, one)}, {results.labels.get(other, other)}", x[row], y[row])
        for row, one, other in zip(best.index, best["source"], best["target"], strict=True)
    ]
    groups = {kind: kinds == kind for kind in CLASSES[1:] if (kinds == kind).any()}
    drawn = scatter(
        x, y, groups, s=9.0, diagonal="no difference", named=named, n_named=MAX_NAMED,
        xlabel=f"score in {first}", ylabel=f"score in {second}",
    )  # fmt: skip
    numbers = {"shown": len(shown), "differ": int((kinds != "").sum())}
    return Drawn(drawn, {**numbers, "first": first, "second": second})


def enrichment_figure(results: Results) -> Drawn:
    """The sets with the smallest q-values: their overlaps with lists, and what chance gives."""
    table = results.table("enrichment.tsv", __package__)
    shown = needed(table[(table["q_value"] <= Q_VALUE) & table["overlap"].notna()].head(SHOWN))
    lists = shown["list"].where(shown["kind"] != "module", "module " + shown["list"])
    names = [
        f"{shortened(name, 14)}: {shortened(gene_set, _NAME - 16)}"
        for name, gene_set in zip(lists, shown["gene_set"], strict=True)
    ]
    overlap = shown["overlap"].to_numpy(dtype=float)
    by_chance = np.minimum(shown["expected"].to_numpy(dtype=float), overlap)
    heights = {"expected by chance": by_chance, "more": overlap - by_chance}
    drawn = bars(names, heights, orientation="horizontal", xlabel="genes of the set in the list")
    return Drawn(drawn, {"shown": len(shown)})


def samples_in_order(results: Results, samples: Sequence[str]) -> tuple[Int64Array, Ticks, str]:
    """Samples by an annotation: their order, what to write below them, and the name of the axis.

    The column is ``results.colour_by``, else the first label that the analysis names, else none:
    then samples are in the order of the table. Of numbers the ends are written, of labels each
    where its samples are. Raises ValueError for a column that there is not.
    """
    stated = open_state(results.folder / "values")
    columns, order = stated["columns"].tolist(), np.arange(len(samples))
    compared = (results.parameters.get("differential") or {}).get("label")
    named = [*(trait["name"] for trait in results.parameters["traits"]), compared]
    column = results.colour_by or named[0]
    if results.colour_by and column not in columns:
        raise ValueError(f"colour_by: found {column!r}; expected one of {', '.join(columns)}")
    if column is None:
        return order, {}, "samples"
    row = pd.Index(stated["samples"]).get_indexer(pd.Index(samples))
    cells = pd.Series(np.asarray(stated["cells"][columns.index(column)])[row])
    numbers = pd.to_numeric(cells, errors="coerce")
    plain = numbers.notna().all()
    order = np.argsort(numbers if plain else cells.to_numpy(dtype=str), kind="stable")
    if plain and numbers.nunique() > KIND_LIMIT:
        ticks = {float(place): str(cells[order[place]]) for place in (0, len(order) - 1)}
    else:
        places = pd.Series(order.argsort()).groupby(cells).mean()
        ticks = {place: shortened(str(label) or "none") for label, place in places.items()}
    return order, ticks, f"samples, by {column}"


def module_genes(results: Results) -> Drawn:
    """The values of the genes of modules in the samples, each gene standardised."""
    needed((results.folder / "eigengenes.tsv").is_file())
    members = needed(results.table("modules.tsv", __package__).query("module > 0"))
    stated = open_state(results.folder / "values")
    rows = pd.Index(stated["genes"]).get_indexer(pd.Index(members["gene"]))
    samples = stated["samples"].tolist()
    order, ticks, xlabel = samples_in_order(results, samples)
    values = standardise(np.asarray(stated["values"][rows][:, order]))
    names = results.labelled(members, ["gene"])["gene"].tolist()
    number = members["module"].to_numpy()
    centres = pd.Series(np.arange(len(number))).groupby(number).mean().head(MAX_MODULES)
    drawn = heat_map(
        values, "standard deviations", cmap=DIVERGING,
        limits=(-3.0, 3.0), aspect="auto", columns=ticks, xlabel=xlabel,
        rows={float(place): str(module) for module, place in centres.items()}, ylabel="module",
        hover={"gene": names, "sample": [samples[k] for k in order]}, size=(6.4, 5.0),
    )  # fmt: skip
    return Drawn(drawn, {"genes": len(names), "modules": len(np.unique(number)), "by": xlabel})


def activity_figure(results: Results) -> Drawn:
    """The regulators that go with a label most clearly, else those that vary most: activities as
    standard deviations from the mean of each."""
    needed((results.folder / "activity.tsv").is_file())
    tests = results.labelled(results.table("activity_tests.tsv", __package__), ["regulator"])
    n_samples = len(open_state(results.folder / "values")["samples"])
    # Of more samples than a heat map shows, so many evenly spaced ones.
    columns = [0, *(evenly_spaced(n_samples, 400) + 1).tolist()]
    activity = results.table("activity.tsv", __package__, columns).set_index("regulator")
    tested = tests.loc[tests["q_value"] <= Q_VALUE, "regulator"].drop_duplicates()
    order = tested if len(tested) else activity.std(axis=1).astype(float).nlargest(SHOWN).index
    shown = needed(activity.loc[order[:SHOWN]])
    needed(shown.shape[1] > 1)
    samples, ticks, xlabel = samples_in_order(results, [*map(str, shown.columns)])
    shown = shown.iloc[:, samples]
    values = shown.to_numpy(dtype=float)
    spread = np.nanstd(values, axis=1, keepdims=True)
    z = (values - np.nanmean(values, axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    names = [*map(str, shown.index)]
    drawn = heat_map(
        z, "activity (standard deviations)", cmap=DIVERGING, limits=(-3.0, 3.0), aspect="auto",
        rows={k: shortened(name) for k, name in enumerate(names)}, columns=ticks, xlabel=xlabel,
        hover={"regulator": names, "sample": [*map(str, shown.columns)]},
        size=(6.4, 1.6 + 0.25 * len(shown)),
    )  # fmt: skip
    return Drawn(
        drawn,
        {"shown": len(shown), "found": len(tested), "samples": shown.shape[1], "by": xlabel},
    )


def target_correlations(results: Results) -> Drawn:
    """How many predicted targets, and other genes, have at most each correlation."""
    table = results.table("target_correlations.tsv", __package__)
    needed(table["r_targets"].notna().any())
    curves = {
        name: (table[column], table["share"])
        for name, column in (("predicted targets", "r_targets"), ("other genes", "r_others"))
    }
    return Drawn(lines(curves, xlabel="rank correlation with the miRNA", ylabel="share at most"))


FIGURES: Mapping[str, FigureMaker] = {
    "target_correlations": target_correlations,
    "differential": differential_figure,
    "module_traits": module_traits_figure,
    "module_genes": module_genes,
    "enrichment": enrichment_figure,
    "activity": activity_figure,
}
"""After those of the method."""
