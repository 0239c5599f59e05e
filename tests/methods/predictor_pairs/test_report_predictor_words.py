"""The words of ``predictor_pairs`` in the report: counts, columns, cautions, methods paragraph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.methods.predictor_pairs.report import TEXT, methods_paragraph
from pairtile.report.references import read_references
from pairtile.report.results import read_results
from pairtile.runtime.files import read_json
from predictor_levels import PARTS, analysis, planted_levels, random_levels
from report_pages import part, read_page, warnings_of

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
        {"lag": 0, "null": {"permutations": 0}},
        {"null": {"kind": "circular_shift"}, "estimator": {"penalty": "poor_obs", "self": True}},
    ],
    ids=["lists", "singles", "sffs", "triples", "no_null", "shifts"],
)
def test_every_form_of_the_search_has_words_for_all_it_shows(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    (tmp_path / "some.txt").write_text("\n".join(f"g{k:03d}" for k in range(9)) + "\n")
    series = [f"t{k}\ts{k // 20}" for k in range(40)] + ["t40\ts1"]
    (tmp_path / "series.tsv").write_text("\n".join(["sample\tseries", *series]) + "\n")
    levels = planted_levels()
    levels[8, 3] = -1
    out = analysis(tmp_path, levels, **changes)
    counts = read_json(out / "summary.json")["counts"]
    assert set(counts) <= set(TEXT.counts)
    columns = set(pd.read_parquet(out / "network.parquet").columns) - {"source", "target"}
    assert all(hint for _, hint in TEXT.headings(columns, "network.parquet"))
    page = read_page(out)
    assert [found.get("id") for found in page.xpath("//main/section")] == PARTS
    headings = [th.text_content() for th in page.xpath("//*[@id='predictors-table']/thead//th")]
    n = (changes.get("estimator") or {}).get("cardinality", 2)
    assert sum(heading.startswith("predictor ") for heading in headings) == n
    assert ("IMP" in headings) == (n > 1)
    assert ("p-value" in headings) == (changes.get("null") != {"permutations": 0})
    text = part(page, "methods")
    word = {1: "predictor", 2: "pair", 3: "triple"}[n]
    assert word in text
    assert "None" not in text
    if n == 1:
        assert "pair" not in part(page, "predictors")


def test_methods_paragraph_cites_what_was_used_and_nothing_else(demo: Path, tmp_path: Path) -> None:
    text, cited = methods_paragraph(read_results(demo))
    assert cited == [
        papers.MARTINS_2006, papers.BORELLI_2013, papers.LOPES_2008, papers.MARTINS_2008,
        papers.PHIPSON_SMYTH_2010, papers.BENJAMINI_HOCHBERG_1995,
    ]  # fmt: skip
    for wanted in (
        "For each of 14 target genes, every pair of 14 candidate genes (the target itself left",
        "predictors one time step before the target, over 40 transitions.",
        "α = 1;", "99 random permutations for each composition", "The best pair of each target",
    ):  # fmt: skip
        assert wanted in text
    for reference in cited:
        author, year = reference.citation.split()[0], re.search(r"\((\d{4})\)", reference.citation)
        assert year is not None
        assert re.search(rf"{author}[^;)]* {year[1]}", text)
    out = analysis(
        tmp_path,
        estimator={"cardinality": 3, "search": "sffs", "penalty": "none", "top": 2},
        null={"permutations": 0},
        lag=0,
    )
    text, cited = methods_paragraph(read_results(out))
    assert cited == [papers.MARTINS_2006, papers.PUDIL_1994, papers.MARTINS_2008]
    assert "triples grown from the best pairs" in text
    assert "predictors and target in the same sample, over 41 samples." in text
    links = read_page(demo).xpath("//*[@id='methods-references']//a/@href")
    assert all(link.startswith("https://") for link in links)
    assert len(set(links)) == 6


@pytest.mark.parametrize(
    ("changes", "slow", "wanted", "unwanted"),
    [
        ({"null": {"kind": "permutation"}}, True, "Levels change slowly", "one step to"),
        ({}, True, "", "Levels change slowly"),
        ({}, False, "have p > 0.05", "from one step to the next"),
        ({"null": {"kind": "circular_shift"}}, True, "", "from one step to the next"),
        ({"lag": 0}, True, "", "from one step to the next"),
        ({"null": {"permutations": 9}}, False, "With 9 permutations of a target", "shifts"),
        ({"null": {"permutations": 0}}, False, "There are no p-values", "have p > 0.05"),
        ({"keep": {"p_value": 0.5}}, False, "", "keep: best"),
        ({"estimator": {"cardinality": 3}}, False, "", "Few samples"),
        ({"estimator": {"cardinality": 3, "search": "sffs", "top": 3}}, False, "lower limit", ""),
    ],
    ids=[
        "slow", "auto", "fast", "shifts", "static",
        "coarse", "no_null", "kept_by_p", "enough", "sffs",
    ],
)  # fmt: skip
def test_cautions_come_where_there_is_reason(
    tmp_path: Path, changes: dict[str, Any], slow: bool, wanted: str, unwanted: str
) -> None:
    levels = random_levels(14, 41)
    if slow:
        levels = np.repeat(random_levels(14, 11), 4, axis=1)[:, :41]
    found = warnings_of(analysis(tmp_path, levels, **changes))
    assert wanted in found
    assert not unwanted or unwanted not in found


def test_few_samples_for_the_combinations_of_levels_are_a_caution(tmp_path: Path) -> None:
    out = analysis(tmp_path, random_levels(8, 21, 3))
    assert "20 transitions for the 9 combinations of levels of a pair, about 2.2 for each" in (
        warnings_of(out)
    )
