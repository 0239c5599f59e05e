"""docs/evidence.md: each figure stands where its row says, and each command exists."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from documents import PAGES, text_of
from paths import ROOT
from quoted_figures import figures

from benchmarks.mutations import read_mutations

ROW = re.compile(
    r"\| (\d+) \| (?P<claim>[^|]+) \| (?P<figure>[^|]+) \| `(?P<key>[^`]+)` in `(?P<file>[^`]+)` "
    r"\| `(?P<command>[^`]+)` \|"
)
ROWS = [row.groupdict() for row in ROW.finditer(text_of(ROOT / "docs/evidence.md"))]
RESULTS = ROOT / "benchmarks/results"
QUICK = [row["command"] for row in ROWS if row["command"].startswith("pytest ")]


def test_there_are_twenty_claims():
    assert len(ROWS) == 20
    assert len({row["claim"] for row in ROWS}) == 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["claim"][:40])
def test_the_figure_stands_where_the_row_says(row):
    found: Any = json.loads((ROOT / row["file"]).read_text())
    for key in row["key"].split(" > "):
        found = found[int(key) if isinstance(found, list) else key]
    [figure] = figures(row["figure"], with_unit=False)
    assert figure.is_(found), found


NUMBERS = {"one of five runs": 5, "one of 17 runs": 17}


@pytest.mark.parametrize("words", NUMBERS)
def test_a_claim_of_one_run_says_of_how_many(words):
    [row] = [row for row in ROWS if words in row["claim"]]
    assert len(json.loads((ROOT / row["file"]).read_text())["runs"]) == NUMBERS[words]


def test_the_comparison_with_kinc_counts_the_same_runs():
    runs = json.loads((ROOT / "tests/golden/built/kinc.json").read_text())["runs"]
    assert len(runs) == 5
    assert "by five settings (`tests/golden/built`)" in text_of(ROOT / "docs/comparison.md")


def test_the_number_of_faults_stands_once_as_it_was_measured():
    """The list is longer: what was added, or whose line has changed, is tried the next time."""
    listed = [fault for fault in read_mutations() if not fault.reason]
    assert f"in the list of {len(listed)} |" in text_of(ROOT / "docs/evidence.md")
    found = json.loads((ROOT / "benchmarks/results/mutations.json").read_text())
    assert found["faults"] == len(found["outcomes"])
    stated = {
        page.name: re.findall(
            r"(?:Faults put|faults? .{0,40}notice)[^|]*?\b(\d{3})\b", text_of(page)
        )
        for page in PAGES
    }
    assert {name: numbers for name, numbers in stated.items() if numbers} == {
        "evidence.md": [str(found["faults"])]
    }


def test_the_mean_of_dream4_is_one_figure_by_each_rule():
    results = json.loads((RESULTS / "quality.intel-r-xeon-r-processor.json").read_text())["results"]
    mean = results["combined, auto"]["dream4_mean"]
    [row] = [row for row in ROWS if "DREAM4" in row["claim"]]
    assert float(row["figure"]) == round(mean, 3)
    page = text_of(ROOT / "docs/quality.md")
    [first] = re.findall(r"\| \*\*combined, auto .*\*\*(\.\d+)\*\* \|\n", page)
    assert float(first) == round(mean, 3)
    other = json.loads((RESULTS / "peer_rankings.intel-r-xeon-r-processor.json").read_text())
    [peers] = re.findall(r"^\| combined \| (\S+) \|", page.partition("## Other programs")[2], re.M)
    assert float(peers) == round(other["results"]["DREAM4, 100 samples"]["combined"][0], 3)
    assert "another mean" in page  # the rules differ, and the page says so


@pytest.mark.parametrize("command", sorted({row["command"] for row in ROWS}))
def test_the_command_exists(command):
    program, *words = shlex.split(command)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "python":
        assert words[0] == "-m"
        assert find_spec(words[1])
        if words[1] == "benchmarks":
            assert f'"{words[2]}"' in (ROOT / "benchmarks/__main__.py").read_text()
    else:
        assert program == "pytest"
        assert (ROOT / words[0]).exists()


@pytest.mark.complete
@pytest.mark.parametrize("command", QUICK)
def test_a_quick_command_finds_tests(command):
    """Which run by themselves."""
    call = [sys.executable, "-m", *shlex.split(command), "-q", "--collect-only"]
    done = subprocess.run(call, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout  # 5 where no test is found
