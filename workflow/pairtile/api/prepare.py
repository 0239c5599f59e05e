"""Preparation of expression in memory: logarithm, normalisation, filters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.settings import checked_section
from pairtile.api.table import ExpressionTable, as_table
from pairtile.config.preprocess import Preprocess
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.expression import prepare_expression as prepare
from pairtile.preprocess.samples import SampleDesign


def prepare_expression(
    expression: Any,
    *,
    log2: bool | str = "auto",
    pseudocount: float | str = "auto",
    normalize: str = "auto",
    min_samples: int = 20,
    min_expressed: float = 0.0,
    top_variable: int | None = None,
    drop_constant: bool = False,
    orientation: str = "genes_in_rows",
    layer: str | None = "auto",
    obs: Mapping[str, Any] | None = None,
) -> Prepared:
    """Clean an expression table as the workflow does, with an account of what was done.

    In this order: ``cpm`` and what else normalises raw values; log2, where zeros become
    missing unless a pseudocount is added; genes with too few samples dropped; ``quantile`` or
    ``zscore``; constant genes dropped if asked for. The input is not changed.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    log2 : {"auto", True, False}
        ``auto`` takes the logarithm where values look like counts or intensities (GEO2R's rule).
    pseudocount : float or "auto"
        Added before log2. ``auto``: 1 for counts and tables that hold zeros, else 0.
    normalize : str
        "auto", "none", "quantile", "cpm", "cp10k", "median_ratio", "tmm", "vst", "depth_ranks" or
        "zscore".
        ``auto``: counts by ``median_ratio``, by ``depth_ranks`` where many are zeros and samples
        are many, or by ``cp10k``; other tables as they are.
    min_samples : int
        Genes observed in fewer samples are dropped.
    min_expressed : float, 0 to 1
        Genes above zero in a smaller share of their samples are dropped.
    top_variable : int, optional
        Keep so many genes, those of the largest variance after log2.
    drop_constant : bool
        Whether genes with one value throughout are dropped.
    orientation, obs
        As for :func:`mutual_information`.
    layer : str, optional
        As there; ``auto``: the counts that an AnnData's ``X`` was made from where these are beside
        it (a layer, or ``raw``), else ``X``.

    Returns
    -------
    Prepared
        ``values`` float64 (kept genes, samples), ``genes``, ``samples``, ``items`` (a row for each
        gene of the input: kept or why not), ``counts``, ``notes``, ``warnings``. The other
        functions of the library take it as it is.

    Raises
    ------
    ValueError
        As :func:`mutual_information`.
    InputError
        Values that do not go with the settings: negative ones under log2, logarithms under ``cpm``;
        too few samples or genes left.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.random.default_rng(0).poisson(200, size=(5, 30))
    >>> prepared = prepare_expression(counts)
    >>> prepared.values.shape, prepared.parameters["log2"], prepared.parameters["normalize"]
    ((5, 30), True, 'median_ratio')
    """
    settings = {
        "log2": log2,
        "pseudocount": pseudocount,
        "normalize": normalize,
        "min_samples": min_samples,
        "min_expressed": min_expressed,
        "top_variable": top_variable,
        "drop_constant": drop_constant,
    }
    checked = checked_section(Preprocess, settings)
    table = as_table(expression, orientation=orientation, layer=layer, obs=obs, sparse=True)
    given = expression if isinstance(expression, Expression) else None
    return prepare(as_expression(table, given), checked)


def as_expression(table: ExpressionTable, given: Expression | None = None) -> Expression:
    """A table in memory as what the readers give; genes without names are called by number.

    ``given``: what the table was made of, where its source and notes are known.
    """
    samples = range(table.n_samples) if table.samples is None else table.samples
    return Expression(
        values=table.values,
        genes=[str(label) for label in table.labels],
        samples=[str(label) for label in samples],
        source="expression" if given is None else given.source,
        notes=list(table.notes if given is None else given.notes),
        symbols={} if given is None else given.symbols,
    )


def prepared_genes(
    expression: Any, table: ExpressionTable, preprocess: Preprocess
) -> tuple[Prepared, NDArray[np.int64]]:
    """The prepared values, and which genes of the table they are."""
    if isinstance(expression, Prepared):
        return expression, np.arange(table.n_genes)
    given = as_expression(table, expression if isinstance(expression, Expression) else None)
    names = pd.Index(given.genes)
    if not names.is_unique:
        raise ValueError(
            f"expression: found two genes that are written {names[names.duplicated()][0]!r}; "
            "expected each name once"
        )
    prepared = prepare(given, preprocess)
    for warning in prepared.warnings:
        warnings.warn(warning, stacklevel=3)
    return prepared, np.asarray(names.get_indexer(pd.Index(prepared.genes)), dtype=np.int64)


def stated_samples(series: ArrayLike | None, batch: ArrayLike | None) -> dict[str, str]:
    """The section ``samples`` of a call with these labels."""
    given = {"series": series, "batch": batch}
    columns = {key: key for key, labels in given.items() if labels is not None}
    return {"annotations": "in memory", **columns} if columns else {}


def sample_design(
    n_samples: int, series: ArrayLike | None, batch: ArrayLike | None
) -> SampleDesign:
    """Labels in memory as what the section ``samples`` makes of a table's."""
    codes = []
    for name, labels in (("series", series), ("batch", batch)):
        found = np.empty(0, dtype=object) if labels is None else np.asarray(labels)
        if labels is not None and found.shape != (n_samples,):
            raise ValueError(
                f"{name}: found shape {found.shape}; expected a label for each of {n_samples} "
                "samples"
            )
        numbers = pd.factorize(found)[0].astype(np.int32)
        if (numbers < 0).any():
            raise ValueError(f"{name}: found a missing label; expected one for each sample")
        codes.append(numbers)
    return replace(SampleDesign.unknown(), series=codes[0], batch=codes[1])
