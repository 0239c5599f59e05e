"""Report: the files of the method, and what their columns mean."""

from __future__ import annotations

FILES = {
    "hits.tsv": "every hit: one row a site, with its alignment, seed class and surroundings",
    "hits.parquet": "the same with types, for Python and R",
    "targets.tsv": "every pair of miRNA and transcript with a hit: one row a pair, its hits summed",
    "hits.bed": (
        "the sites as BED12 for a genome browser, thick at the seed match; genome coordinates "
        "where an annotation was given, else those of the transcripts"
    ),
    "hits.gff3": "the same as GFF3, with scores, seed classes and energies as attributes",
    "signal.tsv": (
        "how many sites there are and how many the shuffles have, by seed class and score, of all "
        "miRNAs and of each (with a null)"
    ),
    "signal_curve.tsv": "the same of pairs, by pair score (with a null)",
    "conservation.tsv": (
        "how many sites are kept in other species and how many chance keeps, by seed class and how "
        "well they are kept (with a null and orthologs)"
    ),
    "expression.tsv": (
        "whether the targets of each miRNA go against it in expression, beside those of its "
        "shuffles (with a null and expression)"
    ),
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
    "seed_begin, seed_end": "the seed match on the transcript, with that A; empty for none",
    "local_au": "share of A and U in 30 letters on either side, near ones counting more, 0 to 1",
    "relative_position": "middle of the site on the transcript: 0 at the 5' end, 1 at the 3' end",
    "transcript_length": "letters of the transcript",
    "species_with_ortholog": "species with an ortholog of the transcript (with orthologs)",
    "species_kept": "those of them whose ortholog has the letters of the seed class",
    "branch_length_kept": "branches that join them and the reference (with a species tree)",
    "conservation_rate": (
        "share of the sites of this class, kept so well or better, that chance does not explain"
    ),
    "pairing_3p, end_distance, offset_6mers, seed_pairing_kcal_mol": (
        "of the seed match of 6mers and better: pairs behind it, letters to the nearer end, "
        "matches to positions 3 to 8 in the transcript, energy of its pairs (extras)"
    ),
    "target_site_abundance": "canonical sites of the miRNA in all transcripts together (extras)",
    "context_score": "context++ score as far as sequences give it; below 0 is repression (extras)",
    "duplex_energy_kcal_mol": "ViennaRNA’s current duplex energy, Turner 2004 at 37 °C (extras)",
    "accessibility": "probability that the whole aligned site is unpaired (extras)",
    **ALIGNMENT_COLUMNS,
}

NULL_COLUMNS = {
    "pair_score": "−log10 of the Poisson probability of so many sites so strong (with a null)",
    "p_value, q_value": "against the pairs of the miRNA’s shuffles (with a null)",
}

TARGET_COLUMNS = {
    "mirna, transcript": "names",
    "gene, symbol": "of the transcript, where the headers of the FASTA file say them",
    **NULL_COLUMNS,
    "n_hits": "hits of the pair",
    "n_canonical_sites": "those of class 8mer, 7mer-m8 or 7mer-A1",
    "best_seed_class": "the best class among them",
    "total_score, max_score": "sum and greatest of the alignment scores",
    "total_energy_kcal_mol, min_energy_kcal_mol": "sum and lowest of the energies",
    "max_local_au": "greatest local AU content",
    "transcript_length": "letters of the transcript",
    "positions": "where each hit begins on the transcript, strongest first",
    "total_context_score": "sum of the sites’ context scores (extras)",
    "max_species_kept, max_branch_length_kept, max_conservation_rate": (
        "greatest of the sites (with orthologs)"
    ),
    "correlation": "Spearman’s, of miRNA and transcript over the samples (with expression)",
    "correlation_p_value, correlation_q_value": (
        "how low it is among the pairs of the miRNA’s shuffles; pairs with a canonical site"
    ),
}

NETWORK_COLUMNS = {
    "source, target": "miRNA and transcript",
    "score": "greatest alignment score of the pair’s hits",
    "energy_kcal_mol": "lowest energy of its hits; not there without energies",
    "n_hits": "number of its hits",
    "total_score, total_energy_kcal_mol": "sums over its hits",
    **NULL_COLUMNS,
    "neg_log10_p": "−log10 of p_value: a weight that is high where p is low (with a null)",
}

SIGNAL_COLUMNS = {
    "mirna": "name, or all",
    "seed_class": "a seed class, canonical (8mer, 7mer-m8, 7mer-A1) or all",
    "min_score": "least alignment score",
    "sites": "hits that count",
    "expected": "the same of the shuffles, on average",
    "ratio": "sites / expected",
    "ratio_low, ratio_high": "sites over the 97.5 and 2.5 % quantiles of the shuffles",
    "p_value": "share of shuffles with as many or more",
}

CONSERVATION_COLUMNS = {
    "mirna": "name, or all",
    "seed_class": "a seed class, or canonical: 8mer, 7mer-m8, 7mer-A1, each expected by itself",
    "min_species": "least number of species; with a species tree min_branch_length",
    "sites": "sites on transcripts with an ortholog",
    "kept": "S: those that so many species keep",
    "expected": "B: sites times the share of the shuffles’ sites that are kept so",
    "conservation_rate": "(S − B) / S",
    "rate_low, rate_high": "to the 97.5 and 2.5 % quantiles of the shuffles",
    "p_value": "share of shuffles of which as many or more are kept",
}

EXPRESSION_COLUMNS = {
    "mirna": "name, or all",
    "pairs": "pairs with a canonical site whose two sides have expression",
    "correlation": "mean of their correlations, in steps of 0.01",
    "expected": "the same of the shuffles, on average",
    "p_value": "share of shuffles with as low a mean",
    "q_value": "Benjamini-Hochberg over the miRNAs",
}

CURVE_COLUMNS = {
    "mirna": "name, or all",
    "min_pair_score": "least pair score",
    "pairs": "pairs that reach it",
    "expected": "the same of the shuffles, on average",
    "ratio": "pairs / expected",
}

FILE_COLUMNS = {
    "hits.tsv": HIT_COLUMNS,
    "targets.tsv": TARGET_COLUMNS,
    "signal.tsv": SIGNAL_COLUMNS,
    "signal_curve.tsv": CURVE_COLUMNS,
    "conservation.tsv": CONSERVATION_COLUMNS,
    "expression.tsv": EXPRESSION_COLUMNS,
    "network.parquet": NETWORK_COLUMNS,
}
