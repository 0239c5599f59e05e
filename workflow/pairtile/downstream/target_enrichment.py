"""Do the predicted targets of a regulator go against it in expression, more than other genes do?

For a regulator m and a set of genes s, the score t(m, s) is the correlation, over samples, of the
profile of m with the mean profile of the genes in s less that of all others. Two nulls are held
against t(m, targets of m):

- samples: the samples of the regulators are exchanged, of all in the same way, against those of the
  genes. Genes keep all that they share. It asks whether the regulator has anything to do with them.
- sets: the sets of the other regulators take the place of its own. They are of the same genes, with
  the same long transcripts and modules, and so ask whether it goes against its own targets rather
  than against genes that are anybody's targets. Regulators whose sets are alike (a family) are no
  comparison for each other.

A regulator that follows a module is strange to the first null whatever its targets are, and one
whose targets lie in a module to the second; so the larger of both p-values counts, as a test of the
union of the two null hypotheses does (Berger 1982, Technometrics 24:295).
"""

from __future__ import annotations

from itertools import repeat
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from pairtile.arrays import BoolArray, Float32Array, Float64Array, Int32Array, IntegerArray
from pairtile.downstream.eigengenes import within_batches
from pairtile.statistics.hidden_factors import Exchange
from pairtile.statistics.ranks import average_ranks
from pairtile.statistics.tail import TAIL_DRAWS, tail_p_values

MIN_FAMILIES = 10
"""Families of sets from which one can be held against the others."""


class TargetEnrichment(NamedTuple):
    """Tests of R regulators, and of all of them together. All p-values are one-sided: small where
    targets go against their regulator.

    each : a row for each regulator: ``r_targets`` and ``r_others``, its mean rank correlation with
        its targets and with other genes; ``score``, t of the regulator with its own set;
        ``p_samples``, ``p_sets``, which is NaN with too few families of sets, and ``p_value``, the
        larger of those that are known.
    together : ``p_samples``, ``p_sets`` and ``p_value`` of the mean over all regulators.
    families : how many families of sets there are.
    """

    each: pd.DataFrame
    together: dict[str, float]
    families: int


def rank_profiles(values: Float64Array, groups: IntegerArray | None = None) -> Float64Array:
    """Ranks of each row with mean 0 and length 1, 0 where missing: float64 (rows, samples).

    groups : batches (samples,), whose means are taken off the ranks. A row that does not change is
    0 throughout.
    """
    ranks = np.empty_like(values, order="C")
    average_ranks(np.ascontiguousarray(values), ranks)
    groups = np.zeros(values.shape[1], dtype=np.int64) if groups is None else groups
    return _unit(np.nan_to_num(within_batches(ranks, groups), copy=False))


def target_enrichment(
    regulators: Float64Array,
    genes: Float64Array,
    targets: BoolArray,
    exchange: Exchange,
    *,
    draws: int = 20_000,
    seed: int = 0,
    inflation: float = 1.0,
) -> TargetEnrichment:
    """Test whether targets are more negatively correlated with their regulators than other genes.

    Parameters
    ----------
    regulators, genes : float64 (R, S), (G, S)
        As ``rank_profiles`` gives them.
    targets : bool (R, G)
        Each regulator has a target, and a gene that is none.
    exchange
        Which samples may be exchanged where regulators have nothing to do with genes.
    draws
        Permutations of samples, and of sets.
    inflation
        Of the variance of a correlation, for degrees of freedom that both tables have lost.
    """
    size = targets.sum(axis=1, keepdims=True)
    in_set = targets.astype(np.float64) @ genes
    mean_others = (genes.sum(axis=0) - in_set) / (targets.shape[1] - size)
    mean_targets = in_set / size
    sets = _unit(mean_targets - mean_others)
    scores = regulators @ sets.T
    own = np.diag(scores).copy()
    random = np.random.Generator(np.random.Philox(key=[seed, 0x74617267]))  # "targ"
    p_samples, all_p_samples = _against_samples(
        regulators, sets, own, exchange, draws, random, np.sqrt(inflation)
    )
    # A number from 0 for each set; sets that are alike, or joined by others, have the same.
    some = targets.astype(np.float32)
    shared = some @ some.T
    # Sets are alike that share half of the genes of either.
    alike = shared >= 0.5 * (np.diag(shared)[:, None] + np.diag(shared) - shared)
    n_families, family = scipy.sparse.csgraph.connected_components(
        scipy.sparse.csr_array(alike), directed=False
    )
    p_sets, all_p_sets = _against_sets(scores, n_families, family, draws, random)
    each = {
        "r_targets": np.einsum("ij,ij->i", regulators, mean_targets),
        "r_others": np.einsum("ij,ij->i", regulators, mean_others),
        "score": own,
        "p_samples": p_samples,
        "p_sets": p_sets,
        "p_value": np.fmax(p_samples, p_sets),
    }
    together = {
        "p_samples": all_p_samples,
        "p_sets": all_p_sets,
        "p_value": float(np.fmax(all_p_samples, all_p_sets)),
    }
    return TargetEnrichment(pd.DataFrame(each), together, int(n_families))


