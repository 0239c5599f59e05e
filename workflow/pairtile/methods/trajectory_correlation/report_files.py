"""What the files of an analysis of motion hold, and what their columns mean."""

from __future__ import annotations

FILES = {
    "matrices.npz": "all pairs as matrices, for NumPy: values, null and p-values, with labels",
    "pairs.parquet": "all pairs as a table, for Python and R",
    "network.parquet": "the network: the pairs that were kept, strongest first",
    "residues.tsv": (
        "every variable: community, betweenness, fluctuation, correlation time, effective frames"
    ),
    "communities.tsv": "every community with its members",
    "paths.tsv": "shortest and suboptimal paths between the residues asked for",
    "structure.pdb": (
        "the first frame; B-factor: 100 x mean correlation of the residue, occupancy: its community"
    ),
    "structure.pml": "script for PyMOL: communities in colours, strongest correlations as rods",
    "structure.vmd": "the same for VMD",
    "difference.parquet": "differences from the other analysis, pair by pair",
    "difference.npz": "the same as matrices",
    "difference.pdb": "B-factor: 100 x mean difference of correlation of the residue",
    "g_correlation.txt": "the matrix of correlations in the text format of g_correlation",
    "items.parquet": "every variable, kept or left out and why",
}

MATRIX_ARRAYS = {
    "mi_nats": "mutual information in nats, mean over the replicas; may be a little below 0",
    "correlation": "generalized correlation made of it, 0 to 1 (kind dcc: the correlation itself)",
    "dcc": "dynamical cross-correlation, −1 to 1",
    "null_mean, null_sd": "mean and spread over time-shifted surrogates",
    "p_value, q_value": "against the surrogates; q: false discovery rate over the candidate pairs",
    "mi_sd, correlation_sd, dcc_sd": "spread over the replicas (from two replicas on)",
    "contact": "whether the residues touch often enough (with contacts)",
    "labels, chain, resid, icode, resname, atom, domain, secondary_structure": (
        "of each row and column"
    ),
}

NETWORK_COLUMNS = {
    "source, target": "the two variables; their order means nothing",
    "mi_nats, correlation, dcc": "as in matrices.npz",
    "p_value, q_value": "against the surrogates",
}

RESIDUE_COLUMNS = {
    "item": "number in items.parquet; row of the matrices",
    "name": "chain, residue and, where several, atom or angle",
    "chain, resid, icode, resname, atom": "where it is",
    "domain, secondary_structure": "as marked; H helix, E strand, - neither (first frame)",
    "community_METHOD": "community by that method, 1 the largest; 0: without an edge",
    "betweenness": "share of the pairs of others whose shortest path runs through it",
    "degree, strength": "its edges, and the sum of their correlations by size",
    "mean_correlation": "mean size of its correlation with all others, kept or not",
    "sd": "root mean square fluctuation (Å) or standard deviation",
    "correlation_time": "in frames; 0.5 where each frame is independent of the last",
    "n_effective": "independent frames that tell as much, all replicas together",
}

COMMUNITY_COLUMNS = {
    "method, community": "how it was found; number, 1 the largest",
    "n_members": "variables in it",
    "edges_within, edges_out": "edges of the network within it, and to others",
    "mean_correlation": "of the edges within",
    "modularity": "of the whole division: 0 as by chance, up to 1",
    "members": "names, separated by blanks",
}

PATH_COLUMNS = {
    "source, target": "the ends",
    "rank": "1: the shortest; empty where nothing joins the two",
    "length": "sum of −ln of the correlations along it",
    "n_edges": "steps",
    "weakest_correlation": "the least along it",
    "path": "names from end to end, separated by blanks",
}

DIFFERENCE_COLUMNS = {
    "i, j, source, target": "items and names of this analysis",
    "correlation, mi_nats, dcc": "values of this analysis",
    "…_other": "values of the other analysis",
    "…_difference": "this one minus the other",
}

FILE_COLUMNS = {
    "matrices.npz": MATRIX_ARRAYS,
    "network.parquet": NETWORK_COLUMNS,
    "residues.tsv": RESIDUE_COLUMNS,
    "communities.tsv": COMMUNITY_COLUMNS,
    "paths.tsv": PATH_COLUMNS,
    "difference.parquet": DIFFERENCE_COLUMNS,
}
