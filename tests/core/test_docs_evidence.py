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
from documents import text_of
from paths import ROOT
from quoted_figures import figures

ROW = re.compile(
    r"\| (\d+) \| (?P<claim>[^|]+) \| (?P<figure>[^|]+) \| `(?P<key>[^`]+)` in `(?P<file>[^`]+)` "
    r"\| `(?P<command>[^`]+)` \|"
)
ROWS = [row.groupdict() for row in ROW.finditer(text_of(ROOT / "docs/evidence.md"))]
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
