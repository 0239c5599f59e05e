"""pairtile: score every pair of a data set, in tiles, on CPU or GPU.

As a library, on NumPy arrays, pandas DataFrames, AnnData and sequences:

    from pairtile import infer_network, mutual_information

The public names stand in ``__init__.pyi`` and are imported when they are first used, so that what
needs only the configuration (Snakemake, at each start) does not wait for numpy and pandas.
"""

import lazy_loader

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]

__version__ = "0.2.0"


def __dir__() -> list[str]:
    return list(__all__)
