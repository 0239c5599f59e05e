"""Whether modules of one table are modules of another, and modules that several tables share.

Preservation: Langfelder, Luo, Oldham and Horvath 2011 (PLoS Comput Biol 7:e1001057); observed
statistics are those of WGCNA's modulePreservation, and their Z by random sets of as many genes of
the other table. Consensus: Langfelder and Horvath 2007 (BMC Syst Biol 1:54).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pairtile.arrays import Float64Array, FloatingArray, Int32Array, Int64Array
from pairtile.config.modules import GeneModulesConfig
from pairtile.config.preprocess import TableAnalysis
from pairtile.declare.messages import messages_of
from pairtile.downstream.eigengenes import correlations, eigengene, standardise
from pairtile.downstream.given import (
    MIN_GENES,
    MISSING_GENES,
    Given,
    read_other_samples,
)
from pairtile.downstream.topological_overlap import (
    Adjacency,
    NetworkType,
    overlap_distances,
)
from pairtile.downstream.wgcna import modules_of_distances, power_of
from pairtile.engine.estimator import TableSummary
from pairtile.errors import InputError
from pairtile.gpu.device import Device

message = messages_of(__package__)

FILE, PRESERVED, WELL = "module_preservation.tsv", 2.0, 10.0
"""The table, and Z above which there is a sign that a module is kept, and that it is kept well."""

DENSITY = ("variance_explained", "mean_kme", "mean_correlation", "mean_adjacency")
CONNECTIVITY = ("connectivity_correlation", "kme_correlation", "correlation_correlation")


def preservation_table(
    reference: Float64Array,
    test: Float64Array,
    labels: Int32Array,
    *,
    power: float,
    network_type: NetworkType,
    device: Device,
    permutations: int = 200,
    seed: int = 1,
) -> pd.DataFrame:
    """How well each module of the reference is kept in the other table.

    Parameters
    ----------
    reference, test : float64 array, shape (genes, samples of each)
        The same genes in the same order, NaN where missing.
    labels : int32 array, shape (genes,)
        Modules of the reference, 0 for none; these genes stay among those drawn at random.
    power, network_type
        Of the adjacency of both.
    permutations : int
        Random sets of genes for each size of a module.
    seed : int
        The same seed, the same sets.

    Returns
    -------
    DataFrame
        ``module``, ``n_genes``, the observed statistics of the test table (``DENSITY`` and
        ``CONNECTIVITY``), ``z_density`` and ``z_connectivity`` (medians of their Z), ``z_summary``
        (their mean; below 2: not preserved, above 10: strongly, in the paper's words) and
        ``p_value``: the share of random sets with as large a ``z_summary``.
    """

    def measures(table: tuple[Float64Array, Float64Array], genes: Int64Array) -> _Measures:
        values, z = (part[genes] for part in table)
        few, every = Adjacency(values, network_type, device), slice(0, genes.size)
        r = device.to_host(few.correlations(every))
        adjacency = np.abs(device.to_host(few.rows(every, power)))
        upper = np.triu_indices(genes.size, 1)
        kme = correlations(values, eigengene(z)[0][None])[:, 0]
        return r[upper], adjacency[upper], adjacency.sum(axis=1), kme

    own_table, other_table = ((values, standardise(values)) for values in (reference, test))
    rows = []
    for module in range(1, int(labels.max(initial=0)) + 1):
        genes = np.flatnonzero(labels == module)
        if genes.size < 3:
            continue
        rng = np.random.default_rng([seed, module])
        own = measures(own_table, genes)
        sets = [genes, *(rng.permutation(len(test))[: genes.size] for _ in range(permutations))]
        found = np.array([_statistics(own, measures(other_table, drawn)) for drawn in sets])
        spread = found[1:].std(axis=0, ddof=1)
        z = (found - found[1:].mean(axis=0)) / np.where(spread > 0, spread, np.inf)
        density = np.median(z[:, : len(DENSITY)], axis=1)
        connectivity = np.median(z[:, len(DENSITY) :], axis=1)
        summary = (density + connectivity) / 2
        p = (1 + (summary[1:] >= summary[0]).sum()) / (1 + permutations)
        rows.append((module, genes.size, *found[0], density[0], connectivity[0], summary[0], p))
    names = ["module", "n_genes", *DENSITY, *CONNECTIVITY]
    return pd.DataFrame(
        rows, columns=[*names, "z_density", "z_connectivity", "z_summary", "p_value"]
    )


_Measures = tuple[Float64Array, Float64Array, Float64Array, Float64Array]
"""Of a set of genes in a table: correlations and adjacencies of its pairs; of each gene the sum of
its adjacencies (connectivity), and kME."""


def _statistics(own: _Measures, other: _Measures) -> Float64Array:
    """Of a set in the test table, beside its module in the reference; the sign of an eigengene is
    that of a mean, which may be about 0, so that means and correlations of kME are without it."""
    own_r, _, own_connectivity, own_kme = own
    r, adjacency, connectivity, kme = other
    return np.array(
        [
            float((kme**2).mean()),
            abs(float((np.sign(own_kme) * kme).mean())),
            float((np.sign(own_r) * r).mean()),
            float(adjacency.mean()),
            _correlation(own_connectivity, connectivity),
            abs(_correlation(own_kme, kme)),
            _correlation(own_r, r),
        ]
    )


def _correlation(x: Float64Array, y: Float64Array) -> float:
    return float(correlations(x[None], y[None])[0, 0])


def consensus_modules(
    tables: Sequence[Float64Array],
    powers: Sequence[float],
    config: GeneModulesConfig,
    device: Device,
) -> Int32Array:
    """Modules that all tables share: those of the least topological overlap of each pair.

    tables : float64 (genes, samples of each), the same genes in the same order. powers : of each.
    Overlaps of the later tables are raised to the power that brings their
    0.95 quantile to that of the first.
    """
    consensus: FloatingArray | None = None
    first = 0.0
    for values, power in zip(tables, powers, strict=True):
        overlap = overlap_distances(Adjacency(values, config.network_type, device), power)
        np.subtract(1.0, overlap, out=overlap)
        quantile = float(np.quantile(overlap, 0.95))
        if consensus is None:
            consensus, first = overlap, quantile
        else:
            np.power(overlap, np.log(first) / np.log(quantile), out=overlap)
            np.minimum(consensus, overlap, out=consensus)
    assert consensus is not None  # there is a table
    np.subtract(1.0, consensus, out=consensus)
    return modules_of_distances(consensus, tables, config)


def validate(config: TableAnalysis, items: pd.DataFrame) -> None:
    """Refuse a table that has none of the genes, before anything is scored."""
    if config.other_samples is not None:
        n = len(read_other_samples(config).gene_names.find(items.loc[items["kept"], "name"]).rows)
        if n < MIN_GENES:
            raise InputError(MISSING_GENES.format(path=config.other_samples, n=n))


def run(given: Given) -> TableSummary:
    """Write ``module_preservation.tsv``."""
    config = given.config.gene_modules
    assert config is not None  # the stage was asked for
    rows, other = given.genes_of_both()
    values = np.asarray(given.values)[rows]
    module = given.table("modules.tsv").set_index("gene")["module"]
    power, _ = power_of(Adjacency(values, config.network_type, given.device), config)
    table = preservation_table(
        values,
        other,
        module.reindex([given.genes[row] for row in rows]).to_numpy(dtype=np.int32),
        power=power,
        network_type=config.network_type,
        device=given.device,
        seed=given.seed,
    )
    given.write(FILE, table.rename(columns={"n_genes": "genes"}))
    z = table["z_summary"]
    counts = {
        "modules_elsewhere": len(z),
        "modules_kept": int((z > PRESERVED).sum()),
        "modules_kept_well": int((z > WELL).sum()),
    }
    n, of = rows.size, len(given.genes)
    return TableSummary(counts, [message("genes_elsewhere", n=n, of=of)] if n < of else [])
