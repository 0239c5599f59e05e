"""Modules as WGCNA's blockwiseModules finds them, in one block of any size.

Langfelder and Horvath 2008 (BMC Bioinformatics 9:559): topological overlap, average linkage and a
dynamic tree cut; then genes far from their module's eigengene leave it, genes that are much nearer
to another go there, and modules with close eigengenes are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from pairtile.arrays import Float64Array, FloatingArray, Int32Array
from pairtile.config.modules import GeneModulesConfig
from pairtile.downstream.eigengenes import correlations, eigengenes, standardise
from pairtile.downstream.topological_overlap import (
    Adjacency,
    average_linkage,
    overlap_distances,
    soft_power,
)
from pairtile.downstream.tree_cut import cut_tree
from pairtile.gpu.device import Device
from pairtile.runtime.files import kept_arrays
from pairtile.runtime.record import doing
from pairtile.statistics.modules import renumbered_by_size


@dataclass(frozen=True)
class FoundModules:
    """labels : int32 (genes,), 1 the largest, 0 none. p_values : of each module; NaN where none was
    asked for. removed : genes of each module that was no more than noise. power : of ``wgcna``.
    fitted : whether it was given, or made the network scale-free."""

    labels: Int32Array
    p_values: Float64Array
    removed: tuple[int, ...] = ()
    power: float = np.nan
    fitted: bool = True


def search_seconds(genes: int, threads: int) -> float:
    """What ``wgcna_modules`` takes: products of adjacencies, by all threads; powers and tree."""
    return 1.1e-11 * genes**3 / threads + 3.4e-8 * genes**2


def power_of(adjacency: Adjacency, config: GeneModulesConfig) -> tuple[float, bool]:
    """The power that is asked for or chosen, and whether it was given or fits (``soft_power``)."""
    if config.power != "auto":
        return float(config.power), True
    return soft_power(adjacency)[:2]


def wgcna_modules(
    values: Float64Array, config: GeneModulesConfig, device: Device, folder: Path | None = None
) -> FoundModules:
    """Modules of the genes of a table, without p-values.

    values : float64 (genes, samples), NaN where missing. folder : where they are kept, for a search
    that is ended before its p-values are known.
    """

    def search() -> dict[str, Float64Array]:
        adjacency = Adjacency(values, config.network_type, device)
        chosen = power_of(adjacency, config)
        labels = modules_of_distances(overlap_distances(adjacency, chosen[0]), [values], config)
        return {"labels": labels.astype(np.float64), "power": np.array(chosen, dtype=np.float64)}

    found = kept_arrays(folder, "wgcna", search)
    labels, (power, fitted) = found["labels"].astype(np.int32), found["power"].tolist()
    nothing = np.full(int(labels.max(initial=0)), np.nan)
    return FoundModules(labels, nothing, power=power, fitted=bool(fitted))


def modules_of_distances(
    distances: FloatingArray, tables: Sequence[Float64Array], config: GeneModulesConfig
) -> Int32Array:
    """From distances of genes (condensed) to modules; the tables, of the same genes, are those
    that eigengenes must be close in to merge, all of them."""
    n = len(tables[0])
    min_size = max(2, min(20, n // 2)) if config.min_size == "auto" else config.min_size
    doing(f"join {n:,} genes in a tree")
    tree = average_linkage(distances.copy(), n)
    labels = cut_tree(
        tree,
        distances,
        cut_height=config.cut_height,
        deep_split=config.deep_split,
        min_size=min_size,
    )
    standard = [standardise(table) for table in tables]
    signed = config.network_type != "unsigned"
    labels = _refine(tables, standard, labels, min_size, signed)
    # Modules whose eigengenes are close in all tables become one, until none are.
    while (count := int(labels.max(initial=0))) > 1:
        apart = np.max([1 - np.corrcoef(eigengenes(z, labels)[0]) for z in standard], axis=0)
        apart = (apart + apart.T) / 2
        np.fill_diagonal(apart, 0.0)
        merges = scipy.cluster.hierarchy.linkage(
            scipy.spatial.distance.squareform(apart, checks=False), method="average"
        )
        joined = scipy.cluster.hierarchy.fcluster(merges, config.merge_height, criterion="distance")
        if joined.max() == count:
            break
        labels = renumbered_by_size(np.concatenate([[0], joined])[labels])
    return labels


def _refine(
    tables: Sequence[Float64Array],
    standard: Sequence[Float64Array],
    labels: Int32Array,
    min_size: int,
    sign: bool,
) -> Int32Array:
    """Without modules that have no core and genes that are far from their eigengene; then genes go
    to the module in which their kME is far more significant. As in WGCNA, kME is that of the
    modules before (with several tables the least of all), its p Fisher's, and sizes are not looked
    at again.

    sign : whether kME has one; not in an unsigned network.
    """
    found = [
        correlations(table, eigengenes(z, labels)[0])
        for table, z in zip(tables, standard, strict=True)
    ]
    kme = np.min([each if sign else np.abs(each) for each in found], axis=0)
    labels = labels.copy()
    for module in range(1, kme.shape[1] + 1):
        genes = np.flatnonzero(labels == module)
        own = kme[genes, module - 1]
        # The least kME of several tables is lower than that of one.
        labels[genes[own < (0.2 if len(tables) > 1 else 0.3)]] = 0
        no_core = (own > 0.5).sum() < min_size / 3
        if no_core or (labels == module).sum() < min_size:
            labels[genes] = 0
            kme[:, module - 1] = -1.0
    genes = np.flatnonzero(labels)
    if genes.size:
        n = min(table.shape[1] for table in tables)
        own, best = kme[genes, labels[genes] - 1], kme[genes].max(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = _fisher_p(best, n) / _fisher_p(own, n)
            moves = (own < best) & (ratio < 1e-6)  # far more significant
        labels[genes[moves]] = kme[genes].argmax(axis=1)[moves] + 1
    return renumbered_by_size(labels)


def _fisher_p(r: Float64Array, n: int) -> Float64Array:
    with np.errstate(divide="ignore"):
        return np.asarray(scipy.special.erfc(np.abs(np.arctanh(r)) * np.sqrt(max(n - 3, 1) / 2)))
