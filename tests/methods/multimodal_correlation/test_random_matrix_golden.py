"""The RMT threshold of KINC's rice example: KINC 3.4.2's own log, and the symmetric rule.

KINC computes eigenvalues in single precision, whose rounding spreads the many that are exactly 1
over more than the 1e-6 within which eigenvalues count as one: its numbers of distinct eigenvalues
are up to 3 larger than they are. With so many more put back at 1, its chi-squares come out.
"""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.eigenvalues import (
    NetworkEigenvalues,
    chi_square,
    distinct,
)
from pairtile.methods.multimodal_correlation.thresholds import RankedPairs, random_matrix_threshold

GENES = 1166


@pytest.fixture(scope="module")
def golden(request):
    from paths import SHARED

    folder = SHARED / "golden" / "multimodal"
    if not folder.is_dir():
        pytest.skip("needs the reference data in shared/ beside the checkout")
    with gzip.open(folder / "rice1166.trad_spearman.cmx.nosamples.txt.gz") as stream:
        later, earlier, r = np.loadtxt(stream, usecols=(0, 1, 5)).T
    lines = (folder / "rice1166.trad_spearman.rmt.log").read_text().split("\n")
    rows = np.array([line.split() for line in lines if line.count("\t") == 3], dtype=float)
    threshold = next(line for line in lines if line and "\t" not in line)
    pairs = earlier.astype(int), later.astype(int), r.astype(np.float32)
    return pairs, rows, threshold


@pytest.fixture(scope="module")
def kinc(golden):
    return random_matrix_threshold(
        RankedPairs.of_modes(*golden[0], GENES), start=0.95, stop=0.5, rule="kinc"
    )


def test_kinc_rule_finds_the_threshold_of_kinc(golden, kinc):
    assert f"{kinc.threshold:.6g}" == golden[2] == "0.826002"


def test_kinc_rule_walks_the_steps_of_kinc_with_as_many_genes(golden, kinc):
    rows = golden[1]
    assert [f"{t:.3f}" for t in kinc.curve["threshold"]] == [f"{t:.3f}" for t in rows[:, 0]]
    np.testing.assert_array_equal(kinc.curve["genes"], rows[:, 1])


def test_kinc_counts_up_to_three_eigenvalues_more_than_there_are(golden, kinc):
    more = golden[1][:, 2] - kinc.curve["eigenvalues"]
    assert set(more) == {0, 1, 2, 3}
    np.testing.assert_array_equal(kinc.curve["chi_square"].isna(), golden[1][:, 3] == -1)


def test_chi_squares_are_those_of_kinc_with_its_extra_eigenvalues(golden, kinc):
    (i, j, r), rows, _ = golden
    solver = NetworkEigenvalues(GENES, choose("cpu"))
    off = []
    for threshold, row in zip(kinc.curve["threshold"], rows, strict=True):
        if row[3] == -1:
            continue
        strong = np.abs(r) >= np.float32(threshold)
        present = np.zeros(GENES, dtype=bool)
        present[j[strong]] = True
        strong &= present[i] & present[j]
        values = distinct(
            solver.of_matrix(np.flatnonzero(present), i[strong], j[strong], r[strong])
        )
        extra = 1 + 1e-6 * np.arange(1, int(row[2]) - values.size + 1)
        chi = chi_square(np.sort(np.concatenate([values, extra])))
        off.append(abs(chi - row[3]) / row[3])
    assert len(off) == 117
    assert np.median(off) < 1e-3  # measured: 0.0004
    assert max(off) < 0.01  # measured: 0.006, a spacing on the edge of a bin


def test_symmetric_rule_finds_its_threshold_from_any_start(golden):
    found = [
        random_matrix_threshold(RankedPairs.of_modes(*golden[0], GENES), start=start)
        for start in (0.99, 0.95)
    ]
    assert [each.threshold for each in found] == [0.837, 0.837]
    row = found[0].curve.set_index("threshold").loc[0.837]
    assert (row["genes"], row["edges"]) == (435, 3073)


def test_symmetric_rule_ends_with_a_message_where_the_walk_is_cut_short(golden):
    found = random_matrix_threshold(RankedPairs.of_modes(*golden[0], GENES), start=0.9, stop=0.82)
    assert found.threshold is None
    assert "no threshold found between 0.9 and 0.82" in found.message
    assert "below 99.607 down to 0.837" in found.message
