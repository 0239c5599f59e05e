"""Targets of miRNAs against what chance gives, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa

from pairtile.api.keywords import Keywords
from pairtile.api.messages import tell
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.api import (
    SEARCH,
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

if TYPE_CHECKING:
    from pairtile.methods.mirna_targets.keyword_types import MirnaSignalKeywords


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


_KEYWORDS = Keywords(
    MirnaTargetsConfig,
    *("null.shuffles", "seed", "reference_species", "species_tree"),
    *("mirna_expression", "transcript_expression", *SEARCH),
)


@_KEYWORDS.signature
def mirna_signal(
    mirnas: Any,
    transcripts: Any,
    *,
    orthologs: Any = None,
    restrict: Any = None,
    **settings: Unpack[MirnaSignalKeywords],
) -> MirnaSignal:
    """Find targets of miRNAs and compare them with those of shuffled miRNAs.

    The same as an analysis of the workflow with ``null: {shuffles: n}``.

    Parameters
    ----------
    mirnas, transcripts, restrict : as :func:`mirna_targets`
    orthologs : path, mapping, Series or list, optional
        Orthologs of the transcripts, records named ``transcript|species``; or the path of a
        multiple alignment (MAF) whose blocks have a row ``reference_species.transcript``.

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
    config = _KEYWORDS.config(settings, orthologs=None if orthologs is None else "in memory")
    seed = settings["seed"]
    files, messages = chosen_files(config, mirnas, transcripts)
    others = None if orthologs is None else as_orthologs(orthologs, config.reference_species)
    refuse_bad_records(files if others is None else [*files, others])
    pairs = None
    if restrict is not None:
        pairs = matched_pairs(restrict, *files)
    prepared = MirnaTargets.with_null(config, lay_out(config, files, others, pairs, messages), seed)
    state, items = prepared.state, prepared.items
    opened = MirnaTargets(config, state, choose(settings["backend"]), "integer")
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
