"""Targets of miRNAs against what chance gives, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal

import pandas as pd

from pairtile.api.analyse import finished, kept_run, result_table
from pairtile.api.settings import Keywords, SectionMapping
from pairtile.declare.messages import HasMessages, Message
from pairtile.methods.mirna_targets.api import SEARCH, hits_of, sequence_inputs
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.score import ALPHA
from pairtile.methods.mirna_targets.sequences import FastaLike, PairsLike, as_orthologs


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


KEYWORDS = Keywords(
    MirnaTargetsConfig,
    *("null.shuffles", "reference_species", "species_tree"),
    *("mirna_expression", "transcript_expression", *SEARCH),
)


def mirna_signal(
    mirnas: FastaLike,
    transcripts: FastaLike,
    *,
    orthologs: FastaLike | None = None,
    restrict: PairsLike | None = None,
    shuffles: int = 100,
    seed: int = 1,
    reference_species: str | None = None,
    species_tree: str | PathLike[str] | None = None,
    mirna_expression: str | PathLike[str] | None = None,
    transcript_expression: str | PathLike[str] | None = None,
    score: float = 140.0,
    energy: float = 1.0,
    scale: float = 4.0,
    gap_open: float = -9.0,
    gap_extend: float = -4.0,
    strict: bool = False,
    energies: bool = True,
    seed_sites: bool = False,
    trim: int | None = None,
    species: Sequence[object] | None = None,
    mirna_names: str | Sequence[object] | None = None,
    ignore_versions: bool = False,
    extras: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> MirnaSignal:
    """Find targets of miRNAs and compare them with those of shuffled miRNAs.

    The same as an analysis of the workflow with ``null: {shuffles: n}``.

    Parameters
    ----------
    mirnas, transcripts, restrict : as :func:`mirna_targets`
    orthologs : path, mapping, Series or list, optional
        Orthologs of the transcripts, records named ``transcript|species``; or the path of a
        multiple alignment (MAF) whose blocks have a row ``reference_species.transcript``.
    shuffles : an integer between 20 and 10000
        Shuffles of each miRNA. The search takes so many times longer; p-values go down to 1 /
        (shuffles x transcripts).
    seed : an integer between 0 and 4294967295
        Start of all random draws (permutations, bootstraps). The same seed gives the same result on
        any number of chunks and threads.
    reference_species : a name (text) or None
        The species of the transcripts, as `orthologs` and `species_tree` call it; records of it are
        no orthologs. Needed with MAF. None: none of the records is of that species.
    species_tree : a path (text) or None
        Tree of the species with branch lengths, Newick. Then tables also say how long the branches
        are along which a site is kept, and conservation goes by them. Needs `orthologs` and
        `reference_species`. None: the number of species counts.
    mirna_expression : a path (text) or None
        Expression of the miRNAs: a table as for `expression` of other methods, miRNAs in rows,
        normalised. Then tables say how miRNA and transcript are correlated, and whether that is
        lower than of sites by chance. Needs `transcript_expression` and `null`.
    transcript_expression : a path (text) or None
        Expression of the transcripts (with `genes` also of genes) in the samples of
        `mirna_expression`.
    score : a number greater than 0 and at most 1e+06
        Least alignment score of a hit (miRanda's `-sc`). A pair A-U or G-C gives 5, G-U 1, a
        mismatch -3, all times `scale` at miRNA positions 2 to 8, the seed: a perfect seed alone
        gives 140.
    energy : a number
        A hit's energy must be below this, in kcal/mol (miRanda's `-en`): -20 keeps strong duplexes
        only, 1 nearly all. Hits can also be filtered by energy afterwards.
    scale : a number of at least 0 and at most 1000
        Scores and gap penalties at miRNA positions 2 to 8 are multiplied by this (miRanda's
        `-scale`).
    gap_open : a number of at least -10000 and at most 0
        Score of the first base of a gap, 0 or negative (miRanda's `-go`); cut to a whole number, as
        miRanda does.
    gap_extend : a number of at least -10000 and at most 0
        Score of each further base of a gap, 0 or negative (miRanda's `-ge`). With 0 a gap may have
        any length, and long transcripts take longer.
    strict : True or False
        Demand a perfect seed: miRNA positions 2 to 8 all paired by A-U or G-C, without a gap
        (miRanda's `-strict`). That is seed class 8mer or 7mer-m8.
    energies : True or False
        Compute the free energy of each hit's duplex. `False`: it decides nothing, is empty in
        tables, and stands as 0 in `miranda.txt` (miRanda's `-noenergy`); quicker.
    seed_sites : True or False
        Beside miRanda's hits take every 8mer, 7mer-m8, 7mer-A1 and 6mer, whatever its alignment
        score: `seed_sites.tsv` lists them, `targets.tsv` counts them, and it and the network have
        pairs with such a site alone. With `null`, p of a pair is that of these sites.
    trim : an integer between 1 and 2147483647, or None
        Use only so many letters from the start of each transcript (miRanda's `-trim`).
    species : a species (hsa), a list of species, or None
        Species of the miRNAs to search with, of a FASTA file of many such as miRBase's: what their
        names begin with, `hsa` or a list such as `[hsa, ebv]`. None: all of the file.
    mirna_names : a list of miRNAs, the path of a file of them, or None
        The miRNAs of the file to search with: a list of names (capitals make no difference), or the
        path of a file with one a line. None: all of the file.
    ignore_versions : True or False
        Whether transcripts and genes are named without the version after the last point, in every
        file (ENST00000269305.9 is ENST00000269305).
    extras : mapping, optional
        Further columns of `hits.tsv` and `hits.parquet`.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

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
    given, inputs = locals(), sequence_inputs(mirnas, transcripts, restrict)
    if orthologs is not None:
        inputs.hold("orthologs", as_orthologs(orthologs, reference_species))
    found, said = finished(*kept_run(KEYWORDS.config(given, **inputs.names), inputs, seed, backend))

    def table(name: str) -> pd.DataFrame:
        return result_table(found.folder, f"{name}.tsv", __package__)

    return MirnaSignal(
        targets=table("targets"),
        hits=hits_of(found),
        signal=table("signal"),
        signal_curve=table("signal_curve"),
        conservation=None if orthologs is None else table("conservation"),
        expression=None if mirna_expression is None else table("expression"),
        seed_sites=table("seed_sites") if seed_sites else None,
        messages=said,
    )
