"""What must not change the modes of a pair: scale, order, tiles, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backends import both_backends
from mixture_modes import assert_same, keys_of, mixed_table, mixture_config, modes_of
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.mixtures import Modes, pair_mixtures


@both_backends
def test_scale_and_shift_of_genes_change_no_mode(backend: str) -> None:
    values = mixed_table(4)
    plain = modes_of(values, backend)
    by_two = modes_of(values * np.ldexp(1.0, np.arange(len(values)) * 40 - 300)[:, None], backend)
    np.testing.assert_array_equal(plain.samples, by_two.samples)
    np.testing.assert_array_equal(plain.correlation, by_two.correlation)
    np.testing.assert_array_equal(plain.log_likelihood, by_two.log_likelihood)
    factors = 10.0 ** np.linspace(-30, 30, len(values))
    for changed in (values * factors[:, None], values * 3.7 - 1e4):
        other = modes_of(changed, backend)
        assert plain.counts["modes_kept"] == pytest.approx(other.counts["modes_kept"], rel=0.03)
        found = {(*place, who.tobytes()) for *place, who in _entries(plain)}
        again = {(*place, who.tobytes()) for *place, who in _entries(other)}
        assert len(found & again) >= 0.95 * len(found)


def _entries(modes: Modes) -> Any:
    return zip(modes.row.tolist(), modes.column.tolist(), modes.samples, strict=True)


@both_backends
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_order_of_genes_changes_nothing(backend: str, correlation: str) -> None:
    values, keys = mixed_table(5), keys_of(16)
    order = np.random.default_rng(1).permutation(len(values))
    plain = modes_of(values, backend, keys, correlation=correlation)
    mixed = modes_of(values[order], backend, keys[order], correlation=correlation)
    row, column = order[mixed.row], order[mixed.column]
    swapped = row > column
    place = np.lexsort([mixed.cluster, np.maximum(row, column), np.minimum(row, column)])
    assert plain.counts == mixed.counts
    np.testing.assert_array_equal(plain.row, np.minimum(row, column)[place])
    np.testing.assert_array_equal(plain.column, np.maximum(row, column)[place])
    for name in ("cluster", "samples", "outliers", "correlation", "log_likelihood", "covariance"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(mixed, name)[place])
    for name in ("mean", "variance"):
        first, second = getattr(mixed, f"{name}_i"), getattr(mixed, f"{name}_j")
        of_row = np.where(swapped, second, first)[place]
        np.testing.assert_array_equal(getattr(plain, f"{name}_i"), of_row)


@both_backends
@pytest.mark.parametrize("compatibility", ["none", "kinc"])
def test_tiles_of_any_shape_give_the_same_modes(backend: str, compatibility: str) -> None:
    values, keys = mixed_table(6), keys_of(16)
    chosen = mixture_config(compatibility, min_samples=5, min_correlation=0.0)
    mixtures = pair_mixtures(values, keys, chosen, choose(backend))
    genes = np.arange(16)
    whole = mixtures.tile(genes, genes, upper=True)
    parts = [
        (0, 0, mixtures.tile(genes[:6], genes[:6], upper=True)),
        (0, 6, mixtures.tile(genes[:6], genes[6:], upper=False)),
        (6, 6, mixtures.tile(genes[6:], genes[6:], upper=True)),
    ]
    row = np.concatenate([first + part.row for first, _, part in parts])
    column = np.concatenate([second + part.column for _, second, part in parts])
    cluster = np.concatenate([part.cluster for *_, part in parts])
    place = np.lexsort([cluster, column, row])
    np.testing.assert_array_equal(whole.row, row[place])
    np.testing.assert_array_equal(whole.column, column[place])
    for name in ("n_modes", "correlation", "samples", "mean_i", "criterion"):
        joined = np.concatenate([getattr(part, name) for *_, part in parts])[place]
        np.testing.assert_array_equal(getattr(whole, name), joined)
    assert {
        name: sum(part.counts[name] for *_, part in parts) for name in whole.counts
    } == whole.counts
    assert (sum(part.histogram_k for *_, part in parts) == whole.histogram_k).all()
    assert (sum(part.histogram_r for *_, part in parts) == whole.histogram_r).all()


def test_threads_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = mixed_table(7)
    monkeypatch.setattr("numba.get_num_threads", lambda: 1)
    one = modes_of(values)
    monkeypatch.setattr("numba.get_num_threads", lambda: 4)
    monkeypatch.setattr("pairtile.methods.multimodal_correlation.mixtures.BLOCK", 7)
    assert_same(one, modes_of(values))
