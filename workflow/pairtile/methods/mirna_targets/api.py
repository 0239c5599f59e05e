"""Targets of miRNAs, their network and the energies of duplexes, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.analyse import attributes, finished, kept_run, result_table
from pairtile.api.prepare import Inputs
from pairtile.api.settings import Keywords, SectionMapping
from pairtile.errors import require_columns
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.energy import DuplexEnergy, viennarna_duplex_energy
from pairtile.methods.mirna_targets.fasta import LETTERS
from pairtile.methods.mirna_targets.kernels.traceback import LINKER
from pairtile.methods.mirna_targets.score import target_edges
from pairtile.methods.mirna_targets.sequences import FastaLike, PairsLike, as_fasta, as_pairs
from pairtile.report.results import Results
from pairtile.runtime.files import read_table

Strings: TypeAlias = "list[str] | tuple[str, ...] | NDArray[np.str_] | pd.Series[str]"


SEARCH: tuple[str, ...] = ("estimator.*", "species", "mirna_names", "ignore_versions", "extras")
KEYWORDS = Keywords(MirnaTargetsConfig, *SEARCH, "on_bad_record")


def mirna_targets(
    mirnas: FastaLike,
    transcripts: FastaLike,
    *,
    restrict: PairsLike | None = None,
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
    on_bad_record: Literal["error", "skip"] = "error",
) -> pd.DataFrame:
    """Find the sites of transcripts that miRNAs may bind: the hits of miRanda 3.3a, one a row.

    The same as an analysis of the workflow with these settings: the table that it writes to
    ``hits.tsv``. Matches of sequence: most of them are no targets in a cell.

    Parameters
    ----------
    mirnas : path, mapping, Series or list
        Mature miRNAs, 5' to 3': the path of a FASTA file (plain or gzip); name -> sequence; or a
        list of sequences, of (name, sequence), or of records with ``id`` and ``seq``. T or U,
        either case, IUPAC letters allowed.
    transcripts : as ``mirnas``
        Transcripts or their 3' UTRs, 5' to 3'.
    restrict : path, DataFrame or list of pairs, optional
        The pairs to look at, names of miRNA and transcript. Pairs that are not there are left out
        with a warning.
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
    on_bad_record : error or skip
        Records of a FASTA file that cannot be used (no name, no letters, illegal characters, a
        header in which the file ends). `error`: stop before any work, and name the first. `skip`:
        go on without them and list them in `items.parquet`. BioMart's `Sequence unavailable` and
        the like are left out either way, and counted.

    Returns
    -------
    DataFrame, a row for each hit: miRNA by miRNA, transcript by transcript, best hit first
        ``mirna``, ``transcript``, ``rank``, ``score``, ``energy_kcal_mol``, ``query_begin`` and
        ``query_end`` (in the miRNA), ``reference_begin`` and ``reference_end`` (in the transcript,
        unaligned tails included), ``site_begin`` and ``site_end`` (without), ``alignment_length``,
        ``identity_percent``, ``similarity_percent``, ``seed_class``, ``local_au``,
        ``relative_position``, ``transcript_length``, ``query_alignment`` (3' to 5'),
        ``match_line``, ``reference_alignment`` (5' to 3'). Positions count from 1 and include both
        ends. ``attrs`` has ``counts``, ``notes``, ``warnings``, ``device``, ``settings``, and
        ``seed_sites`` (the table of ``seed_sites.tsv``) where these are asked for. Of
        headers as databases write them, ``transcript`` is the part that names it. A name that is
        there twice has ``#2`` the second time; sequences without names are ``mirna_0``,
        ``transcript_0``, and so on.

    Raises
    ------
    ValueError
        Settings that are not allowed; sequences in no known form.
    InputError
        Files that cannot be read; records that cannot be used; ``restrict`` without a pair that is
        there.
    ConfigError
        Energies or extras without the package ViennaRNA.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Enright et al. 2003, Genome Biology 5:R1; docs/methods/mirna_targets.md has every rule.
    Seed classes: Bartel 2009, Cell 136:215. All hits are held in memory, some 550 bytes each;
    the workflow writes them as it goes.

    Examples
    --------
    >>> mirnas = {"let-7a": "UGAGGUAGUAGGUUGUAUAGUU"}
    >>> utrs = {"utr": "CAUUUAUACAACCGUUCUACCUCAACGCGAUGUAAAUAUCGCAAUCCCUUUUUAUACAACCAUUCUGCCUCU"}
    >>> hits = mirna_targets(mirnas, utrs)
    >>> hits[["mirna", "transcript", "score", "energy_kcal_mol", "site_begin", "seed_class"]]
        mirna transcript  score  energy_kcal_mol  site_begin seed_class
    0  let-7a        utr  179.0           -28.84           4       8mer
    1  let-7a        utr  163.0           -25.06          52       none
    >>> for name in ("query_alignment", "match_line", "reference_alignment"):
    ...     print(hits[name][0].rstrip())
    uuGAUAUGUUGG-AUGAUGGAGu
      :||||||||| | |||||||
    auUUAUACAACCGUUCUACCUCa
    """
    given = locals()
    inputs = sequence_inputs(mirnas, transcripts, restrict)
    config = KEYWORDS.config(given, **inputs.names)
    found, said = finished(*kept_run(config, inputs, 1, backend))
    table = hits_of(found)
    settings = {key: found.parameters[key] for key in ("estimator", "extras")}
    table.attrs.update(attributes(found, said), settings=settings)
    if config.estimator.seed_sites:
        table.attrs["seed_sites"] = result_table(found.folder, "seed_sites.tsv", __package__)
    return table


def sequence_inputs(
    mirnas: FastaLike, transcripts: FastaLike, restrict: PairsLike | None
) -> Inputs:
    """Sequences in any form (``as_fasta``) and pairs of them."""
    inputs = Inputs()
    inputs.hold("mirnas", as_fasta(mirnas, "mirnas"))
    inputs.hold("transcripts", as_fasta(transcripts, "transcripts"))
    if restrict is not None:
        inputs.hold("restrict", as_pairs(restrict))
    return inputs


def hits_of(found: Results) -> pd.DataFrame:
    """The hits of an analysis, energies in steps of 0.01 as they are counted."""
    hits = read_table(found.folder / "hits.parquet")
    if "energy_kcal_mol" in hits:
        hits["energy_kcal_mol"] = hits["energy_kcal_mol"].astype(np.float64).round(2)
    return hits


# --- network --------------------------------------------------------------------------------------


def mirna_edges(hits: pd.DataFrame) -> pd.DataFrame:
    """Turn hits into the edges of a network, miRNA to transcript.

    Parameters
    ----------
    hits : DataFrame
        What :func:`mirna_targets` returns, or a part of it (8mers only, sites that are open...).

    Returns
    -------
    DataFrame, one row for each pair with a hit, best first
        The columns of the workflow's network: ``source``, ``target``, ``score`` (greatest),
        ``energy_kcal_mol`` (lowest), ``n_hits``, ``total_score``, ``total_energy_kcal_mol``;
        without those of energies where there are none.

    Raises
    ------
    ValueError
        Missing columns.

    Examples
    --------
    >>> from pairtile import mirna_targets
    >>> hits = mirna_targets({"m": "UGAGGUAGUAGGUUGUAUAGUU"}, ["CUAUACAACCUACUACCUCA" * 2])
    >>> mirna_edges(hits)[["source", "target", "n_hits", "total_score"]]
      source        target  n_hits  total_score
    0      m  transcript_0       2        400.0
    """
    needed = ("mirna", "transcript", "score", "energy_kcal_mol")
    require_columns(hits, needed, "hits")
    # Hits are sorted by their pair, so that equals stay in the order of the workflow.
    edges = target_edges(hits, ("mirna", "transcript")).sort_values(
        ["score", "energy_kcal_mol"], ascending=[False, True], kind="stable", ignore_index=True
    )
    if len(hits) and edges["energy_kcal_mol"].isna().all():
        edges = edges.drop(columns=["energy_kcal_mol", "total_energy_kcal_mol"])
    edges.attrs = {"directed": True}
    return edges


# --- energies -------------------------------------------------------------------------------------


MODELS = ("miranda", "viennarna")


@overload
def duplex_energy(
    mirnas: str, sites: str, *, model: str = "miranda", backend: str = "auto"
) -> float: ...


@overload
def duplex_energy(
    mirnas: Strings,
    sites: Strings,
    *,
    model: str = "miranda",
    backend: str = "auto",
) -> NDArray[np.float64]: ...


def duplex_energy(
    mirnas: str | Strings, sites: str | Strings, *, model: str = "miranda", backend: str = "auto"
) -> float | NDArray[np.float64]:
    """Free energy in kcal/mol of miRNAs bound to sites of transcripts; lower is stronger.

    Parameters
    ----------
    mirnas : str or sequence of str
        miRNAs, 5' to 3'.
    sites : str or sequence of str
        The site of each, 5' to 3', as many.
    model : {"miranda", "viennarna"}
        ``miranda``: what miRanda 3.3a reports: the minimum free energy of the miRNA, seven letters
        that pair with nothing, and the site as one string, both from 3' to 5'; Turner 1999 at 30
        degrees. Either strand may also fold on itself. ``viennarna``: ViennaRNA's ``RNAduplex``:
        pairs between the strands only; Turner 2004 at 37 degrees.
    backend : {"auto", "cpu", "cuda"}
        For ``miranda``; all give the same answer.

    Returns
    -------
    float, or float64 array [shape: (n,)]
        In steps of 0.01; 0 where nothing binds.

    Raises
    ------
    ValueError
        Lists of unlike length, letters that are none, an unknown model.
    ConfigError
        The package ViennaRNA, which brings the energy tables, is not installed.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    T pairs as U, and X with nothing. ``miranda`` reads the case of letters, as miRanda does: a
    hairpin of four gets its bonus in upper-case A C G U only, so not with T. To get the energy of
    a hit again, hand over its aligned lines without the gaps, the miRNA reversed; a ``-`` opposite
    a lower-case letter is no gap but a place beyond the transcript, and stays.

    Examples
    --------
    >>> let_7 = "UGAGGUAGUAGGUUGUAUAGUU"
    >>> duplex_energy(let_7, "AACUAUACAACCUACUACCUCA")
    -39.3
    >>> duplex_energy([let_7, let_7], ["AACUAUACAACCUACUACCUCA", "AACUAUACAACCUACUAGCUCA"])
    array([-39.3 , -34.47])
    """
    if model not in MODELS:
        raise ValueError(f"model: found {model!r}; expected {' or '.join(MODELS)}")
    if isinstance(mirnas, str) and isinstance(sites, str):
        return float(duplex_energy([mirnas], [sites], model=model, backend=backend)[0])
    if isinstance(mirnas, str) or isinstance(sites, str):
        raise ValueError("mirnas, sites: found one text and one list; expected two of a kind")
    if len(mirnas) != len(sites):
        raise ValueError(
            f"mirnas, sites: found {len(mirnas)} and {len(sites)}; expected a site for each miRNA"
        )
    pairs = list(zip(_letters(mirnas, "mirnas"), _letters(sites, "sites"), strict=True))
    if model == "viennarna":
        without_gaps = [(mirna.replace("-", ""), site.replace("-", "")) for mirna, site in pairs]
        return np.array([round(viennarna_duplex_energy(*pair), 2) for pair in without_gaps])
    strings = [f"{mirna[::-1]}{'X' * LINKER}{site[::-1]}" for mirna, site in pairs]
    return DuplexEnergy(choose(backend)).fold(strings).astype(np.float64).round(2)


def _letters(texts: Strings, name: str) -> list[str]:
    for text in texts:
        known = LETTERS + LETTERS.lower() + "-"
        strange = set(text).difference(known) if isinstance(text, str) else {text}
        if strange:
            raise ValueError(
                f"{name}: found {min(strange, key=str)!r} in {text!r}; expected letters of "
                f"{' '.join(LETTERS)}, in either case"
            )
    return list(texts)
