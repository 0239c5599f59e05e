"""A results folder as the workflow leaves it (used by the other report tests), and its reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.errors import StoreError
from pairtile.report.results import read_results
from result_files import write_results


def test_the_strongest_edges_come_in_one_order_whatever_the_table_order(tmp_path: Path) -> None:
    results = read_results(write_results(tmp_path / "demo", score="target_z"))
    best = results.strongest(50)
    shuffled = read_results(tmp_path / "demo")
    shuffled.network = shuffled.network.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(best, shuffled.strongest(50))
    assert best["target_z"].is_monotonic_decreasing
    assert best["target_z"].min() >= np.sort(results.network["target_z"])[-50]


def test_ties_among_the_strongest_are_broken_by_name(tmp_path: Path) -> None:
    results = read_results(write_results(tmp_path / "demo"))
    results.network["mi_bits"] = 0.5
    best = results.strongest(20)
    expected = results.network[["source", "target"]].sort_values(["source", "target"]).head(20)
    assert best[["source", "target"]].to_numpy().tolist() == expected.to_numpy().tolist()


@pytest.mark.parametrize("n_regulators", [40, 0])
@pytest.mark.parametrize("stated", [True, False, None])
def test_direction_is_as_the_summary_says_or_follows_from_regulators(
    tmp_path: Path, n_regulators: int, stated: bool | None
) -> None:
    results = read_results(write_results(tmp_path / "demo", n_regulators=n_regulators))
    if stated is not None:
        results.summary["directed"] = stated
    assert results.directed is (n_regulators > 0 if stated is None else stated)


@pytest.mark.parametrize("name", ["items.parquet", "network.parquet", "summary.json"])
@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    folder = write_results(tmp_path / "demo")
    if damage == "missing":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(b"not what it should be")
    with pytest.raises(StoreError, match=name.replace(".", r"\.")):
        read_results(folder)


def test_a_table_without_its_columns_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    pd.DataFrame({"a": [1]}).to_parquet(folder / "network.parquet")
    with pytest.raises(StoreError, match="expected source, target"):
        read_results(folder)
