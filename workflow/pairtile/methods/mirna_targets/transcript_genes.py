"""Which gene each transcript is of."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from pairtile.errors import InputError
from pairtile.methods.mirna_targets.name_pairs import read_name_pairs

_HEADERS = (
    {"transcript", "transcripts", "transcript_id", "tx", "tx_id", "target_id", "utr"},
    {"gene", "genes", "gene_id", "gene_name", "gene_symbol", "symbol"},
)


def read_transcript_genes(path: str | PathLike[str], transcripts: Sequence[str]) -> dict[str, str]:
    """Read a table transcript -> gene; returns it for those of ``transcripts`` that it holds.

    Raises
    ------
    InputError
        As ``read_name_pairs``; a transcript with two genes; none of the transcripts in the table.
    """
    genes: dict[str, str] = {}
    for transcript, gene in read_name_pairs(path, "transcript and gene", _HEADERS):
        other = genes.setdefault(transcript, gene)
        if other != gene:
            raise InputError.at(
                path, f"transcript {transcript!r}", f"the genes {other!r} and {gene!r}", "one gene"
            )
    found = {name: genes[name] for name in transcripts if name in genes}
    if not found and transcripts:
        raise InputError.at(
            path,
            "",
            f"none of the {len(set(transcripts))} transcripts (such as {next(iter(genes))!r})",
            f"names as in the FASTA file, such as {transcripts[0]!r}",
        )
    return found
