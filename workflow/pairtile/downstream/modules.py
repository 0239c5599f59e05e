"""Modules of an analysis: which genes go together, beyond what noise gives; eigengenes and kME."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.arrays import Float64Array, Int32Array, Int64Array
from pairtile.config.modules import GeneModulesConfig
from pairtile.config.preprocess import TableAnalysis
from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.eigengenes import (
    correlation_p,
    correlations,
    eigengenes,
    standardise,
    within_batches,
)
from pairtile.downstream.given import Given
from pairtile.downstream.module_preservation import consensus_modules
from pairtile.downstream.module_quality import (
    MAX_GENES,
    n_tables,
    noise_p_values,
    strongest_pairs_modules,
    without_small,
)
from pairtile.downstream.topological_overlap import Adjacency
from pairtile.downstream.wgcna import FoundModules, power_of, search_seconds, wgcna_modules
from pairtile.engine.estimator import TableSummary
from pairtile.gpu.device import Device
from pairtile.preprocess.null_design import NullDesign, inflation, null_design
from pairtile.runtime.files import work_folder
from pairtile.runtime.record import doing
from pairtile.statistics.modules import leiden_modules, renumbered_by_size

message = messages_of(__package__)

CHUNKS = "module_chunks"
"""The folder of what is done of a run that was ended; a whole run leaves none."""


def find(
    values: Float64Array,
    config: GeneModulesConfig,
    device: Device,
    design: NullDesign,
    *,
    seed: int,
    edges: tuple[Int64Array, Int64Array, Float64Array] | None = None,
    inflation: float = 1.0,
    chunks: Path | None = None,
) -> FoundModules:
    """Modules of a table, or of the network that was made of it, and their p-values.

    values : float64 (genes, samples), NaN where missing. edges : of ``leiden``, the numbers of
    both genes and the strength of each.
    design, inflation : as for ``noise_p_values``.
    chunks : a folder for what is done, from which the same search goes on after a run that was
    ended. None: nothing is kept.
    """
    stated = config.model_dump(), seed, inflation, device.backend
    folder = work_folder(chunks, stated, values, design.groups, design.shifted, *(edges or ()))
    min_size = 5 if config.min_size == "auto" else config.min_size
    if config.method == "wgcna":
        found = wgcna_modules(values, config, device, folder)
    else:
        assert edges is not None  # of every caller that asks for leiden
        n_edges = edges[0].size
        doing(f"find modules of {n_edges:,} edges")
        own = leiden_modules(*edges, len(values), resolution=config.resolution, seed=seed)
        found = FoundModules(without_small(own, min_size), np.empty(0))

    def search(noise: Float64Array) -> list[Int32Array]:
        if config.method == "leiden":
            # As large a share of the pairs, where the table has some of the genes.
            share = int(np.ceil(n_edges * (len(noise) / len(values)) ** 2))
            return strongest_pairs_modules(noise, share, min_size, config.resolution, seed)
        own_power, _ = power_of(Adjacency(noise, config.network_type, device), config)
        tried = [config.model_copy(update={"power": p}) for p in {found.power, own_power}]
        return [wgcna_modules(noise, each, device).labels for each in tried]

    n_modules = int(found.labels.max(initial=0))
    if config.max_p is None or not n_modules:
        return replace(found, p_values=np.full(n_modules, np.nan))
    tables = max(n_tables(len(values)), int(np.ceil(1 / config.max_p)) - 1)
    p = noise_p_values(
        values, found.labels, search, design,
        seed=seed, inflation=inflation, tables=tables, limit=config.max_p, folder=folder,
    )  # fmt: skip
    kept = p <= config.max_p
    sizes = np.bincount(found.labels)[1:]
    labels = renumbered_by_size(
        np.concatenate([[0], np.where(kept, np.arange(1, p.size + 1), 0)])[found.labels]
    )
    return replace(found, labels=labels, p_values=p[kept], removed=tuple(sizes[~kept].tolist()))


def module_tables(
    values: Float64Array,
    found: FoundModules,
    genes: Iterable[object],
    samples: Iterable[object],
    batch: Int32Array | None = None,
    degrees_given_up: int = 0,
) -> dict[str, pd.DataFrame]:
    """The tables that the stage writes, by file: eigengenes, kME with p and hubs of modules.

    kME is Pearson's r of a gene with an eigengene. Its p-value is that of r within batches, by
    Student's t; of a gene of the module, r is with the eigengene less what the gene itself adds.
    """
    labels, z = found.labels, standardise(values)
    profiles, explained = eigengenes(z, labels)
    count = len(profiles)
    kme = correlations(values, profiles)
    p = _kme_p(values, z, labels, profiles, batch, degrees_given_up)
    order = np.lexsort((-np.abs(_own(kme, labels)), np.where(labels == 0, count + 1, labels)))
    names = pd.Series(list(genes), dtype=object).to_numpy()
    modules = pd.DataFrame(
        {
            "gene": names[order],
            "module": labels[order],
            "kme": _own(kme, labels)[order],
            "p_value": np.concatenate([[np.nan], found.p_values])[labels[order]],
        }
    )
    number = np.arange(1, count + 1)
    hubs = modules[modules["module"] > 0].drop_duplicates("module")
    summary = pd.DataFrame(
        {
            "module": number,
            "genes": np.bincount(labels, minlength=count + 1)[1:],
            "variance_explained": explained,
            "p_value": found.p_values,
            "hub": hubs["gene"].to_numpy(),
            "hub_kme": hubs["kme"].to_numpy(),
        }
    )
    of_samples = pd.DataFrame(profiles, pd.Index(number, name="module"), list(samples))
    membership = pd.DataFrame(
        {
            "module": np.repeat(number, len(names)),
            "gene": np.tile(names, count),
            "kme": kme.T.ravel(),
            "p_value": p.T.ravel(),
            "member": (labels[None, :] == number[:, None]).ravel(),
        }
    )
    strength = -membership["kme"].abs()
    membership = membership.iloc[np.lexsort((strength, membership["module"]))]
    return {
        "modules.tsv": modules,
        "module_summary.tsv": summary,
        "eigengenes.tsv": of_samples.reset_index(),
        "module_membership.tsv": membership.reset_index(drop=True),
    }


def _own(kme: Float64Array, labels: Int32Array) -> Float64Array:
    """kME of each gene in its module; NaN without one."""
    padded = np.column_stack([np.full(len(kme), np.nan), kme])
    return np.asarray(padded[np.arange(len(kme)), labels])


def _kme_p(
    values: Float64Array,
    z: Float64Array,
    labels: Int32Array,
    profiles: Float64Array,
    batch: Int32Array | None,
    degrees_given_up: int,
) -> Float64Array:
    """(genes, modules)."""
    codes = np.zeros(z.shape[1], dtype=np.int64) if batch is None else batch
    within_z = within_batches(values, codes)
    r = correlations(within_z, within_batches(profiles, codes))
    for module in range(1, len(profiles) + 1):
        own = np.flatnonzero(labels == module)
        weights = z[own] @ profiles[module - 1]
        others = (weights @ z[own]) - weights[:, None] * z[own]
        x, y = np.nan_to_num(within_z[own]), within_batches(others, codes)
        y = np.where(np.isnan(values[own]), 0.0, y)
        length = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
        r[own, module - 1] = (x * y).sum(axis=1) / np.where(length > 0, length, 1.0)
    observed = (~np.isnan(values)).sum(axis=1, keepdims=True)
    degrees = observed - 1 - np.unique(codes).size - degrees_given_up
    return correlation_p(np.clip(r, -1.0, 1.0), degrees.astype(np.float64))


def seconds(config: TableAnalysis, genes: int, threads: int) -> float:
    """What the stage takes for so many genes: its search, and those in permuted tables."""
    asked, some = config.gene_modules, min(genes, MAX_GENES)
    assert asked is not None  # the stage was asked for
    tables = 0 if asked.max_p is None or asked.consensus else n_tables(genes)
    if asked.method == "leiden":
        return 6e-8 * tables * some**2
    # Two searches in each table, or none where all modules are stronger than noise can be.
    return search_seconds(genes, threads) + 1.3 * tables * search_seconds(some, threads)


def run(given: Given) -> TableSummary:
    """Write the tables of modules."""
    config = given.config.gene_modules
    assert config is not None  # the stage was asked for
    edges = given.network_table.edges_by_number if config.method == "leiden" else None
    design = null_design("auto", given.known, len(given.samples))
    values = np.asarray(given.values)
    if config.consensus:
        found = _shared_modules(given, values, config)
    else:
        found = find(
            values,
            config,
            given.device,
            design,
            seed=given.seed,
            edges=edges,
            inflation=inflation(given.known, len(given.samples)),
            chunks=given.folder / CHUNKS,
        )
    tables = module_tables(
        values, found, given.genes, given.samples, given.batch, given.degrees_given_up
    )
    for name, table in tables.items():
        given.write(name, table)
    shutil.rmtree(given.folder / CHUNKS, ignore_errors=True)
    counts = {
        "modules_found": len(tables["module_summary.tsv"]),
        "module_genes": int((found.labels > 0).sum()),
        "module_genes_unassigned": int((found.labels == 0).sum()),
        "modules_of_noise": len(found.removed),
    }
    return TableSummary(counts, module_messages(found, config, design.kind == "circular_shift"))


def _shared_modules(given: Given, values: Float64Array, config: GeneModulesConfig) -> FoundModules:
    """Those that the genes of both tables have in both; each table has its own power."""
    rows, other = given.genes_of_both()
    tables = [values[rows], other]
    kinds = [Adjacency(table, config.network_type, given.device) for table in tables]
    powers, fitted = zip(*(power_of(kind, config) for kind in kinds), strict=True)
    labels = np.zeros(len(values), dtype=np.int32)
    labels[rows] = consensus_modules(tables, powers, config, given.device)
    n = int(labels.max(initial=0))
    return FoundModules(labels, np.full(n, np.nan), power=powers[0], fitted=all(fitted))


def module_messages(found: FoundModules, config: GeneModulesConfig, courses: bool) -> list[Message]:
    """What a user should know of how modules were found."""
    notes = []
    if config.method == "wgcna" and config.power == "auto":
        code = "soft_power" if found.fitted else "no_scale_free_power"
        notes.append(message(code, power=found.power))
    if found.removed:
        n, genes = len(found.removed), sum(found.removed)
        notes.append(message("modules_of_noise", n=n, genes=genes, limit=config.max_p))
    if not found.labels.any():
        notes.append(message("no_modules"))
    if courses:
        notes.append(message("kme_of_courses"))
    return notes
