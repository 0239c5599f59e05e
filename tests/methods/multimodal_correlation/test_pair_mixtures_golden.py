"""``compatibility: kinc`` against results of KINC 3.4.2 on real and planted tables."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import recorded_kinc
from backends import both_backends
from mixture_modes import mixture_config
from numpy.typing import NDArray
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.mixtures import (
    Modes,
    pair_mixtures,
)

RESULTS: dict[str, dict[str, Any]] = {
    "rice300.icl_spearman": {"correlation": "spearman", "min_samples": 25, "min_correlation": 0.0},
    "rice300.defaults_gmm": {},
    "synth.icl_spearman": {"correlation": "spearman", "min_samples": 25, "min_correlation": 0.0},
    "synth.bic_pearson": {"criterion": "bic", "min_samples": 25, "min_correlation": 0.0},
}
TRACE_COLUMNS = ["x", "y", "n", "k", "success", "steps", "log_likelihood", "entropy", "criterion"]


@cache
def table(shared: Path, name: str) -> NDArray[np.float64]:
    path = shared / "golden/multimodal/inputs" / f"{name}.emx.txt"
    values: NDArray[np.float64] = pd.read_csv(path, sep="\t", index_col=0).to_numpy(np.float64)
    return values


def kinc_modes(shared: Path, name: str, backend: str, **how: Any) -> Modes:
    return modes_of(table(shared, name), backend, how)


def modes_of(values: NDArray[np.float64], backend: str, how: dict[str, Any]) -> Modes:
    chosen = mixture_config(**{"correlation": "pearson", "compatibility": "kinc"} | how)
    genes = np.arange(len(values))
    keys = genes.astype(np.uint64)
    return pair_mixtures(values, keys, chosen, choose(backend)).tile(genes, genes, upper=True)


def golden_modes(shared: Path, name: str) -> dict[tuple[int, int], list[tuple[float, str]]]:
    """Correlation and sample string of the modes of each pair, (smaller, larger) number."""
    modes: dict[tuple[int, int], list[tuple[float, str]]] = {}
    path = shared / "golden/multimodal" / f"{name}.cmx.txt.gz"
    with gzip.open(path, "rt") as lines:
        for line in lines:
            x, y, _k, _kept, _n, r, states = line.split()
            modes.setdefault((int(y), int(x)), []).append((float(r), states))
    return modes


def compare(
    got: Modes, want: dict[tuple[int, int], list[tuple[float, str]]]
) -> tuple[float, float]:
    """Share of pairs with the same modes, and the worst correlation among these.

    The same: as many modes, each with the same members and the same outliers of its own or of the
    pair (7 and 8 of KINC's strings).
    """
    found: dict[tuple[int, int], list[int]] = {}
    for mode, pair in enumerate(zip(got.row.tolist(), got.column.tolist(), strict=True)):
        found.setdefault(pair, []).append(mode)
    pairs = set(found) | set(want)
    n_samples = len(next(iter(want.values()))[0][1])
    who = np.unpackbits(got.samples, axis=1)[:, :n_samples]
    out = np.unpackbits(got.outliers, axis=1)[:, :n_samples]
    same, worst = 0, 0.0
    for pair in pairs:
        modes, golden = found.get(pair, []), want.get(pair, [])
        if len(modes) != len(golden):
            continue
        alike = True
        for mode, (_r, states) in zip(modes, golden, strict=True):
            letters = np.frombuffer(states.encode(), dtype=np.uint8)
            alike &= bool((who[mode] == (letters == ord("1"))).all())
            alike &= bool((out[mode] == ((letters == ord("7")) | (letters == ord("8")))).all())
        if alike:
            same += 1
            gaps = [
                abs(float(got.correlation[m]) - g[0]) for m, g in zip(modes, golden, strict=True)
            ]
            worst = max(worst, *gaps)
    return same / len(pairs), worst


@both_backends
@pytest.mark.parametrize("name", RESULTS)
def test_modes_are_those_of_kinc_on_98_percent_of_pairs(
    shared: Path, backend: str, name: str
) -> None:
    got = kinc_modes(shared, name.split(".")[0], backend, **RESULTS[name])
    share, worst = compare(got, golden_modes(shared, name))
    assert share >= 0.98
    assert worst < 1e-4


@both_backends
@pytest.mark.parametrize("name", ["icl_spearman", "bic_pearson", "defaults"])
def test_recorded_modes_are_those_of_kinc_on_98_percent_of_pairs(backend: str, name: str) -> None:
    how = RESULTS.get(f"synth.{name}", {})
    got = modes_of(recorded_kinc.values(), backend, how)
    share, worst = compare(got, recorded_kinc.modes(name))
    assert share >= 0.98
    assert worst < 1e-4


@both_backends
@pytest.mark.parametrize("name", ["rice300", "synth"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_each_fit_reaches_the_likelihood_of_kinc(
    shared: Path, backend: str, name: str, k: int
) -> None:
    path = shared / "golden/multimodal" / f"{name}.icl_spearman.trace.tsv.gz"
    trace = pd.read_csv(path, sep="\t", header=None, names=TRACE_COLUMNS, usecols=range(9))
    trace = trace[trace["k"] == k].set_index(["y", "x"])
    how = {"min_clusters": k, "max_clusters": k, "min_samples": 1, "min_correlation": 0.0}
    got = kinc_modes(shared, name, backend, outliers_after=False, **how)
    pairs = pd.MultiIndex.from_arrays([got.row, got.column], names=["y", "x"])
    reached = pd.Series(got.log_likelihood, index=pairs, dtype=float)
    reached = reached[~reached.index.duplicated()].reindex(trace.index)
    fitted = trace["success"] == 1
    # A pair has no mode here where its fit failed, or where each mode is constant in a gene.
    assert (fitted == reached.notna()).mean() >= 0.98
    both = fitted & reached.notna()
    gap = (reached - trace["log_likelihood"])[both].abs()
    assert (gap < 0.05).mean() >= 0.98
    assert gap.median() < 0.001


@both_backends
def test_starts_that_collide_hide_the_modes_as_in_kinc(backend: str) -> None:
    # 16838 and 5758 leave the same remainder by 40: both components begin at one sample.
    random = np.random.default_rng(1)
    values = random.normal(size=(2, 40)) + np.repeat([0.0, 20.0], 20)
    genes = np.arange(2)
    how = {"min_samples": 10, "min_correlation": 0.0, "min_clusters": 2, "max_clusters": 2}
    sizes = {}
    for compatibility in ("kinc", "none"):
        chosen = mixture_config(compatibility=compatibility, **how)
        mixtures = pair_mixtures(values, genes.astype(np.uint64), chosen, choose(backend))
        sizes[compatibility] = mixtures.tile(genes, genes, upper=True).n_samples.tolist()
    assert len(sizes["kinc"]) == 1
    assert sizes["kinc"][0] >= 38
    assert len(sizes["none"]) == 2
    assert max(sizes["none"]) <= 20
