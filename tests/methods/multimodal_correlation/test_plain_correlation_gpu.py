"""What only the GPU does in plain correlation: many samples, little memory, the CPU's very bits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from mixture_modes import mixture_config
from pairtile.errors import DeviceError
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.plain_correlation import PlainCorrelation
from pairtile.methods.multimodal_correlation.plain_correlation_cuda import CudaBlocks

pytestmark = pytest.mark.gpu


def table(genes, samples, missing, seed=0):
    """Genes that share two factors, some with ties, some complete, one constant."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((genes, samples))
    values += random.standard_normal((genes, 2)) @ random.standard_normal((2, samples))
    values[::5] = np.round(2.0 * values[::5])
    values[1] = 3.0
    holes = random.random(values.shape) < missing
    holes[::3] = False
    values[holes] = np.nan
    return values


def modes_of(values, backend, correlation, outliers, **changes):
    wanted = mixture_config(
        clustering="none",
        correlation=correlation,
        outliers_before=outliers,
        **{"min_correlation": 0.2, **changes},
    )
    every = np.arange(len(values))
    return PlainCorrelation(values, wanted, choose(backend)).tile(every, every, True)


def assert_same(found, expected, exact):
    """All integers equal; correlations and moments equal, or to the last bits of float32."""
    for field in dataclasses.fields(expected):
        a, b = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(b, dict):
            assert a == b
            continue
        assert a.dtype == b.dtype
        if b.dtype == np.float32 and not (exact and field.name == "correlation"):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=2e-7, err_msg=field.name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("outliers", [False, True], ids=["", "outliers"])
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_gpu_agrees_with_cpu(kind, outliers, missing):
    """Spearman's r bit for bit: it comes from sums of whole numbers."""
    values = table(300, 211, missing)
    expected = modes_of(values, "cpu", kind, outliers)
    assert 1000 < len(expected) < 40_000
    assert_same(modes_of(values, "cuda", kind, outliers), expected, kind == "spearman")


@pytest.mark.parametrize("samples", [3_100, 3_400, 12_000, 100_000])
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_many_samples(kind, samples):
    """Sums of 32 and of 64 bits, fewer warps, numbers of samples beyond 16 bits, more memory."""
    values = table(12, samples, 0.05)
    expected = modes_of(values, "cpu", kind, True)
    assert_same(modes_of(values, "cuda", kind, True), expected, kind == "spearman")


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_little_memory_makes_small_blocks_and_batches(kind, monkeypatch):
    values = table(90, 64, 0.05)
    expected = modes_of(values, "cuda", kind, True)
    begin = CudaBlocks.__init__

    def little(self, *arguments):
        begin(self, *arguments)
        self.cells, self._batch = 700, 33

    monkeypatch.setattr(CudaBlocks, "__init__", little)
    assert_same(modes_of(values, "cuda", kind, True), expected, exact=True)


def test_more_samples_than_a_pair_has_room_for_is_a_clear_error():
    with pytest.raises(DeviceError, match=r"found 400000 samples.*backend: cpu"):
        modes_of(np.zeros((2, 400_000)), "cuda", "spearman", True)
