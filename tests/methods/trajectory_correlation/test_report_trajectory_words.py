"""The words of ``trajectory_correlation``: every count, column and file; the methods paragraph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from motion_reports import analysis, of_tables
from pairtile.declare.columns import declared_files
from pairtile.methods.trajectory_correlation.report import TEXT
from pairtile.report.results import read_results
from pairtile.report.text import page_text, read_references
from pairtile.runtime.files import read_json
from report_pages import part, read_page

papers = read_references("pairtile.methods.trajectory_correlation")


def test_every_file_is_explained(demo: Path) -> None:
    files = declared_files(TEXT.package)
    assert all((demo / name).exists() for name in files)
    page = part(read_page(demo), "files")
    assert all(name in page for name in files)


def complete(*values: Any) -> Any:
    """Left out of ``make test``."""
    return pytest.param(*values, marks=pytest.mark.complete)


@pytest.mark.parametrize(
    ("changes", "item"),
    [
        complete({}, "residues"),
        complete({"select": "name CA CB", "paths": []}, "atoms"),
        ({"estimator": {"kind": "dihedral", "surrogates": 3}, "paths": []}, "angles"),
        ({"estimator": {"kind": "dcc", "surrogates": 3}}, "residues"),
        complete(
            {"contacts": False, "keep": {"fdr": 0.01}, "positions": "center_of_mass"}, "residues"
        ),
        (
            {"variables": "distances", "contacts": False, "keep": "all", "paths": [], "domains": {},
             "distances": {"ab": ["resid 1", "resid 2"], "cd": ["resid 3", "resid 4"]}},
            "distances",
        ),
        complete({"keep": {"top_edges": 4}, "reference": "average", "fit": "name CA"}, "residues"),
    ],
    ids=["default", "atoms", "angles", "dcc", "all", "distances", "top"],
)  # fmt: skip
@pytest.mark.complete
def test_every_form_of_the_analysis_has_words_for_all_it_shows(
    tmp_path: Path, changes: dict[str, Any], item: str
) -> None:
    out = analysis(tmp_path, **({"estimator": {"surrogates": 3}} | changes))
    columns = set(pd.read_parquet(out / "network.parquet").columns) - {"source", "target"}
    assert all(hint for _, hint in TEXT.headings(columns, "network.parquet"))
    page = read_page(out)
    assert f" {item} kept" in page.xpath("//*[@class='headline']/a")[0].text
    assert f"All {item}" in part(page, "motion")
    text = part(page, "methods")
    assert not re.search(r"None|nan|\{|\[\]|  ", text)
    paper = {"dihedral": "Daub", "dcc": "Ichiye"}
    assert paper.get(changes.get("estimator", {}).get("kind", ""), "Kraskov") in text


def test_methods_paragraph_says_what_was_done_and_cites_it(demo: Path) -> None:
    text, cited = page_text(read_results(demo)).cited("methods")
    window = read_json(demo / "summary.json")["parameters"]["estimator"]["theiler"]
    assert cited == [
        papers.MICHAUD_AGRAWAL_2011, papers.KRASKOV_2004, *([papers.THEILER_1986] * bool(window)),
        papers.LANGE_GRUBMUELLER_2006, papers.SCHREIBER_2000, papers.FRENZEL_POMPE_2007,
        papers.SOKAL_1997, papers.BENJAMINI_HOCHBERG_1995,
        papers.TRAAG_2019, papers.GIRVAN_NEWMAN_2002, papers.HUBERT_ARABIE_1985, papers.SETHI_2009,
        papers.FREEMAN_1977, papers.YEN_1971, papers.SMYTH_2004,
    ]  # fmt: skip
    for number in ("2 replicas", "300 frames", "12 residues", "20 surrogates", "q ≤ 0.05", "6 Å"):
        assert number in text
    links = read_page(demo).xpath("//*[@id='methods-references']//a/@href")
    assert len(set(links)) == len(cited)
    assert all(link.startswith("https://") for link in links)


@pytest.mark.parametrize("preset", ["mdigest", "normi", "dynetan", "netsci"])
def test_a_preset_is_cited(tmp_path: Path, preset: str) -> None:
    values = np.random.default_rng(1).normal(size=(40, 3))
    out = of_tables(
        tmp_path,
        values,
        names=["a", "b", "c"],
        page=False,
        estimator={"preset": preset, "surrogates": 0},
    )
    text, cited = page_text(read_results(out)).cited("methods")
    tool = {
        "mdigest": papers.MASCHIETTO_2023, "normi": papers.NORMI,
        "dynetan": papers.MELO_2020, "netsci": papers.NETSCI,
    }[preset]  # fmt: skip
    assert tool in cited
    assert tool.cited in text
    assert papers.THEILER_1986 not in cited
    assert "3 variables" in text
