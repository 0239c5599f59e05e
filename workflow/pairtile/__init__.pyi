"""The public names, for type checkers and for ``__init__.py``, which imports each on first use."""

from .api.analyse import analyse as analyse
from .api.anndata_network import add_network as add_network
from .api.coexpression_modules import Modules as Modules
from .api.coexpression_modules import consensus_modules as consensus_modules
from .api.coexpression_modules import find_modules as find_modules
from .api.coexpression_modules import module_preservation as module_preservation
from .api.coexpression_modules import module_traits as module_traits
from .api.differential import Differential as Differential
from .api.differential import differential as differential
from .api.evaluation import evaluate as evaluate
from .api.gene_sets import activity as activity
from .api.gene_sets import enrichment as enrichment
from .api.modules import network_modules as network_modules
from .api.prepare import prepare_expression as prepare_expression
from .errors import ConfigError as ConfigError
from .errors import DeviceError as DeviceError
from .errors import InputError as InputError
from .errors import PairtileError as PairtileError
from .io.expression import Expression as Expression
from .io.expression import read_expression as read_expression
from .io.gold_standard import read_gold_standard as read_gold_standard
from .io.networks import export_network as export_network
from .io.regulators import read_regulators as read_regulators
from .methods.mirna_targets.api import duplex_energy as duplex_energy
from .methods.mirna_targets.api import mirna_edges as mirna_edges
from .methods.mirna_targets.api import mirna_targets as mirna_targets
from .methods.mirna_targets.api_signal import MirnaSignal as MirnaSignal
from .methods.mirna_targets.api_signal import mirna_signal as mirna_signal
from .methods.multimodal_correlation.api import ModeCorrelation as ModeCorrelation
from .methods.multimodal_correlation.api import ModeNetwork as ModeNetwork
from .methods.multimodal_correlation.api import condition_tests as condition_tests
from .methods.multimodal_correlation.api import multimodal_correlation as multimodal_correlation
from .methods.multimodal_correlation.api import (
    power_law_threshold as power_law_threshold,
)
from .methods.multimodal_correlation.api import rmt_threshold as rmt_threshold
from .methods.multimodal_correlation.thresholds import Threshold as Threshold
from .methods.multimodal_correlation.thresholds import correlation_power as correlation_power
from .methods.mutual_information.api import PermutationNull as PermutationNull
from .methods.mutual_information.api import mutual_information as mutual_information
from .methods.mutual_information.api import permutation_null as permutation_null
from .methods.mutual_information.api_network import clr as clr
from .methods.mutual_information.api_network import (
    data_processing_inequality as data_processing_inequality,
)
from .methods.mutual_information.api_network import infer_network as infer_network
from .methods.mutual_information.api_network import target_z as target_z
from .methods.mutual_information.bootstrap import bootstrap_consensus as bootstrap_consensus
from .methods.predictor_pairs.api import predictor_edges as predictor_edges
from .methods.predictor_pairs.api import predictor_pairs as predictor_pairs
from .methods.trajectory_correlation.api import (
    MotionCorrelation as MotionCorrelation,
)
from .methods.trajectory_correlation.api import trajectory_correlation as trajectory_correlation
from .preprocess.expression import Prepared as Prepared
from .report.results import read_results as read_results
from .simulate import BooleanSimulation as BooleanSimulation
from .simulate import ConditionsSimulation as ConditionsSimulation
from .simulate import Simulation as Simulation
from .simulate import simulate_boolean as simulate_boolean
from .simulate import simulate_conditions as simulate_conditions
from .simulate import simulate_kinetic as simulate_kinetic
from .statistics.comparison import Comparison as Comparison
from .statistics.comparison import compare_networks as compare_networks
from .statistics.correction import benjamini_hochberg as benjamini_hochberg
from .statistics.correction import bonferroni as bonferroni

__version__: str
