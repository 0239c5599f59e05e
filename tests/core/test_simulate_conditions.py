"""Simulated conditions hold what was planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile.simulate import main, simulate_conditions
from scipy.stats import spearmanr


def _mean_size(values: NDArray[np.float64]) -> float:
    r = np.abs(spearmanr(values.T).statistic)
    return float(r[np.triu_indices(len(r), 1)].mean())


def test_modules_are_what_their_names_say() -> None:
    made = simulate_conditions(400, 400, seed=3)
    values = np.log2(made.counts / made.counts.sum(axis=0) * 1e6 + 1)
    treated = (made.annotations["condition"] == "treated").to_numpy()
    module = np.array(made.module)
    within = {name: _mean_size(values[module == name]) for name in ("plain", "trait")}
    assert min(within.values()) > 0.5
    assert _mean_size(values[module == ""][:60]) < 0.1
    held = values[module == "treated_only"]
    assert _mean_size(held[:, treated]) > 0.5
    assert _mean_size(held[:, ~treated]) < 0.12
    shifted = values[module == "treatment"]
    assert (shifted[:, treated].mean(axis=1) - shifted[:, ~treated].mean(axis=1)).mean() > 0.8
    trait = values[made.genes.index(made.regulators[1])]
    assert abs(spearmanr(trait, made.annotations["severity"]).statistic) > 0.5
    assert all(set(genes) <= set(made.genes) for genes in made.gene_sets.values())


def test_the_command_writes_the_files_that_it_names(tmp_path: Path) -> None:
    main(["conditions", "--genes", "120", "--samples", "20", "--out", str(tmp_path)])
    made = simulate_conditions(120, 20)
    counts = pd.read_csv(tmp_path / "counts.tsv.gz", sep="\t", index_col=0)
    np.testing.assert_array_equal(counts.to_numpy(), made.counts)
    sets = [line.split("\t") for line in (tmp_path / "gene_sets.gmt").read_text().splitlines()]
    assert {name: genes for name, _, *genes in sets} == made.gene_sets
    truth = pd.read_csv(tmp_path / "truth.tsv", sep="\t", index_col=0)["module"]
    assert truth.to_dict() == {g: m for g, m in zip(made.genes, made.module, strict=True) if m}


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="n_genes is 50"):
        simulate_conditions(50)
