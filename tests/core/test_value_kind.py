"""Which kind of values a table holds, by what the usual programs write."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pairtile.errors import InputError
from pairtile.preprocess.value_kind import measure_scale, whole_counts
from prepared_tables import prepare_expression, table

N_GENES, N_SAMPLES = 600, 40
RANDOM = np.random.default_rng(3)
SHAPE = (N_GENES, N_SAMPLES)
DEPTH = np.exp(RANDOM.normal(0, 0.4, N_SAMPLES))
LENGTH = RANDOM.uniform(500, 8000, (N_GENES, 1))
COUNTS = RANDOM.poisson(
    2.0 ** (RANDOM.normal(6.5, 2, (N_GENES, 1)) + RANDOM.normal(0, 0.6, SHAPE)) * DEPTH
).astype(float)
SHARED = np.where(RANDOM.random((N_GENES, 1)) < 0.5, RANDOM.uniform(-0.5, 0.5, SHAPE), 0.0)
ESTIMATED = np.maximum(0.0, COUNTS + SHARED) * (COUNTS > 0)
FACTORS = np.exp(
    np.median(np.log((COUNTS + 0.5) / (COUNTS + 0.5).mean(axis=1, keepdims=True)), axis=0)
)
INTENSITIES = 2.0 ** (RANDOM.normal(7, 2, (N_GENES, 1)) + RANDOM.normal(0, 0.5, SHAPE))
LFQ = np.round(2.0 ** (RANDOM.normal(24, 2, (N_GENES, 1)) + RANDOM.normal(0, 0.6, SHAPE)))
DETECTED = RANDOM.random(SHAPE) > 0.1
BLOOM = COUNTS.copy()  # three genes take 20 to 80 % of the reads
BLOOM[:3] += (BLOOM.sum(axis=0) * RANDOM.uniform(0.3, 4.0, N_SAMPLES)) * RANDOM.dirichlet(
    [2, 2, 2], N_SAMPLES
).T
CELLS = RANDOM.poisson(
    RANDOM.gamma(0.3, 1.5, (N_GENES, 1)) * np.exp(RANDOM.normal(0, 0.5, 400))
).astype(float)


def shares(values: np.ndarray, total: float = 1e6) -> np.ndarray:
    return np.asarray(values / values.sum(axis=0) * total)


def tpm(values: np.ndarray) -> np.ndarray:
    return shares(values / LENGTH)


# What is written -> the kind, the normalisation, whether log2 is taken, codes of messages.
KINDS: dict[str, tuple[np.ndarray, str, str, bool, set[str]]] = {
    "featureCounts": (COUNTS, "counts", "median_ratio", True, set()),
    "salmon": (np.round(ESTIMATED, 3), "estimated counts", "median_ratio", True, set()),
    "RSEM": (np.round(ESTIMATED, 2), "estimated counts", "median_ratio", True, set()),
    "kallisto": (ESTIMATED, "estimated counts", "median_ratio", True, set()),
    "tximport, scaled by length": (
        COUNTS * (1 + 0.01 * RANDOM.random(SHAPE)),
        "normalised counts or intensities",
        "median_ratio",
        True,
        {"samples_normalised"},
    ),
    "TPM": (tpm(COUNTS), "normalised counts or intensities", "none", True, set()),
    "TPM, one decimal": (
        np.round(tpm(COUNTS), 1),
        "normalised counts or intensities",
        "none",
        True,
        set(),
    ),
    "TPM, six decimals": (
        np.round(tpm(COUNTS), 6),
        "normalised counts or intensities",
        "none",
        True,
        set(),
    ),
    "FPKM": (
        COUNTS / LENGTH / COUNTS.sum(axis=0) * 1e9,
        "normalised counts or intensities",
        "none",
        True,
        set(),
    ),
    "TPM, few genes take most": (
        tpm(BLOOM),
        "normalised counts or intensities",
        "median_ratio",
        True,
        {"shares_normalised"},
    ),
    "log2(TPM + 1), few genes take most": (
        np.round(np.log2(tpm(BLOOM) + 1), 4),
        "logarithms",
        "median_ratio",
        True,
        {"logarithms_undone", "shares_normalised"},
    ),
    "log2(TPM + 1)": (np.log2(tpm(COUNTS) + 1), "logarithms", "none", False, set()),
    "edgeR's CPM": (
        shares(COUNTS),
        "normalised counts or intensities",
        "median_ratio",
        True,
        {"counts_recovered"},
    ),
    "log2(counts + 1)": (
        np.round(np.log2(COUNTS + 1), 4),
        "logarithms",
        "median_ratio",
        True,
        {"counts_recovered"},
    ),
    "variance-stabilised": (np.log2(COUNTS / FACTORS + 4), "logarithms", "none", False, set()),
    "array": (INTENSITIES, "normalised counts or intensities", "none", True, set()),
    "array of unequal brightness": (
        INTENSITIES * DEPTH,
        "normalised counts or intensities",
        "median_ratio",
        True,
        {"samples_normalised"},
    ),
    "array with a floor of 20": (
        np.round(np.maximum(20, INTENSITIES), 1),
        "normalised counts or intensities",
        "none",
        True,
        set(),
    ),
    "LFQ": (LFQ, "intensities", "none", True, set()),
    "LFQ, zero where not detected": (
        np.where(DETECTED, LFQ, 0),
        "intensities",
        "none",
        True,
        {"zeros_not_detected"},
    ),
    "log2(LFQ), zero where not detected": (
        np.where(DETECTED, np.log2(LFQ), 0),
        "logarithms",
        "none",
        False,
        {"zeros_not_detected"},
    ),
    "cells": (CELLS, "counts", "nb_residuals", False, set()),
    "cells, ln(cp10k + 1)": (
        np.log1p(shares(CELLS, 1e4)).astype(np.float32).astype(float),
        "logarithms",
        "nb_residuals",
        False,
        {"counts_recovered"},
    ),
    "z-scores": (
        np.log2(INTENSITIES) - np.log2(INTENSITIES).mean(axis=1, keepdims=True),
        "differences, ratios or logarithms (some are below 0)",
        "none",
        False,
        set(),
    ),
    "methylation": (RANDOM.beta(2, 3, SHAPE), "shares", "none", False, set()),
    "levels": (RANDOM.integers(0, 3, SHAPE).astype(float), "levels", "none", False, set()),
    "qPCR, 40 where not detected": (
        np.minimum(40, np.round(RANDOM.normal(30, 5, (90, N_SAMPLES)), 2)),
        "logarithms",
        "none",
        False,
        set(),
    ),
}
CODES = {
    "shares_normalised",
    "samples_normalised",
    "logarithms_undone",
    "counts_recovered",
    "zeros_not_detected",
}
CODES |= {"zeros_not_detected", "normalised_cells", "negative_raw_values", "unequal_totals"}


@pytest.mark.parametrize("program", KINDS)
def test_values_of_each_program_are_told_apart(program: str) -> None:
    values, kind, normalize, log2, codes = KINDS[program]
    assert measure_scale(values).kind == kind
    prepared = prepare_expression(table(values), {"min_samples": 3})
    assert (prepared.parameters["normalize"], prepared.parameters["log2"]) == (normalize, log2)
    assert {said.code for said in prepared.messages} & CODES == codes


@pytest.mark.parametrize(
    ("made", "tolerance"),
    [(np.round, 0.0), (lambda x: np.round(np.log2(x + 1), 4), 0.05), (lambda x: shares(x), 0.0)],
    ids=["rounded", "logarithms", "CPM"],
)
def test_what_was_made_of_counts_gives_what_the_counts_give(
    made: Callable[[np.ndarray], np.ndarray], tolerance: float
) -> None:
    """Four decimals of a logarithm leave 0.05 % of a large count open."""
    counts = COUNTS.copy()
    counts[0] = 1.0  # so that every sample has a smallest count of one
    expected = prepare_expression(table(counts), {"min_samples": 3}).values
    given = made(counts)
    found = prepare_expression(table(given), {"min_samples": 3}).values
    np.testing.assert_allclose(found, expected, atol=tolerance * 0.02 + 1e-12)


def test_estimated_counts_give_what_rounded_ones_give() -> None:
    """A decimal of at most a half is less than what counting leaves open."""
    expected = prepare_expression(table(np.rint(ESTIMATED)), {"min_samples": 3})
    found = prepare_expression(table(ESTIMATED), {"min_samples": 3})
    difference = np.abs(found.values - expected.values)
    assert difference.max() < 0.7  # log2 of 1.5, and a little by the size factors
    assert np.median(difference) < 0.01
    np.testing.assert_array_equal(whole_counts(ESTIMATED), np.rint(ESTIMATED))
    assert whole_counts(INTENSITIES) is None


def test_zeros_that_mean_not_detected_are_counted_and_can_be_kept() -> None:
    values = np.where(DETECTED, LFQ, 0.0)
    prepared = prepare_expression(table(values), {"min_samples": 3})
    assert prepared.counts["zeros_to_missing"] == int((~DETECTED).sum())
    np.testing.assert_array_equal(np.isnan(prepared.values), ~DETECTED)
    kept = prepare_expression(table(values), {"min_samples": 3, "pseudocount": 1})
    assert kept.counts["zeros_to_missing"] == 0


def test_settings_that_are_given_leave_values_as_they_are() -> None:
    given = np.log2(COUNTS + 1)
    section = {"min_samples": 3, "normalize": "none", "log2": False}
    np.testing.assert_array_equal(prepare_expression(table(given), section).values, given)


def with_shared(kind: str, random: np.random.Generator) -> np.ndarray:
    """Log2 of 300 genes in 60 samples, which share something of a quarter of a gene's variance."""
    shared = 0.5 * random.normal(size=60)
    loadings = {"brightness": np.ones(300), "process": random.normal(size=300)}[kind]
    own = random.normal(size=(300, 60)) + np.outer(loadings, shared)
    return random.normal(8.0, 1.5, (300, 1)) + 0.6 * own


