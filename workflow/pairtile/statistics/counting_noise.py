"""Counting noise made equal between groups of samples.

A gene that is read 100 times in each sample of one group and twice in those of another correlates
less with every gene in the second: most of what is seen of it there is counting noise. Its counts
in the first are thinned, each read kept with the same probability, which makes of a Poisson count
that of a smaller mean, and of a negative-binomial one likewise (Gerard 2020, BMC Bioinformatics
21:206). Correlations of both groups are then lowered alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import BoolArray, Float64Array, Int32Array, Int64Array

MIN_GENES, MAX_GENES = 20, 2000
"""That are counted in every sample, for the samples' depths to rest on them; and that they do."""

_DRAWS, _BLOCK_VALUES = 0x7468696E, 1 << 20


class EqualNoise(NamedTuple):
    """``values``: float64 (genes, samples). ``unequal``: bool (genes,), whether counts of the gene
    were thinned, or left out where they say next to nothing."""

    values: Float64Array
    unequal: BoolArray


@dataclass(frozen=True)
class Counts:
    """What the values were made from.

    counts : unsigned integers (genes, samples). depths : float64 (samples,), relative. keys :
    uint64 (genes,), of random draws. effects_removed : whether the values hold less than these
    counts do, so that thinned ones cannot take their place.
    """

    counts: NDArray[np.unsignedinteger]
    depths: Float64Array
    keys: NDArray[np.uint64]
    effects_removed: bool = False

    @classmethod
    def of_state(cls, state: Mapping[str, object]) -> Counts | None:
        """None where values were made from something else, or their counts are not known."""
        if "counts" not in state:
            return None
        counts, removed = np.asarray(state["counts"]), bool(state["effects_removed"])
        keys = np.asarray(state["keys"], dtype=np.uint64)
        return cls(counts, relative_depths(counts), keys, removed)

    def equalised(self, values: Float64Array, genes: Int64Array, codes: Int32Array) -> EqualNoise:
        """Values of genes with as much counting noise in each group of samples, if that can be.

        Parameters
        ----------
        values : float64 (genes, samples)
            What is correlated, NaN where missing.
        genes : int64 (genes,)
            Their rows of the counts.
        codes : int32 (samples,)
            Groups, from 0; -1 for a sample in none.

        Returns
        -------
        EqualNoise
            Genes whose noise is unequal have the logarithm of their thinned counts over the
            samples' depth, NaN in groups where they say next to nothing; the others keep their
            values, and so do all where effects were removed.
        """
        counts, relative = self.counts[genes], np.ones(codes.size)
        for group in range(codes.max(initial=-1) + 1):
            own = codes == group
            relative[own] = self.depths[own] / self.depths[own].mean() if own.any() else 1.0
        missing = np.isnan(values)
        zeros_missing = bool((counts == 0).any() and missing[counts == 0].all())
        if zeros_missing:
            missing &= counts > 0
        kept = np.concatenate(
            [
                _kept_shares(np.where(missing[rows], np.nan, counts[rows]), relative, codes)
                for rows in np.array_split(np.arange(len(values)), 1 + values.size // _BLOCK_VALUES)
            ]
        )
        unequal = np.asarray((np.nan_to_num(kept) < 1.0).any(axis=1))
        if self.effects_removed:
            return EqualNoise(values, unequal)
        out = values.copy()
        for gene in np.flatnonzero(unequal):
            share = np.where(codes >= 0, kept[gene][codes], 1.0)
            random = np.random.default_rng([int(self.keys[genes[gene]]), _DRAWS])
            thinned = random.binomial(counts[gene].astype(np.int64), np.nan_to_num(share))
            unknown = missing[gene] | np.isnan(share) | (zeros_missing & (thinned == 0))
            out[gene] = np.where(unknown, np.nan, np.log2(thinned / relative + 1.0))
        return EqualNoise(out, unequal)


def name_keys(names: Sequence[str]) -> NDArray[np.uint64]:
    """A number for each name, uint64 (names,), that depends on nothing but the name."""
    digests = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def relative_depths(counts: NDArray[np.unsignedinteger]) -> Float64Array:
    """Size factors of samples (samples,), by the median of ratios over genes that are counted in
    every sample (Anders and Huber 2010); their totals where these are fewer than 20."""
    complete = np.flatnonzero((counts > 0).all(axis=1))
    if complete.size < MIN_GENES:
        return np.maximum(counts.sum(axis=0, dtype=np.float64), 1.0)
    logs = np.log(counts[complete[:: -(-complete.size // MAX_GENES)]].astype(np.float64))
    return np.asarray(np.exp(np.median(logs - logs.mean(axis=1, keepdims=True), axis=0)))


def _kept_shares(counts: Float64Array, relative: Float64Array, groups: Int32Array) -> Float64Array:
    """With which probability a read of a gene is kept in each group, float64 (genes, groups): 1
    where noise is equal, NaN where the counts say next to nothing.

    A log-normal rate of mean m and squared coefficient of variation c^2 has the variance
    v = log(1 + c^2) on the logarithmic scale, and the median m / sqrt(1 + c^2), at which counting
    adds the variance sqrt(1 + c^2) / m: the rate has the share h / (1 + h) of the whole,
    h = m v / sqrt(1 + c^2), and correlations are lowered by its root. (Ranks of simulated counts
    are lowered alike where h is the same, to 20 % of h for v from 0.1 to 2.)
    """
    n_groups = groups.max(initial=-1) + 1
    shape = (len(counts), n_groups)
    n, mean, mean_error = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    spread, spread_error = np.zeros(shape), np.zeros(shape)
    for group in range(n_groups):
        own = groups == group
        reads, depth = counts[:, own], relative[own]
        seen = ~np.isnan(reads)
        n[:, group] = size = np.maximum(seen.sum(axis=1), 2)
        reads = np.where(seen, reads, 0.0)
        m = reads.sum(axis=1) / size
        mean[:, group] = m
        mean_error[:, group] = (np.where(seen, reads - m[:, None], 0.0) ** 2).sum(axis=1) / size**2
        rate = reads / depth
        middle = rate.sum(axis=1) / size
        squares = np.where(seen, rate - middle[:, None], 0.0) ** 2
        variance = squares.sum(axis=1) / (size - 1)
        noise = (rate / depth).sum(axis=1) / size
        fourth = np.where(seen, squares - variance[:, None], 0.0) ** 2
        scale = np.maximum(middle, 1e-12) ** 2
        spread[:, group] = np.where(middle > 0.0, (variance - noise) / scale, 0.0)
        spread_error[:, group] = fourth.sum(axis=1) / size**2 / scale**2
    # A spread that is too small by chance has too small an error with it: the largest counts.
    spread_error[:] = spread_error.max(axis=1, keepdims=True, initial=0.0)
    signal = _alike(mean, mean_error, n)
    ratio = 1.0 + np.maximum(_alike(spread, spread_error, n * mean**2), 0.0)
    signal *= np.log(ratio) / np.sqrt(ratio)
    # Below a tenth of the variance, next to no correlation is left to compare.
    says = signal / (1.0 + signal) >= 0.1
    some = says.any(axis=1, keepdims=True)
    low = np.where(says, signal, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    low = np.where(some, low, 0.0)
    kept = np.where(says, low / np.where(says, signal, 1.0), np.nan)
    least = np.where(says, kept, 1.0).min(axis=1, keepdims=True, initial=1.0)
    # By how much the logarithm of a correlation differs between the least and the most noise.
    shift = -0.5 * np.log((least + low) / (1.0 + low))
    standard_error = 2.0 / np.sqrt((groups >= 0).sum())
    # Two genes whose unequal noise moves Fisher's z so far at r = 0.6 make 5.4 % false calls in
    # place of 5 %.
    differs = (shift > 0.1 * standard_error) | ~says.all(axis=1, keepdims=True)
    return np.where(some & differs, kept, 1.0)


def _alike(found: Float64Array, error: Float64Array, weight: Float64Array) -> Float64Array:
    """Estimates of groups (genes, groups), with squared standard errors; their mean where they
    differ no more than by chance."""
    total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
    pooled = (weight * found).sum(axis=1, keepdims=True) / total
    square = ((found - pooled) ** 2 / np.maximum(error, 1e-12)).sum(axis=1, keepdims=True)
    # A smaller difference is chance, and thinning for it would waste reads.
    return np.where(square > 2.0 * (found.shape[1] - 1), found, pooled)
