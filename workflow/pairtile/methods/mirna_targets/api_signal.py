"""Targets of miRNAs against what chance gives, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pairtile.api.messages import tell
from pairtile.api.settings import analysis_config
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.api import (
    chosen_files,
    frame_of,
    matched_pairs,
    warnings_of_hits,
)
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import conservation_rates
from pairtile.methods.mirna_targets.conservation_tables import conservation_table
from pairtile.methods.mirna_targets.export import with_expression, with_more_columns
from pairtile.methods.mirna_targets.expression import expression_table
from pairtile.methods.mirna_targets.fasta import refuse_bad_records
from pairtile.methods.mirna_targets.prepare import lay_out
from pairtile.methods.mirna_targets.score import ALPHA, MirnaTargets
from pairtile.methods.mirna_targets.sequences import as_orthologs
from pairtile.methods.mirna_targets.tables import (
    ROWS,
    hits_table,
    ranked_targets,
    signal_curve,
    signal_table,
    targets_table,
)
from pairtile.preprocess.items import formula_warnings


@dataclass(frozen=True, repr=False)
class MirnaSignal:
    """Targets against what chance gives; the tables of the workflow.

    targets        ``targets.tsv``: a row for each pair with a hit, lowest p first
    hits           ``hits.tsv``
    signal         ``signal.tsv``: sites, and those of shuffles, by seed class and score
    signal_curve   ``signal_curve.tsv``: pairs, and those of shuffles, by pair score
    conservation   ``conservation.tsv``; None without orthologs
    expression     ``expression.tsv``; None without expression
    notes, warnings   what preparing the data brought up
    """

    targets: pd.DataFrame
    hits: pd.DataFrame
    signal: pd.DataFrame
    signal_curve: pd.DataFrame
    conservation: pd.DataFrame | None
    expression: pd.DataFrame | None
    notes: list[str]
    warnings: list[str]

    def __repr__(self) -> str:
        found = int((self.targets["q_value"] <= ALPHA).sum())
        return f"MirnaSignal: {len(self.targets):,} pairs with a hit, {found:,} with q <= {ALPHA}"


def mirna_signal(
    mirnas: Any,
    transcripts: Any,
    *,
    shuffles: int = 100,
    seed: int = 1,
    orthologs: Any = None,
    reference_species: str | None = None,
    species_tree: str | PathLike[str] | None = None,
    mirna_expression: str | PathLike[str] | None = None,
    transcript_expression: str | PathLike[str] | None = None,
    species: str | Sequence[str] | None = None,
    mirna_names: str | Sequence[str] | None = None,
    restrict: Any = None,
    ignore_versions: bool = False,
    extras: Mapping[str, bool] | None = None,
    backend: str = "auto",
    **estimator: Any,
) -> MirnaSignal:
    """Find targets of miRNAs and compare them with those of shuffled miRNAs.

    The same as an analysis of the workflow with ``null: {shuffles: n}``.

    Parameters
    ----------
    mirnas, transcripts, species, mirna_names : as :func:`mirna_targets`
    restrict, ignore_versions, extras : as :func:`mirna_targets`
    shuffles : int, 20 to 10,000
        So many shuffles of each miRNA.
    seed : int
        Of the shuffles.
    orthologs : path, mapping, Series or list, optional
        Orthologs of the transcripts, records named ``transcript|species``; or the path of a
        multiple alignment (MAF) whose blocks have a row ``reference_species.transcript``.
    reference_species : str, optional
        The species of the transcripts; needed with a MAF file.
    species_tree : path, optional
        Newick tree of the species, with branch lengths.
    mirna_expression, transcript_expression : path, optional
        Tables of expression, names in rows, the same samples in both: both or neither.
    backend : {"auto", "cpu", "cuda"}
        All give the same answer.
    **estimator
        ``score``, ``energy``, ``scale``, ``gap_open``, ``gap_extend``, ``strict``, ``energies``,
        ``trim``: as :func:`mirna_targets`.

    Returns
    -------
    MirnaSignal

    Raises
    ------
    ValueError
        Settings that are not allowed; sequences in no known form.
    InputError
        Files that cannot be read; records that cannot be used; orthologs of no transcript.
    ConfigError
        Energies or extras without the package ViennaRNA.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Lewis et al. 2005, Cell 120:15; Friedman et al. 2009, Genome Res. 19:92;
    docs/methods/mirna_targets.md, Signal and chance.

    Examples
    --------
    >>> mirnas = {"let-7a": "UGAGGUAGUAGGUUGUAUAGUU"}
    >>> utrs = {"one": "ACCG" * 20 + "CUACCUCA" + "ACCG" * 20, "two": "GGCA" * 50}
    >>> found = mirna_signal(mirnas, utrs, shuffles=50, energies=False)
    >>> found.targets[["mirna", "transcript", "best_seed_class"]]
        mirna transcript best_seed_class
    0  let-7a        one            8mer
    """
    config = analysis_config(
        MirnaTargetsConfig,
        seed=seed,
        backend=backend,
        estimator=estimator,
        null={"shuffles": shuffles},
        species=species,
        mirna_names=mirna_names,
        ignore_versions=ignore_versions,
        extras=extras or {},
        orthologs=None if orthologs is None else "in memory",
        reference_species=reference_species,
        species_tree=species_tree and str(species_tree),
        mirna_expression=mirna_expression and str(mirna_expression),
        transcript_expression=transcript_expression and str(transcript_expression),
    )
    files, messages = chosen_files(config, mirnas, transcripts)
    others = None if orthologs is None else as_orthologs(orthologs, reference_species)
    refuse_bad_records(files if others is None else [*files, others])
    pairs = None
    if restrict is not None:
        pairs = matched_pairs(restrict, *files)
    prepared = MirnaTargets.with_null(config, lay_out(config, files, others, pairs, messages), seed)
    state, items = prepared.state, prepared.items
    opened = MirnaTargets(config, state, choose(backend), "integer")
    tiles = opened.space(state).tiles(*opened.tile_edges(config, state))
    merged = merged_in_memory(opened, tiles, seed)
    counts, tests = opened.all_null_counts(merged), opened.pair_tests(merged)
    assert tests is not None
    rows = pa.concat_tables(merged.batches()).select(ROWS.names).cast(ROWS)
    hits = hits_table(rows, items, state, energies=config.estimator.energies)
    rates, conservation = None, None
    searched = items["name"].to_numpy()[: opened.n_mirnas]
    if opened.conservation is not None:
        rates = conservation_rates(counts)
        conservation = frame_of(conservation_table(counts, searched, opened.conservation))
    hits = with_more_columns(hits, state, config.extras, rates)
    targets = with_expression(targets_table(hits), state, counts)
    expression = None
    if config.mirna_expression is not None:
        expression = frame_of(expression_table(counts, searched))
    shown = frame_of(hits)
    found = [
        *prepared.warnings,
        *formula_warnings(items.loc[items["kept"], "name"].tolist()),
    ]
    # The report asks whether there is a null.
    found += warnings_of_hits(config, shown, found, {"null_sites": np.empty(0)})
    return MirnaSignal(
        targets=frame_of(ranked_targets(targets, tests)),
        hits=shown,
        signal=frame_of(signal_table(counts, searched, config.estimator.score)),
        signal_curve=frame_of(signal_curve(counts, searched)),
        conservation=conservation,
        expression=expression,
        notes=prepared.notes,
        warnings=tell(found),
    )
