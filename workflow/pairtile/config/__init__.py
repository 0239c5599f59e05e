"""The configuration: typed, described, checked before any job starts.

``load_config`` gives a ``Config``; ``check_inputs_exist`` looks for the files that it names. Needs
pydantic only, since Snakemake loads it at each start. Names are imported when they are first used:
``root`` asks every method for its model, and these models start from modules of this package.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
