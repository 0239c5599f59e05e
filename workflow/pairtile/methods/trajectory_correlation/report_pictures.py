"""The figures of correlated motion, and the words beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation import figures as maps
from pairtile.methods.trajectory_correlation.report_findings import LEVEL, kind_of
from pairtile.methods.trajectory_correlation.report_results import (
    METHOD_NAMES,
    MotionResults,
    motion_results,
)
from pairtile.report import figures
from pairtile.report.formats import count, counted, number
from pairtile.report.method_report import FigureMaker, FigureWithText

if TYPE_CHECKING:
    from pairtile.report.results import Results


MAX_POINTS = 30_000
"""Of a scatter plot; of more pairs some are drawn, evenly taken."""


def _marks_told(found: MotionResults) -> str:
    told = []
    if set(found.marks.secondary_structure) & {"H", "E"}:
        told.append("helices and strands of the first frame")
    if found.marks.domains:
        told.append("domains")
    text = f" Beside the axes: {' and '.join(told)}." if told else ""
    if found.marks.chain_borders():
        text += " Lines part the chains."
    return text


def _blocks_told(n: int) -> str:
    block = -(-n // maps.MAX_PIXELS)
    if block == 1:
        return ""
    return f" Each point is the mean of {block} × {block} pairs; the files hold them all."


def _correlation(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = None if found is None else found.matrix("correlation")
    if found is None or matrix is None:
        return None
    signed, label = kind_of(results) == "dcc", results.text.score
    shown, told = _above(results, found)
    figure = maps.correlation_map(
        matrix, found.marks, shown, label=label, diverging=signed, limit=1.0
    )
    caption = f"{label.capitalize()} of all pairs"
    if shown is not None:
        caption = (
            f"{label.capitalize()}: below the diagonal of all pairs, above it of those with {told}"
        )
    caption += "; blue: motion against each other, red: together." if signed else "."
    caption += _marks_told(found) + _blocks_told(len(matrix))
    values = matrix[np.triu_indices(len(matrix), 1)]
    middle = f" Median {number(float(np.nanmedian(values)))}."
    return FigureWithText(figure, "Map of correlations", caption, f"Heat map. {caption}{middle}")


def _dcc(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or kind_of(results) == "dcc":
        return None
    matrix = found.matrix("dcc")
    if matrix is None:
        return None
    figure = maps.correlation_map(
        matrix, found.marks, label="dynamical cross-correlation", diverging=True, limit=1.0
    )
    caption = (
        "Dynamical cross-correlation of displacements. Red: along the same direction at the same "
        "time; blue: in opposite directions; white: neither, or at right angles, which it does not "
        f"see.{_blocks_told(len(matrix))}"
    )
    return FigureWithText(figure, "Together or against each other", caption, f"Heat map. {caption}")


def _difference(results: Results) -> FigureWithText | None:
    found, name = results.cached(motion_results), results.parameters.get("compare")
    matrix = None if found is None or not name else found.difference("correlation")
    if found is None or matrix is None:
        return None
    if len(matrix) != len(found.marks):
        return None
    figure = maps.correlation_map(
        matrix, found.marks, label="difference of correlation", diverging=True
    )
    caption = (
        f"Correlation here minus that of “{name}”. Red: stronger here; blue: stronger there. Grey: "
        f"pairs that only one of the two has.{_blocks_told(len(matrix))}"
    )
    return FigureWithText(figure, f"Difference from {name}", caption, f"Heat map. {caption}")


def _score_distribution(results: Results) -> FigureWithText | None:
    scores, words = results.scores, results.text
    if scores is None or not {"edges", "counts"} <= scores.keys() or not scores["counts"].sum():
        return None
    threshold = float(scores.get("threshold", float("nan")))
    null = scores.get("null_counts")
    has_null = null is not None and np.sum(null) > 0
    figure = figures.score_distribution(
        scores["edges"], scores["counts"], null if has_null else None, threshold,
        label=words.score_axis,
    )  # fmt: skip
    total = int(scores["counts"].sum())
    caption = f"{words.score.capitalize()} of {counted(total, 'pair')}; logarithmic y axis."
    if has_null:
        caption += (
            " The null: the same pairs with one of the two motions shifted in time, so that each "
            "stays as slow as it is and only what they share is lost. That it does not lie at 0 is "
            "what few independent frames do."
        )
    return FigureWithText(
        figure, "Correlations and what chance gives", caption, f"Histogram. {caption}"
    )


def _surrogates(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or kind_of(results) == "dcc":
        return None
    null, values = found.matrix("null_mean"), found.matrix("mi_nats")
    if null is None or values is None:
        return None
    i, j = np.triu_indices(len(values), 1)
    every = -(-i.size // MAX_POINTS)
    i, j = i[::every], j[::every]
    p = found.matrix("p_value")
    small = None if p is None else p[i, j] <= LEVEL
    figure = maps.null_against_value(null[i, j], values[i, j], small, label=f"p ≤ {LEVEL:g}")
    caption = (
        "Mutual information of each pair against the mean of its own time-shifted surrogates. On "
        "the dashed line a pair shares no more than its slowness alone would bring about."
    )
    if every > 1:
        caption += f" Every {count(every)}th pair is drawn."
    return FigureWithText(
        figure, "Each pair and its surrogates", caption, f"Scatter plot. {caption}"
    )


def _p_values(results: Results) -> FigureWithText | None:
    scores = results.scores or {}
    counts = scores.get("p_value_counts")
    if counts is None or not np.sum(counts):
        return None
    keep = results.parameters.get("keep")
    level = keep.get("p_value") if isinstance(keep, dict) else None
    figure = maps.p_value_histogram(counts, level)
    caption = (
        f"p-values of {counted(int(np.sum(counts)), 'pair')} against their surrogates. Were no "
        "motion related to any other, the bars would be about as high as the line; a pile at the "
        "left is what is correlated beyond that."
    )
    return FigureWithText(figure, "p-values", caption, f"Histogram. {caption}")


def _residues(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or len(found.residues) < 2:
        return None
    table, positions = found.residues, results.parameters.get("variables") == "positions"
    profiles: dict[str, Any] = {}
    if "sd" in table:
        profiles["RMSF (Å)" if positions else "standard\ndeviation"] = table["sd"]
    profiles["correlation\ntime (frames)"] = table["correlation_time"]
    if "mean_correlation" in table:
        profiles["mean\ncorrelation"] = table["mean_correlation"].abs()
    through = len(results.network) > 0 and table["betweenness"].notna().any()
    if through:
        profiles["betweenness"] = table["betweenness"]
    method = next(iter(found.community_methods), None)
    members = found.members(method) if method else None
    figure = maps.residue_profiles(profiles, found.marks, members)
    kind = "fluctuation about the mean position" if positions else "standard deviation"
    caption = f"Along the {'chain' if found.marks.numbers else 'variables'}: {kind}"
    caption += ", correlation time (how long a motion is remembered)"
    caption += ", mean size of the correlation with all others" * ("mean_correlation" in table)
    caption += ", share of shortest paths through it (betweenness)" * bool(through)
    caption += "."
    if members is not None and members.any():
        caption += (
            f" Numbered strip: communities ({METHOD_NAMES.get(str(method), method)}), in the "
            "colours of the PyMOL and VMD scripts."
        )
    caption += _marks_told(found).replace("Beside the axes", "Other strips")
    return FigureWithText(figure, "Along the chain", caption, f"Line charts. {caption}")


def _distance(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or found.places is None:
        return None
    matrix = found.matrix("correlation")
    if matrix is None:
        return None
    i, j = np.triu_indices(len(matrix), 1)
    distance = np.linalg.norm(found.places[i] - found.places[j], axis=1)
    # Angles of one residue lie at one place.
    known = np.isfinite(distance) & (distance > 1e-3)
    if known.sum() < 2:
        return None
    figure = maps.correlation_against_distance(
        distance[known], matrix[i, j][known], label=results.text.score
    )
    caption = (
        f"{results.text.score.capitalize()} against the distance of the mean positions, "
        f"{counted(int(known.sum()), 'pair')}. What is near moves together; pairs far above the "
        "median at their distance are candidates for coupling at a distance."
    )
    return FigureWithText(figure, "Correlation and distance", caption, f"Density plot. {caption}")


def _above(results: Results, found: MotionResults) -> tuple[NDArray[np.bool_] | None, str]:
    """What the map shows above its diagonal, and in words: what passes the threshold of ``keep``,
    in contact or not. None without one."""
    keep = results.parameters.get("keep")
    rule, value = next(iter(keep.items())) if isinstance(keep, dict) and keep else ("", None)
    name = {"p_value": "p_value", "fdr": "q_value", "correlation": "correlation"}.get(rule)
    if name == "q_value" and results.parameters.get("contacts"):
        name, value = "p_value", LEVEL  # q-values are of contacts alone
    matrix = found.matrix(name or "p_value")
    if matrix is None:
        return None, ""
    if name == "correlation":
        return np.abs(matrix) >= value, f"at least {value:g}"
    limit = value if name and value is not None else LEVEL
    return matrix <= limit, f"{'q' if name == 'q_value' else 'p'} ≤ {limit:g}"


FIGURES: Mapping[str, FigureMaker] = {
    "correlation": _correlation,
    "dcc": _dcc,
    "residues": _residues,
    "difference": _difference,
    "distance": _distance,
    "score_distribution": _score_distribution,
    "surrogates": _surrogates,
    "p_values": _p_values,
}
