from .load import check_inputs_exist as check_inputs_exist
from .load import check_results_writable as check_results_writable
from .load import load_config as load_config
from .models import Analysis as Analysis
from .root import Config as Config
