"""The methods of pairtile, a folder each: open one and find everything of it."""

BUILT_IN = (
    "mutual_information",
    "multimodal_correlation",
    "predictor_pairs",
    "mirna_targets",
    "trajectory_correlation",
)
"""In the order of the documentation."""
