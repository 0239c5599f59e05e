"""Plain correlation agrees with exact arithmetic and with KINC, and with itself by any tiles."""

from __future__ import annotations

import dataclasses
import gzip

import numpy as np
import pandas as pd
import pytest
import recorded_kinc
from backends import both_backends
from hypothesis import given, settings, strategies
from mixture_modes import mixture_config
from naive_correlation import float32_sums, plain_mode, sample_string
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.mixtures import Modes
from pairtile.methods.multimodal_correlation.plain_correlation import CpuBlocks, PlainCorrelation

KINDS = ("pearson", "spearman")

ARRAYS = [array.name for array in dataclasses.fields(Modes) if array.type.startswith("NDArray")]
"""Entries of ``Modes``, and its histograms."""


def asked(correlation, **changes):
    """Settings with every pair kept, unless said otherwise."""
    given = {"min_samples": 5, "min_correlation": 0.0, "outliers_before": False, **changes}
    return mixture_config(clustering="none", correlation=correlation, **given)


def modes_of(values, wanted, backend="cpu", rows=None, columns=None):
    """All pairs, or those of rows and columns."""
    every = np.arange(len(values))
    search = PlainCorrelation(np.asarray(values, dtype=float), wanted, choose(backend))
    upper = rows is None
    return search.tile(every if upper else rows, every if upper else columns, upper)


