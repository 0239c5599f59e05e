"""Of very many samples, some are enough for null, partial correlations and signs; and half
precision for normal scores."""

from __future__ import annotations

import json
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from pairtile.engine.state import open_state
from pairtile.methods.mutual_information import arrays, prepare, score
from pairtile.preprocess import expression
from scipy.stats import ks_2samp
from workflow_runs import Analysis

GENES, CELLS, SOME = 60, 1600, 400

SECTION = {"expression": "cells.h5ad", "regulators": "regulators.txt", "score": "combined"}
SECTION |= {"keep": {"fdr": 0.05}, "null": {"permutations": 20_000}}


def write(folder: Path) -> None:
    """Counts of which every second gene follows the one before it."""
    random = np.random.default_rng(3)
    active = np.exp(0.8 * random.standard_normal((CELLS, GENES // 2)))
    rates = np.repeat(active, 2, axis=1) * random.lognormal(0.5, 0.5, GENES)
    counts = random.poisson(rates * random.lognormal(0.0, 0.3, (CELLS, 1)))
    made = anndata.AnnData(scipy.sparse.csr_matrix(counts.astype(np.float32)))
    made.var_names = [f"g{k:02}" for k in range(GENES)]
    made.write_h5ad(folder / "cells.h5ad")
    names = "".join(f"g{k:02}\n" for k in range(0, GENES, 2))
    (folder / "regulators.txt").write_text(names)


def network(analysis: Analysis) -> pd.DataFrame:
    """Its edges by their ends, after the whole way."""
    found = pd.read_parquet(analysis.pairs().network().out / "network.parquet")
    return found.set_index(["source", "target"]).sort_index()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def whole(folder: Path) -> tuple[Path, pd.DataFrame]:
    """Results with all samples, and the network."""
    made = Analysis(folder, SECTION, name="whole")
    return made.out, network(made)


def test_some_samples_give_the_null_of_all_and_nearly_the_same_network(
    folder: Path, whole: tuple[Path, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (arrays, prepare, score):
        monkeypatch.setattr(module, "MAX_SAMPLES", SOME)
    made = Analysis(folder, SECTION, name="some")
    found = network(made)
    assert open_state(made.out / "state")["z_some"].shape == (GENES, SOME)
    messages = json.loads(made.record("prepare").read_text())["messages"]
    [said] = [m["numbers"] for m in messages if m["code"] == "many_samples"]
    assert (said["some"], said["samples"]) == (SOME, CELLS)
    nulls = [np.load(out / "null.npz")["statistic"] for out in (whole[0], made.out)]
    # Of n * MI; that of MI itself would differ fourfold.
    assert np.mean(nulls[1]) == pytest.approx(np.mean(nulls[0]), rel=0.03)
    assert ks_2samp(*(null[:: len(null) // 2000] for null in nulls)).statistic < 0.05
    expected = whole[1]
    both = found.index.intersection(expected.index)
    true = {(f"g{k:02}", f"g{k + 1:02}") for k in range(0, GENES, 2)}
    assert true <= set(both)
    pd.testing.assert_series_equal(found.loc[both, "mi_bits"], expected.loc[both, "mi_bits"])
    assert np.abs(found.loc[both, "spearman"] - expected.loc[both, "spearman"]).max() < 0.2


def test_half_precision_gives_the_network_of_double(
    folder: Path, whole: tuple[Path, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expression, "HALF_VALUES", 0)
    made = Analysis(folder, SECTION, name="half")
    found, expected = network(made), whole[1]
    states = [open_state(out / "state")["z"] for out in (made.out, whole[0])]
    assert [state.dtype for state in states] == [np.float16, np.float64]
    # Ties of rounded scores move a value by two ranks at most; z, up to 3, is then rounded itself.
    assert np.abs(states[0] - states[1]).max() < 2 * 3 / CELLS + 2.0**-10
    both = found.index.intersection(expected.index)
    assert len(both) >= 0.95 * max(len(found), len(expected))
    assert np.abs(found.loc[both, "mi_bits"] - expected.loc[both, "mi_bits"]).max() < 1e-3
