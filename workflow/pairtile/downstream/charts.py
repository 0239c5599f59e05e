"""Figures of the stages."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pairtile.downstream.enrichment import FILE, Q_VALUE
from pairtile.report.charts import DIVERGING, bars, heat_map, scatter
from pairtile.report.formats import shortened
from pairtile.report.method_report import FigureWithText
from pairtile.report.results import Results, read_result_table
from pairtile.report.text import page_text

SHOWN = 20
"""Sets, or regulators, in a figure."""

MAX_COLUMNS = 400
"""Samples of the heat map; of more, so many evenly spaced ones."""

PAIR_CLASSES = ("gained", "lost", "reversed", "stronger", "weaker")
MAX_NAMED = 8

MAX_MODULES = 40
"""Modules in the heat map, the largest."""

_NAME = 44


def enriched_sets(table: pd.DataFrame) -> Figure:
    """Overlaps of gene sets with lists, and what chance gives of them.

    table : rows of ``enrichment.tsv`` of overlaps, in the order of the figure.
    """
    lists = table["list"].where(table["kind"] != "module", "module " + table["list"])
    names = [
        f"{shortened(name, 14)}: {shortened(gene_set, _NAME - 16)}"
        for name, gene_set in zip(lists, table["gene_set"], strict=True)
    ]
    overlap = table["overlap"].to_numpy(dtype=float)
    by_chance = np.minimum(table["expected"].to_numpy(dtype=float), overlap)
    more = overlap - by_chance
    heights = {"expected by chance": by_chance, "more": more}
    return bars(names, heights, orientation="horizontal", xlabel="genes of the set in the list")


def activity_map(activity: pd.DataFrame) -> Figure:
    """Activities (regulators x samples) as standard deviations from the mean of each regulator."""
    values = activity.to_numpy(dtype=float)
    spread = np.nanstd(values, axis=1, keepdims=True)
    z = (values - np.nanmean(values, axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    return heat_map(
        z, "activity (standard deviations)", cmap=DIVERGING, limits=(-3.0, 3.0), aspect="auto",
        rows={k: shortened(str(name)) for k, name in enumerate(activity.index)}, xlabel="samples",
        hover={"regulator": [*map(str, activity.index)], "sample": [*map(str, activity.columns)]},
        size=(6.4, 1.6 + 0.25 * len(activity)),
    )  # fmt: skip


def table_of_stage(results: Results, file: str) -> pd.DataFrame:
    """The table that a stage wrote; empty where the analysis has none."""
    path = results.folder / file
    return read_result_table(path, __package__) if path.is_file() else pd.DataFrame()


def module_traits_figure(results: Results) -> FigureWithText | None:
    """Correlations of eigengenes with traits, a dot where q is small."""
    table = table_of_stage(results, "module_traits.tsv")
    if table.empty:
        return None
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
    return page_text(results).figure(
        "module_traits", drawn, modules=len(r), traits=r.shape[1], found=int((q <= Q_VALUE).sum())
    )


def differential_figure(results: Results) -> FigureWithText | None:
    """Scores of pairs in the two groups of the comparison with most pairs that differ."""
    table = table_of_stage(results, "differential.tsv")
    if table.empty:
        return None
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
    groups = {kind: kinds == kind for kind in PAIR_CLASSES if (kinds == kind).any()}
    drawn = scatter(
        x, y, groups, s=9.0, diagonal="no difference", named=named, n_named=MAX_NAMED,
        xlabel=f"score in {first}", ylabel=f"score in {second}",
    )  # fmt: skip
    return page_text(results).figure(
        "differential", drawn, shown=len(shown), differ=int((kinds != "").sum()),
        first=first, second=second,
    )  # fmt: skip


def enrichment_figure(results: Results) -> FigureWithText | None:
    """The sets with the smallest q-values, where any are found."""
    table = table_of_stage(results, FILE)
    if table.empty:
        return None
    shown = table[(table["q_value"] <= Q_VALUE) & table["overlap"].notna()].head(SHOWN)
    if shown.empty:
        return None
    return page_text(results).figure("enrichment", enriched_sets(shown), shown=len(shown))


def activity_figure(results: Results) -> FigureWithText | None:
    """The regulators that go with a label most clearly, else those that vary most."""
    path = results.folder / "activity.tsv"
    if not path.is_file():
        return None
    tests = read_result_table(results.folder / "activity_tests.tsv", __package__)
    with path.open(encoding="utf-8") as lines:
        n_samples = lines.readline().count("\t")
    taken = np.unique(np.linspace(0, n_samples - 1, min(n_samples, MAX_COLUMNS)).astype(int))
    activity = pd.read_csv(
        path, sep="\t", usecols=[0, *(taken + 1)], dtype={0: str}, keep_default_na=False,
        na_values={k: [""] for k in (taken + 1).tolist()},
    ).set_index("regulator")  # fmt: skip
    tested = tests.loc[tests["q_value"] <= Q_VALUE, "regulator"].drop_duplicates()
    order = tested if len(tested) else activity.std(axis=1).astype(float).nlargest(SHOWN).index
    shown = activity.loc[order[:SHOWN]]
    if shown.empty or shown.shape[1] < 2:
        return None
    shown.index = pd.Index([results.labels.get(name, name) for name in shown.index])
    found = bool(len(tested))
    return page_text(results).figure(
        "activity", activity_map(shown), shown=len(shown), found=found, samples=shown.shape[1]
    )
