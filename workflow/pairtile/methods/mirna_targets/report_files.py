"""What the files of miRNA hits hold, and what their columns mean."""

from __future__ import annotations

FILES = {
    "hits.tsv": "every hit: one row a site, with its alignment, seed class and surroundings",
    "hits.parquet": "the same with types, for Python and R",
    "targets.tsv": "every pair of miRNA and transcript with a hit: one row a pair, its hits summed",
    "hits.bed": (
        "the sites as BED12 for a genome browser, thick where aligned; genome coordinates where "
        "an annotation was given, else those of the transcripts"
    ),
    "hits.gff3": "the same as GFF3, with scores, seed classes and energies as attributes",
    "miranda.txt": "the text that miRanda 3.3a prints for this input (without its banner)",
    "network.parquet": "the network: one edge a pair, strongest first",
    "items.parquet": "every record of both FASTA files, kept or left out and why",
}

ALIGNMENT_COLUMNS = {
    "query_alignment": "the miRNA, 3' to 5', aligned part in capitals",
    "match_line": "“|”: A-U or G-C pair, “:”: G-U pair",
    "reference_alignment": "the transcript, 5' to 3', aligned part in capitals",
}

HIT_COLUMNS = {
    "mirna, transcript": "names; # and a number mark a name that was there already",
    "rank": "place among the hits of the pair, from 1, in miRanda’s order",
    "score": "alignment score",
    "energy_kcal_mol": "free energy of the duplex as miRanda has it; empty without energies",
    "query_begin, query_end": "aligned part of the miRNA, from its 5' end, counted from 1",
    "reference_begin, reference_end": (
        "place on the transcript, counted from 1, with the letters opposite the miRNA’s ends"
    ),
    "site_begin, site_end": "the aligned part of it",
    "alignment_length": "columns of the alignment, gaps included",
    "identity_percent": "share of columns with an A-U or G-C pair",
    "similarity_percent": "share of columns with an A-U, G-C or G-U pair",
    "seed_class": (
        "pairs without a gap at miRNA positions 2–8 and an A opposite position 1: 8mer; 2–8: "
        "7mer-m8; 2–7 and that A: 7mer-A1; 2–7: 6mer; 3–8: offset 6mer"
    ),
    "local_au": "share of A and U in 30 letters on either side, near ones counting more, 0 to 1",
    "relative_position": "middle of the site on the transcript: 0 at the 5' end, 1 at the 3' end",
    "transcript_length": "letters of the transcript",
    "duplex_energy_kcal_mol": "ViennaRNA’s current duplex energy, Turner 2004 at 37 °C (extras)",
    "accessibility": "probability that the whole aligned site is unpaired (extras)",
    **ALIGNMENT_COLUMNS,
}

TARGET_COLUMNS = {
    "mirna, transcript": "names",
    "n_hits": "hits of the pair",
    "n_canonical_sites": "those of class 8mer, 7mer-m8 or 7mer-A1",
    "best_seed_class": "the best class among them",
    "total_score, max_score": "sum and greatest of the alignment scores",
    "total_energy_kcal_mol, min_energy_kcal_mol": "sum and lowest of the energies",
    "max_local_au": "greatest local AU content",
    "transcript_length": "letters of the transcript",
    "positions": "where each hit begins on the transcript, strongest first",
}

NETWORK_COLUMNS = {
    "source, target": "miRNA and transcript",
    "score": "greatest alignment score of the pair’s hits",
    "energy_kcal_mol": "lowest energy of its hits; not there without energies",
    "n_hits": "number of its hits",
    "total_score, total_energy_kcal_mol": "sums over its hits",
}

FILE_COLUMNS = {
    "hits.tsv": HIT_COLUMNS,
    "targets.tsv": TARGET_COLUMNS,
    "network.parquet": NETWORK_COLUMNS,
}