def awkward_table(seed=0, n_samples=67, missing=0.1):
    """Genes with ties, outliers, huge and tiny numbers, few values, none, constant or copied."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((24, n_samples))
    values[1] = 0.9 * values[0] + 0.3 * values[1]
    values[2] = np.round(values[2])
    values[3] = np.where(values[3] > 0.5, 1.0, 0.0)
    values[4] = np.maximum(values[0], 0.0)
    values[5] = 1e9 + values[0]
    values[6] *= 1e-150
    values[7] *= 1e150
    values[8] = values[0]
    values[9] = 7.0 - 3.0 * values[0]
    values[10] = 5.0
    values[11, :: n_samples // 3] = 1e6
    values[12] = np.exp(4.0 * values[12])
    values[13:, :] += random.standard_normal(n_samples)
    holes = random.random(values.shape) < missing
    holes[[0, 1, 3, 5, 8, 9, 10, 11, 15, 16, 17, 18]] = False
    values[holes] = np.nan
    values[19, 4:] = np.nan
    values[20] = np.nan
    values[21, 3] = np.inf
    values[22] = np.where(np.arange(n_samples) % 9 == 4, 1.0, 2.0)  # constant among what is left
    values[23, ~np.isnan(values[13])] = 4.0
    return values


def assert_agrees(modes, values, wanted, pairs, tolerance=1e-12):
    """Kept pairs, counts, histograms, masks and moments are those of the naive way."""
    at = {(int(i), int(j)): k for k, (i, j) in enumerate(zip(modes.row, modes.column, strict=True))}
    assert list(at) == sorted(at)
    least, most = wanted.estimator.min_correlation, wanted.estimator.max_correlation
    counts = dict.fromkeys(modes.counts, 0)
    histogram = np.zeros(200, dtype=int)
    near_edges = 0
    for (row, column), (i, j) in pairs.items():
        x, y = values[i], values[j]
        r, members, outliers = plain_mode(x, y, wanted.estimator)
        counts["pairs"] += 1
        counts["too_few_samples"] += r is None
        defined = r is not None and not np.isnan(r)
        counts["constant"] += r is not None and not defined
        if defined:
            edge = (r + 1.0) * 100.0
            near_edges += abs(edge - round(edge)) < 1e-9
            histogram[min(int(edge), 199)] += 1
            counts["degenerate"] += abs(r) > 1.0 - 1e-12
            counts["modes_below"] += abs(r) < least
            counts["modes_above"] += abs(r) > most
        kept = defined and least <= abs(r) <= most
        counts["modes_kept"] += kept
        assert ((row, column) in at) == kept, (i, j, r)
        if not kept:
            continue
        k = at[row, column]
        assert modes.correlation[k] == pytest.approx(r, abs=max(tolerance, 6e-8)), (i, j)
        assert modes.n_samples[k] == modes.n_usable[k] == members.sum()
        np.testing.assert_array_equal(modes.samples[k], np.packbits(members))
        np.testing.assert_array_equal(modes.outliers[k], np.packbits(outliers))
        a, b = x[members], y[members]
        with np.errstate(over="ignore"):
            expected = [
                a.mean(),
                b.mean(),
                a.var(),
                b.var(),
                np.mean((a - a.mean()) * (b - b.mean())),
            ]
            expected = np.array(expected).astype(np.float32)
        found = [modes.mean_i, modes.mean_j, modes.variance_i, modes.variance_j]
        found = [column[k] for column in [*found, modes.covariance]]
        scale = np.abs(a).max() * np.abs(b).max() * 1e-12
        np.testing.assert_allclose(found[:4], expected[:4], rtol=2e-6, atol=1e-12)
        np.testing.assert_allclose(found[4], expected[4], rtol=2e-6, atol=max(scale, 1e-12))
    assert modes.counts == counts
    assert modes.histogram_k.tolist()[:2] == [
        counts["too_few_samples"] + counts["constant"],
        counts["pairs"] - counts["too_few_samples"] - counts["constant"],
    ]
    assert np.abs(modes.histogram_r - histogram).sum() <= 2 * near_edges
    assert modes.histogram_r.sum() == modes.histogram_k[1]
    assert (modes.cluster == 1).all()
    assert (modes.n_clusters == 1).all()
    assert (modes.n_modes == 1).all()
    assert (modes.weight == 1.0).all()
    assert np.isnan(modes.log_likelihood).all()
    assert np.isnan(modes.criterion).all()


def upper_pairs(count):
    return {(i, j): (i, j) for i in range(count) for j in range(i + 1, count)}


@pytest.mark.parametrize("outliers", [False, True], ids=["", "outliers"])
@pytest.mark.parametrize("kind", KINDS)
@both_backends
def test_awkward_pairs_agree_with_exact_arithmetic(backend, kind, outliers):
    values = awkward_table()
    wanted = asked(kind, outliers_before=outliers)
    modes = modes_of(values, wanted, backend)
    assert_agrees(modes, values, wanted, upper_pairs(len(values)))
    assert min(modes.counts[name] for name in ("too_few_samples", "constant", "degenerate")) > 0


@pytest.mark.parametrize("kind", KINDS)
@both_backends
@pytest.mark.parametrize("n_samples", [2, 3, 31, 32, 33, 64, 100])
def test_any_number_of_samples(backend, kind, n_samples):
    random = np.random.default_rng(n_samples)
    values = random.standard_normal((9, n_samples))
    values[4:] = np.round(2.0 * values[4:])
    values[6:, : n_samples // 3] = np.nan
    for outliers in (False, True):
        wanted = asked(kind, min_samples=1, outliers_before=outliers)
        assert_agrees(modes_of(values, wanted, backend), values, wanted, upper_pairs(9))


@pytest.mark.parametrize("kind", KINDS)
@both_backends
def test_range_of_expression_and_of_correlation_and_least_samples(backend, kind):
    values = awkward_table(3)
    wanted = asked(
        kind,
        min_samples=30,
        min_correlation=0.2,
        max_correlation=0.9,
        min_expression=-1.5,
        max_expression=2.0,
        outliers_before=True,
    )
    modes = modes_of(values, wanted, backend)
    assert_agrees(modes, values, wanted, upper_pairs(len(values)))
    names = ("modes_kept", "modes_below", "modes_above", "too_few_samples")
    assert min(modes.counts[name] for name in names) > 0


@pytest.mark.parametrize("kind", KINDS)
@both_backends
def test_complete_table_needs_no_masks(backend, kind):
    random = np.random.default_rng(5)
    values = random.standard_normal((40, 50)) + random.standard_normal(50)
    wanted = asked(kind, min_correlation=0.5)
    assert_agrees(modes_of(values, wanted, backend), values, wanted, upper_pairs(40))


@both_backends
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("offset", [1e6, 1e12])
def test_huge_offset_costs_no_digits_that_the_values_still_have(backend, missing, offset):
    random = np.random.default_rng(6)
    values = offset + np.round(random.standard_normal((12, 80)) * 64.0) / 64.0
    values[random.random(values.shape) < missing] = np.nan
    wanted = asked("pearson")
    modes = modes_of(values, wanted, backend)
    near = modes_of(values - offset, wanted, backend)
    assert np.abs(modes.correlation - near.correlation).max() <= 6e-8
    np.testing.assert_allclose(modes.covariance, near.covariance, rtol=1e-6, atol=1e-9)
    assert_agrees(near, values - offset, wanted, upper_pairs(12))


@both_backends
def test_sums_that_cancel_are_done_again(backend):
    """Half of a gene's samples lie far away, and the other gene lacks just these."""
    random = np.random.default_rng(7)
    values = random.standard_normal((6, 60))
    values[:3, :30] += 1e8
    values[3:, :30] = np.nan
    values[3:] += values[:3]
    wanted = asked("pearson")
    assert_agrees(modes_of(values, wanted, backend), values, wanted, upper_pairs(6))