@pytest.mark.parametrize("logarithms", [True, False])
@pytest.mark.parametrize(("kind", "normalised"), [("brightness", True), ("process", False)])
def test_what_moves_all_genes_alike_is_the_samples(
    kind: str, normalised: bool, logarithms: bool
) -> None:
    """A factor of the sample is divided by, also of logarithms (Ct, arrays); a factor that moves
    genes by different amounts is none."""
    random = np.random.default_rng(5)
    values = with_shared(kind, random)
    prepared = prepare_expression(table(values if logarithms else np.exp2(values)))
    said = {message.code for message in prepared.messages}
    assert ("samples_normalised" in said) == normalised
    agree = np.corrcoef(prepared.values)[np.triu_indices(300, 1)].mean()
    assert abs(agree) < 0.02


def test_two_modules_of_a_small_panel_are_no_factor_of_the_sample() -> None:
    """All thirty genes follow one of two modules: their logarithms stay as they are."""
    random = np.random.default_rng(5)
    modules = np.repeat(random.normal(size=(2, 40)) + 0.7 * random.normal(size=40), 15, axis=0)
    given = random.normal(8.0, 1.0, (30, 1)) + 0.8 * modules + 0.3 * random.normal(size=(30, 40))
    prepared = prepare_expression(table(given))
    assert not {"logarithms_undone", "samples_normalised"} & {m.code for m in prepared.messages}
    np.testing.assert_array_equal(prepared.values, given)


