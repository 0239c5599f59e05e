"""Figures of miRNA hits: from arrays or tables to a matplotlib Figure, and those of the page.

Functions of ``__all__`` are for notebooks as well; ``FIGURES`` makes those of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from pairtile.methods.mirna_targets.hits_bed_gff3 import COLOURS
from pairtile.methods.mirna_targets.report_hits import (
    GENES,
    conserved,
    has_null,
    hits_of,
    mapped_transcript,
    null_row,
    seed_columns,
    targets_of,
    targets_of_pairs,
)
from pairtile.methods.mirna_targets.report_numbers import settings_of
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
from pairtile.report.formats import count, plain
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.style import BLUE, GREY, INK, PALE, figure_of_panels
from pairtile.report.text import page_text

__all__ = [
    "alignment",
    "conservation_rates",
    "hit_distribution",
    "most_pairs",
    "relative_positions",
    "seed_classes",
    "signal_and_chance",
    "site_map",
    "target_map",
]


CANONICAL_LABEL, OTHER_LABEL = "canonical seed site", "other"


def hit_distribution(
    edges: ArrayLike,
    counts: ArrayLike,
    threshold: float | None = None,
    *,
    label: str,
    logarithmic: bool = False,
) -> Figure:
    """Distribution of the scores or of the energies of all hits, and the threshold.

    Parameters
    ----------
    edges : array, shape (B + 1,)
        Bin edges, ascending.
    counts : array, shape (B,)
        Hits in each bin. Empty bins at both ends are cut off.
    threshold : float, optional
        Drawn as a line where it lies within half the drawn range of the hits.
    label : str
        Name and unit of the value.
    logarithmic : bool
        Whether the number of hits has a logarithmic axis.

    Raises
    ------
    ValueError
        When the lengths do not fit together.

    Examples
    --------
    >>> figure = hit_distribution([140, 150, 160, 170], [20, 9, 2], 140, label="score")
    """
    return histogram(
        edges, {"hits": counts}, yscale="log" if logarithmic else "linear", xlabel=label,
        vlines={} if threshold is None else {f"threshold {plain(threshold)}": threshold},
        ylabel="number of hits",
    )  # fmt: skip


def seed_classes(counts: Mapping[str, int], canonical: Sequence[str]) -> Figure:
    """How many hits have each seed class, in the order given, best first.

    Parameters
    ----------
    counts : mapping of str to int
        Hits of each class.
    canonical : sequence of str
        The classes drawn as canonical.

    Examples
    --------
    >>> figure = seed_classes({"8mer": 12, "7mer-m8": 30, "6mer": 51}, ["8mer", "7mer-m8"])
    """
    hits = np.array(list(counts.values()), dtype=np.int64)
    named = np.isin(list(counts), canonical)
    return bars(
        list(counts), {CANONICAL_LABEL: hits * named, OTHER_LABEL: hits * ~named}, shares=True,
        orientation="horizontal", xlabel="number of hits", ylabel="seed class",
    )  # fmt: skip


def signal_and_chance(
    names: Sequence[str],
    ratios: ArrayLike,
    intervals: ArrayLike,
    scores: ArrayLike,
    pairs: ArrayLike,
    expected: ArrayLike,
) -> Figure:
    """What there is against what chance gives: ratios by seed class, and pairs by their score.

    Parameters
    ----------
    names : sequence of str
        Seed classes, best first.
    ratios, intervals : array, shapes (C,) and (C, 2)
        Sites over those of the shuffles, and an interval of it; a high end may be infinite.
    scores, pairs, expected : array, shape (B,)
        Pair scores, and how many pairs, of miRNAs and of shuffles, reach them.

    Examples
    --------
    >>> curve = [0, 1, 2], [90, 40, 9], [80.0, 31.0, 2.5]
    >>> figure = signal_and_chance(["8mer"], [1.4], [(1.1, 1.8)], *curve)
    """
    ratio = np.asarray(ratios, dtype=np.float64)
    low, high = np.asarray(intervals, dtype=np.float64).reshape(-1, 2).T
    far = 1.1 * float(np.max(np.where(np.isfinite(high), high, 2 * ratio), initial=1.0))
    high = np.where(np.isfinite(high), high, far)
    score, found, chance = (np.asarray(x, dtype=np.float64) for x in (scores, pairs, expected))
    _, (left, right) = figure_of_panels(2, 2, width=3.6, height=3.2)
    place = np.arange(len(names))
    with chart(
        ax=left, vlines={"": 1.0}, xlim=(0.0, far), ylim=(len(names) - 0.5, -0.5),
        xlabel="sites / sites of shuffles", ylabel="seed class",
    ):  # fmt: skip
        left.errorbar(
            ratio, place, xerr=[ratio - low, high - ratio], fmt="o", color=BLUE, capsize=2
        )
        left.set_yticks(place, names)
        left.grid(axis="y", visible=False)
    shown = score <= max(float(score[found > 0].max(initial=0.0)), 1.0)
    curves = {
        name: (score[shown & (values > 0)], values[shown & (values > 0)])
        for name, values in (("miRNAs", found), ("shuffles", chance))
    }
    return lines(
        curves, ax=right, yscale="log", xlabel="pair score, at least", ylabel="number of pairs"
    )


def conservation_rates(
    levels: ArrayLike,
    rates: Mapping[str, ArrayLike],
    intervals: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    label: str,
) -> Figure:
    """Share of the sites kept in other species that chance does not explain, by seed class.

    Parameters
    ----------
    levels : array, shape (L,)
        How well sites are kept: number of species or branch length, at least.
    rates : mapping of str to array, shape (L,)
        The share of each seed class; NaN where no site is kept so well. The first has its interval
        drawn as a band.
    intervals : mapping of str to (array, array)
        Low and high end of each share.
    label : str
        Name and unit of ``levels``.

    Examples
    --------
    >>> figure = conservation_rates(
    ...     [1, 2, 3], {"8mer": [0.1, 0.2, 0.4]}, {"8mer": ([0, 0.1, 0.2], [0.2, 0.3, 0.5])},
    ...     label="number of species",
    ... )
    """
    known = np.concatenate([np.asarray(rate, dtype=np.float64) for rate in rates.values()])
    first = next(iter(rates))
    return lines(
        {name: (levels, rate) for name, rate in rates.items()}, bands={first: intervals[first]},
        highlight=first, hlines={"": 0.0}, xlabel=label, ylabel="share conserved beyond chance",
        ylim=(max(-0.5, float(np.nanmin(known, initial=0.0)) - 0.05), 1.02),
    )  # fmt: skip


def relative_positions(counts: ArrayLike) -> Figure:
    """Where on their transcripts hits lie: shares of hits with and without a canonical site.

    Parameters
    ----------
    counts : array, shape (2, B)
        Hits in B parts of equal length from the 5' to the 3' end; canonical ones, then others.

    Examples
    --------
    >>> figure = relative_positions([[9, 5, 4, 8], [20, 22, 19, 21]])
    """
    counts = np.asarray(counts, dtype=np.float64)
    n = counts.shape[1]
    shares = {
        f"{label} ({count(row.sum())})": ((np.arange(n) + 0.5) / n, 100 * row / row.sum())
        for row, label in zip(counts, (CANONICAL_LABEL, OTHER_LABEL), strict=True)
        if row.sum()
    }
    return lines(
        shares, marker="o", hlines={"evenly spread": 100 / n}, xlim=(0.0, 1.0), ylim=(0.0, None),
        xlabel="position on the transcript, 5' end = 0, 3' end = 1", ylabel="% of hits",
    )  # fmt: skip


def most_pairs(mirnas: pd.DataFrame, transcripts: pd.DataFrame, *, n: int = 15) -> Figure:
    """The miRNAs with most targets beside the transcripts with most miRNAs.

    Parameters
    ----------
    mirnas, transcripts : DataFrame
        Names as index, columns ``pairs`` and ``canonical`` (those of them with a canonical site),
        most pairs first.
    n : int
        How many of each, at most.

    Examples
    --------
    >>> mirnas = pd.DataFrame({"pairs": [9, 4], "canonical": [5, 1]}, index=["let-7a", "miR-1"])
    >>> transcripts = pd.DataFrame({"pairs": [2, 1], "canonical": [1, 0]}, index=["t1", "t2"])
    >>> figure = most_pairs(mirnas, transcripts)
    """
    rows = max(3, min(n, max(len(mirnas), len(transcripts))))
    figure, panels = figure_of_panels(2, 2, width=5.25, height=1.4 + 0.26 * rows)
    sides = ((mirnas, "miRNAs", "target transcripts"), (transcripts, "transcripts", "miRNAs"))
    for panel, (table, title, of) in zip(panels, sides, strict=True):
        shown = table.head(n)
        canonical = shown["canonical"].to_numpy()
        bars(
            [*map(str, shown.index)],
            {CANONICAL_LABEL: canonical, OTHER_LABEL: shown["pairs"].to_numpy() - canonical},
            orientation="horizontal", ax=panel, legend=False, xlabel=f"number of {of}",
            title=f"{title} with the most {of}",
        )  # fmt: skip
    add_legend(panels[0], "outside lower center")
    return figure


def strongest_block(pairs: pd.DataFrame, n: int = 30) -> pd.DataFrame:
    """The pairs between the ``n`` first miRNAs and the ``n`` first transcripts.

    ``pairs`` has the columns ``source`` and ``target``, strongest first: a miRNA's place is that
    of its strongest pair.
    """
    sources = pairs["source"].drop_duplicates().head(n)
    targets = pairs["target"].drop_duplicates().head(n)
    return pairs[pairs["source"].isin(sources) & pairs["target"].isin(targets)]


def target_map(
    pairs: pd.DataFrame,
    values: ArrayLike,
    canonical: ArrayLike | None = None,
    *,
    label: str,
    low_is_strong: bool = False,
) -> Figure:
    """Heat map of miRNAs (rows) and transcripts (columns); similar rows and columns lie together.

    Parameters
    ----------
    pairs : DataFrame
        Columns ``source`` and ``target``, each pair once. What is not named stays blank.
    values : array, shape (n,)
        The value of each pair: stronger is darker.
    canonical : array of bool, shape (n,), optional
        Pairs marked with a dot.
    label : str
        Name and unit of the value.
    low_is_strong : bool
        Whether lower values (energies) are the stronger ones.

    Examples
    --------
    >>> pairs = pd.DataFrame({"source": ["let-7a", "miR-1"], "target": ["t1", "t2"]})
    >>> figure = target_map(pairs, [-20.1, -15.0], label="energy (kcal/mol)", low_is_strong=True)
    """
    values = np.asarray(values, dtype=np.float64)
    rows, i = np.unique(pairs["source"].to_numpy(dtype=object), return_inverse=True)
    columns, j = np.unique(pairs["target"].to_numpy(dtype=object), return_inverse=True)
    grid, dots = np.full((len(rows), len(columns)), np.nan), np.zeros((len(rows), len(columns)))
    grid[i, j] = values
    dots[i, j] = False if canonical is None else np.asarray(canonical, dtype=bool)
    weakest = values.max(initial=0.0) if low_is_strong else values.min(initial=np.inf)
    filled = np.where(np.isnan(grid), weakest, grid)
    down, across = _similar_together(filled), _similar_together(filled.T)
    return heat_map(
        grid[down][:, across], label, cmap=SEQUENTIAL if low_is_strong else f"{SEQUENTIAL}_r",
        rows=dict(enumerate(rows[down].tolist())), dots=dots[down][:, across], aspect="auto",
        columns=dict(enumerate(columns[across].tolist())), items=True,
        hover={"miRNA": rows[down].tolist(), "target": columns[across].tolist()},
        size=(2.9 + 0.2 * len(columns), max(3.6, 2.3 + 0.19 * len(rows))),
    )  # fmt: skip


def _similar_together(grid: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order of the rows by average-linkage clustering, neighbours as alike as can be."""
    if len(grid) < 3:
        return np.arange(len(grid))
    return np.asarray(leaves_list(linkage(grid, "average", optimal_ordering=True)), dtype=np.intp)


