"""The words of ``predictor_pairs`` in the report: counts, columns, cautions, methods paragraph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from method_pages import parts_of
from pairtile.methods.predictor_pairs.charts import FIGURES
from pairtile.methods.predictor_pairs.report import TEXT
from pairtile.report.method_report import made_of
from pairtile.report.results import read_results
from pairtile.report.text import page_text, read_references
from predictor_levels import PARTS, analysis, planted_levels, random_levels
from report_pages import codes_of, numbers_of, part, plain_page, read_page

papers = read_references("pairtile.methods.predictor_pairs")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the planted genes' report."""
    return analysis(tmp_path_factory.mktemp("predictors"))


@pytest.mark.parametrize(
    "changes",
    [
        {"regulators": "some.txt", "targets": "some.txt", "series": "series.tsv"},
        {"estimator": {"cardinality": 1}},
        {"estimator": {"cardinality": 3, "search": "sffs", "top": 4}, "null": {"permutations": 9}},
        {"estimator": {"cardinality": 3}, "keep": {"p_value": 0.2}},
        {"estimator": {"cardinality": 4}, "regulators": "some.txt"},
        {"lag": 0, "null": {"permutations": 0}},
        {"null": {"kind": "circular_shift"}, "estimator": {"penalty": "poor_obs", "self": True}},
    ],
    ids=["lists", "singles", "sffs", "triples", "fours", "no_null", "shifts"],
)
def test_every_form_of_the_search_has_words_for_all_it_shows(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    (tmp_path / "some.txt").write_text("\n".join(f"g{k:03d}" for k in range(9)) + "\n")
    series = [f"t{k}\ts{k // 20}" for k in range(40)] + ["t40\ts1"]
    (tmp_path / "series.tsv").write_text("\n".join(["sample\tseries", *series]) + "\n")
    levels = planted_levels()
    levels[8, 3] = -1
    out = analysis(tmp_path, levels, page=False, **changes)
    results = read_results(out)
    columns = set(results.network) - {"source", "target"}
    assert all(hint for _, hint in TEXT.headings(columns, "network.parquet"))
    for draw in FIGURES.values():
        made_of(results, draw)
    page = plain_page(out)
    assert parts_of(page) == [name for name in PARTS if name != "figures"]
    headings = [th.text_content() for th in page.xpath("//*[@id='predictors-table']/thead//th")]
    n = (changes.get("estimator") or {}).get("cardinality", 2)
    assert sum(heading.startswith("predictor ") for heading in headings) == n
    assert ("IMP" in headings) == (n > 1)
    assert ("p-value" in headings) == (changes.get("null") != {"permutations": 0})
    text = part(page, "methods")
    word = {1: "predictor", 2: "pair", 3: "triple", 4: "quadruple"}[n]
    assert word in text
    assert "None" not in text
    if n == 1:
        assert "pair" not in part(page, "predictors")


def test_methods_paragraph_cites_what_was_used_and_nothing_else(demo: Path, tmp_path: Path) -> None:
    text, cited = page_text(read_results(demo)).cited("methods")
    assert cited == [
        papers.MARTINS_2006, papers.BORELLI_2013, papers.LOPES_2008, papers.MARTINS_2008,
        papers.PHIPSON_SMYTH_2010, papers.BENJAMINI_HOCHBERG_1995,
    ]  # fmt: skip
    for reference in cited:
        author, year = reference.citation.split()[0], re.search(r"\((\d{4})\)", reference.citation)
        assert year is not None
        assert re.search(rf"{author}[^;)]* {year[1]}", text)
    out = analysis(
        tmp_path,
        estimator={"cardinality": 3, "search": "sffs", "penalty": "none", "top": 2},
        null={"permutations": 0},
        lag=0,
        page=False,
    )
    text, cited = page_text(read_results(out)).cited("methods")
    assert cited == [papers.MARTINS_2006, papers.PUDIL_1994, papers.MARTINS_2008]
    assert "41 samples" in text
    links = read_page(demo).xpath("//*[@id='methods-references']//a/@href")
    assert all(link.startswith("https://") for link in links)
    assert len(set(links)) == 6


SET_CODES = {
    "few_samples_for_levels", "levels_change_slowly", "no_p_values", "coarse_p_values",
    "kept_by_rank", "triples_grown",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "slow", "codes"),
    [
        ({"null": {"kind": "permutation"}}, True, {"levels_change_slowly"}),
        ({}, True, {"coarse_p_values", "kept_by_rank"}),
        ({}, False, {"kept_by_rank"}),
        ({"null": {"permutations": 9}}, False, {"coarse_p_values", "kept_by_rank"}),
        ({"null": {"permutations": 0}}, False, {"no_p_values"}),
        ({"keep": {"p_value": 0.5}}, False, set()),
        ({"estimator": {"cardinality": 3}}, False, {"kept_by_rank"}),
        (
            {"estimator": {"cardinality": 3, "search": "sffs", "top": 3}},
            False,
            {"kept_by_rank", "triples_grown"},
        ),
    ],
    ids=["slow", "auto", "fast", "coarse", "no_null", "kept_by_p", "enough", "sffs"],
)
def test_warnings_come_where_there_is_reason(
    tmp_path: Path, changes: dict[str, Any], slow: bool, codes: set[str]
) -> None:
    levels = random_levels(14, 41)
    if slow:
        levels = np.repeat(random_levels(14, 11), 4, axis=1)[:, :41]
    assert codes_of(analysis(tmp_path, levels, page=False, **changes)) & SET_CODES == codes


def test_few_samples_for_the_combinations_of_levels_are_warned_of(tmp_path: Path) -> None:
    out = analysis(tmp_path, random_levels(8, 21, 3), page=False)
    found = numbers_of(out, "few_samples_for_levels")
    assert (found["samples"], found["cells"]) == (20, 9)
    assert found["each"] == pytest.approx(20 / 9)
