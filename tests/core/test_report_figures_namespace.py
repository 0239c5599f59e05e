"""pairtile.report.figures: every figure of the reports in one place, drawn as its example says."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pairtile
import pairtile.methods
import pytest
from matplotlib.figure import Figure
from pairtile.report import figures, network_figures, sample_figures

FUNCTIONS = sorted(name for name in figures.__all__ if name.islower())


def test_every_figure_of_the_reports_is_offered() -> None:
    found = [network_figures, sample_figures]
    for module in pkgutil.walk_packages(pairtile.methods.__path__, "pairtile.methods."):
        if module.name.rpartition(".")[2] in {"charts", "figures"}:
            found.append(import_module(module.name))
    made = set()
    for module in found:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            annotated = str(inspect.signature(function).return_annotation)
            if function.__module__ == module.__name__ and annotated.endswith("Figure"):
                made |= set() if name.startswith("_") else {name}
    assert made == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_types_and_an_example(name: str) -> None:
    function = getattr(figures, name)
    assert ">>> " in inspect.getdoc(function)
    signature = inspect.signature(function)
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
    assert f"``{name}``" in (figures.__doc__ or "")


def test_the_first_hit_of_a_search_is_drawn_letter_by_letter() -> None:
    hits = pairtile.mirna_targets(
        {"let-7a": "UGAGGUAGUAGGUUGUAUAGUU"}, {"utr": "CAUUUAUACAACCGUUCUACCUCAACGCGAUG"}
    )
    hit = hits.iloc[0]
    for given in (hit, dict(hit), next(hits.itertuples())):
        figure = figures.alignment(given)
        assert isinstance(figure, Figure)
        [axes] = figure.axes
        letters = [text.get_text() for text in axes.texts]
        assert "".join(letters).count(hit["query_alignment"].strip()) == 1
        assert "let-7a on utr" in axes.get_title()
        # The seed region: seven letters of the miRNA, without gaps here, from its second last on.
        [band] = axes.patches
        begin, end = band.get_x() + 0.5, band.get_x() + band.get_width() + 0.5
        seed = hit["query_alignment"][round(begin) : round(end)]
        assert seed.upper()[::-1] == "GAGGUAG"


def test_an_alignment_must_be_whole() -> None:
    with pytest.raises(ValueError, match="found no match_line; expected a row"):
        figures.alignment({"query_alignment": "a", "reference_alignment": "u"})
