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
    from pairtile.api.condition_tests import condition_tests
    from pairtile.api.dpi import data_processing_inequality
    from pairtile.api.duplex_energy import duplex_energy
    from pairtile.api.infer import infer_network
    from pairtile.api.mirna_edges import mirna_edges
    from pairtile.api.mirna_targets import mirna_targets
    from pairtile.api.mode_correlation import ModeCorrelation
    from pairtile.api.mode_network import ModeNetwork
    from pairtile.api.modules import network_modules
    from pairtile.api.motion_correlation import MotionCorrelation
    from pairtile.api.multimodal_correlation import multimodal_correlation
    from pairtile.api.mutual_information import mutual_information
    from pairtile.api.permutation_null import PermutationNull, permutation_null
    from pairtile.api.predictor_pairs import predictor_edges, predictor_pairs
    from pairtile.api.prepare import prepare_expression
    from pairtile.api.scores import clr, target_z
    from pairtile.api.thresholds import power_law_threshold, rmt_threshold
    from pairtile.api.trajectory_correlation import trajectory_correlation
    from pairtile.errors import ConfigError, DeviceError, InputError, PairtileError
    from pairtile.export.formats import export_network
    from pairtile.inputs.expression import Expression, read_expression
    from pairtile.inputs.gold_standard import read_gold_standard
    from pairtile.inputs.regulators import read_regulators
    from pairtile.network.comparison import Comparison, compare_networks
    from pairtile.network.consensus import bootstrap_consensus
    from pairtile.network.correction import benjamini_hochberg, bonferroni
    from pairtile.network.evaluation import evaluate
    from pairtile.network.power_filter import correlation_power
    from pairtile.network.thresholds import Threshold
    from pairtile.prepare.expression import Prepared
    from pairtile.simulate import (
        BooleanSimulation,
        Simulation,
        simulate_boolean,
        simulate_kinetic,
    )

_MODULES = {
    "api.anndata_network": ("add_network",),
    "api.condition_tests": ("condition_tests",),
    "api.dpi": ("data_processing_inequality",),
    "api.duplex_energy": ("duplex_energy",),
    "api.infer": ("infer_network",),
    "api.mirna_edges": ("mirna_edges",),
    "api.mirna_targets": ("mirna_targets",),
    "api.mode_correlation": ("ModeCorrelation",),
    "api.mode_network": ("ModeNetwork",),
    "api.modules": ("network_modules",),
    "api.motion_correlation": ("MotionCorrelation",),
    "api.multimodal_correlation": ("multimodal_correlation",),
    "api.mutual_information": ("mutual_information",),
    "api.permutation_null": ("PermutationNull", "permutation_null"),
    "api.predictor_pairs": ("predictor_edges", "predictor_pairs"),
    "api.prepare": ("prepare_expression",),
    "api.scores": ("clr", "target_z"),
    "api.thresholds": ("power_law_threshold", "rmt_threshold"),
    "api.trajectory_correlation": ("trajectory_correlation",),
    "errors": ("ConfigError", "DeviceError", "InputError", "PairtileError"),
    "export.formats": ("export_network",),
    "inputs.expression": ("Expression", "read_expression"),
    "inputs.gold_standard": ("read_gold_standard",),
    "inputs.regulators": ("read_regulators",),
    "network.comparison": ("Comparison", "compare_networks"),
    "network.consensus": ("bootstrap_consensus",),
    "network.correction": ("benjamini_hochberg", "bonferroni"),
    "network.evaluation": ("evaluate",),
    "network.power_filter": ("correlation_power",),
    "network.thresholds": ("Threshold",),
    "prepare.expression": ("Prepared",),
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
