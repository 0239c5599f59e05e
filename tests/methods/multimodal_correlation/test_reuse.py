"""Tiles of an earlier analysis are taken where they are the same; no byte of a result changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.declare.tables import EXACT
from pairtile.engine import tiles
from pairtile.errors import InputError
from pairtile.methods.multimodal_correlation import score as method
from pairtile.runtime.files import read_json
from workflow_runs import Analysis, run, write_config

GENES, SAMPLES, EDGE = 24, 40, 8

AS_THEY_ARE: dict[str, Any] = {"log2": False, "normalize": "none", "sample_scale": False}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "MIXTURE_TILE_EDGE", EDGE)
    monkeypatch.setattr(tiles, "TILE_EDGE", EDGE)


def write(folder: Path, genes: int, samples: int = SAMPLES, name: str = "expression.tsv") -> None:
    """The first genes and samples of one simulated experiment."""
    random = np.random.default_rng(7)
    values = random.normal(size=(60, 60))
    values[1::2] += values[::2]
    values[5, :10] = np.nan
    table = pd.DataFrame(values, [f"g{k:02}" for k in range(60)], [f"s{k}" for k in range(60)])
    table.iloc[:genes, :samples].to_csv(folder / name, sep="\t", index_label="gene")


def section(clustering: str = "gmm", **changes: Any) -> dict[str, Any]:
    estimator = {"clustering": clustering, "max_clusters": 2, "min_samples": 15}
    estimator |= {"min_correlation": 0.2, **changes.pop("estimator", {})}
    asked = {"method": "multimodal_correlation", "expression": "expression.tsv"}
    return {**asked, "preprocess": AS_THEY_ARE, "estimator": estimator, "chunks": 3, **changes}


def pairs(folder: Path, name: str, asked: dict[str, Any], seed: int = 3) -> tuple[bytes, int, int]:
    """Bytes of pairs.parquet, tiles that were taken, and all."""
    made = Analysis(folder, asked, name=name, seed=seed).pairs()
    records = read_json(made.record("merge"))["details"]["chunks"].values()
    taken = sum(record.get("tiles_taken", 0) for record in records)
    return (made.out / "pairs.parquet").read_bytes(), taken, len(made.plan.tiles)


@pytest.mark.parametrize("clustering", ["gmm", "none"])
def test_with_genes_below_only_tiles_with_one_of_them_are_scored(
    tmp_path: Path, clustering: str
) -> None:
    write(tmp_path, GENES)
    pairs(tmp_path, "before", section(clustering))
    write(tmp_path, 2 * GENES - 3)
    expected, *_ = pairs(tmp_path, "all", section(clustering))
    given = section(clustering, reuse=str(tmp_path / "results/before"), chunks=5)
    found, taken, of_all = pairs(tmp_path, "more", given)
    assert found == expected
    bands, before = -(-(2 * GENES - 3) // EDGE), GENES // EDGE
    assert (taken, of_all) == (before * (before + 1) // 2, bands * (bands + 1) // 2)
    merged = [np.load(tmp_path / f"results/{name}/chunks.npz") for name in ("all", "more")]
    assert all(np.array_equal(merged[0][name], merged[1][name]) for name in merged[0].files)


def test_what_changes_a_tile_has_it_scored_again(tmp_path: Path) -> None:
    write(tmp_path, GENES)
    before = tmp_path / "results/before"
    _, _, n_tiles = pairs(tmp_path, "before", section())
    again = section(reuse=str(before))
    assert pairs(tmp_path, "same", again)[1] == n_tiles
    assert pairs(tmp_path, "seed", again, seed=4)[1] == 0
    assert pairs(tmp_path, "key", section(reuse=str(before), estimator={"restarts": 1}))[1] == 0
    write(tmp_path, GENES, SAMPLES + 1)
    assert pairs(tmp_path, "samples", again)[1] == 0
    (said,) = (m for m in read_json(tmp_path / "results/samples/steps/merge.json")["messages"])
    assert (said["code"], said["severity"]) == ("no_tiles_taken", "warning")
    # One value of the last gene: the tiles of its band.
    write(tmp_path, GENES)
    exact = {"index_col": 0, "float_precision": EXACT}
    table = pd.read_csv(tmp_path / "expression.tsv", sep="\t", **exact)
    table.iloc[-1, 0] += 1.0
    table.to_csv(tmp_path / "expression.tsv", sep="\t")
    assert pairs(tmp_path, "value", again)[1] == n_tiles - GENES // EDGE
    given = section("none", reuse=str(before), estimator={"correlation": "partial"})
    pairs(tmp_path, "partial", section("none", estimator={"correlation": "partial"}))
    assert pairs(tmp_path, "given", given | {"reuse": str(tmp_path / "results/partial")})[1] == 0


def test_damaged_chunks_of_another_run_are_scored_again(tmp_path: Path) -> None:
    write(tmp_path, GENES)
    expected, _, n_tiles = pairs(tmp_path, "before", section())
    first, second, _ = sorted((tmp_path / "results/before/chunks").glob("*.parquet"))
    first.write_bytes(first.read_bytes()[:-20])
    content = bytearray(second.read_bytes())
    content[10] ^= 1
    second.write_bytes(content)
    found, taken, _ = pairs(tmp_path, "again", section(reuse=str(tmp_path / "results/before")))
    assert found == expected
    assert 0 < taken < n_tiles
    with pytest.raises(InputError, match="no chunk file"):
        pairs(tmp_path, "none", section(reuse=str(tmp_path / "results")))


@pytest.mark.complete
def test_snakemake_scores_nothing_again_when_the_earlier_results_are_gone(tmp_path: Path) -> None:
    write(tmp_path, GENES)
    write_config(tmp_path, {"before": section()})
    assert run(tmp_path, "results/before/pairs.parquet").code == 0
    write_config(tmp_path, {"more": section(reuse="results/before")})
    assert run(tmp_path, "results/more/pairs.parquet").code == 0
    log = (tmp_path / "results/more/logs/merge.log").read_text()
    assert "tiles were taken" in log
    write_config(tmp_path, {"more": section()})
    assert run(tmp_path, "results/more/pairs.parquet", "-n").done_before
