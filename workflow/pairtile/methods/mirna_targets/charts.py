"""Figures of miRNA hits.

``FIGURES`` are those of the page, each one function of the results, whose caption in ``text.md.j2``
says what it shows; ``alignment`` draws any hit in a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from pairtile.errors import require_columns
from pairtile.methods.mirna_targets.hits_bed_gff3 import COLOURS
from pairtile.methods.mirna_targets.report_hits import (
    GENES,
    conserved,
    has_null,
    hits_of,
    mapped_transcript,
    null_row,
    seed_columns,
    settings_of,
    targets_of,
    targets_of_pairs,
)
from pairtile.methods.mirna_targets.tables import CANONICAL
from pairtile.report.charts import (
    SEQUENTIAL,
    add_legend,
    bars,
    chart,
    figure_of,
    heat_map,
    histogram,
    lines,
)
from pairtile.report.figures import precision_recall
from pairtile.report.formats import count, format_number
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.report.style import BLUE, GREY, INK, PALE, figure_of_panels

CANONICAL_LABEL, OTHER_LABEL = "canonical seed site", "other"

# --- all hits -------------------------------------------------------------------------------------


def _score_distribution(results: Results) -> Drawn:
    scores = needed(results.scores)
    needed(np.sum(scores.get("counts", 0)))
    counts, threshold = scores["counts"], float(scores.get("threshold", np.nan))
    figure = _hit_distribution(scores["edges"], counts, threshold, results.text.score, "log")
    return Drawn(figure, {"n": int(counts.sum()), "threshold": threshold})


def _energy_distribution(results: Results) -> Drawn:
    scores = needed(results.scores)
    counts = needed(scores.get("energy_counts"))
    needed(counts.any() and settings_of(results)["energies"])
    threshold = (results.summary.get("threshold") or {}).get("energy_kcal_mol")
    edges, label = scores["energy_edges"], "free energy of the duplex (kcal/mol)"
    figure = _hit_distribution(edges, counts, threshold, label)
    middle = int(np.searchsorted(counts.cumsum(), counts.sum() / 2))
    half = edges[min(middle + 1, len(counts))]
    return Drawn(figure, {"n": int(counts.sum()), "half": half})


def _hit_distribution(
    edges: ArrayLike,
    counts: ArrayLike,
    threshold: float | None,
    label: str,
    yscale: Literal["linear", "log"] = "linear",
) -> Figure:
    return histogram(
        edges, {"hits": counts}, yscale=yscale, xlabel=label, ylabel="number of hits",
        vlines={} if threshold is None else {f"threshold {format_number(threshold)}": threshold},
    )  # fmt: skip


def _seed_classes(results: Results) -> Drawn:
    found = needed(results.cached(hits_of))
    hits, named = (
        np.array([*found.seed_classes.values()]),
        np.isin([*found.seed_classes], CANONICAL),
    )
    figure = bars(
        [*found.seed_classes], {CANONICAL_LABEL: hits * named, OTHER_LABEL: hits * ~named},
        shares=True, orientation="horizontal", xlabel="number of hits", ylabel="seed class",
    )  # fmt: skip
    return Drawn(figure)


def _relative_positions(results: Results) -> Drawn:
    hits = needed(results.cached(hits_of))
    bins = hits.positions.shape[1]
    # Bins are joined where they have fewer than 80 hits on average: they would show little but
    # chance.
    joined = next((n for n in (8, 4, 2) if hits.n < 80 * bins / n), 1)
    n = bins // joined
    shares = {
        f"{label} ({count(row.sum())})": ((np.arange(n) + 0.5) / n, 100 * row / row.sum())
        for row, label in zip(
            hits.positions.reshape(2, n, joined).sum(2), (CANONICAL_LABEL, OTHER_LABEL), strict=True
        )
        if row.sum()
    }
    figure = lines(
        shares, marker="o", hlines={"evenly spread": 100 / n}, xlim=(0.0, 1.0), ylim=(0.0, None),
        xlabel="position on the transcript, 5' end = 0, 3' end = 1", ylabel="% of hits",
    )  # fmt: skip
    return Drawn(figure, {"last": hits.positions[:, 3 * bins // 4 :].sum() / hits.n})


# --- hits against chance and in other species -----------------------------------------------------


def _signal(results: Results) -> Drawn:
    scores = results.scores or {}
    rows = {name: null_row(results, name) for name in COLOURS} if has_null(results) else {}
    rows = needed({name: r for name, r in rows.items() if r["sites"] and r["expected"]})
    ratio, low, high = (
        np.array([row[name] for row in rows.values()])
        for name in ("ratio", "ratio_low", "ratio_high")
    )
    far = 1.1 * float(np.max(np.where(np.isfinite(high), high, 2 * ratio), initial=1.0))
    high = np.where(np.isfinite(high), high, far)
    figure, (upper, lower) = figure_of_panels(2, 1, width=3.6, height=2.1)
    place = np.arange(len(rows))
    with chart(
        ax=upper, vlines={"": 1.0}, xlim=(0.0, far), ylim=(len(rows) - 0.5, -0.5),
        xlabel="sites / sites of shuffles", ylabel="seed class",
    ):  # fmt: skip
        upper.errorbar(
            ratio, place, xerr=[ratio - low, high - ratio], fmt="o", color=BLUE, capsize=2
        )
        upper.set_yticks(place, [*rows])
        upper.grid(axis="y", visible=False)
    score, found = scores["null_pair_scores"], scores["null_pairs"]
    shown = score <= max(float(score[found > 0].max(initial=0.0)), 1.0)
    curves = {
        name: (score[shown & (values > 0)], values[shown & (values > 0)])
        for name, values in (("miRNAs", found), ("shuffles", scores["null_pairs_expected"]))
    }
    lines(curves, ax=lower, yscale="log", xlabel="pair score, at least", ylabel="number of pairs")
    shuffles = (results.parameters.get("null") or {}).get("shuffles", 0)
    ratios = [(name, row["ratio"]) for name, row in rows.items()]
    return Drawn(figure, {"shuffles": shuffles, "ratios": ratios})


MIN_SITES_OF_RATE = 10
"""A rate is drawn if it is that of at least so many sites."""


def _conservation(results: Results) -> Drawn:
    table = results.cached(conserved)
    table = needed(table[table["kept"] >= MIN_SITES_OF_RATE])
    measure = "min_branch_length" if "min_branch_length" in table else "min_species"
    label = "branch length (substitutions a site)" if "length" in measure else "number of species"
    levels, known = table[measure].unique(), table["conservation_rate"].to_numpy()
    rows_of = {
        str(name): rows.set_index(measure).reindex(levels)
        for name, rows in table.groupby("seed_class", sort=False)
    }
    first, rows = next(iter(rows_of.items()))
    figure = lines(
        {name: (levels, rows["conservation_rate"]) for name, rows in rows_of.items()},
        bands={first: (rows["rate_low"], rows["rate_high"])}, highlight=first, hlines={"": 0.0},
        xlabel=f"kept, at least: {label}", ylabel="share conserved beyond chance",
        ylim=(max(-0.5, float(np.nanmin(known, initial=0.0)) - 0.05), 1.02),
    )  # fmt: skip
    best = table.iloc[int(np.nanargmax(known))]
    rate = max(best["conservation_rate"], 0.0)
    numbers = {"seed_class": best["seed_class"], "rate": rate, "bound": best[measure]}
    return Drawn(figure, {"least": MIN_SITES_OF_RATE, **numbers})


# --- miRNAs and transcripts -----------------------------------------------------------------------

MAX_BARS = 15


def _most_pairs(results: Results) -> Drawn:
    targets = needed(results.cached(targets_of))
    needed(targets.n > 1)
    sides = (
        (targets.mirnas, "miRNAs", "target transcripts"),
        (targets.transcripts, "transcripts", "miRNAs"),
    )
    rows = max(3, min(MAX_BARS, max(len(table) for table, *_ in sides)))
    figure, panels = figure_of_panels(2, 2, width=5.25, height=1.4 + 0.26 * rows)
    for panel, (table, title, of) in zip(panels, sides, strict=True):
        shown = table.head(MAX_BARS)
        canonical = shown["canonical"].to_numpy()
        bars(
            [*map(str, shown.index)],
            {CANONICAL_LABEL: canonical, OTHER_LABEL: shown["pairs"].to_numpy() - canonical},
            orientation="horizontal", ax=panel, legend=False, xlabel=f"number of {of}",
            title=f"{title} with the most {of}",
        )  # fmt: skip
    add_legend(panels[0], "outside lower center")
    return Drawn(
        figure, {"largest": [(table.index[0], table["pairs"].iloc[0]) for table, *_ in sides]}
    )


def _target_map(results: Results) -> Drawn:
    needed(results.network)
    # So many of the strongest pairs are looked through for the map's rows and columns.
    pairs = results.strongest(100_000)
    pairs = strongest_block(pairs[pairs["n_hits"] > 0], 30)  # others have no energy
    rows, i = np.unique(pairs["source"].to_numpy(dtype=object), return_inverse=True)
    columns, j = np.unique(pairs["target"].to_numpy(dtype=object), return_inverse=True)
    needed(len(rows) * len(columns) >= 4)
    energies = settings_of(results)["energies"] and "energy_kcal_mol" in pairs
    column, label = (
        ("energy_kcal_mol", "lowest energy (kcal/mol)") if energies else ("score", "best score")
    )
    values = pairs[column].to_numpy(dtype=np.float64)
    grid, dots = np.full((len(rows), len(columns)), np.nan), np.zeros((len(rows), len(columns)))
    grid[i, j] = values
    known = (results.folder / "targets.tsv").is_file() and GENES not in results.network
    if known:
        sites = targets_of_pairs(results, pairs)["n_canonical_sites"]
        dots[i, j] = sites.to_numpy(dtype=np.float64) > 0
    filled = np.where(np.isnan(grid), values.max(initial=0.0) if energies else values.min(), grid)
    down, across = _similar_together(filled), _similar_together(filled.T)
    mirnas, transcripts = rows[down].tolist(), columns[across].tolist()
    figure = heat_map(
        grid[down][:, across], label, cmap=SEQUENTIAL if energies else f"{SEQUENTIAL}_r",
        rows=dict(enumerate(mirnas)), columns=dict(enumerate(transcripts)), aspect="auto",
        dots=dots[down][:, across], hover={"miRNA": mirnas, "target": transcripts}, items=True,
        size=(2.9 + 0.2 * len(columns), max(3.6, 2.3 + 0.19 * len(rows))),
    )  # fmt: skip
    best = pairs.iloc[int(pairs["score"].to_numpy().argmax())]
    numbers = {
        **{"pairs": len(pairs), "mirnas": len(rows), "items": len(columns), "dots": known},
        **{"energies": energies, "best": best[["source", "target"]].tolist()},
    }
    return Drawn(figure, {**numbers, "value": best[column]})


def strongest_block(pairs: pd.DataFrame, n: int = 30) -> pd.DataFrame:
    """The pairs between the ``n`` first miRNAs and the ``n`` first transcripts.

    ``pairs`` has the columns ``source`` and ``target``, strongest first: a miRNA's place is that
    of its strongest pair.
    """
    sources = pairs["source"].drop_duplicates().head(n)
    targets = pairs["target"].drop_duplicates().head(n)
    return pairs[pairs["source"].isin(sources) & pairs["target"].isin(targets)]


def _similar_together(grid: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order of the rows by average-linkage clustering, neighbours as alike as can be."""
    if len(grid) < 3:
        return np.arange(len(grid))
    tree = scipy.cluster.hierarchy.linkage(grid, "average", optimal_ordering=True)
    return np.asarray(scipy.cluster.hierarchy.leaves_list(tree), dtype=np.intp)


