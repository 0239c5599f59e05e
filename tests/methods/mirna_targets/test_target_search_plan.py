"""How the GPU's score pass is laid out: groups of miRNAs, profiles and windows, without a GPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.methods.mirna_targets import screen_cuda as plan
from pairtile.methods.mirna_targets.scoring import SEED_ROWS, AlignmentScoring, SequenceBatch


def random_mirnas(seed: int, lengths: list[int]) -> SequenceBatch:
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    codes = np.random.default_rng(seed).integers(0, 5, offsets[-1]).astype(np.uint8)
    return SequenceBatch(np.frombuffer(b"ACGUN", np.uint8)[codes], offsets)


def test_groups_hold_each_mirna_that_can_reach_the_threshold_once():
    lengths = np.array([3, 8, 12, 22, 22, 23, 30, 51, 52, 53, 200])
    groups, plain = plan.groups(
        lengths, np.arange(11), AlignmentScoring.of_parameters(140, 4, -9, -4)
    )
    assert sorted(np.concatenate([g.mirnas for g in groups]).tolist()) == [2, 3, 4, 5, 6, 7, 8]
    assert plain.tolist() == [9, 10]
    for group in groups:
        assert lengths[group.mirnas].max() - 3 <= group.rows
        assert 1 <= group.tracked <= group.rows


def test_scores_beyond_half_precision_go_to_the_plain_kernel():
    lengths = np.array([22])
    at_limit = AlignmentScoring.of_parameters(140, 56.78, -9, -4)  # 12 rows of 5, 7 of 283: 2041
    assert at_limit.highest_score(22) <= plan.MAX_SCORE
    assert len(plan.groups(lengths, np.array([0]), at_limit)[0]) == 1
    beyond = AlignmentScoring.of_parameters(140, 57, -9, -4)
    assert beyond.highest_score(22) > plan.MAX_SCORE
    assert plan.groups(lengths, np.array([0]), beyond)[1].tolist() == [0]
    free_gaps = replace(at_limit, extend=np.array([0, 0], dtype=np.int32))
    assert plan.groups(lengths, np.array([0]), free_gaps)[1].tolist() == [0]


def row_pair_scores(scoring: AlignmentScoring, codes: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Scores of one miRNA's rows (codes 5'->3'): row i - 1 for row i, by reference code."""
    n = len(codes)
    scores = np.zeros((n, 5), dtype=np.int32)
    rows = np.arange(3, n)
    is_seed = (rows >= n - SEED_ROWS).astype(np.int64)
    scores[rows - 1] = scoring.pair[is_seed, codes[n - rows]]
    return scores


def test_profiles_hold_the_scores_of_each_row():
    sequences = random_mirnas(8, [4, 9, 12, 17, 21, 22, 22, 22, 23, 24, 30, 44, 52])
    scoring = AlignmentScoring.of_parameters(60, 3, -9, -4)
    groups, plain = plan.groups(np.diff(sequences.offsets), np.arange(13), scoring)
    assert len(np.concatenate([g.mirnas for g in groups])) == 12
    assert len(plain) == 0
    for group in groups:
        found = plan.profiles(np, sequences, group, scoring)
        assert len(found) % 2 == 0
        for place, k in enumerate(group.mirnas):
            codes = sequences.codes[sequences.offsets[k] : sequences.offsets[k + 1]]
            scores = row_pair_scores(scoring, codes)[:-1][-group.rows :]
            missing = group.rows - len(scores)
            assert not found[place, :, :missing].any()
            np.testing.assert_array_equal(
                found[place, : plan.BETWEEN, missing : group.rows], scores.T
            )
            real = max(0, len(codes) - 3)
            assert (found[place, plan.BETWEEN, group.rows - real : group.rows] < -2000).all()


@pytest.mark.parametrize("columns", [1, 100, 16 * 64, 16 * 64 + 1, 10**6, 10**9])
@pytest.mark.parametrize("n_pairs", [1, 1000])
def test_windows_cover_the_text(columns, n_pairs):
    n_groups, window_blocks = plan.windows(columns, 3, n_pairs, 132 * 1024)
    assert 1 <= window_blocks <= plan.MAX_WINDOW_BLOCKS
    assert n_groups * plan.THREADS * window_blocks >= plan.blocks(columns)