def test_small_whole_numbers_that_may_be_counts_or_levels_are_asked_for() -> None:
    """Of 300 unrelated genes, a fifth of the pairs would have |r| > .18, a twentieth should."""
    random = np.random.default_rng(1)
    depth = np.exp(random.normal(-0.2, 0.6, 120))
    shallow = random.poisson(np.exp(random.normal(-1.0, 0.8, 300))[:, None] * depth).astype(float)
    with pytest.raises(InputError, match=r"normalize: nb_residuals.*normalize: none"):
        prepare_expression(table(shallow))
    shares_of_pairs = []
    for normalize in ("nb_residuals", "none"):
        values = prepare_expression(table(shallow), {"normalize": normalize}).values
        r = np.corrcoef(values)[np.triu_indices(len(values), 1)]
        shares_of_pairs.append((np.abs(r) > 0.18).mean())
    assert shares_of_pairs[0] < 0.07 < 0.15 < shares_of_pairs[1]
    levels = {
        "genotypes": random.integers(0, 3, (300, 120)),
        "copies": np.clip(np.rint(random.normal(2.0, 0.8, (300, 120))), 0, 9),
        "mutated": random.random((300, 120)) < 0.1,
        "classes": random.integers(1, 8, (300, 120)),
    }
    for values in levels.values():
        assert prepare_expression(table(values.astype(float))).parameters["normalize"] == "none"
