"""The modes of pairs found on the GPU are those of the CPU, bit for bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from mixture_modes import assert_same, keys_of, mixture_config
from pairtile.errors import DeviceError
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation import mixtures
from pairtile.methods.multimodal_correlation.mixtures import pair_mixtures

pytestmark = pytest.mark.gpu

EVERY = {"min_samples": 12, "min_correlation": 0.0}
"""Few modes are too small, none is left out for its correlation."""


def table(seed, n_genes, n_samples, missing=0.0, ties=False):
    """Genes with up to three groups of samples, correlated within them."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, (4, n_samples))
    values = random.normal(size=(n_genes, n_samples))
    for i in range(n_genes):
        values[i] *= random.uniform(0.2, 1.0)
        values[i] += group[i % 4] * random.normal(0.0, 3.0) + random.normal() * values[7 * i // 9]
    if ties:  # every other gene is counts, every third has a floor
        values[::2] = np.round(values[::2])
        values[1::3] = np.maximum(values[1::3], np.median(values[1::3]))
    values[random.random(values.shape) < missing] = np.nan
    return values


def modes(backend, values, settings, rows=None, columns=None, keys=None, seed=0):
    keys = keys_of(len(values)) if keys is None else keys
    engine = pair_mixtures(values, keys, settings, choose(backend), seed)
    if rows is None:
        everything = np.arange(len(values))
        return engine.tile(everything, everything, upper=True)
    return engine.tile(np.asarray(rows), np.asarray(columns), upper=False)


def assert_gpu_agrees(values, settings, *tile, **options):
    expected = modes("cpu", values, settings, *tile, **options)
    assert_same(modes("cuda", values, settings, *tile, **options), expected)
    return expected


@pytest.mark.parametrize("compatibility", ["none", "kinc"])
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
@pytest.mark.parametrize(
    ("missing", "ties"), [(0.0, False), (0.1, True)], ids=["complete", "missing and ties"]
)
def test_gpu_agrees_with_cpu(correlation, compatibility, missing, ties):
    settings = mixture_config(correlation=correlation, compatibility=compatibility, **EVERY)
    found = assert_gpu_agrees(table(1, 24, 70, missing, ties), settings)
    assert len(found) > 100
    assert found.histogram_k[2:].sum() > 30


@pytest.mark.parametrize("criterion", ["aic", "bic", "icl"])
@pytest.mark.parametrize("restarts", [1, 7])
def test_every_criterion_and_number_of_restarts(criterion, restarts):
    settings = mixture_config(criterion=criterion, restarts=restarts, **EVERY)
    assert_gpu_agrees(table(2, 16, 61, 0.03), settings, seed=11)


@pytest.mark.parametrize(("fewest", "most"), [(1, 1), (1, 2), (2, 2), (3, 4), (5, 5)])
@pytest.mark.parametrize("compatibility", ["none", "kinc"])
def test_any_range_of_clusters(fewest, most, compatibility):
    settings = mixture_config(
        min_clusters=fewest, max_clusters=most, compatibility=compatibility, **EVERY
    )
    found = assert_gpu_agrees(table(3, 16, 80), settings)
    assert found.histogram_k[1:fewest].sum() == found.histogram_k[most + 1 :].sum() == 0


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("compatibility", ["none", "kinc"])
def test_outliers(before, after, compatibility):
    values = table(4, 16, 90)
    random = np.random.default_rng(5)
    values += np.where(random.random(values.shape) < 0.04, 30 * random.normal(size=90), 0.0)
    settings = mixture_config(
        outliers_before=before, outliers_after=after, compatibility=compatibility, **EVERY
    )
    found = assert_gpu_agrees(values, settings)
    assert found.outliers.any() == (before or after)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 8, 31, 32, 33, 64, 65, 188, 300, 1100, 2050])
def test_any_number_of_samples(n_samples):
    settings = mixture_config(min_samples=2, min_correlation=0.0, max_clusters=3)
    n_genes = 12 if n_samples < 1000 else 5
    assert_gpu_agrees(table(6, n_genes, n_samples, 0.02), settings)


