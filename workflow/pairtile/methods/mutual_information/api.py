"""Mutual information of all pairs of genes, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.anndata_network import check_storage
from pairtile.api.regulators import regulator_rows
from pairtile.api.settings import analysis_config
from pairtile.api.table import ExpressionTable, Matrix, as_table, is_anndata
from pairtile.engine.tiles import PairSpace
from pairtile.gpu.device import Device, choose
from pairtile.methods.mutual_information.api_analysis import scaled_genes
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.prepare import spline_settings
from pairtile.methods.mutual_information.score import MutualInformation
from pairtile.splines.scorer import BsplineScorer, Weights

WEIGHT_SHARE = 0.25
"""Share of free memory that the weights of all columns may take; else they are made again."""


def mutual_information(
    expression: Any,
    *,
    regulators: Sequence[Any] | NDArray[Any] | None = None,
    other: Any = None,
    bins: int = 10,
    order: int = 3,
    knots: str = "clamped",
    transform: str = "rank",
    precision: str = "auto",
    min_samples: int = 20,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    backend: str = "auto",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Mutual information in bits of every pair of genes, by B-splines (Daub et al. 2004).

    Each gene's values (or ranks) are spread over ``bins`` bins by B-splines of order ``order``,
    and MI = H(x) + H(y) - H(x, y) of the binned distributions, in bits: 0 for unrelated genes, at
    most log2(bins). Values are used as they are: no logarithm, no filter (``prepare_expression``
    does those). There is no correction for the bias of few samples; ``permutation_null`` tells
    what chance gives.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples); AnnData is cells x genes, as ever. NaN is missing: a pair is
        scored on the samples that both genes were observed in.
    regulators : sequence, optional
        Names of genes (gene numbers for an array) or a mask: score only these with all genes.
    other : as ``expression``, optional
        A second table of the same samples in the same order (metabolites, protein levels): score
        the genes of the first with those of the second.
    bins : int, 1 to 64
        10 suits 200 samples and more; 5 or 6 are better for about 100.
    order : int, 1 to ``bins``
        Spline order, degree + 1. 1 is a plain histogram.
    knots : {"clamped", "uniform"}
        ``uniform`` is the variant of the authors' own R code.
    transform : {"rank", "none"}
        ``rank`` bins each gene's average ranks, so that outliers do no harm.
    precision : {"auto", "float64", "mixed"}
        ``mixed``: half-precision weights, within 1e-4 bits; ``auto``: that on a GPU, float64 on
        the CPU.
    min_samples : int, at least 3
        Pairs observed together in fewer samples get NaN.
    orientation : {"genes_in_rows", "samples_in_rows"}
        Of arrays and DataFrames.
    layer : str, optional
        Layer of an AnnData, in place of ``X``.
    backend : {"auto", "cpu", "cuda"}
        ``auto``: a usable GPU, else all CPU cores.
    key_added : str, optional
        Only for an AnnData, without ``regulators`` and ``other``: store the matrix in
        ``varp[key_added]`` and the settings in ``uns[key_added]``, and return None.
    copy : bool
        With ``key_added``: leave the AnnData as it is and return a copy that holds the matrix.

    Returns
    -------
    float64 array or DataFrame [shape: (genes, genes)]
        Symmetric. The diagonal is NaN: a gene is not its own partner (and with B-splines of order
        above 1, MI(x, x) is not the entropy of x either). With ``regulators``, shape
        (regulators, genes), rows in the order given, NaN where a regulator meets itself; with
        ``other``, (genes, genes of ``other``). An array for an array, else a DataFrame with the
        names of the genes. NaN too for pairs of too few samples. A constant gene has 0 throughout.

    Raises
    ------
    ValueError
        Not a table of numbers; infinite values; repeated names; fewer samples than
        ``min_samples``; regulators that are not there; settings that are not allowed.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Daub et al. 2004, BMC Bioinformatics 5:118, equations 3-8. Genes are scored in the
    tiles that the workflow uses, and each pair has the score that it has there.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.linspace(0, 1, 200)
    >>> table = pd.DataFrame([x, (x - 0.5) ** 2, np.sin(999 * x)], index=["a", "b", "c"])
    >>> mutual_information(table).round(1)
         a    b    c
    a  NaN  1.2  0.3
    b  1.2  NaN  0.1
    c  0.3  0.1  NaN
    """
    config = analysis_config(
        MutualInformationConfig,
        estimator={
            "bins": bins,
            "order": order,
            "knots": knots,
            "transform": transform,
            "precision": precision,
        },
        preprocess={"min_samples": min_samples},
        backend=backend,
    )
    table = as_table(expression, orientation=orientation, layer=layer)
    check_samples(table, min_samples)
    square = is_anndata(expression) and regulators is None and other is None
    if key_added is not None and not square:
        raise ValueError(
            f"key_added: found {key_added!r}; expected it only with an AnnData, without "
            "regulators and other (varp holds genes x genes)"
        )
    check_storage(expression, key_added, copy)
    device = choose(backend)
    if other is not None:
        if regulators is not None:
            raise ValueError("regulators: found them beside other; expected one of the two")
        columns = as_table(other, orientation=orientation, name="other")
        _check_same_samples(table, columns)
        scores = _matrix(table, np.arange(table.n_genes), columns, config, device)
        return _between(table, columns, scores)
    rows = np.arange(table.n_genes)
    if regulators is not None:
        rows = regulator_rows(regulators, table.labels, named=table.genes is not None)
    scores = _matrix(table, rows, None if regulators is None else table, config, device)
    scores[np.arange(rows.size), rows] = np.nan
    if key_added is None:
        return table.named(rows, scores)
    stored = expression.copy() if copy else expression
    stored.varp[key_added] = scores
    settings = {**config["estimator"], "min_samples": min_samples, "layer": layer or "X"}
    stored.uns[key_added] = {"params": settings, "unit": "bits"}
    return stored if copy else None