def permuted_correlations(
    regulators: Float64Array, genes: Float64Array, exchange: Exchange, number: int, seed: int = 0
) -> Float32Array:
    """Correlations of regulators with genes whose samples were exchanged against theirs, ascending:
    at least ``number``, of up to ``number`` ** 0.5 regulators and genes each time."""
    random = np.random.Generator(np.random.Philox(key=[seed, 0x70616972]))  # "pair"
    side = int(np.ceil(np.sqrt(number)))
    drawn = random.integers(len(genes), size=side)
    columns = genes[drawn].T
    found = []
    for begin in range(0, side, 1024):
        rows = regulators[random.integers(len(regulators), size=min(1024, side - begin))]
        found.append((exchange.exchanged(rows, random) @ columns).astype(np.float32).ravel())
    return np.sort(np.concatenate(found))


def _unit(rows: Float64Array) -> Float64Array:
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows / np.where(length > 1e-12, length, np.inf)


def _against_samples(
    regulators: Float64Array,
    sets: Float64Array,
    own: Float64Array,
    exchange: Exchange,
    draws: int,
    random: np.random.Generator,
    scale: float,
) -> tuple[Float64Array, float]:
    """p-values of each regulator and of the mean, by exchanged samples."""
    reached, all_reached = np.zeros(own.size, dtype=np.int64), 0
    lowest = np.empty((own.size, 0))
    # Values that are permuted together.
    step = max(1, (1 << 22) // max(1, regulators.size))
    for done in range(0, draws, step):
        order = exchange.orders(min(step, draws - done), random)
        null = scale * np.einsum("rds,rs->rd", regulators[:, order], sets)
        reached += (null <= own[:, None]).sum(axis=1)
        all_reached += int((null.mean(axis=0) <= own.mean()).sum())
        lowest = np.sort(np.hstack([lowest, null]), axis=1)[:, : TAIL_DRAWS + 1]
    p = [
        tail_p_values(*each)
        for each in zip(-own[:, None], reached[:, None], repeat(draws), -lowest)
    ]
    return np.concatenate(p), (1.0 + all_reached) / (1.0 + draws)


def _against_sets(
    scores: Float64Array,
    n_families: int,
    family: Int32Array,
    draws: int,
    random: np.random.Generator,
) -> tuple[Float64Array, float]:
    """p-values of each regulator and of the mean, by the sets of other families.

    Each regulator's scores are set against those that it has with other sets (their mean and
    standard deviation), so that those of all regulators make one null.
    """
    if n_families < MIN_FAMILIES:
        return np.full(len(scores), np.nan), float("nan")
    other = family[:, None] != family[None, :]
    n = other.sum(axis=1, keepdims=True)
    mean = np.where(other, scores, 0.0).sum(axis=1, keepdims=True) / n
    off = scores - mean
    squares = np.where(other, off * off, 0.0).sum(axis=1, keepdims=True)
    # Each by the mean and deviation of those beside it: what is own is no part of either.
    beside = (squares - n / (n - 1) * off * off) / (n - 2)
    z = n / (n - 1) * off / np.sqrt(np.maximum(beside, 1e-12))
    null = np.sort(z[other])
    own_z = np.diag(off) / np.sqrt(np.maximum(squares[:, 0] / (n[:, 0] - 1), 1e-12))
    reached = np.searchsorted(null, own_z, side="right")
    p = tail_p_values(-own_z, reached, null.size, -null[: TAIL_DRAWS + 1])
    p = np.minimum(p, (1.0 + reached) / (1.0 + null.size))  # the tail of a few sets is rough
    # Of all together: families exchange their sets, so that what a family shares stays one case.
    member = (np.arange(n_families)[:, None] == family[None, :]).astype(np.float64)
    member /= member.sum(axis=1, keepdims=True)
    means = member @ (off / np.sqrt(np.maximum(squares / (n - 1), 1e-12))) @ member.T
    places = np.arange(n_families)
    observed = means[places, places].sum()
    orders = random.permuted(np.tile(places, (draws, 1)), axis=1)
    lower = int((means[places, orders].sum(axis=1) <= observed + 1e-12).sum())
    return p, (1.0 + lower) / (1.0 + draws)
