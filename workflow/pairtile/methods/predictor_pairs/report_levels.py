"""What the clearest best sets tell: the target's level for each combination of their levels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.predictor_pairs.figures import cell_colour
from pairtile.methods.predictor_pairs.report_level_tables import rule_of_two
from pairtile.methods.predictor_pairs.report_results import PredictorResults, predictor_results
from pairtile.report.formats import count, number
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results
from pairtile.report.style import LEVEL_COLOURS

MAX_TARGETS = 12


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Small heat maps; None for another method and where the levels are gone."""
    found = results.cached(predictor_results)
    if found is None or found.levels is None or found.best.empty:
        return None
    q, clearest = found.levels.n_levels, found.clearest(MAX_TARGETS)
    return PageSection(
        id="levels",
        title=f"What the clearest {found.word}s tell",
        template="section_predictor_levels.html.j2",
        values={
            "cards": [_card(found, row) for row in clearest.to_dict("records")],
            "alone": int((~found.tied).sum()),
            "total": len(found.best),
            "legend": [(level, _background(LEVEL_COLOURS[q][level], 0.55)) for level in range(q)],
            "word": found.word,
            "lag": int(results.parameters.get("lag") or 0),
        },
    )


def _card(found: PredictorResults, row: Mapping[Any, Any]) -> dict[str, Any]:
    """One target: its names, its numbers, and the lines of its table."""
    assert found.levels is not None
    predictors = [str(row[member]) for member in found.members]
    counts = found.levels.table(predictors, str(row["target"]))
    q = found.levels.n_levels
    lines = list(product(range(q), repeat=len(predictors) - 1))
    rows = counts.reshape(len(lines), q, q)
    return {
        "target": str(row["target"]),
        "facts": _facts(row, len(predictors)),
        "rule": rule_of_two(counts, predictors),
        "others": int(row["others"]),
        "beside": ", ".join(predictors[:-1]),
        "above": predictors[-1],
        "n_levels": q,
        "lines": [
            (" ".join(map(str, levels)), [_cell(cell) for cell in cells])
            for levels, cells in zip(lines, rows, strict=True)
        ],
    }


def _facts(row: Mapping[Any, Any], n_predictors: int) -> str:
    facts = [
        f"tells {number(row['mi_bits'])} of {number(row['target_entropy_bits'])} bits",
        f"MCE {number(row['mce_bits'])}",
    ]
    facts += [f"IMP {number(row['imp_bits'])}"] if n_predictors > 1 else []
    for key in ("p_value", "q_value"):
        if row[key] == row[key]:
            facts.append(f"{key[0]} = {number(row[key])}")
    facts.append(f"{count(row['n_samples'])} samples")
    # A line breaks between facts, not within one.
    return " · ".join(fact.replace(" ", "\u00a0") for fact in facts)


def _cell(counts: NDArray[np.int64]) -> dict[str, Any] | None:
    """Counts, the largest marked, and their colour; None where nothing was seen."""
    if not counts.sum():
        return None
    return {
        "counts": [(int(n), bool(n == counts.max())) for n in counts],
        "background": _background(*cell_colour(counts)),
    }


def _background(colour: str, strength: float) -> str:
    """As CSS: clear enough that text stays readable on light and on dark paper."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgb({red} {green} {blue} / {strength:.2f})"
