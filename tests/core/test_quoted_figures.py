"""Measured figures in the documentation are those of benchmarks/results/."""

from __future__ import annotations

import json
import re

import pytest
from documents import NAMES, PAGES, text_of
from paths import ROOT
from quoted_figures import FILE, RESULTS, figures, quotes, stored, unknown

from benchmarks import bench_first_runs
from benchmarks.validity import __main__ as validity

QUOTING = [
    pytest.param(page, id=name)
    for page, name in zip(PAGES, NAMES, strict=True)
    if FILE.search(text_of(page)) and not name.startswith("CHANGELOG")
]


@pytest.mark.parametrize("page", QUOTING)
def test_every_figure_is_found_in_the_file_that_its_section_names(page):
    missing = [
        f"{page.name}:{quote.line}: {', '.join(lost)}"
        for quote in quotes(text_of(page))
        if (lost := unknown(quote))
    ]
    assert not missing, "\n".join(missing)


def test_hundreds_of_figures_are_looked_up():
    found = [quote for page in PAGES for quote in quotes(text_of(page))]
    assert sum(len(quote.figures) for quote in found) > 600


def test_a_file_of_results_is_quoted_or_named_somewhere():
    """The other way round: no file is left of which no page speaks."""
    text = "".join(text_of(page) for page in PAGES)
    for path in RESULTS.iterdir():
        assert path.name in text, path.name


def test_the_table_of_validity_is_the_one_of_its_file():
    page = text_of(ROOT / "docs/validity.md")
    shown = page.partition(validity.BEGIN)[2].partition(validity.END)[0]
    table = validity.table(json.loads((RESULTS / "validity.json").read_text()))
    assert shown.strip() == table.strip()


def test_the_table_of_first_runs_is_the_one_of_its_file():
    page = text_of(bench_first_runs.PAGE)
    shown = page.partition(bench_first_runs.BEGIN)[2].partition(bench_first_runs.END)[0]
    [path] = RESULTS.glob("first_runs.*.json")
    assert shown.strip() == bench_first_runs.table(json.loads(path.read_text())["results"])
    assert f"`{path.name}`" in page


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("0.85 s", 0.8642, False),
        ("0.86 s", 0.8642, True),
        ("16.4 s", 16.4147, True),
        ("92 %", 0.91999, True),
        ("92 %", 0.93, False),
        ("1.3 GiB", 1364623360, True),
        ("1.4 GiB", 1364623360, False),
        ("1.03e12", 1030153315870.2, True),
        ("5.3e12", 5280.036, True),  # stored in billions
        ("13,900", 13886.3, True),
        ("13,900", 13986.3, False),
        ("1.1 ms", 0.0010854, True),
        ("574", 574, True),
        ("574", 575, False),
        (".194", 0.19426, True),
    ],
)
def test_a_figure_is_compared_as_it_is_rounded(text, value, same):
    [figure] = figures(text, with_unit=False)
    assert figure.is_(value) == same


def test_units_carry_over_and_exempt_blocks_are_left_out():
    page = """
# Speed

`a.cpu.json`: 2 to 3 s on 7 cores, order 3.

| what | time |
|---|---|
| 12 | 4.5 s |

<!-- published -->

Others took 99 s.

## Elsewhere

Nothing is named here: 5 s.
"""
    found = [(q.sources, [f.text for f in q.figures]) for q in quotes(page) if q.figures]
    assert found == [([("", "a.cpu.json")], ["2 s", "3 s"]), ([("", "a.cpu.json")], ["4.5 s"])]


def test_a_figure_changed_by_a_tenth_is_noticed():
    """How sharp the look-up is: a false figure may be another value of its file by chance."""
    tried = caught = 0
    for page in PAGES:
        for quote in quotes(text_of(page)):
            known = stored(quote.sources)
            for figure in quote.figures:
                if len(re.sub(r"\D|^0+", "", figure.text.split()[0].split("e")[0])) < 2:
                    continue
                for factor in (0.9, 1.1):
                    moved = figure.value * factor
                    tried += 1
                    changed = type(figure)(figure.text, moved, figure.half_unit, figure.unit)
                    caught += not any(changed.is_(value) for value in known)
    assert caught > 0.7 * tried, f"{caught} of {tried}"
