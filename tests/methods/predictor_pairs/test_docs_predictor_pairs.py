"""The pages on predictor pairs say what the method really writes, and what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from method_pages import assert_described
from pairtile.methods.predictor_pairs.config import LEVELS_OF_RULE
from pairtile.methods.predictor_pairs.state import SLOW, kept_levels
from pairtile.simulate import simulate_boolean
from paths import ROOT
from workflow_runs import Analysis

METHOD_PAGE = ROOT / "docs" / "methods" / "predictor_pairs.md"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small analysis with every optional input, and threes."""
    folder = tmp_path_factory.mktemp("predictors")
    made = simulate_boolean(12, 10, 4, seed=1)
    table = pd.DataFrame(made.levels, index=pd.Index(made.genes, name="gene"), columns=made.samples)
    table.to_csv(folder / "levels.tsv", sep="\t")
    pd.DataFrame({"sample": made.samples, "series": made.series}).to_csv(
        folder / "series.tsv", sep="\t", index=False
    )
    (folder / "genes.txt").write_text("\n".join(made.genes) + "\n")
    section = {
        "method": "predictor_pairs",
        "levels": "levels.tsv",
        "series": "series.tsv",
        "regulators": "genes.txt",
        "targets": "genes.txt",
        "gold_standard": None,
        "estimator": {"cardinality": 3, "top": 3},
        "null": {"permutations": 9},
        "rules": True,
        "export": ["tsv"],
    }
    return Analysis(folder, section).all().out


def test_tables_and_counts_are_described(out: Path) -> None:
    assert_described(out, "predictor_pairs", kinds=("counts", "threshold"))


def test_the_table_of_rules_names_them_all() -> None:
    page = METHOD_PAGE.read_text(encoding="utf-8")
    for rule in LEVELS_OF_RULE:
        assert f"| `{rule}` |" in page


def test_figures_quoted_for_recovery_are_those_that_were_measured() -> None:
    page = METHOD_PAGE.read_text(encoding="utf-8")
    [file] = sorted((ROOT / "benchmarks" / "results").glob("recovery.*.json"))[:1]
    results = json.loads(file.read_text())["results"]
    for label, of_samples in results["by_samples"].items():
        noise = label.rsplit(" ", 1)[1]
        cells = [
            f"{100 * v['best_is_true'] / v['targets']:.0f} / "
            f"{100 * v['true_in_top'] / v['targets']:.0f}"
            for v in of_samples.values()
        ]
        assert f"| {noise} | {' | '.join(cells)} |" in page, label
    for label, value in results["by_setting"].items():
        shares = [value[key] for key in ("best_is_true", "true_in_top", "one_or_two_right")]
        cells = [f"{100 * share / value['targets']:.0f}" for share in shares]
        if label != "three levels, `penalty: none`":
            assert f"| {' | '.join(cells)} | " in page, label


def test_slow_genes_are_those_that_permutation_misjudges() -> None:
    """The warning comes where the page's table says that permutation fails, and not before."""
    random = np.random.default_rng(1)
    series = np.zeros(200, dtype=int)
    excess = {}
    for stay in (0.5, 0.7, 0.85):
        steps = random.random((60, 200)) >= stay
        targets = (np.cumsum(steps, axis=1) % 2).astype(np.int8)
        kept, chance = kept_levels(targets, series, 2)
        excess[stay] = kept - chance
    assert excess[0.5] < SLOW / 2
    assert excess[0.7] > 1.5 * SLOW
    assert excess[0.85] > 3 * SLOW