@both_backends
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_copies_of_a_gene_correlate_exactly(backend, kind, missing):
    random = np.random.default_rng(8)
    gene = random.standard_normal(999)
    gene[random.random(999) < missing] = np.nan
    other = random.standard_normal(999)
    values = np.array([gene, gene, -gene, 3.0 * gene + 1.0, other])
    modes = modes_of(values, asked(kind), backend)
    r = dict(zip(zip(modes.row, modes.column, strict=True), modes.correlation, strict=True))
    assert [r[0, 1], r[0, 2], r[0, 3], r[1, 2], r[2, 3]] == [1.0, -1.0, 1.0, -1.0, -1.0]
    assert modes.counts["degenerate"] == 6
    assert np.abs(modes.correlation).max() <= 1.0


@pytest.mark.parametrize("kind", KINDS)
@both_backends
def test_tiles_and_strips_give_what_the_whole_gives(backend, kind, monkeypatch):
    values = awkward_table(9)
    wanted = asked(kind, outliers_before=True, min_correlation=0.1)
    whole = modes_of(values, wanted, backend)
    if backend == "cpu":
        monkeypatch.setattr(CpuBlocks, "cells", 100)
    strips = modes_of(values, wanted, backend)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(strips, name), getattr(whole, name), name)
    assert strips.counts == whole.counts
    every = np.arange(len(values))
    rows, columns = every[:11], every[11:][::-1]
    modes = modes_of(values, wanted, backend, rows, columns)
    pairs = {(a, b): (i, j) for a, i in enumerate(rows) for b, j in enumerate(columns)}
    assert_agrees(modes, values, wanted, pairs)


def test_one_search_serves_many_tiles():
    values = awkward_table(10)
    wanted = asked("spearman", outliers_before=True)
    search = PlainCorrelation(values, wanted, choose("cpu"))
    for rows, columns in (([3, 1], [5, 2, 1]), ([1, 7], [0, 23]), ([4], [4])):
        rows, columns = np.array(rows), np.array(columns)
        pairs = {(a, b): (i, j) for a, i in enumerate(rows) for b, j in enumerate(columns)}
        assert_agrees(search.tile(rows, columns, False), values, wanted, pairs)


@both_backends
def test_no_genes_or_nothing_kept_gives_no_entries(backend):
    values = np.random.default_rng(11).standard_normal((5, 20))
    nothing = np.arange(0)
    modes = modes_of(values, asked("pearson"), backend, nothing, nothing)
    assert len(modes) == 0
    assert modes.samples.shape == (0, 3)
    modes = modes_of(values, asked("pearson", min_correlation=0.999), backend)
    assert len(modes) == 0
    assert modes.counts["modes_below"] == 10


@given(strategies.data())
@settings(max_examples=60, deadline=None)
def test_any_small_table(data):
    genes, samples = data.draw(strategies.integers(2, 6)), data.draw(strategies.integers(1, 12))
    number = strategies.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0, 50.0, -4.0, np.nan])
    values = np.array([[data.draw(number) for _ in range(samples)] for _ in range(genes)])
    wanted = asked(
        data.draw(strategies.sampled_from(KINDS)),
        min_samples=data.draw(strategies.integers(1, 4)),
        outliers_before=data.draw(strategies.booleans()),
        max_expression=data.draw(strategies.sampled_from([None, 2.0])),
    )
    assert_agrees(modes_of(values, wanted), values, wanted, upper_pairs(genes))


