"""Targets of miRNAs against what chance gives, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from pairtile.api.keywords import Keywords
from pairtile.api.messages import tell
from pairtile.declare.messages import HasMessages, Message
from pairtile.methods.mirna_targets.api import (
    SEARCH,
    frame_of,
    searched,
    seed_sites_frame,
    warnings_of_hits,
)
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import conservation_rates
from pairtile.methods.mirna_targets.export import null_tables, with_more_columns
from pairtile.methods.mirna_targets.score import ALPHA
from pairtile.methods.mirna_targets.tables import ranked_targets, targets_table

if TYPE_CHECKING:
    from pairtile.methods.mirna_targets.keyword_types import MirnaSignalKeywords
    from pairtile.methods.mirna_targets.sequences import FastaLike, PairsLike


@dataclass(frozen=True, repr=False)
class MirnaSignal(HasMessages):
    """Targets against what chance gives; the tables of the workflow.

    targets        ``targets.tsv``: a row for each pair, lowest joint p first
    hits           ``hits.tsv``
    signal         ``signal.tsv``: sites, and those of shuffles, by seed class and score
    signal_curve   ``signal_curve.tsv``: pairs, and those of shuffles, by pair score
    conservation   ``conservation.tsv``; None without orthologs
    expression     ``expression.tsv``; None without expression
    seed_sites     ``seed_sites.tsv``; None unless asked for
    messages, notes, warnings   what preparing the data brought up
    """

    targets: pd.DataFrame
    hits: pd.DataFrame
    signal: pd.DataFrame
    signal_curve: pd.DataFrame
    conservation: pd.DataFrame | None
    expression: pd.DataFrame | None
    seed_sites: pd.DataFrame | None
    messages: list[Message]

    def __repr__(self) -> str:
        found = int((self.targets["joint_q_value"] <= ALPHA).sum())
        return f"MirnaSignal: {len(self.targets):,} pairs, {found:,} with q <= {ALPHA}"


_KEYWORDS = Keywords(
    MirnaTargetsConfig,
    *("null.shuffles", "seed", "reference_species", "species_tree"),
    *("mirna_expression", "transcript_expression", *SEARCH),
)


@_KEYWORDS.signature
def mirna_signal(
    mirnas: FastaLike,
    transcripts: FastaLike,
    *,
    orthologs: FastaLike | None = None,
    restrict: PairsLike | None = None,
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
    config = _KEYWORDS.config(
        settings,
        orthologs=None if orthologs is None else "in memory",
        restrict=None if restrict is None else "restrict",
    )
    (opened, merged, found), prepared, hits = searched(
        config, mirnas, transcripts, restrict, settings, orthologs
    )
    counts, pairs = opened.all_null_counts(merged), opened.ranked_pairs(merged)
    state = prepared.state
    rates = None if opened.conservation is None else conservation_rates(counts)
    hits = with_more_columns(hits, state, config.extras, rates)
    tables = {
        name: frame_of(table)
        for name, table in null_tables(
            counts, prepared.items, config, opened.conservation, opened.evidence.sums
        ).items()
    }
    shown = frame_of(hits)
    # The report asks whether there is a null.
    found += warnings_of_hits(config, shown, found, {"null_sites": np.empty(0)})
    return MirnaSignal(
        targets=frame_of(ranked_targets(targets_table(hits), pairs, prepared.items)),
        hits=shown,
        signal=tables["signal.tsv"],
        signal_curve=tables["signal_curve.tsv"],
        conservation=tables.get("conservation.tsv"),
        expression=tables.get("expression.tsv"),
        seed_sites=seed_sites_frame(opened, prepared, shown),
        messages=tell(found),
    )
