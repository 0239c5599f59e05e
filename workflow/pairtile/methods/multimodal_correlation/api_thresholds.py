"""Thresholds of a correlation network, from a matrix or a table of correlations in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.power_law import (
    power_law_threshold as search_power_law,
)
from pairtile.methods.multimodal_correlation.random_matrix import random_matrix_threshold
from pairtile.methods.multimodal_correlation.thresholds import Threshold

_ENDS = ["source", "target", "correlation"]


def rmt_threshold(
    correlation: Any,
    *,
    start: float = 0.99,
    step: float = 0.001,
    stop: float | None = None,
    rule: str = "symmetric",
    min_eigenvalues: int = 50,
    backend: str = "auto",
) -> Threshold:
    """The correlation at which a network of modules turns into one that noise ties together.

    Parameters
    ----------
    correlation : array or DataFrame
        A symmetric matrix (genes x genes), NaN where there is none; or a table with columns
        ``source``, ``target`` and ``correlation``, such as ``ModeCorrelation.modes``. Of several
        modes of a pair the strongest counts.
    start, step : float
        The walk goes down from ``start`` by ``step``.
    stop : float, optional
        Where it ends; None: at the smallest correlation there is.
    rule : {"symmetric", "kinc"}
        Genes of the matrix: with a strong enough correlation to any gene, or to one before them.
    min_eigenvalues : int
        The test is made where the matrix has so many distinct eigenvalues; at least 50.
    backend : {"auto", "cpu", "cuda"}
        Where to compute eigenvalues.

    Returns
    -------
    Threshold
        ``threshold`` (None where none was found), ``message`` (what was found, or why not),
        ``curve`` (each step), ``spacings``. Draw them with
        ``pairtile.report.figures.rmt_curve`` and ``spacing_distribution``.

    Raises
    ------
    ValueError
        Neither a symmetric matrix nor such a table; correlations outside -1 to 1; settings that
        make no sense.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Luo et al. 2007, BMC Bioinformatics 8:299.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> modules = np.repeat(random.normal(size=(80, 20)), 5, axis=0)  # 80 modules of 5 genes
    >>> r = np.corrcoef(modules + 0.6 * random.normal(size=modules.shape))
    >>> rmt_threshold(r, step=0.01).threshold
    0.64
    """
    i, j, r, n_genes = _pairs(correlation)
    return random_matrix_threshold(
        i,
        j,
        r,
        n_genes,
        start=start,
        step=step,
        stop=stop,
        rule=rule,
        min_eigenvalues=min_eigenvalues,
        device=choose(backend),
    )


def power_law_threshold(
    correlation: Any,
    *,
    start: float = 0.99,
    step: float = 0.01,
    stop: float | None = None,
    fit: float = 0.8,
    min_genes: int = 50,
) -> Threshold:
    """The lowest correlation at which the numbers of neighbours follow a power law.

    Parameters
    ----------
    correlation, start, step, stop
        As for :func:`rmt_threshold`.
    fit : float
        Least R² of the falling line through the logarithms.
    min_genes : int
        Networks of fewer genes are not judged.

    Returns
    -------
    Threshold
        As for :func:`rmt_threshold`, without spacings. Draw the curve with
        ``pairtile.methods.multimodal_correlation.figures_thresholds.power_law_curve``.

    Raises
    ------
    ValueError
        As :func:`rmt_threshold`.

    Notes
    -----
    Source: Zhang and Horvath 2005, Stat Appl Genet Mol Biol 4:17.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(2)
    >>> r = np.corrcoef(random.normal(size=(80, 1)) * random.normal(size=60)
    ...                 + random.normal(size=(80, 60)))
    >>> found = power_law_threshold(r)
    >>> found.curve.columns.tolist()
    ['threshold', 'genes', 'edges', 'mean_degree', 'max_degree', 'fit', 'slope']
    """
    i, j, r, n_genes = _pairs(correlation)
    return search_power_law(
        i, j, r, n_genes, start=start, step=step, stop=stop, fit=fit, min_genes=min_genes
    )


def _pairs(
    correlation: Any,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
    """Gene numbers and correlation of each pair, and how many genes there are."""
    if isinstance(correlation, pd.DataFrame) and set(_ENDS) <= set(correlation.columns):
        ends = correlation[_ENDS[:2]].to_numpy().ravel()
        codes, names = pd.factorize(ends)
        r = correlation["correlation"].to_numpy(dtype=np.float64)
        return codes[::2], codes[1::2], r, len(names)
    try:
        matrix = np.asarray(correlation, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"correlation: found no numbers ({error}); {_EXPECTED}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"correlation: found shape {matrix.shape}; {_EXPECTED}")
    i, j = np.triu_indices(len(matrix), k=1)
    r = matrix[i, j]
    if not np.allclose(r, matrix[j, i], rtol=0.0, atol=1e-6, equal_nan=True):
        raise ValueError(f"correlation: found a matrix that is not symmetric; {_EXPECTED}")
    there = ~np.isnan(r)
    # Rounding leaves correlations of copies a little above 1.
    near = np.where(np.abs(r) <= 1.0 + 1e-9, np.clip(r, -1.0, 1.0), r)
    return i[there], j[there], near[there], len(matrix)


_EXPECTED = (
    "expected a symmetric matrix (genes x genes), or a table with columns source, target and "
    "correlation"
)
