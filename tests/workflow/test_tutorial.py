"""The tutorial, step by step: what it prints is printed, and its numbers are those found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import blocks
from paths import ROOT
from workflow_runs import environment

pytestmark = [pytest.mark.complete, pytest.mark.workflow, pytest.mark.timeout(600)]

PAGE = ROOT / "docs/tutorial.md"


def test_the_tutorial_says_what_happens(tmp_path: Path) -> None:
    def call(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=tmp_path,
            env=environment() | {"MPLBACKEND": "agg"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        ).stdout

    def read(name: str, file: str, part: str) -> dict[str, Any]:
        return dict(json.loads((tmp_path / f"results/{name}/{file}.json").read_text())[part])

    def says(words: str) -> bool:
        return words in " ".join(PAGE.read_text(encoding="utf-8").split())

    ended, compared = blocks(PAGE, "text")
    [configuration], [figure] = blocks(PAGE, "yaml"), blocks(PAGE, "python")
    (tmp_path / "my.yaml").write_text(configuration)
    (tmp_path / "figure.py").write_text(figure)

    shown = call("pairtile", "demo")
    assert all(line in shown for line in ended.splitlines())
    found = read("demo", "evaluation", "network")
    assert says(f"{100 * found['precision']:.0f} % of the edges are true")
    assert says(f"{100 * found['recall']:.0f} % of the true edges are found")

    call("pairtile", "run", "my.yaml")
    shown = call("pairtile", "compare", "results/first", "results/unpruned")
    assert all(line in shown for line in compared.splitlines())
    first, unpruned = (read(name, "evaluation", "network") for name in ("first", "unpruned"))
    false, true = (unpruned[kind] - first[kind] for kind in ("false_positives", "true_positives"))
    assert says(f"pruning removed {false} false edges and {true} true ones")

    (tmp_path / "my.yaml").write_text(configuration.replace("dpi: false", "dpi: {tolerance: 0.2}"))
    call("pairtile", "run", "my.yaml")
    assert says(f"now has {read('unpruned', 'summary', 'counts')['edges']} edges")

    subprocess.run([sys.executable, "figure.py"], cwd=tmp_path, env=environment(), check=True)
    assert (tmp_path / "edges.png").stat().st_size > 10_000