@given(strategies.integers(0, 10**6), strategies.sampled_from(KINDS))
@settings(max_examples=20, deadline=None)
def test_neither_order_of_genes_nor_units_matter(seed, kind):
    values = awkward_table(seed, n_samples=40)[[0, 1, 2, 3, 12, 13, 14, 15]]
    wanted = asked(kind, outliers_before=True, min_samples=10)
    modes = modes_of(values, wanted)
    turned = modes_of(4.0 * values[::-1], wanted)
    back = sorted(zip(7 - turned.column, 7 - turned.row, range(len(turned)), strict=True))
    order = [k for _, _, k in back]
    np.testing.assert_array_equal(turned.row[order], 7 - modes.column)
    np.testing.assert_allclose(turned.correlation[order], modes.correlation, atol=6e-8)
    np.testing.assert_array_equal(turned.samples[order], modes.samples)


# --- golden --------------------------------------------------------------------------------------


def golden(shared, name):
    """(x, y) -> n, r, sample string."""
    with gzip.open(shared / "golden/multimodal" / name, "rt") as file:
        rows = [line.split() for line in file]
    return {(int(r[0]), int(r[1])): (int(r[4]), float(r[5]), r[-1]) for r in rows}


def expression(path):
    return pd.read_csv(path, sep="\t", index_col=0, na_values=["NA"]).to_numpy(dtype=float)


@both_backends
@pytest.mark.parametrize(
    ("table", "kind"), [("rice300", "pearson"), ("rice300", "spearman"), ("synth", "pearson")]
)
def test_kinc_without_clustering(shared, table, kind, backend):
    """All pairs, strings of samples exact, r within 1e-4.

    KINC's Pearson sums raw values in float32, which moves r by up to 1.05e-4: where it is further
    than 1e-4 from here, its number must be that of such sums.
    """
    values = expression(shared / f"golden/multimodal/inputs/{table}.emx.txt")
    far = far_from_kinc(values, golden(shared, f"{table}.none_{kind}.cmx.txt.gz"), kind, backend)
    assert far == (2 if (table, kind) == ("synth", "pearson") else 0)


@both_backends
@pytest.mark.parametrize(("kind", "far"), [("pearson", 23), ("spearman", 0)])
def test_recorded_results_of_kinc_without_clustering(kind, far, backend):
    expected = {
        (x, y): (letters.count("1"), r, letters)
        for (y, x), [(r, letters)] in recorded_kinc.modes(f"none_{kind}").items()
    }
    # Levels about 8, as log2 values are: the larger the values, the coarser KINC's float32 sums.
    assert far_from_kinc(recorded_kinc.values(), expected, kind, backend) == far


def far_from_kinc(values, expected, kind, backend):
    """Correlations further than 1e-4 from KINC's, which must be those of its float32 sums; pairs,
    samples and their states must be KINC's."""
    wanted = asked(kind, min_samples=25, outliers_before=True, compatibility="kinc")
    modes = modes_of(values, wanted, backend)
    pairs = list(zip(modes.column.tolist(), modes.row.tolist(), strict=True))  # KINC's x > y
    assert set(pairs) == set(expected)
    far = 0
    for k, (x, y) in enumerate(pairs):
        n, r, letters = expected[x, y]
        masks = [
            np.unpackbits(m[k], count=values.shape[1]) for m in (modes.samples, modes.outliers)
        ]
        members, outliers = (mask.astype(bool) for mask in masks)
        assert sample_string(values[x], values[y], members, outliers) == letters, (x, y)
        assert modes.n_samples[k] == n
        if abs(modes.correlation[k] - r) > 1e-4:
            far += 1
            assert float32_sums(values[x, members], values[y, members]) == pytest.approx(
                r, abs=1e-7
            )
    return far


@both_backends
def test_kinc_traditional_network_of_rice(shared, backend):
    values = expression(shared / "data/rice/expression.log2.tsv.gz")
    expected = golden(shared, "rice1166.trad_spearman.cmx.nosamples.txt.gz")
    wanted = asked(
        "spearman",
        min_samples=30,
        min_correlation=0.5,
        outliers_before=True,
        compatibility="kinc",
    )
    modes = modes_of(values, wanted, backend)
    pairs = list(zip(modes.column.tolist(), modes.row.tolist(), strict=True))
    assert set(pairs) == set(expected)
    n = np.array([expected[pair][0] for pair in pairs])
    r = np.array([expected[pair][1] for pair in pairs])
    np.testing.assert_array_equal(modes.n_samples, n)
    np.testing.assert_allclose(modes.correlation, r, atol=1e-6)
