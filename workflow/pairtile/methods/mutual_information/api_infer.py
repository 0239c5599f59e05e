"""From expression to a network in one call, in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.anndata_network import add_network, check_storage
from pairtile.api.prepare import as_expression
from pairtile.api.regulators import regulator_rows
from pairtile.api.settings import analysis_config
from pairtile.api.table import ExpressionTable, as_table
from pairtile.config.preprocess import Preprocess
from pairtile.engine.in_memory import network_in_memory
from pairtile.gpu.device import choose
from pairtile.io.expression import Expression
from pairtile.methods.mutual_information.api_analysis import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.expression import prepare_expression as prepare

DEFAULT_KEEP: Mapping[str, float] = {"fdr": 0.01}


def infer_network(
    expression: Any,
    regulators: Sequence[Any] | NDArray[Any] | None = None,
    *,
    score: str = "target_z",
    keep: Mapping[str, float] | str | None = None,
    dpi: Mapping[str, Any] | bool | None = None,
    preprocess: Mapping[str, Any] | None = None,
    bins: int = 10,
    order: int = 3,
    knots: str = "clamped",
    transform: str = "rank",
    precision: str = "auto",
    permutations: int | str = "auto",
    seed: int = 1,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    backend: str = "auto",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Infer a gene network: preparation, mutual information, significance, threshold, DPI.

    The same as an analysis of the workflow with these settings, seed and backend, edge for edge and
    number for number, in this process and without files. For tables that take hours, for
    bootstraps, and for a report there is the workflow.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    regulators : sequence, optional
        Names of genes (gene numbers for an array) or a mask. Only their pairs are scored, and
        edges start at them. Names that are not among the genes are left out with a warning.
    score : {"target_z", "clr", "mi"}
        What ranks edges, and what ``keep`` of ``score`` and ``top_edges`` goes by.
    keep : mapping or "all", optional
        ``{"fdr": x}``, ``{"p_value": x}``, ``{"score": x}`` or ``{"top_edges": n}``. Without it,
        ``{"fdr": 0.01}``.
    dpi : mapping, optional
        ``{"tolerance": 0.1}`` and ``{"rule": "relative" or "additive"}``, or ``True`` for tolerance
        0: remove indirect edges. None or ``False``: do not.
    preprocess : mapping, optional
        ``log2``, ``pseudocount``, ``normalize``, ``min_samples``, ``drop_constant`` as for
        :func:`prepare_expression`; those left out have its defaults (so values that look raw are
        taken to log2). Not for a ``Prepared``, which is taken as it is.
    bins, order, knots, transform, precision, orientation, layer, backend
        As for :func:`mutual_information`.
    permutations : int or "auto"
        Draws of the null; ``auto``: as many as ``keep`` needs.
    seed : int
        Of the null.
    key_added : str, optional
        Only for an AnnData: store the network in it, as :func:`add_network` does
        (``varp[key_added]`` and ``uns[key_added]``), and return None.
    copy : bool
        With ``key_added``: return a changed copy of the AnnData.

    Returns
    -------
    DataFrame, best edge first; None or AnnData with ``key_added``
        ``source``, ``target`` (as the genes are labelled; numbers for an array), ``mi_bits``,
        ``p_value``, ``q_value`` (Benjamini-Hochberg; both of MI), ``clr`` or ``target_z``,
        ``p_method`` ("empirical" or "extrapolated"). Undirected edges are there once. ``attrs``
        has ``directed``, ``counts``, ``threshold_bits`` (least MI kept), ``notes`` (what was
        decided on the way), ``device`` and ``settings``.

    Raises
    ------
    ValueError
        As :func:`mutual_information`; or no regulator left after preparation.
    InputError
        Values that cannot be prepared as asked, see :func:`prepare_expression`.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Daub et al. 2004, BMC Bioinformatics 5:118 (estimator); Margolin et al. 2006, BMC
    Bioinformatics 7 (S1) S7 (threshold and DPI); Faith et al. 2007, PLoS Biology 5:e8 (CLR).

    Examples
    --------
    >>> from pairtile.simulate import simulate_kinetic
    >>> simulated = simulate_kinetic(n_genes=30, n_samples=100, n_regulators=4)
    >>> network = infer_network(simulated, simulated.regulators, keep={"top_edges": 20})
    >>> len(network), network.attrs["directed"]
    (20, True)
    >>> true = set(zip(simulated.edges["source"], simulated.edges["target"]))
    >>> (network["source"][0], network["target"][0]) in true
    True
    """
    check_storage(expression, key_added, copy)
    settings: dict[str, Any] = {
        "score": score,
        "keep": DEFAULT_KEEP if keep is None else keep,
        "dpi": False if dpi is None else {} if dpi is True else dpi,
        "estimator": {
            "bins": bins,
            "order": order,
            "knots": knots,
            "transform": transform,
            "precision": precision,
        },
        "null": {"permutations": permutations},
    }
    if isinstance(expression, Prepared):
        if preprocess is not None:
            raise ValueError("preprocess: found it beside prepared values; expected None")
        preprocess = {"min_samples": expression.parameters["min_samples"]}
    config = analysis_config(
        MutualInformationConfig, **settings, preprocess=preprocess or {}, seed=seed, backend=backend
    )
    table = as_table(expression, orientation=orientation, layer=layer)
    listed = None
    if regulators is not None:
        listed = regulator_rows(regulators, table.labels, named=table.genes is not None)
    prepared, kept = prepared_genes(expression, table, config["preprocess"])
    opened = open_analysis(prepared.values, _among(listed, kept), config, choose(backend))
    tiles = opened.space(opened.state).tiles()
    result = network_in_memory(opened, tiles, int(seed))

    labels = table.labels[kept]
    edges = result.edges.copy()
    for end in ("source", "target"):
        edges[end] = labels[edges[end].to_numpy()]
    edges["mi_bits"] = edges["mi_bits"].astype(np.float64)
    edges.attrs = {
        "directed": result.directed,
        "counts": {**prepared.counts, **result.counts},
        "threshold_bits": result.threshold_value,
        "notes": list(prepared.notes),
        "device": opened.device.name,
        "settings": {
            **{key: config[key] for key in ("score", "keep", "dpi", "estimator", "null")},
            "preprocess": dict(prepared.parameters),
            "precision": opened.precision,
            "seed": int(seed),
        },
    }
    if key_added is None:
        return edges
    return add_network(expression, edges, key_added=key_added, copy=copy)


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


def _among(listed: NDArray[np.int64] | None, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Regulators by their numbers among the kept genes; empty where there is no list."""
    if listed is None:
        return np.empty(0, dtype=np.int64)
    found = np.flatnonzero(np.isin(kept, listed))
    if not found.size:
        raise ValueError(
            f"regulators: found all {listed.size} dropped by preparation (too few samples, or "
            "constant); expected at least one that is kept"
        )
    if found.size < listed.size:
        warnings.warn(
            f"{listed.size - found.size} of {listed.size} regulators were dropped by preparation.",
            stacklevel=3,
        )
    return found
