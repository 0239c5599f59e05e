"""Clusters of a tree by the shape of its branches: Dynamic Hybrid tree cut.

After Langfelder, Zhang and Horvath 2008 (Bioinformatics 24:719 and its supplement). Merges are
followed from the leaves up. A branch is a cluster where it is large enough, its core is tight and
the gap between its core and the height at which it joins another is wide; a branch that is not
joins the other. Genes that are in no cluster then go to the nearest one below them in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from pairtile.arrays import Float64Array, FloatingArray, Int32Array, Int64Array
from pairtile.cpu.njit import njit
from pairtile.downstream.topological_overlap import place_of
from pairtile.statistics.modules import renumbered_by_size


@dataclass
class _Branch:
    """genes : joined to it one by one, or with a branch that was no cluster; the first are its
    core. below : numbers of the simple branches under a composite one. ends : the height at which
    it met another. absorbed : it was no cluster there; too_small : only for its size."""

    genes: list[int]
    size: int
    below: list[int] = field(default_factory=list)
    simple: bool = True
    absorbed: bool = False
    ends: float = np.inf
    too_small: bool = False


class _Cut:
    """One pass over the merges of a tree."""

    def __init__(
        self, distances: FloatingArray, n: int, scatter: float, gap: float, min_size: int
    ) -> None:
        self.distances, self.n = distances, n
        self.scatter, self.gap, self.min_size = scatter, gap, min_size
        self.branches: list[_Branch] = []
        self.composite_of = np.full(n, -1)

    def core_scatter(self, branch: _Branch) -> float:
        """Mean distance of the genes of its core, which are the first that joined."""
        base, size = self.min_size / 2 + 1, len(branch.genes)
        core = np.array(branch.genes[: int(base + sqrt(size - base)) if base < size else size])
        apart = _summed_distances(self.distances, self.n, core, core)
        return float(apart.sum() / (core.size * (core.size - 1)))

    def fails(self, branch: _Branch, height: float) -> tuple[bool, bool]:
        """Whether a branch is no cluster where it joins another, and whether only for its size."""
        if not branch.simple:
            return False, False
        scatter = self.core_scatter(branch)
        shape = scatter > self.scatter or height - scatter < self.gap
        return shape or branch.size < self.min_size, not shape

    def is_cluster(self, branch: _Branch, ends: float) -> bool:
        if not branch.simple or branch.absorbed or branch.size < self.min_size:
            return False
        scatter = self.core_scatter(branch)
        return scatter < self.scatter and ends - scatter > self.gap

    def join(self, one: int, other: int, height: float) -> int:
        """The branch that two become."""
        small, large = sorted((one, other), key=lambda number: self.branches[number].size)
        fails, too_small = self.fails(self.branches[small], height)
        if not fails:
            fails, too_small = self.fails(self.branches[large], height)
            if fails:
                small, large = large, small
        lost, kept = self.branches[small], self.branches[large]
        lost.ends = height
        if fails:
            lost.absorbed, lost.too_small = True, too_small
            kept.size += lost.size
            if kept.simple:
                kept.genes.extend(lost.genes)
            else:
                self.composite_of[lost.genes] = large
            return large
        kept.ends = height
        below = [
            number
            for branch in (small, large)
            for number in (
                [branch] if self.branches[branch].simple else self.branches[branch].below
            )
        ]
        self.branches.append(_Branch([], lost.size + kept.size, below, simple=False))
        return len(self.branches) - 1


def cut_tree(
    tree: Float64Array,
    distances: FloatingArray,
    *,
    cut_height: float = 0.995,
    deep_split: int = 2,
    min_size: int = 20,
) -> Int32Array:
    """Cluster of each leaf: 1 is the largest, 0 is none.

    Parameters
    ----------
    tree : float64 array, shape (leaves - 1, 4)
        As ``average_linkage`` gives it.
    distances : array, shape (leaves * (leaves - 1) / 2,)
        The distances that it was made of, condensed.
    cut_height : float
        Branches do not reach above it, nor above the highest merge.
    deep_split : int
        From 0 (few, large clusters) to 4 (many, small ones).
    min_size : int
        Leaves of a cluster, at least 2.
    """
    n = len(tree) + 1
    heights = tree[:, 2]
    # Shares of heights are measured from the quantile 0.05.
    reference = heights[max(1, round(0.05 * (n - 1))) - 1]
    cut = min(cut_height, heights[-1])
    # Largest mean distance in a core by ``deep_split``, as a share of the heights that are cut.
    share = (0.64, 0.73, 0.82, 0.91, 0.95)[deep_split]
    if (heights <= cut).sum() < min_size:
        return np.zeros(n, dtype=np.int32)
    scatter = reference + share * (cut - reference)
    gap = (1 - share) * 3 / 4 * (cut - reference)
    found = _Cut(distances, n, scatter, gap, min_size)
    branch_of = np.full(n - 1, -1)
    for row in range(int((heights <= cut).sum())):
        one, other = int(tree[row, 0]), int(tree[row, 1])
        if other < n:
            found.branches.append(_Branch([one, other], 2))
            branch_of[row] = len(found.branches) - 1
        elif one < n:
            branch_of[row] = number = int(branch_of[other - n])
            branch = found.branches[number]
            branch.size += 1
            if branch.simple:
                branch.genes.append(one)
            else:
                found.composite_of[one] = number
        else:
            branch_of[row] = found.join(
                int(branch_of[one - n]), int(branch_of[other - n]), float(heights[row])
            )
    return renumbered_by_size(_assign(found, cut))


def _assign(cut: _Cut, height: float) -> Int64Array:
    """Label the clusters, then give the genes that are left to the nearest below them."""
    n, distances = cut.n, cut.distances
    labels = np.zeros(n, dtype=np.int64)
    label_of = np.zeros(len(cut.branches), dtype=np.int64)
    small = np.zeros(n, dtype=np.int64)
    for number, branch in enumerate(cut.branches):
        if branch.too_small:
            small[branch.genes] = number + 1
        if cut.is_cluster(branch, min(branch.ends, height)):
            label_of[number] = label_of.max() + 1
            labels[branch.genes] = label_of[number]
    small[labels > 0] = 0
    n_labels = int(label_of.max(initial=0))
    if not n_labels or (labels > 0).all():
        return labels
    members = [np.flatnonzero(labels == label) for label in range(n_labels + 1)]
    # Largest mean distance of a gene of a cluster to the others.
    diameters = [
        _summed_distances(distances, n, genes, genes).max(initial=0.0) / max(genes.size - 1, 1)
        for genes in [members[0][:0], *members[1:]]
    ]

    def nearest(genes: Int64Array, composite: int) -> int:
        below = cut.branches[composite].below if composite >= 0 else []
        near = sorted({int(label_of[number]) for number in below} - {0})
        means = [
            _summed_distances(distances, n, genes, members[label]).sum()
            / (genes.size * members[label].size)
            for label in near
        ]
        best = int(np.argmin(means)) if near else -1
        return near[best] if near and means[best] < max(diameters[near[best]], height) else 0

    for number in np.unique(small[small > 0]):
        genes = np.flatnonzero(small == number)
        labels[genes] = nearest(genes, int(cut.composite_of[genes[0]])) or -1
    for gene in np.flatnonzero(labels == 0):
        labels[gene] = nearest(np.array([gene]), int(cut.composite_of[gene]))
    return np.maximum(labels, 0)


@njit(nogil=True)
def _summed_distances(d, n, some, others):  # type: ignore[no-untyped-def]
    """Of each of some genes to all of the others; d: condensed distances of n genes."""
    found = np.zeros(some.size)
    for k in range(some.size):
        for other in others:
            if some[k] != other:
                found[k] += d[place_of(some[k], other, n)]
    return found
