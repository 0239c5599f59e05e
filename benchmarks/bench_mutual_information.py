"""Scores of all pairs: CPU against a NumPy reference, GPU against cuBLAS alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from pairtile import infer_network
from pairtile.api.settings import analysis_config
from pairtile.engine.selection import Selection
from pairtile.gpu.device import choose
from pairtile.gpu.products import matrix_product_transposed
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.score import MutualInformation
from pairtile.preprocess.samples import SampleDesign
from pairtile.splines.bspline import bspline_weights, dense_weights
from pairtile.splines.scorer import BsplineScorer, SplineSettings
from pairtile.splines.values import scaled
from scipy.signal import lfilter

from benchmarks.machine import MEASURED_MI, timed

BINS, ORDER = 10, 3


def expression(genes: int, samples: int, seed: int = 1) -> np.ndarray:
    """Ranks of genes that share a few factors, so that scores are not all null."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(20, samples))
    loads = random.normal(size=(genes, 20)) * (random.random((genes, 20)) < 0.1)
    return loads @ factors + random.normal(size=(genes, samples))


def numpy_reference(weights: np.ndarray) -> np.ndarray:
    """MI of all genes with all genes by W^T W in float64 and NumPy logarithms."""
    genes, samples, bins = weights.shape
    flat = np.ascontiguousarray(weights.transpose(0, 2, 1)).reshape(genes * bins, samples)
    joint = (flat @ flat.T / samples).reshape(genes, bins, genes, bins)
    with np.errstate(divide="ignore", invalid="ignore"):
        h_joint = -np.where(joint > 0, joint * np.log2(joint), 0.0).sum(axis=(1, 3))
        p = weights.mean(axis=1)
        h = -np.where(p > 0, p * np.log2(p), 0.0).sum(axis=1)
    return h[:, None] + h[None, :] - h_joint


def cpu(samples: int = 266, genes: int = 1024) -> dict[str, Any]:
    """Pairs per second on all cores, and the ratio to the NumPy reference in the same run."""
    device = choose("cpu")
    values = expression(genes, samples)
    result: dict[str, Any] = {"genes": genes, "samples": samples, "bins": BINS, "order": ORDER}
    few = 256
    settings = SplineSettings(BINS, ORDER, "clamped", "float64")
    z = scaled(values, settings, "rank")
    dense = dense_weights(*bspline_weights(z, BINS, ORDER, "clamped"), BINS)
    reference = timed(lambda: numpy_reference(dense[:few]), repeats=9)
    result["numpy_reference_pairs_per_second"] = few * few / reference["seconds"]
    for precision in ("float64", "mixed"):
        scorer = BsplineScorer(SplineSettings(BINS, ORDER, "clamped", precision), device, True)
        weights = scorer.weights(z)
        run = timed(lambda s=scorer, w=weights: s.scores(w, w), repeats=5)
        result[precision] = run | {"pairs_per_second": genes * genes / run["seconds"]}
        rate = result[precision]["pairs_per_second"]
        result[precision]["ratio_to_reference"] = rate / result["numpy_reference_pairs_per_second"]
    few_weights = scorer.weights(z[:few])
    error = np.abs(numpy_reference(dense[:few]) - scorer.scores(few_weights, few_weights)[0])
    result["mixed"]["largest_error_bits"] = float(error[~np.eye(few, dtype=bool)].max())
    return result


def cuda(genes: int, samples: int) -> dict[str, Any]:
    """Seconds for all pairs: scores, scores with selection and sums, cuBLAS alone."""
    import cupy

    device = choose("cuda")
    result: dict[str, Any] = {"genes": genes, "samples": samples, "bins": BINS, "order": ORDER}
    pairs = genes * (genes - 1) // 2
    config = analysis_config(MutualInformationConfig, expression="e.tsv", **MEASURED_MI)
    z = scaled(expression(genes, samples), SplineSettings(BINS, ORDER, "clamped", "mixed"), "rank")
    state = {"z": z, "entropy_bits": np.full(genes, 3.2), "regulators": np.empty(0, np.int32)}
    state |= {"bins_order": np.array([BINS, ORDER]), "by_rank": np.array(True)}
    for precision in ("mixed", "float64"):
        opened = MutualInformation(config, state, device, precision)
        tiles = opened.space(state).tiles()
        limit = np.array([[0.35 * samples]])

        def scores(opened=opened, tiles=tiles) -> None:
            for tile in tiles:
                opened.scorer.scores(
                    opened._block("row", tile.row_begin, tile.row_end),
                    opened._block("column", tile.column_begin, tile.column_end),
                )

        def chunk(opened=opened, tiles=tiles, limit=limit) -> None:
            for tile in tiles:
                opened.score_tile(tile, Selection(min_statistic=limit))

        scores()  # weights are made here, once
        run = timed(scores)
        entry: dict[str, Any] = {"scores": run | {"pairs_per_second": pairs / run["seconds"]}}
        entry["chunk"] = timed(chunk)
        blocks = [opened._block("row", t.row_begin, t.row_end) for t in tiles[:1]]
        joint = cupy.empty(
            (blocks[0].variables * BINS) ** 2, dtype=np.float32 if precision == "mixed" else float
        )
        alone = timed(
            lambda b=blocks[0], j=joint: [
                matrix_product_transposed(cupy, b.rows, b.columns, j) for _ in range(10)
            ]
        )
        cells = sum(t.cells for t in tiles)
        share = cells / blocks[0].variables ** 2 / 10
        entry["cublas_alone_seconds"] = alone["seconds"] * share
        entry["ratio_to_cublas"] = run["seconds"] / entry["cublas_alone_seconds"]
        entry["gpu_memory_bytes"] = device.peak_bytes()
        result[precision] = entry
        del opened, joint
        cupy.get_default_memory_pool().free_all_blocks()
    return result


