"""pairtile: score every pair of a data set, in tiles, on CPU or GPU.

As a library, on NumPy arrays, pandas DataFrames, AnnData and sequences:

    from pairtile import infer_network, mutual_information

The public names stand in ``__init__.pyi`` and are imported when they are first used, so that what
needs only the configuration (Snakemake, at each start) does not wait for numpy and pandas, nor
needs more than Snakemake brings.
"""

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.2.0"

_MODULES = {
    alias.name: f"{__name__}.{node.module}"
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