def check_samples(table: ExpressionTable, min_samples: int) -> None:
    """Refuse a table in which no pair can have ``min_samples`` samples."""
    if table.n_samples < min_samples:
        raise ValueError(
            f"expression: found {table.n_samples} samples; expected at least min_samples "
            f"({min_samples}); lower it if so few are meant"
        )


def _matrix(
    rows_of: ExpressionTable,
    rows: NDArray[np.int64],
    columns_of: ExpressionTable | None,
    config: MutualInformationConfig,
    device: Device,
) -> NDArray[np.float64]:
    """Scores of some genes with all of another table; without that, of all genes with each other.

    Works in the tiles of the workflow, so that every pair is scored as it is there.
    """
    settings = spline_settings(config, MutualInformation.resolve_precision(config, device.backend))
    scorer = BsplineScorer(settings, device)
    transform = config["estimator"]["transform"]
    z_rows = scaled_genes(rows_of.values[rows], settings, transform)
    if columns_of is None:
        space, z_columns = PairSpace("triangle", rows.size, rows.size), z_rows
    else:
        space = PairSpace("rectangle", rows.size, columns_of.n_genes)
        z_columns = scaled_genes(columns_of.values, settings, transform)
    result = np.empty((space.rows, space.columns))
    enough = config["preprocess"]["min_samples"]
    all_weights = z_columns.size * settings.bins * 8
    keep_weights = all_weights < WEIGHT_SHARE * device.free_bytes()
    weights: dict[int, Weights] = {}
    band, left = -1, None
    for tile in space.tiles():
        if tile.row_begin != band:
            band, left = tile.row_begin, scorer.weights(z_rows[tile.row_begin : tile.row_end])
        begin, end = tile.column_begin, tile.column_end
        right = weights.get(begin)
        if right is None:
            right = scorer.weights(z_columns[begin:end])
            if keep_weights:
                weights[begin] = right
        on_diagonal = space.kind == "triangle" and tile.row_begin == begin
        from_column = np.arange(tile.row_end - tile.row_begin) + 1 if on_diagonal else None
        assert left is not None
        found, n_samples = scorer.scores(left, right, from_column)
        bits = device.to_host(found).astype(np.float64)
        if n_samples is not None:
            bits[device.to_host(n_samples) < enough] = np.nan
        if on_diagonal:
            upper = np.triu(bits, 1)
            bits = upper + upper.T
        result[tile.row_begin : tile.row_end, begin:end] = bits
        if space.kind == "triangle" and not on_diagonal:
            result[begin:end, tile.row_begin : tile.row_end] = bits.T
    return result


def _check_same_samples(table: ExpressionTable, other: ExpressionTable) -> None:
    if table.n_samples != other.n_samples:
        raise ValueError(
            f"other: found {other.n_samples} samples; expected the {table.n_samples} of expression"
        )
    if table.samples is None or other.samples is None:
        return
    if not table.samples.equals(other.samples):
        where = int(np.argmax(np.asarray(table.samples) != np.asarray(other.samples)))
        raise ValueError(
            f"other: sample {where}: found {other.samples[where]!r}; expected "
            f"{table.samples[where]!r}, as in expression (reindex one by the other)"
        )


def _between(table: ExpressionTable, other: ExpressionTable, scores: NDArray[np.float64]) -> Matrix:
    if table.genes is None and other.genes is None:
        return scores
    return pd.DataFrame(scores, index=table.labels, columns=other.labels, copy=False)
