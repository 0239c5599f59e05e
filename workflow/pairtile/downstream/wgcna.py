"""Modules as WGCNA's blockwiseModules finds them, in one block of any size.

Langfelder and Horvath 2008 (BMC Bioinformatics 9:559): topological overlap, average linkage and a
dynamic tree cut; then genes far from their module's eigengene leave it, genes that are much nearer
to another go there, and modules with close eigengenes are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import erfc

from pairtile.arrays import Float64Array, Int32Array
from pairtile.downstream.eigengenes import correlations, eigengenes, standardise
from pairtile.downstream.topological_overlap import (
    Adjacency,
    NetworkType,
    average_linkage,
    overlap_distances,
    soft_power,
)
from pairtile.downstream.tree_cut import by_size, cut_tree
from pairtile.gpu.device import Device

Labels = Int32Array

MIN_KME_OF_CORE = 0.5
"""kME that a third of ``min_size`` genes of a module must have."""

MIN_KME = {False: 0.3, True: 0.2}
"""kME below which a gene leaves its module; of one table, and in the least of several."""

MAX_RATIO_TO_MOVE = 1e-6
"""p of kME in another module over p in its own, below which a gene moves there."""


@dataclass(frozen=True)
class WgcnaSettings:
    """power : None: chosen by the scale-free fit. min_size : None: 20, or half of fewer genes.
    cut_height, deep_split : of the tree. merge_height : 1 - r of eigengenes below which modules
    become one."""

    power: float | None = None
    network_type: NetworkType = "unsigned"
    min_size: int | None = None
    cut_height: float = 0.995
    deep_split: int = 2
    merge_height: float = 0.15

    def size_of(self, n_genes: int) -> int:
        return self.min_size or max(2, min(20, n_genes // 2))


class WgcnaModules(NamedTuple):
    """labels : module of each gene, 1 the largest, 0 none. power : that was taken. fitted : whether
    it was given, or made the network scale-free."""

    labels: Labels
    power: float
    fitted: bool


def wgcna_modules(values: Float64Array, settings: WgcnaSettings, device: Device) -> WgcnaModules:
    """Modules of the genes of a table.

    values : float64 (genes, samples), NaN where missing.
    """
    adjacency = Adjacency(values, settings.network_type, device)
    chosen = soft_power(adjacency) if settings.power is None else None
    power = chosen.power if chosen else float(settings.power or 1)
    distances = overlap_distances(adjacency, power)
    labels = modules_of_distances(distances, [values], settings)
    return WgcnaModules(labels, power, chosen is None or chosen.fitted)


def modules_of_distances(
    distances: NDArray[np.floating], tables: Sequence[Float64Array], settings: WgcnaSettings
) -> Labels:
    """From distances of genes (condensed) to modules; the tables, of the same genes, are those
    that eigengenes must be close in to merge, all of them."""
    n = len(tables[0])
    min_size = settings.size_of(n)
    tree = average_linkage(distances.copy(), n)
    labels = cut_tree(
        tree,
        distances,
        cut_height=settings.cut_height,
        deep_split=settings.deep_split,
        min_size=min_size,
    )
    standard = [standardise(table) for table in tables]
    signed = settings.network_type != "unsigned"
    labels = _refine(tables, standard, labels, min_size, signed)
    return _merge(standard, labels, settings.merge_height)


def _refine(
    tables: Sequence[Float64Array],
    standard: Sequence[Float64Array],
    labels: Labels,
    min_size: int,
    sign: bool,
) -> Labels:
    """Without modules that have no core and genes that are far from their eigengene; then genes go
    to the module in which their kME is far more significant. As in WGCNA, kME is that of the
    modules before (with several tables the least of all), its p Fisher's, and sizes are not looked
    at again.

    sign : whether kME has one; not in an unsigned network.
    """
    found = [
        correlations(table, eigengenes(z, labels))
        for table, z in zip(tables, standard, strict=True)
    ]
    kme = np.min([each if sign else np.abs(each) for each in found], axis=0)
    labels = labels.copy()
    for module in range(1, kme.shape[1] + 1):
        genes = np.flatnonzero(labels == module)
        own = kme[genes, module - 1]
        labels[genes[own < MIN_KME[len(tables) > 1]]] = 0
        no_core = (own > MIN_KME_OF_CORE).sum() < min_size / 3
        if no_core or (labels == module).sum() < min_size:
            labels[genes] = 0
            kme[:, module - 1] = -1.0
    genes = np.flatnonzero(labels)
    if genes.size:
        n = min(table.shape[1] for table in tables)
        own, best = kme[genes, labels[genes] - 1], kme[genes].max(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = _fisher_p(best, n) / _fisher_p(own, n)
            moves = (own < best) & (ratio < MAX_RATIO_TO_MOVE)
        labels[genes[moves]] = kme[genes].argmax(axis=1)[moves] + 1
    return by_size(labels)


def _fisher_p(r: Float64Array, n: int) -> Float64Array:
    with np.errstate(divide="ignore"):
        return np.asarray(erfc(np.abs(np.arctanh(r)) * np.sqrt(max(n - 3, 1) / 2)))


def _merge(standard: Sequence[Float64Array], labels: Labels, height: float) -> Labels:
    """Modules whose eigengenes are close in all tables become one, until none are."""
    while (n := int(labels.max(initial=0))) > 1:
        apart = np.max([1 - np.corrcoef(eigengenes(z, labels)) for z in standard], axis=0)
        apart = (apart + apart.T) / 2
        np.fill_diagonal(apart, 0.0)
        tree = linkage(squareform(apart, checks=False), method="average")
        joined = fcluster(tree, height, criterion="distance")
        if joined.max() == n:
            break
        labels = by_size(np.concatenate([[0], joined])[labels])
    return labels
