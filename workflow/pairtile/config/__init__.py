"""The configuration: typed, described, checked before any job starts.

``load_config`` gives a ``Config``; ``check_inputs_exist`` looks for the files that it names. Needs
pydantic only, since Snakemake loads it at each start.
"""

from pairtile.config.load import check_inputs_exist, check_results_writable, load_config
from pairtile.config.models import Analysis
from pairtile.config.root import Config
from pairtile.errors import ConfigError

__all__ = [
    "Analysis",
    "Config",
    "ConfigError",
    "check_inputs_exist",
    "check_results_writable",
    "load_config",
]