# --- one transcript -------------------------------------------------------------------------------


MAX_LABELS = 10
POSITION = "position on the transcript (letters)"
MIN_ACCESSIBILITY = 1e-6
"""Where the logarithmic axis of accessibility begins; a site of 20 letters is seldom open."""


def site_map(hits: pd.DataFrame, colours: Mapping[str, str]) -> Figure:
    """The sites of one transcript along it, as high as their score.

    Parameters
    ----------
    hits : DataFrame
        Rows of ``hits.tsv`` of one transcript: ``mirna``, ``site_begin``, ``site_end``, ``score``,
        ``seed_class``, ``transcript_length``. Where there is ``conservation_rate``, sites are
        filled as far; where there is ``accessibility``, bars below the line show it.
    colours : mapping of str to str
        Of each seed class, best first, ``RED,GREEN,BLUE`` from 0 to 255.

    Examples
    --------
    >>> hits = pd.DataFrame({
    ...     "mirna": ["let-7a", "miR-1"], "site_begin": [20, 310], "site_end": [40, 330],
    ...     "score": [160, 145], "seed_class": ["8mer", "none"], "transcript_length": 400,
    ... })
    >>> figure = site_map(hits, {"8mer": "213,94,0", "none": "127,127,127"})
    """
    shades = {
        name: "#{:02x}{:02x}{:02x}".format(*map(int, text.split(",")))
        for name, text in colours.items()
    }
    length = int(hits["transcript_length"].iloc[0])
    low = float(hits["score"].min()) - 5
    open_sites = "accessibility" in hits
    if open_sites:
        figure, (axes, below) = figure_of_panels(2, 1, width=9.0, height=2.2)
    else:
        figure, [axes] = figure_of_panels(width=9.0, height=3.0)
    hits = hits.sort_values("score", ascending=False, kind="stable")
    middle = (hits["site_begin"] + hits["site_end"]).to_numpy() / 2
    score, seed_class = hits["score"].to_numpy(), hits["seed_class"].astype(str).to_numpy()
    rate = hits.get("conservation_rate", pd.Series(1.0, hits.index)).fillna(0.0).to_numpy(float)
    with chart(
        ax=axes, xlim=(1, max(length, 2)), ylim=(low, float(score.max()) + 4),
        xlabel="" if open_sites else POSITION, ylabel="alignment score", n_named=MAX_LABELS,
        named=list(zip(hits["mirna"].astype(str), middle, score, strict=True)),
    ):  # fmt: skip
        for name, shade in shades.items():
            own = seed_class == name
            if own.any():
                axes.vlines(middle[own], low, score[own], color=shade, linewidth=0.8, label=name)
                fill = [(shade, 0.1 + 0.9 * share) for share in rate[own]]
                axes.scatter(middle[own], score[own], s=18, edgecolors=[shade], facecolors=fill)
        axes.grid(axis="x", visible=False)
    if open_sites:
        with chart(
            ax=below, xlim=(1, max(length, 2)), ylim=(MIN_ACCESSIBILITY, 1), yscale="log",
            xlabel=POSITION, ylabel="accessibility",
        ):  # fmt: skip
            share = hits["accessibility"].clip(lower=MIN_ACCESSIBILITY)
            colours_of = [shades[name] for name in seed_class]
            below.vlines(middle, MIN_ACCESSIBILITY, share, color=colours_of, linewidth=3.5)
            below.grid(axis="x", visible=False)
    return figure


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
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"hit: found no {', '.join(missing)}; expected a row of mirna_targets")
    query, match, reference = (str(given[name]) for name in names)
    if not len(query) == len(match) == len(reference):
        raise ValueError(
            f"found lines of {len(query)}, {len(match)} and {len(reference)} characters; expected "
            "three of the same length"
        )
    begin, end = seed_columns(query.replace(" ", "-"))
    with chart(
        size=(max(4.0, 0.2 * len(query) + 2.4), 1.7), xlim=(-6.0, len(query) + 1.5),
        ylim=(-2.6, 0.6), title=_title(given),
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


def _title(given: Mapping[str, Any] | pd.Series) -> str:
    names = [str(given[key]) for key in ("mirna", "transcript") if key in given]
    numbers = [f"score {float(given['score']):g}"] if "score" in given else []
    if "energy_kcal_mol" in given:
        numbers.append(f"{float(given['energy_kcal_mol']):.2f} kcal/mol".replace("-", "−"))
    return ": ".join(filter(None, (" on ".join(names), ", ".join(numbers))))


# --- on the page: which can be made, and the numbers of their captions ---


MAP_SIZE = 30
FEW_HITS = 80
"""Hits in a bin of positions below which bins are joined, on average."""

BEST_FIRST = 100_000
"""So many of the strongest pairs are looked through for the map's rows and columns."""


FEW_KEPT = 10
"""Sites below which a rate is not drawn."""


def _signal(results: Results) -> FigureWithText | None:
    if not has_null(results):
        return None
    rows = {name: null_row(results, name) for name in COLOURS}
    rows = {name: row for name, row in rows.items() if row["sites"] and row["expected"]}
    if not rows:
        return None
    scores = results.scores
    assert scores is not None
    figure = signal_and_chance(
        list(rows),
        [row["ratio"] for row in rows.values()],
        [(row["ratio_low"], row["ratio_high"]) for row in rows.values()],
        scores["null_pair_scores"],
        scores["null_pairs"],
        scores["null_pairs_expected"],
    )
    return page_text(results).figure(
        "signal",
        figure,
        shuffles=(results.parameters.get("null") or {}).get("shuffles", 0),
        ratios=[(name, row["ratio"]) for name, row in rows.items()],
    )


def _conservation(results: Results) -> FigureWithText | None:
    table = results.cached(conserved)
    if table is None:
        return None
    table = table[table["kept"] >= FEW_KEPT]
    if table.empty:
        return None
    measure = "min_branch_length" if "min_branch_length" in table else "min_species"
    label = "branch length (substitutions a site)" if "length" in measure else "number of species"
    levels = table[measure].unique()
    rows_of = {
        str(name): rows.set_index(measure).reindex(levels)
        for name, rows in table.groupby("seed_class", sort=False)
    }
    figure = conservation_rates(
        levels,
        {name: rows["conservation_rate"] for name, rows in rows_of.items()},
        {name: (rows["rate_low"], rows["rate_high"]) for name, rows in rows_of.items()},
        label=f"kept, at least: {label}",
    )
    best = table.iloc[int(np.nanargmax(table["conservation_rate"]))]
    return page_text(results).figure(
        "conservation",
        figure,
        least=FEW_KEPT,
        seed_class=best["seed_class"],
        rate=max(best["conservation_rate"], 0.0),
        bound=best[measure],
    )


def _target_map(results: Results) -> FigureWithText | None:
    if results.network.empty:
        return None
    pairs = results.strongest(BEST_FIRST)
    pairs = strongest_block(pairs[pairs["n_hits"] > 0], MAP_SIZE)  # others have no energy
    n_mirnas, n_transcripts = pairs["source"].nunique(), pairs["target"].nunique()
    if n_mirnas * n_transcripts < 4:
        return None
    energies = settings_of(results)["energies"] and "energy_kcal_mol" in pairs
    column = "energy_kcal_mol" if energies else "score"
    canonical = None
    if (results.folder / "targets.tsv").is_file() and GENES not in results.network:
        rows = targets_of_pairs(results, pairs)
        canonical = rows["n_canonical_sites"].to_numpy(dtype=np.float64) > 0
    figure = target_map(
        pairs,
        pairs[column],
        canonical,
        label="lowest energy (kcal/mol)" if energies else "best score",
        low_is_strong=energies,
    )
    best = pairs.iloc[int(pairs["score"].to_numpy().argmax())]
    return page_text(results).figure(
        "target_map",
        figure,
        pairs=len(pairs),
        mirnas=n_mirnas,
        items=n_transcripts,
        dots=canonical is not None,
        energies=energies,
        best=best[["source", "target"]].tolist(),
        value=best[column],
    )


def _score_distribution(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not np.sum(scores.get("counts", 0)):
        return None
    threshold = float(scores.get("threshold", float("nan")))
    bins = scores["edges"], scores["counts"]
    figure = hit_distribution(*bins, threshold, label=results.text.score, logarithmic=True)
    n = int(scores["counts"].sum())
    return page_text(results).figure("scores", figure, n=n, threshold=threshold)


def _energy_distribution(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not settings_of(results)["energies"]:
        return None
    counts = scores.get("energy_counts")
    if counts is None or not counts.sum():
        return None
    threshold = (results.summary.get("threshold") or {}).get("energy_kcal_mol")
    edges = scores["energy_edges"]
    figure = hit_distribution(
        edges, counts, threshold, label="free energy of the duplex (kcal/mol)"
    )
    middle = int(np.searchsorted(counts.cumsum(), counts.sum() / 2))
    half = edges[min(middle + 1, len(counts))]
    return page_text(results).figure("energies", figure, n=int(counts.sum()), half=half)


def _seed_classes(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    figure = seed_classes(hits.seed_classes, CANONICAL)
    return page_text(results).figure("seed_classes", figure)


def _relative_positions(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    bins = hits.positions.shape[1]
    # Few hits in narrow bins would show little but chance.
    joined = next((n for n in (8, 4, 2) if hits.n < FEW_HITS * bins / n), 1)
    figure = relative_positions(hits.positions.reshape(2, bins // joined, joined).sum(2))
    last = hits.positions[:, 3 * bins // 4 :].sum() / hits.n
    return page_text(results).figure("positions", figure, last=last)


def _site_map(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    name = mapped_transcript(results)
    rows = hits.strongest[hits.strongest["transcript"].astype(str) == name]
    figure = site_map(rows, COLOURS)
    best = rows.iloc[0]
    return page_text(results).figure(
        "site_map",
        figure,
        sites=len(rows),
        name=name,
        conserved="conservation_rate" in rows,
        accessible="accessibility" in rows,
        best=best[["mirna", "site_begin", "site_end"]].tolist(),
    )


def _most_pairs(results: Results) -> FigureWithText | None:
    targets = results.cached(targets_of)
    if targets is None or targets.n < 2:
        return None
    figure = most_pairs(targets.mirnas, targets.transcripts)
    largest = [
        (table.index[0], table["pairs"].iloc[0]) for table in (targets.mirnas, targets.transcripts)
    ]
    return page_text(results).figure("most_pairs", figure, largest=largest)


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
}