# --- one transcript -------------------------------------------------------------------------------

POSITION = "position on the transcript (letters)"
MIN_ACCESSIBILITY = 1e-6
"""Where the logarithmic axis of accessibility begins; a site of 20 letters is seldom open."""


def _site_map(results: Results) -> Drawn:
    name, strongest = mapped_transcript(results), needed(results.cached(hits_of)).strongest
    rows = strongest[strongest["transcript"].astype(str) == name]
    hits = rows.sort_values("score", ascending=False, kind="stable")
    open_sites, conservation = "accessibility" in hits, "conservation_rate" in hits
    if open_sites:
        figure, (axes, below) = figure_of_panels(2, 1, width=9.0, height=2.2)
    else:
        figure, [axes] = figure_of_panels(width=9.0, height=3.0)
    shades = {
        seed_class: "#{:02x}{:02x}{:02x}".format(*map(int, text.split(",")))
        for seed_class, text in COLOURS.items()
    }
    xlim = (1, max(int(hits["transcript_length"].iloc[0]), 2))
    middle = (hits["site_begin"] + hits["site_end"]).to_numpy() / 2
    score, seed_class = hits["score"].to_numpy(), hits["seed_class"].astype(str).to_numpy()
    low = float(score.min()) - 5
    rate = hits["conservation_rate"].fillna(0.0).to_numpy(float) if conservation else score**0
    with chart(
        ax=axes, xlim=xlim, ylim=(low, float(score.max()) + 4), n_named=10,
        xlabel="" if open_sites else POSITION, ylabel="alignment score",
        named=list(zip(hits["mirna"].astype(str), middle, score, strict=True)),
    ):  # fmt: skip
        for label, shade in shades.items():
            own = seed_class == label
            if own.any():
                axes.vlines(middle[own], low, score[own], color=shade, linewidth=0.8, label=label)
                fill = [(shade, 0.1 + 0.9 * share) for share in rate[own]]
                axes.scatter(middle[own], score[own], s=18, edgecolors=[shade], facecolors=fill)
        axes.grid(axis="x", visible=False)
    if open_sites:
        with chart(
            ax=below, xlim=xlim, ylim=(MIN_ACCESSIBILITY, 1), yscale="log", xlabel=POSITION,
            ylabel="accessibility",
        ):  # fmt: skip
            share = hits["accessibility"].clip(lower=MIN_ACCESSIBILITY)
            colours_of = [shades[label] for label in seed_class]
            below.vlines(middle, MIN_ACCESSIBILITY, share, color=colours_of, linewidth=3.5)
            below.grid(axis="x", visible=False)
    numbers = {
        "sites": len(rows),
        "name": name,
        "best": rows.iloc[0][["mirna", "site_begin", "site_end"]].tolist(),
        "conserved": conservation,
        "accessible": open_sites,
    }
    return Drawn(figure, numbers)


