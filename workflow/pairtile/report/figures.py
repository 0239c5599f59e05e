"""All figures of the reports, as functions for notebooks: ``pairtile.report.figures.NAME(...)``.

Each takes arrays or tables and returns a matplotlib Figure, which a notebook shows and
``figure.savefig("name.svg")`` writes. Nothing of pyplot's state is touched. Names of genes are
drawn as they are: no character in them is taken as mathematics.

Networks of any method
    ``score_distribution``, ``degree_distribution``, ``precision_recall``, ``cleaning_overview``
Samples of a table
    ``sample_sizes``, ``sample_components``, ``hidden_factors``, ``time_courses``
Modes of pairs, thresholds and modules
    ``pair_scatter``, ``condition_scatter``, ``condition_edges``, ``correlation_distribution``,
    ``mode_number_distribution``, ``rmt_curve``, ``power_law_curve``, ``spacing_distribution``,
    ``module_heat_map``, ``module_sizes``
Predictors of a gene's level
    ``best_set_distribution``, ``p_value_distribution``, ``tie_distribution``, ``imp_against_mi``,
    ``level_table``
miRNA targets
    ``alignment``, ``hit_distribution``, ``seed_classes``, ``relative_positions``, ``most_pairs``,
    ``target_map``, ``site_map``, ``signal_and_chance``, ``conservation_rates``
Correlated motion
    ``correlation_map``, ``residue_profiles``, ``correlation_against_distance``,
    ``null_against_value``, ``p_value_histogram``, ``two_profiles``, ``frames_figure``, with
    ``ResidueMarks`` for what stands beside them
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from pairtile.method import methods
from pairtile.report import network_figures, sample_figures


@cache
def _modules() -> dict[str, ModuleType]:
    """The module of each figure function: the common ones, then ``charts.py`` of each method."""
    own = [f"{method.package}.charts" for method in methods().values()]
    modules = [network_figures, sample_figures, *map(import_module, filter(find_spec, own))]
    return {name: module for module in modules for name in getattr(module, "__all__", ())}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_modules())
    if name in _modules():
        return getattr(_modules()[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_modules())
