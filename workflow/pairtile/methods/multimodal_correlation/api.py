"""Correlation in each of the modes of every pair of genes, in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pairtile.api.prepare import prepared_genes
from pairtile.api.settings import analysis_config
from pairtile.api.table import as_table
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.api_mode_correlation import ModeCorrelation
from pairtile.methods.multimodal_correlation.api_mode_network import named_ends
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.network import MASKS, mode_counts
from pairtile.methods.multimodal_correlation.score import MultimodalCorrelation, state_of
from pairtile.preprocess.expression import Prepared


def multimodal_correlation(
    expression: Any,
    *,
    clustering: str = "gmm",
    correlation: str = "spearman",
    min_clusters: int = 1,
    max_clusters: int = 5,
    criterion: str = "icl",
    min_samples: int = 30,
    min_correlation: float = 0.5,
    max_correlation: float = 1.0,
    min_expression: float | None = None,
    max_expression: float | None = None,
    outliers_before: bool = True,
    outliers_after: bool = True,
    restarts: int = 3,
    compatibility: str = "none",
    preprocess: Mapping[str, Any] | None = None,
    seed: int = 1,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    backend: str = "auto",
) -> ModeCorrelation:
    """Find the modes of every pair of genes, and the correlation in each.

    The samples of a pair are split into modes by a Gaussian mixture; a mode is correlated by itself
    and knows its samples, so that it can be tested for what they have in common. The same as an
    analysis of the workflow with these settings, seed and backend.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    clustering : {"gmm", "none"}
        ``none``: one correlation over all samples of a pair, many times faster.
    correlation : {"spearman", "pearson"}
        Within each mode.
    min_clusters, max_clusters : int, 1 to 5
        Numbers of modes to try.
    criterion : {"icl", "bic", "aic"}
        What decides the number of modes; the lowest wins.
    min_samples : int
        Least number of samples in a mode, and of a pair's samples before it is split.
    min_correlation, max_correlation : float, 0 to 1
        Modes whose correlation has a size between the two are kept; the others are counted.
    min_expression, max_expression : float, optional
        Samples in which either gene is outside take no part, in units of the prepared values.
    outliers_before, outliers_after : bool
        Leave out outliers (Tukey's rule) of the pair before it is split; of each mode.
    restarts : int
        Random starts of each mixture.
    compatibility : {"none", "kinc"}
        ``kinc``: mixtures as KINC 3.4.2 computes them, with its faults.
    preprocess : mapping, optional
        As for :func:`infer_network`. Its ``min_samples`` (20) is the least number of samples of a
        gene. Not for a ``Prepared``.
    seed : int
        Of the starts.
    orientation, layer, backend
        As for :func:`mutual_information`.

    Returns
    -------
    ModeCorrelation
        ``modes``, a row for each; ``members()``, their samples; ``pair(a, b)``, to look at one
        pair; ``network()``, the network of those that are strong enough, with tests of conditions
        and modules. What needs attention is also issued as a warning.

    Raises
    ------
    ValueError
        Not a table of numbers; repeated names; settings that are not allowed.
    InputError
        Values that cannot be prepared as asked; too few samples or genes left.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Shealy et al. 2019, IEEE Access 7:160845. docs/multimodal_correlation.md has every
    formula. Time grows with the square of the number of genes.

    Examples
    --------
    Two genes that go together in treated samples and against each other in the others:

    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(1)
    >>> treated, hidden = np.arange(120) < 60, random.normal(size=120)
    >>> a = hidden + 6 * treated
    >>> b = np.where(treated, hidden, -hidden) + 6 * treated + 0.3 * random.normal(size=120)
    >>> table = pd.DataFrame([a, b, random.normal(size=120)], index=["a", "b", "c"])
    >>> found = multimodal_correlation(table, max_clusters=3, preprocess={"log2": False})
    >>> found.modes[["source", "target", "cluster", "n_modes", "correlation"]].round(1)
      source target  cluster  n_modes  correlation
    0      a      b        1        2          0.9
    1      a      b        2        2         -0.9
    >>> found.members().loc[:, treated].sum(axis=1).tolist()
    [58, 0]
    >>> samples = pd.DataFrame({"treatment": np.where(treated, "heat", "none")})
    >>> network = found.network(threshold=0.8, annotations=samples)
    >>> network.condition_networks[["condition", "label", "source", "target", "direction"]]
       condition label source target direction
    0  treatment  heat      a      b  positive
    1  treatment  none      a      b  negative
    """
    if isinstance(expression, Prepared):
        if preprocess is not None:
            raise ValueError("preprocess: found it beside prepared values; expected None")
        preprocess = {"min_samples": expression.parameters["min_samples"]}
    config = analysis_config(
        MultimodalCorrelationConfig,
        preprocess=preprocess or {},
        compatibility=compatibility,
        estimator={
            "clustering": clustering,
            "correlation": correlation,
            "min_clusters": min_clusters,
            "max_clusters": max_clusters,
            "criterion": criterion,
            "min_samples": min_samples,
            "min_correlation": min_correlation,
            "max_correlation": max_correlation,
            "min_expression": min_expression,
            "max_expression": max_expression,
            "outliers_before": outliers_before,
            "outliers_after": outliers_after,
            "restarts": restarts,
        },
        seed=seed,
        backend=backend,
    )
    table = as_table(expression, orientation=orientation, layer=layer)
    prepared, kept = prepared_genes(expression, table, config["preprocess"])
    state, device = state_of(prepared), choose(backend)
    precision = MultimodalCorrelation.resolve_precision(config, device.backend)
    opened = MultimodalCorrelation(config, state, device, precision)
    opened.seed = int(seed)
    tiles = opened.space(state).tiles(*opened.tile_edges(config, state))
    merged = merged_in_memory(opened, tiles, int(seed))
    labels = table.labels[kept]
    modes = merged.pairs.drop(columns=list(MASKS)).rename(columns={"i": "source", "j": "target"})
    by_correlation = merged.sums["modes_by_correlation"]
    ends = np.linspace(-1.0, 1.0, by_correlation.size + 1)[:-1].round(9)
    counts = mode_counts(merged.sums)
    cautions = list(prepared.warnings)
    if counts.get("failed"):
        cautions.append(f"Of {counts['failed']:,} pairs every fit failed; they have no mode.")
        warnings.warn(cautions[-1], stacklevel=2)
    return ModeCorrelation(
        modes=named_ends(modes, labels),
        items=prepared.items,
        samples=pd.RangeIndex(table.n_samples) if table.samples is None else table.samples,
        labels=labels,
        pairs_by_modes=pd.Series(merged.sums["pairs_by_modes"], name="pairs"),
        modes_by_correlation=pd.Series(by_correlation, index=ends, name="modes"),
        merged=merged,
        state=state,
        computed_on=device,
        counts={**prepared.counts, **counts, "modes": len(modes)},
        notes=list(prepared.notes),
        warnings=cautions,
        settings={
            **{key: config[key] for key in ("compatibility", "estimator")},
            "preprocess": dict(prepared.parameters),
            "seed": int(seed),
        },
    )
