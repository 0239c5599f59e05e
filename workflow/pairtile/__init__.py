"""pairtile: score every pair of a data set, in tiles, on CPU or GPU.

As a library, on NumPy arrays, pandas DataFrames, AnnData and sequences:

    from pairtile import infer_network, mutual_information

Names are imported when they are first used, so that what needs only the configuration (Snakemake,
at each start) does not wait for numpy and pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pairtile.api.anndata_network import add_network
    from pairtile.api.modules import network_modules
    from pairtile.api.prepare import prepare_expression
    from pairtile.errors import ConfigError, DeviceError, InputError, PairtileError
    from pairtile.io.expression import Expression, read_expression
    from pairtile.io.gold_standard import read_gold_standard
    from pairtile.io.networks.formats import export_network
    from pairtile.io.regulators import read_regulators
    from pairtile.methods.mirna_targets.api import mirna_targets
    from pairtile.methods.mirna_targets.api_duplex_energy import duplex_energy
    from pairtile.methods.mirna_targets.api_edges import mirna_edges
    from pairtile.methods.multimodal_correlation.api import multimodal_correlation
    from pairtile.methods.multimodal_correlation.api_conditions import condition_tests
    from pairtile.methods.multimodal_correlation.api_mode_correlation import ModeCorrelation
    from pairtile.methods.multimodal_correlation.api_mode_network import ModeNetwork
    from pairtile.methods.multimodal_correlation.api_thresholds import (
        power_law_threshold,
        rmt_threshold,
    )
    from pairtile.methods.multimodal_correlation.power_filter import correlation_power
    from pairtile.methods.multimodal_correlation.thresholds import Threshold
    from pairtile.methods.mutual_information.api import mutual_information
    from pairtile.methods.mutual_information.api_dpi import data_processing_inequality
    from pairtile.methods.mutual_information.api_infer import infer_network
    from pairtile.methods.mutual_information.api_null import PermutationNull, permutation_null
    from pairtile.methods.mutual_information.api_scores import clr, target_z
    from pairtile.methods.mutual_information.consensus import bootstrap_consensus
    from pairtile.methods.predictor_pairs.api import predictor_edges, predictor_pairs
    from pairtile.methods.trajectory_correlation.api import trajectory_correlation
    from pairtile.methods.trajectory_correlation.api_motion_correlation import MotionCorrelation
    from pairtile.preprocess.expression import Prepared
    from pairtile.simulate import (
        BooleanSimulation,
        Simulation,
        simulate_boolean,
        simulate_kinetic,
    )
    from pairtile.statistics.comparison import Comparison, compare_networks
    from pairtile.statistics.correction import benjamini_hochberg, bonferroni
    from pairtile.statistics.evaluation import evaluate

_MODULES = {
    "api.anndata_network": ("add_network",),
    "methods.multimodal_correlation.api_conditions": ("condition_tests",),
    "methods.mutual_information.api_dpi": ("data_processing_inequality",),
    "methods.mirna_targets.api_duplex_energy": ("duplex_energy",),
    "methods.mutual_information.api_infer": ("infer_network",),
    "methods.mirna_targets.api_edges": ("mirna_edges",),
    "methods.mirna_targets.api": ("mirna_targets",),
    "methods.multimodal_correlation.api_mode_correlation": ("ModeCorrelation",),
    "methods.multimodal_correlation.api_mode_network": ("ModeNetwork",),
    "api.modules": ("network_modules",),
    "methods.trajectory_correlation.api_motion_correlation": ("MotionCorrelation",),
    "methods.multimodal_correlation.api": ("multimodal_correlation",),
    "methods.mutual_information.api": ("mutual_information",),
    "methods.mutual_information.api_null": ("PermutationNull", "permutation_null"),
    "methods.predictor_pairs.api": ("predictor_edges", "predictor_pairs"),
    "api.prepare": ("prepare_expression",),
    "methods.mutual_information.api_scores": ("clr", "target_z"),
    "methods.multimodal_correlation.api_thresholds": ("power_law_threshold", "rmt_threshold"),
    "methods.trajectory_correlation.api": ("trajectory_correlation",),
    "errors": ("ConfigError", "DeviceError", "InputError", "PairtileError"),
    "io.networks.formats": ("export_network",),
    "io.expression": ("Expression", "read_expression"),
    "io.gold_standard": ("read_gold_standard",),
    "io.regulators": ("read_regulators",),
    "statistics.comparison": ("Comparison", "compare_networks"),
    "methods.mutual_information.consensus": ("bootstrap_consensus",),
    "statistics.correction": ("benjamini_hochberg", "bonferroni"),
    "statistics.evaluation": ("evaluate",),
    "methods.multimodal_correlation.power_filter": ("correlation_power",),
    "methods.multimodal_correlation.thresholds": ("Threshold",),
    "preprocess.expression": ("Prepared",),
    "simulate": ("BooleanSimulation", "Simulation", "simulate_boolean", "simulate_kinetic"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BooleanSimulation",
    "Comparison",
    "ConfigError",
    "DeviceError",
    "Expression",
    "InputError",
    "ModeCorrelation",
    "ModeNetwork",
    "MotionCorrelation",
    "PairtileError",
    "PermutationNull",
    "Prepared",
    "Simulation",
    "Threshold",
    "__version__",
    "add_network",
    "benjamini_hochberg",
    "bonferroni",
    "bootstrap_consensus",
    "clr",
    "compare_networks",
    "condition_tests",
    "correlation_power",
    "data_processing_inequality",
    "duplex_energy",
    "evaluate",
    "export_network",
    "infer_network",
    "mirna_edges",
    "mirna_targets",
    "multimodal_correlation",
    "mutual_information",
    "network_modules",
    "permutation_null",
    "power_law_threshold",
    "predictor_edges",
    "predictor_pairs",
    "prepare_expression",
    "read_expression",
    "read_gold_standard",
    "read_regulators",
    "rmt_threshold",
    "simulate_boolean",
    "simulate_kinetic",
    "target_z",
    "trajectory_correlation",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
