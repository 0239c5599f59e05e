"""paper/paper.md is what JOSS asks for, and its figures are those of the evidence."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from documents import text_of
from paths import ROOT

PAPER = text_of(ROOT / "paper/paper.md")
FRONT, BODY = PAPER.split("---\n")[1:3]
ROWS = dict(
    re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|", text_of(ROOT / "docs/evidence.md"), re.M)
)
FIGURES = {"3": "adjusted Rand index 1.0", "5": "0.096 s", "6": "11.1 s", "15": "0.238"}
FIGURES |= {"18": "0.0494", "19": "214", "20": "0.0165"}
"""Row of docs/evidence.md, whose test finds the figure in its file -> as the paper has it."""


def test_it_has_the_sections_and_fewer_than_a_thousand_words() -> None:
    sections = re.findall(r"^# (.+)$", BODY, re.M)
    assert sections == [
        *("Summary", "Statement of need", "State of the field", "Quality control"),
        *("Acknowledgements", "References"),
    ]
    assert 250 <= len(BODY.split()) <= 1000


def test_authors_are_left_to_the_person_who_submits() -> None:
    front = yaml.safe_load(FRONT)
    assert front["authors"] == [
        {"name": "AUTHOR", "orcid": "0000-0000-0000-0000", "affiliation": 1}
    ]
    assert {"title", "tags", "affiliations", "date", "bibliography"} <= front.keys()


def test_what_it_cites_stands_in_its_bibliography_and_nothing_else_does() -> None:
    cited = set(re.findall(r"@(\w+)", BODY))
    entries = re.findall(r"^@\w+\{(\w+),(.*?)^\}", text_of(ROOT / "paper/paper.bib"), re.M | re.S)
    assert {key for key, _ in entries} == cited
    assert [key for key, entry in entries if "doi " not in entry] == ["SHEALY_2019"]  # has none


@pytest.mark.parametrize(("row", "figure"), FIGURES.items())
def test_a_figure_is_that_of_the_evidence(row: str, figure: str) -> None:
    assert ROWS[row].strip() == figure
    assert figure in " ".join(BODY.split())


def test_no_other_figure_is_stated() -> None:
    text = " ".join(re.sub(r"\[@[^]]*\]|`[^`]*`", "", BODY).split())
    for figure in FIGURES.values():
        text = text.replace(figure, "")
    known = {"0.05", "1", "3,000", "150", "20,000", "1,000", "214", "70", "120", "200"}
    assert set(re.findall(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d(?!\w)", text)) <= known


def test_kinc_s_runs_and_the_size_of_the_smallest_method_are_as_they_are() -> None:
    runs = json.loads((ROOT / "tests/golden/built/kinc.json").read_text())["runs"]
    assert len(runs) == 5
    assert "under five settings" in BODY
    package = ROOT / "tests/packages/kendall/pairtile_kendall"
    lines = sum(len(text_of(path).splitlines()) for path in package.glob("*.py"))
    assert lines <= 150
