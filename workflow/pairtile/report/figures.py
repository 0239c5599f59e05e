"""All figures of the reports, as functions for notebooks: ``pairtile.report.figures.NAME(...)``.

Each takes arrays or tables and returns a matplotlib Figure, which a notebook shows and
``figure.savefig("name.svg")`` writes. Nothing of pyplot's state is touched. Names of genes are
drawn as they are: no character in them is taken as mathematics.

Networks of any method
    ``score_distribution``, ``degree_distribution``, ``precision_recall``, ``cleaning_overview``
Modes of pairs, thresholds and modules
    ``pair_scatter``, ``condition_scatter``, ``condition_edges``, ``correlation_distribution``,
    ``mode_number_distribution``, ``rmt_curve``, ``power_law_curve``, ``spacing_distribution``,
    ``module_heat_map``, ``module_sizes``
Predictors of a gene's level
    ``best_set_distribution``, ``p_value_distribution``, ``tie_distribution``, ``imp_against_mi``,
    ``level_table``
miRNA targets
    ``alignment``, ``hit_distribution``, ``seed_classes``, ``relative_positions``, ``most_pairs``,
    ``target_map``
Correlated motion
    ``correlation_map``, ``residue_profiles``, ``correlation_against_distance``,
    ``null_against_value``, ``p_value_histogram``, with ``ResidueMarks`` for what stands beside them
"""

from pairtile.report.figures_alignment import alignment
from pairtile.report.figures_conditions import condition_edges, condition_scatter
from pairtile.report.figures_mirna import (
    hit_distribution,
    most_pairs,
    relative_positions,
    seed_classes,
    target_map,
)
from pairtile.report.figures_modes import (
    correlation_distribution,
    mode_number_distribution,
    pair_scatter,
)
from pairtile.report.figures_modules import module_heat_map, module_sizes
from pairtile.report.figures_motion import (
    correlation_against_distance,
    correlation_map,
    null_against_value,
    p_value_histogram,
    residue_profiles,
)
from pairtile.report.figures_network import (
    cleaning_overview,
    degree_distribution,
    precision_recall,
    score_distribution,
)
from pairtile.report.figures_predictors import (
    best_set_distribution,
    imp_against_mi,
    level_table,
    p_value_distribution,
    tie_distribution,
)
from pairtile.report.figures_thresholds import (
    power_law_curve,
    rmt_curve,
    spacing_distribution,
)
from pairtile.report.residue_marks import ResidueMarks

__all__ = [
    "ResidueMarks",
    "alignment",
    "best_set_distribution",
    "cleaning_overview",
    "condition_edges",
    "condition_scatter",
    "correlation_against_distance",
    "correlation_distribution",
    "correlation_map",
    "degree_distribution",
    "hit_distribution",
    "imp_against_mi",
    "level_table",
    "mode_number_distribution",
    "module_heat_map",
    "module_sizes",
    "most_pairs",
    "null_against_value",
    "p_value_distribution",
    "p_value_histogram",
    "pair_scatter",
    "power_law_curve",
    "precision_recall",
    "relative_positions",
    "residue_profiles",
    "rmt_curve",
    "score_distribution",
    "seed_classes",
    "spacing_distribution",
    "target_map",
    "tie_distribution",
]
