"""The sections of the page, in reading order.

A section is one small file with a function that takes the results (and the figures made from
them) and returns a Section, or None when there is nothing to show. To add one, write its file
and its template and name it here.
"""

from __future__ import annotations

from collections.abc import Callable

from pairtile.report.results import Results
from pairtile.report.sections import (
    answers,
    cleaning,
    drawing,
    edges,
    evaluation,
    figures,
    files,
    methods,
    mirna_hits,
    mode_conditions,
    mode_modules,
    motion,
    predictor_levels,
    predictors,
    run,
)
from pairtile.report.sections.base import Picture, Section

SECTIONS: tuple[Callable[[Results, list[Picture]], Section | None], ...] = (
    answers.section,
    figures.section,
    mirna_hits.section,
    predictor_levels.section,
    predictors.section,
    motion.section,
    mode_conditions.section,
    mode_modules.section,
    drawing.section,
    edges.section,
    evaluation.section,
    cleaning.section,
    files.section,
    run.section,
    methods.section,
)

__all__ = ["SECTIONS", "Picture", "Section"]