def nulls(genes: int, samples: int, draws: int, backend: str) -> dict[str, Any]:
    """Seconds of each kind of null, on time courses (AR(1), phi 0.8) in two batches."""
    noise = np.random.default_rng(1).normal(size=(genes, samples + 100))
    values = lfilter([1.0], [1.0, -0.8], noise, axis=1)[:, 100:]
    batch = np.arange(samples) % 2
    result: dict[str, Any] = {"genes": genes, "samples": samples, "draws": draws}
    for kind in ("permutation", "circular_shift", "blocks"):
        config = analysis_config(
            MutualInformationConfig,
            expression="e.tsv",
            **MEASURED_MI,
            null={"kind": kind, "permutations": draws},
            samples={"annotations": "in memory", "batch": "batch"} if kind == "blocks" else {},
        )
        design = SampleDesign.unknown()
        if kind == "blocks":
            design = replace(design, batch=batch.astype(np.int32))
        opened = open_analysis(values, np.empty(0), config, choose(backend), design)[0]
        result[kind] = timed(lambda opened=opened: opened.null(1))
        ratio = result[kind]["seconds"] / result["permutation"]["seconds"]
        result[kind]["ratio_to_permutation"] = ratio
    return result


def bootstraps(genes: int, samples: int, number: int, backend: str) -> dict[str, Any]:
    """Seconds of a bootstrap (with its null, and the same of unrelated genes), in one process."""
    config = analysis_config(
        MutualInformationConfig,
        expression="e.tsv",
        **MEASURED_MI,
        keep={"p_value": 1e-6},
        bootstraps=number,
    )
    opened = open_analysis(expression(genes, samples), np.empty(0), config, choose(backend))[0]
    tiles = opened.space(opened.state).tiles()
    first = timed(lambda: opened.bootstrap(tiles, 0), repeats=1, warm=0)["seconds"]
    all_but_first = timed(
        lambda: [opened.bootstrap(tiles, k) for k in range(1, number)], repeats=1, warm=0
    )
    each = all_but_first["seconds"] / (number - 1)
    sizes = {"genes": genes, "samples": samples, "bootstraps": number}
    return sizes | {"first_seconds": first, "seconds_each": each}


def rankings(genes: int, regulators: int, samples: int, backend: str) -> dict[str, Any]:
    """Seconds from values to a network of regulators and genes, by each score."""
    values = expression(genes, samples)
    asked = {"keep": {"fdr": 1e-4, "top_edges": 50_000}, "dpi": False, "backend": backend}
    result: dict[str, Any] = {"genes": genes, "regulators": regulators, "samples": samples}
    for score in ("mi", "target_z", "combined"):
        result[score] = timed(
            lambda s=score: infer_network(values, np.arange(regulators), score=s, **asked)
        )
    ratio = result["combined"]["seconds"] / result["target_z"]["seconds"]
    return result | {"combined_to_target_z": ratio}


def run(backend: str) -> dict[str, Any]:
    """The sizes of the README's tables, and the kinds of null."""
    if backend == "cpu":
        results = {f"{samples} samples": cpu(samples) for samples in (266, 1000)}
        results["rankings"] = rankings(4_000, 400, 266, backend)
        return results | {"null": nulls(2_000, 266, 1_000_000, backend)}
    sizes = [(20_000, 1000), (15_575, 3137)]
    results = {
        f"{genes} genes x {samples} samples": cuda(genes, samples) for genes, samples in sizes
    }
    results["bootstraps"] = bootstraps(10_000, 500, 20, backend)
    results["rankings"] = rankings(20_000, 2_000, 500, backend)
    return results | {"null": nulls(20_000, 1_000, 10_000_000, backend)}
