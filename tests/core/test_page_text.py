"""Templates of the page's text: every method's ``text.md.j2``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import jinja2
import pairtile
import pytest
from pairtile.config.downstream import PACKAGE, STAGES
from pairtile.method import Method, methods
from pairtile.report.figures import COMMON_FIGURES
from pairtile.report.results import read_results
from pairtile.report.text import PageText, joined
from result_files import write_results


def own_figures(method: Method) -> Mapping[str, object]:
    figures = method.part(method.report).figures if method.report else {}
    return resolve_name(figures) if isinstance(figures, str) else figures


FIGURES = {*COMMON_FIGURES}.union(*map(own_figures, methods().values()))
TEMPLATES = [method.folder / "text.md.j2" for method in methods().values()]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.parent.name)
def test_figures_have_a_caption_each_and_papers_are_there(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    charts = "".join(path.read_text(encoding="utf-8") for path in template.parent.glob("*.py"))
    method = methods()[template.parent.name]
    drawn = {re.sub(r"_\d$", "", name) for name in own_figures(method)}
    drawn |= set(
        re.findall(r"return Drawn\(.*, \"(\w+)\"\)$", charts, re.MULTILINE)
    )  # of another name
    captions = set(re.findall(r"macro figure_(\w+)\(", text))
    assert captions <= drawn
    assert drawn - captions - {*COMMON_FIGURES} <= {"threshold"}  # has one by each rule
    shared = Path(pairtile.__file__).parent / "report" / "references.bib"
    papers = (template.parent / "references.bib").read_text() + shared.read_text()
    cited = set(re.findall(r"\"([A-Z]+(?:_[A-Z]+)*_\d{4}|NORMI|NETSCI)\"", text))
    assert cited, "the methods paragraph cites no paper"
    assert all(f"{{{key}," in papers for key in cited)


def test_what_is_missing_is_false_in_a_condition_and_an_error_where_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.md.j2").write_text(
        "{% macro findings() %}\n- {{ 2 if counts.no.such else 1 }}\n.\n{% endmacro %}\n"
        "{% macro headline() %}{{ counts.no.such }}{% endmacro %}\n"
    )
    method = SimpleNamespace(folder=tmp_path, package="pairtile.report")
    results = read_results(write_results(tmp_path / "demo"))
    results.summary["method"] = "other"
    monkeypatch.setattr("pairtile.report.text.methods", lambda: {"other": method})
    text = PageText(results)
    assert text.lines("findings") == ["1."]
    with pytest.raises(jinja2.UndefinedError):
        text.text("headline")


SHARED = [
    Path(pairtile.__file__).parent / name
    for name in ("report/templates/text.md.j2", "downstream/text.md.j2")
]
FIRST_SCREEN = r"macro (?:\w*findings|gold_standard|largest_hubs|left_out|condition_found|differences|\w*numbers?)\((.*?)endmacro"  # noqa: E501


@pytest.mark.parametrize("template", [*TEMPLATES, *SHARED], ids=lambda path: path.parent.name)
def test_every_sentence_and_key_number_declares_where_its_evidence_is(template: Path) -> None:
    whole = template.read_text(encoding="utf-8")
    text = "\n".join(re.findall(FIRST_SCREEN, whole, re.DOTALL))
    sentences = re.findall(r"^(?:\{\{ \")?- (.*)", text, re.MULTILINE)
    assert sentences or "macro findings" not in whole
    # One without a number may have no place.
    assert [one for one in sentences if not re.match(r"\[.+?\] |\[\] [^{]*$", one)] == []
    for name in re.findall(r"figure-([a-z_0-9]+)", text):
        assert name in FIGURES or f"macro figure_{name}(" in whole


def test_lines_are_joined_and_no_break_spaces_stay() -> None:
    assert joined(" a\n  b\n, c\u00a0d \n.\n") == "a b, c\u00a0d."


def test_every_stage_has_its_sentences_in_the_methods_paragraph(tmp_path: Path) -> None:
    """The paragraph names each stage that ran, and no other."""
    template = files(PACKAGE).joinpath("text.md.j2").read_text(encoding="utf-8")
    told = re.findall(r"\{\{ (\w+)_methods\(\) \}\}", template)
    assert sorted(told) == sorted(stage.name for stage in STAGES)
    results = read_results(write_results(tmp_path / "demo"))
    samples: dict[str, str | None] = {"batch": None, "series": None}
    parameters = results.summary["parameters"]
    parameters |= {"differential": {"label": "sex", "score": "spearman"}, "samples": samples}
    parameters["modules"] = {"method": "leiden"}
    counts = ("modules_found", "modules_elsewhere", "module_trait_tests", "differential_tested",
              "enrichment_tests", "activity_regulators")  # fmt: skip
    bare, _ = PageText(results).cited("stages_methods")
    assert bare == ""
    parameters["mirna_targets"] = "mirna"
    length = len(PageText(results).cited("stages_methods")[0])
    assert length > 50
    for count in counts:
        results.summary["counts"][count] = 7
        paragraph, _ = PageText(results).cited("stages_methods")
        assert len(paragraph) > length + 50, count
        length = len(paragraph)
    assert "fixed effects" not in paragraph
    samples["batch"] = "plate"
    assert "with batches as fixed effects" in PageText(results).cited("stages_methods")[0]


def test_the_methods_paragraph_says_all_that_was_done_to_the_values(tmp_path: Path) -> None:
    """And of what was not done nothing."""
    results = read_results(write_results(tmp_path / "demo"))
    results.summary["counts"]["hidden_factors"] = 3
    asked = {"sample_scale": True, "regress_out": ["plate", "age"], "hidden_factors": 3}
    results.parameters["preprocess"] |= asked
    text = PageText(results).text("methods")
    for done in ("the same spread", "plate and age", "first 3 hidden factors"):
        assert done in text
    results.parameters["preprocess"] |= {"sample_scale": False, "regress_out": []}
    results.parameters["preprocess"] |= {"hidden_factors": "none"}
    text = PageText(results).text("methods")
    assert "spread in all" not in text
    assert "effects of" not in text
    assert "hidden factors" not in text
    left_out = f"left out ({' or '.join(results.dropped['reason'].unique())})"
    assert left_out.replace("too few samples", "observed in fewer than 20 samples") in text
