"""Matrices of all pairs and g_correlation's text, read back as their users do."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from motion_reports import analysis
from pairtile.methods.trajectory_correlation.matrices import (
    MATRICES,
    StreamedPairs,
    correlation_matrix,
    write_g_correlation_text,
    write_matrices,
)

RNG = np.random.default_rng(4)


def items(n: int, dropped: tuple[int, ...] = ()) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item": np.arange(n, dtype=np.int32),
            "name": [f"A:ALA{k}" for k in range(n)],
            "chain": "A",
            "resid": np.arange(n, dtype=np.int32),
            "resname": "ALA",
            "kept": ~np.isin(np.arange(n), dropped),
        }
    )


def pairs(numbers: list[int], *columns: str) -> pd.DataFrame:
    ends = np.array(list(combinations(numbers, 2)), dtype=np.int32).reshape(-1, 2)
    table = pd.DataFrame({"i": ends[:, 0], "j": ends[:, 1]})
    for column in columns:
        table[column] = RNG.uniform(0, 1, len(table))
    return table


def read_as_correlationplus(path: Path) -> np.ndarray:
    """All words but the first four and the last, as a square."""
    words = path.read_text().split()[4:-1]
    n = int(np.sqrt(len(words)))
    return np.array(words, dtype=float).reshape(n, n)


@pytest.mark.parametrize("streamed", [False, True])
def test_matrices_hold_every_pair_twice_and_nan_on_the_diagonal(tmp_path, streamed):
    of_replicas = ("mi_sd", "correlation_se")
    given = pairs(list(range(6)), *MATRICES, *of_replicas).sample(frac=1, random_state=1)
    table = StreamedPairs(list(given), lambda names: iter([pa.table(given)])) if streamed else given
    write_matrices(tmp_path / "matrices.npz", table, items(6))
    with np.load(tmp_path / "matrices.npz") as read:
        assert {*MATRICES, *of_replicas, "labels", "chain", "resid", "resname"} == set(read.files)
        for column in (*MATRICES, *of_replicas):
            expected = np.full((6, 6), np.nan)
            for row in given.itertuples():
                expected[row.i, row.j] = expected[row.j, row.i] = getattr(row, column)
            np.testing.assert_array_equal(read[column], expected)
        assert read["labels"].tolist() == [f"A:ALA{k}" for k in range(6)]
        assert read["resid"].dtype == np.int32


def test_matrices_leave_out_dropped_items_and_fill_what_is_unknown(tmp_path):
    given = pairs([0, 2, 3], "mi_nats")
    write_matrices(tmp_path / "matrices.npz", given, items(5, dropped=(1, 4)))
    with np.load(tmp_path / "matrices.npz") as read:
        assert read["labels"].tolist() == ["A:ALA0", "A:ALA2", "A:ALA3"]
        assert read["mi_nats"][1, 2] == read["mi_nats"][2, 1] == given["mi_nats"].iloc[2]
        assert np.isnan(read["dcc"]).all()
        assert read["dcc"].shape == (3, 3)


def test_a_pair_of_a_dropped_item_is_refused():
    with pytest.raises(ValueError, match="not kept"):
        correlation_matrix(pairs([0, 1], "dcc"), items(2, dropped=(1,)), "dcc")


@pytest.mark.parametrize("n", [2, 7, 21, 300])
def test_g_correlation_text_reads_back_to_six_digits(tmp_path, n):
    matrix = correlation_matrix(pairs(list(range(n)), "correlation"), items(n), "correlation")
    matrix[0, 1] = matrix[1, 0] = np.nan
    write_g_correlation_text(tmp_path / "correl.dat", matrix.copy())
    read = read_as_correlationplus(tmp_path / "correl.dat")
    expected = np.nan_to_num(matrix)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(read, expected, rtol=5e-6)


def test_g_correlation_text_is_laid_out_as_by_g_correlation(tmp_path):
    matrix = np.full((5, 5), 0.0868653)
    matrix[0, 1] = 0.7143
    write_g_correlation_text(tmp_path / "correl.dat", matrix)
    lines = (tmp_path / "correl.dat").read_text().split("\n")
    assert lines[0] == "5 x 5 ["
    assert lines[1].startswith("         1     0.7143  0.0868653 ")
    assert len(lines[1]) == 21 * 11
    # 25 numbers: 21, and 4 with the bracket behind them.
    assert lines[2] == " 0.0868653 " * 3 + "         1 ]"
    assert lines[3:] == [""]


def test_angles_are_summed_over_every_two_residues(tmp_path: Path) -> None:
    how = {"kind": "dihedral", "surrogates": 3}
    out = analysis(tmp_path, page=False, estimator=how, paths=[], communities=[])
    names = pd.read_parquet(out / "items.parquet")["name"].tolist()
    arrays = np.load(out / "matrices.npz")
    rows = {label: k for k, label in enumerate(arrays["block_labels"].tolist())}
    assert len(rows) < len(names)
    for sums, column in [("mi_residue_sum", "mi_nats"), ("mi_centred_residue_sum", "mi_centred")]:
        expected = np.zeros((len(rows), len(rows)))
        for pair in pd.read_parquet(out / "pairs.parquet").to_dict("records"):
            a, b = (rows[names[pair[end]].rpartition(":")[0]] for end in "ij")
            expected[a, b] += pair[column]
            expected[b, a] += pair[column]
        np.fill_diagonal(expected, np.nan)
        np.testing.assert_allclose(arrays[sums], expected, rtol=0, atol=1e-12)
