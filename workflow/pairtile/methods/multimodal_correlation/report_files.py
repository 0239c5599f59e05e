"""What the files of a multimodal network hold, and what their columns mean."""

from __future__ import annotations

FILES = {
    "network.parquet": "the network: a row for each mode that passed threshold and power",
    "pairs.parquet": "every stored mode, with its samples as bit masks, for Python and R",
    "threshold.tsv": "the walk to the threshold, step by step",
    "condition_tests.tsv": "every edge against every condition: p- and q-values",
    "condition_networks.tsv": "the edges of each condition's network",
    "modules.tsv": "every gene of the network with its module",
    "kinc.txt": "the network in KINC's text, with the samples of each edge and its tests",
    "kinc_tidy.txt": "the same, a line for each edge and test",
    "kinc_minimal.txt": "the same, genes and correlations alone",
    "items.parquet": "every gene, kept or left out and why",
}

NETWORK_COLUMNS = {
    "source, target": "the two genes; their order means nothing",
    "cluster, n_clusters": "which of the pair's stored modes this is, and how many there are",
    "n_samples": "samples in the mode, outliers taken away",
    "correlation": "of these samples",
    "p_value": (
        "of no correlation, two-sided; too small where a pair has several modes, since the same "
        "data chose the mode: rank by it, and do not read it as the chance of a mistake"
    ),
    "power": "chance that a test would find a true correlation of this size in so many samples",
    "CONDITION_LABEL_p_value, ..._q_value": (
        "whether the label is more frequent in the mode than among the pair's samples "
        "(hypergeometric); q: false discovery rate over all edges and labels of the condition"
    ),
    "CONDITION_p_value, ..._q_value, ..._r_squared": (
        "of a condition in numbers or in order: whether the expression of the two genes tells it"
    ),
    "source_welch_p_value, target_welch_p_value": (
        "whether the gene's mean expression differs between the mode and the pair's other samples"
    ),
    "missing_p_value": "whether one gene lacks values more often than the other",
    "missing_by_CONDITION_p_value": "whether values are missing more often under one label",
    "n_modes": "modes of the pair's mixture, stored or not",
    "weight": "the mode's share of the pair's samples, by the mixture",
}

FILE_COLUMNS = {"network.parquet": NETWORK_COLUMNS}
