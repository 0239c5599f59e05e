"""The figures of modes, conditions, modules and thresholds."""

from pairtile.methods.multimodal_correlation.figures_conditions import (
    condition_edges,
    condition_scatter,
)
from pairtile.methods.multimodal_correlation.figures_modes import (
    correlation_distribution,
    mode_number_distribution,
    pair_scatter,
)
from pairtile.methods.multimodal_correlation.figures_modules import module_heat_map, module_sizes
from pairtile.methods.multimodal_correlation.figures_thresholds import (
    power_law_curve,
    rmt_curve,
    spacing_distribution,
)

__all__ = [
    "condition_edges",
    "condition_scatter",
    "correlation_distribution",
    "mode_number_distribution",
    "module_heat_map",
    "module_sizes",
    "pair_scatter",
    "power_law_curve",
    "rmt_curve",
    "spacing_distribution",
]