FIGURES: Mapping[str, FigureMaker] = {
    "signal": _signal,
    "conservation": _conservation,
    "site_map": _site_map,
    "target_map": _target_map,
    "most_pairs": _most_pairs,
    "score_distribution": _score_distribution,
    "energy_distribution": _energy_distribution,
    "seed_classes": _seed_classes,
    "relative_positions": _relative_positions,
    "precision_recall": precision_recall,
}


# --- one hit, letter by letter --------------------------------------------------------------------


def alignment(hit: Mapping[str, Any] | pd.Series | NamedTuple) -> Figure:
    """The alignment of one hit: the miRNA (3' to 5') above its site (5' to 3'), seed region shaded.

    Parameters
    ----------
    hit : mapping, Series or row of ``DataFrame.itertuples``
        A row of the table that ``mirna_targets`` returns: ``query_alignment``, ``match_line`` and
        ``reference_alignment``; with ``mirna``, ``transcript``, ``score`` and
        ``energy_kcal_mol``, where they are, in the title.

    Raises
    ------
    ValueError
        When a line is missing, or the three are of different lengths.

    Examples
    --------
    >>> figure = alignment({
    ...     "query_alignment": "uugAUAUGUUGGAUGAUGGAGu", "match_line": "   |:|: ||:|| |||||| ",
    ...     "reference_alignment": "aauUGUG-AAUCU-CUACCUCa", "mirna": "let-7a",
    ... })
    Traceback (most recent call last):
    ValueError: found lines of 22, 21 and 22 characters; expected three of the same length
    >>> figure = alignment({
    ...     "query_alignment": "uugAUAUGUUGGAUGAUGGAGu", "match_line": "   |:|:  ||:|| |||||| ",
    ...     "reference_alignment": "aauUGUG-AAUCU-CUACCUCa", "mirna": "let-7a",
    ... })
    """
    given = hit._asdict() if hasattr(hit, "_asdict") else hit
    names = ("query_alignment", "match_line", "reference_alignment")
    require_columns(given, names, "hit")
    query, match, reference = (str(given[name]) for name in names)
    if not len(query) == len(match) == len(reference):
        raise ValueError(
            f"found lines of {len(query)}, {len(match)} and {len(reference)} characters; expected "
            "three of the same length"
        )
    begin, end = seed_columns(query.replace(" ", "-"))
    ends = [str(given[key]) for key in ("mirna", "transcript") if key in given]
    scores = [f"score {float(given['score']):g}"] if "score" in given else []
    if "energy_kcal_mol" in given:
        scores.append(f"{float(given['energy_kcal_mol']):.2f} kcal/mol".replace("-", "−"))
    with chart(
        size=(max(4.0, 0.2 * len(query) + 2.4), 1.7), xlim=(-6.0, len(query) + 1.5),
        ylim=(-2.6, 0.6), title=": ".join(filter(None, (" on ".join(ends), ", ".join(scores)))),
    ) as axes:  # fmt: skip
        axes.axvspan(begin - 0.5, end - 0.5, color=PALE, zorder=0)
        for row, (text, left, right) in enumerate(
            ((query, "miRNA 3'", "5'"), (match, "", ""), (reference, "site 5'", "3'"))
        ):
            axes.text(-1.0, -row, left, ha="right", va="center", color=GREY)
            axes.text(len(text), -row, right, ha="left", va="center", color=GREY)
            for column, letter in enumerate(text):
                axes.text(
                    column, -row, letter, ha="center", va="center", family="DejaVu Sans Mono",
                    fontsize=7, color=BLUE if row == 1 else INK, parse_math=False,
                )  # fmt: skip
        axes.set_axis_off()
    return figure_of(axes)
