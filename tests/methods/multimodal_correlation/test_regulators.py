"""With ``regulators``, the pairs that hold one are scored as among all pairs, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from backends import both_backends
from pairtile import multimodal_correlation
from pairtile.engine import tiles
from pairtile.errors import ConfigError
from pairtile.methods.multimodal_correlation import score
from workflow_runs import Analysis, write_data

EVERY = {"min_samples": 12, "min_correlation": 0.0, "preprocess": {"log2": False}}
SWAPPED = {f"{what}_{end}": f"{what}_{other}" for what in ("mean", "variance") for end, other in
           (("i", "j"), ("j", "i"))}  # fmt: skip


def table(missing: float, ties: bool) -> pd.DataFrame:
    """37 genes, two groups of samples, some genes constant or hardly observed."""
    random = np.random.default_rng(5)
    values = random.normal(size=(37, 60)) + random.normal(size=(37, 4)) @ random.normal(
        size=(4, 60)
    )
    values[::3, :30] += 4.0
    if ties:
        values[::2] = np.round(values[::2])
        values[7] = 1.0
    values[random.random(values.shape) < missing] = np.nan
    return pd.DataFrame(values, index=[f"g{k:02d}" for k in range(37)])


def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "MIXTURE_TILE_EDGE", 8)
    monkeypatch.setattr(tiles, "TILE_EDGE", 8)


@both_backends
@pytest.mark.parametrize(("missing", "ties"), [(0.0, False), (0.1, True)])
@pytest.mark.parametrize("chosen", [[30, 2, 3, 17, 4, 9, 36, 11, 12, 13, 5], [20], list(range(37))])
@pytest.mark.parametrize(
    "settings",
    [
        {"clustering": "gmm", "max_clusters": 2},
        {"clustering": "none"},
        {"clustering": "none", "correlation": "pearson"},
    ],
)
def test_pairs_with_a_regulator_are_scored_as_among_all(
    settings: dict[str, Any],
    chosen: list[int],
    missing: float,
    ties: bool,
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_tiles(monkeypatch)
    values = table(missing, ties)
    names = [values.index[k] for k in chosen]
    common = {**EVERY, **settings, "backend": backend}
    everything = multimodal_correlation(values, **common).modes
    made = multimodal_correlation(values, regulators=names, **common)
    found = made.modes
    assert found["source"].isin(names).all()
    assert made.items.loc[made.items["is_regulator"], "name"].tolist() == sorted(names)
    holds = everything["source"].isin(names) | everything["target"].isin(names)
    wanted = everything[holds].copy()
    turned = ~wanted["source"].isin(names)
    ends = {"source": "target", "target": "source"} | SWAPPED
    wanted.loc[turned, list(ends)] = wanted.loc[turned, list(ends.values())].to_numpy()
    keys = ["source", "target", "cluster"]
    wanted = wanted.sort_values(keys, ignore_index=True)
    found = found.sort_values(keys, ignore_index=True)
    assert len(found)
    # Sums on a GPU may differ in the last bit of float32, by which of both genes is the row.
    tolerance: Any = {"check_exact": True} if backend == "cpu" else {"rtol": 1e-6, "atol": 2e-7}
    pd.testing.assert_frame_equal(found, wanted, **tolerance)
    pairs = len(names) * (len(names) - 1) // 2 + len(names) * (37 - len(names))
    assert made.counts["pairs"] == pairs


def test_a_pair_is_found_whichever_way_it_is_asked_for() -> None:
    made = multimodal_correlation(table(0.0, False), regulators=["g30"], clustering="none", **EVERY)
    assert made.pair("g30", "g02").names == made.pair("g02", "g30").names == ("g30", "g02")


def test_thresholds_that_need_all_pairs_are_refused(tmp_path: Path) -> None:
    made = multimodal_correlation(table(0.0, False), regulators=["g30"], clustering="none", **EVERY)
    with pytest.raises(ValueError, match="fdr, score or none beside regulators"):
        made.network("rmt")
    assert len(made.network(threshold=0.1, power=False).edges)
    write_data(tmp_path, genes=20, samples=40)
    with pytest.raises(ConfigError, match=r"threshold\.method: .* expected fdr, score or none"):
        Analysis(tmp_path, SECTION | {"threshold": {"method": "rmt"}})


SECTION: dict[str, Any] = {
    "method": "multimodal_correlation",
    "expression": "expression.tsv",
    "regulators": "regulators.txt",
    "estimator": {"clustering": "none"},
    "threshold": {"method": "fdr"},
    "gold_standard": "gold_standard.tsv",
    "export": ["tsv", "regulon"],
}


def test_a_run_with_regulators_is_the_same_in_any_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_tiles(monkeypatch)
    regulators = write_data(tmp_path, genes=40, samples=60).regulators
    one, four = (
        Analysis(tmp_path, SECTION | {"chunks": chunks}, name=f"in{chunks}").all()
        for chunks in (1, 4)
    )
    assert len(four.plan.chunks) == 4
    for name in ("pairs.parquet", "network.tsv", "network.regulon.tsv"):
        assert (one.out / name).read_bytes() == (four.out / name).read_bytes()
    network = pd.read_csv(one.out / "network.tsv", sep="\t")
    assert len(network)
    assert network["source"].isin(regulators).all()
    items = pd.read_parquet(one.out / "items.parquet")
    assert set(items.loc[items["is_regulator"], "name"]) == set(regulators)
    page = one.report().out / "report.html"
    assert "regulator" in page.read_text()