@pytest.mark.parametrize("compatibility", ["none", "kinc"])
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_awkward_genes(correlation, compatibility):
    """Constant, nearly constant, missing, repeated, opposite, tiny, huge and far from 0."""
    values = table(7, 24, 50)
    values[0] = 3.5
    values[1] = np.nan
    values[2, :45] = np.nan
    values[3], values[3, 7] = 1.0, 1.0 + 1e-9
    values[4], values[5] = values[8], -values[8]
    values[6] = 2.0 * values[8] + 1e-4 * values[9]
    values[7] = values[10] * 1e-30
    values[11] = values[10] * 1e30
    values[12] = values[13] + 1e8
    values[14] = np.round(values[15]) * 1e-300
    values[16] = np.where(np.arange(50) < 47, 0.0, values[16])
    values[17] = np.arange(50) % 2
    values[18, 3] = np.inf
    values[19] = np.where(np.arange(50) < 25, 1.0, -1.0)
    settings = mixture_config(
        correlation=correlation,
        compatibility=compatibility,
        min_samples=5,
        min_correlation=0.0,
    )
    found = assert_gpu_agrees(values, settings)
    for name in ("too_few_samples", "constant"):
        assert found.counts[name] > 0, name
    if compatibility == "none":
        assert found.counts["degenerate"] > 0


def test_limits_of_expression():
    settings = mixture_config(min_expression=-1.0, max_expression=4.0, **EVERY)
    found = assert_gpu_agrees(table(8, 14, 90), settings)
    assert found.counts["too_few_samples"] < found.counts["pairs"]
    assert (found.n_usable < 90).all()


@pytest.mark.parametrize(("least", "most"), [(0.5, 1.0), (0.2, 0.7), (1.0, 1.0)])
def test_limits_of_correlation(least, most):
    settings = mixture_config(min_samples=12, min_correlation=least, max_correlation=most)
    found = assert_gpu_agrees(table(9, 20, 60), settings)
    assert found.counts["modes_below"] > 0


def test_rectangles_and_equal_keys():
    values = table(10, 20, 60, 0.05)
    settings = mixture_config(**EVERY)
    assert_gpu_agrees(values, settings, [5, 2, 19], [7, 1, 0, 11])
    equal = np.full(len(values), 3, dtype=np.uint64)
    assert_gpu_agrees(values, settings, [5, 2, 19], [7, 1, 0, 11], keys=equal)


def test_nothing_to_pair():
    settings = mixture_config()
    assert len(assert_gpu_agrees(table(11, 4, 40), settings, [], [1, 2])) == 0
    assert len(assert_gpu_agrees(table(11, 1, 40), settings)) == 0


def test_batches_change_nothing(monkeypatch):
    values = table(13, 30, 60)
    settings = mixture_config(max_clusters=3, **EVERY)
    whole = modes("cuda", values, settings)
    monkeypatch.setattr(mixtures, "MAX_PAIRS", 50)
    assert_same(modes("cuda", values, settings), whole)


def test_batches_are_halved_where_memory_runs_out(monkeypatch):
    import cupy

    values = table(14, 60, 40)
    settings = mixture_config(max_clusters=2, **EVERY)
    whole = modes("cuda", values, settings)
    sizes = []
    batch = mixtures.MixturesCuda._batch

    def counted(self, begin, size):
        sizes.append(size)
        return batch(self, begin, size)

    monkeypatch.setattr(mixtures.MixturesCuda, "_batch", counted)
    pool = cupy.get_default_memory_pool()
    try:
        pool.free_all_blocks()
        pool.set_limit(size=pool.used_bytes() + 96 * 1024)
        again = modes("cuda", values, settings)
    finally:
        pool.set_limit(size=0)
    assert len(sizes) > 2
    assert_same(again, whole)


def test_more_samples_than_shared_memory_holds():
    most = mixtures.most_samples(choose("cuda"))
    assert most >= 2000
    with pytest.raises(DeviceError, match=f"expected at most {most:,}"):
        modes("cuda", np.zeros((2, most + 1)), mixture_config())


@pytest.mark.parametrize("name", ["rice300", "synth"])
@pytest.mark.parametrize("compatibility", ["none", "kinc"])
def test_gpu_agrees_with_cpu_on_golden_input(shared, name, compatibility):
    path = shared / "golden/multimodal/inputs" / f"{name}.emx.txt"
    # Without a field for the row names in its header; synth has one.
    values = pd.read_csv(path, sep="\t", index_col=0).to_numpy(dtype=np.float64)
    settings = mixture_config(min_samples=25, min_correlation=0.0, compatibility=compatibility)
    found = assert_gpu_agrees(values[:120], settings)
    assert found.histogram_k[2:].sum() > 50
