"""Predictors of each gene's level, and the network they make, in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from pairtile.api.regulators import regulator_rows
from pairtile.api.settings import analysis_config
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs.api_input import (
    expression_or_levels,
    one_table,
    series_of_samples,
)
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.network_sets import edges_of_sets, kept_sets, members
from pairtile.methods.predictor_pairs.prepare import prepare_predictor_input
from pairtile.methods.predictor_pairs.prepare_input import PredictorInput
from pairtile.methods.predictor_pairs.score import PredictorPairs
from pairtile.methods.predictor_pairs.state import search_input
from pairtile.methods.predictor_pairs.tables import judged_sets, named_sets
from pairtile.preprocess.expression import Prepared
from pairtile.simulate import BooleanSimulation

_ARGUMENTS = {"null.kind": "null", "estimator.self": "include_self"}


def predictor_pairs(
    expression: Any = None,
    *,
    levels: Any = None,
    lag: int = 1,
    series: Any = None,
    regulators: Sequence[Any] | NDArray[Any] | None = None,
    targets: Sequence[Any] | NDArray[Any] | None = None,
    quantize: Mapping[str, Any] | None = None,
    preprocess: Mapping[str, Any] | None = None,
    penalty: str = "no_obs",
    alpha: float = 1.0,
    beta: float = 0.8,
    cardinality: int = 2,
    top: int = 10,
    include_self: bool = False,
    search: str = "auto",
    null: str = "permutation",
    permutations: int | str = "auto",
    seed: int = 1,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    backend: str = "auto",
) -> pd.DataFrame:
    """Find the pairs of genes (or single genes, or threes) that best tell each gene's next level.

    Every pair of candidates is scored with every target by the mean conditional entropy (MCE) of
    the target's level given the levels of the pair, in bits: 0 where the pair tells it in every
    sample. The same as an analysis of the workflow with these settings, seed and backend: the table
    that it writes to ``predictors.tsv``.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation, optional
        Shape (genes, samples), NaN where missing; AnnData is cells x genes. Samples of a time
        series in order of time. Give this or ``levels``.
    levels : as ``expression``, or BooleanSimulation, optional
        Levels 0, 1, ... (at most 3) in place of expression; NaN where missing.
    lag : int
        Time steps from predictor to target. 0: both in the same sample.
    series : sequence, mapping or Series, optional
        The time series of each sample: a label for each, in their order, or by the sample's name.
        None: one series (a BooleanSimulation's own). No step leads from one series to another.
    regulators : sequence, optional
        Candidate predictors: names of genes (gene numbers for an array) or a mask. None: all.
    targets : sequence, optional
        Genes whose predictors are sought, likewise. None: all.
    quantize : mapping, optional
        How expression becomes levels: ``levels`` (2 to 4, default 3), ``rule`` ("mean_split",
        "extreme_split", "quantile", "kmeans", "thresholds"), ``thresholds``. Beside ``levels``,
        only ``levels`` counts: how many there are, where the table does not hold them all.
    preprocess : mapping, optional
        As for :func:`infer_network`. Its ``min_samples`` (20) is also the least number of samples
        in which a set and its target are observed together. Not for a ``Prepared``.
    penalty : {"no_obs", "none", "poor_obs"}
        What combinations of levels that were never seen, or seen once, cost.
    alpha : float
        Weight of ``no_obs``, in samples.
    beta : float
        Of ``poor_obs``: how sure a combination that was seen once is.
    cardinality : {1, 2, 3}
        Predictors in a set.
    top : int, 1 to 1000
        Sets to report for each target.
    include_self : bool
        Whether a target may be among its own predictors.
    search : {"auto", "exhaustive", "sffs"}
        How threes are searched; ``auto`` scores every one where that is affordable.
    null : {"permutation", "circular_shift"}
        How targets are shuffled for p-values.
    permutations : int or "auto"
        How often. 0: no p-values.
    seed : int
        Of the null.
    orientation, layer, backend
        As for :func:`mutual_information`.

    Returns
    -------
    DataFrame, a row for each set: target by target, best first
        ``target``, ``rank``, ``predictor_1``, ``predictor_2``, ... (as the genes are labelled;
        numbers for an array), ``mce_bits`` (with its penalty), ``target_entropy_bits``, ``n_ties``
        (how many sets of all have this score: the order among them means nothing), ``imp_bits``,
        ``p_value``, ``q_value``, ``mi_bits`` (without penalty), ``gain_1``, ... (bits that the set
        loses without this predictor), ``n_samples``; with threes ``search``. ``attrs`` has
        ``counts``, ``notes``, ``warnings``, ``device``, ``settings``. What needs attention, as
        ties, is also issued as a warning.

    Raises
    ------
    ValueError
        Not a table of numbers; repeated names; settings that are not allowed; series that do not
        fit the samples; regulators or targets that are not there.
    InputError
        Values that are no levels, or cannot be prepared as asked; too few samples or candidates.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Barrera et al. 2007 and Lopes, Martins-Jr & Cesar 2008 (criterion and penalties);
    Borelli et al. 2013 (search of all pairs); Martins et al. 2008 (intrinsically multivariate
    prediction). Work grows with targets x candidates squared: docs/speed.md. The search of one call
    is one piece; the workflow cuts it into jobs.

    Examples
    --------
    >>> from pairtile import simulate_boolean
    >>> simulated = simulate_boolean(n_genes=20, n_steps=60, xor_share=1.0, perturbation=0.05)
    >>> sets = predictor_pairs(levels=simulated, top=1, permutations=99)
    >>> sets[["target", "predictor_1", "predictor_2", "mce_bits", "n_ties"]].head(2).round(3)
      target predictor_1 predictor_2  mce_bits  n_ties
    0    G01         G09         G14     0.178       1
    1    G02         G04         G11     0.184       1
    >>> true = set(zip(simulated.edges["source"], simulated.edges["target"]))
    >>> edges = predictor_edges(sets, keep={"fdr": 0.05})
    >>> len(edges), true.issuperset(zip(edges["source"], edges["target"]))
    (40, True)
    """
    if isinstance(expression, Prepared):
        if preprocess is not None:
            raise ValueError("preprocess: found it beside prepared values; expected None")
        preprocess = {"min_samples": expression.parameters["min_samples"]}
    if isinstance(levels, BooleanSimulation) and series is None:
        series = levels.series
    config = analysis_config(
        PredictorPairsConfig,
        arguments=_ARGUMENTS,
        # Whatever stands for a path is what messages call the input.
        expression=None if levels is not None else "expression",
        levels=None if levels is None else "levels",
        series=None if series is None else "series",
        regulators=None if regulators is None else "regulators",
        targets=None if targets is None else "targets",
        lag=lag,
        quantize=quantize or {},
        preprocess=preprocess or {},
        estimator={
            "penalty": penalty,
            "alpha": alpha,
            "beta": beta,
            "cardinality": cardinality,
            "top": top,
            "self": include_self,
            "search": search,
        },
        null={"kind": null, "permutations": permutations},
        seed=seed,
        backend=backend,
    )
    table = one_table(expression, levels, orientation=orientation, layer=layer)
    names = [str(label) for label in table.labels]
    listed: dict[str, list[str] | None] = {}
    for key, genes in (("regulators", regulators), ("targets", targets)):
        listed[key] = None
        if genes is not None:
            rows = regulator_rows(genes, table.labels, named=table.genes is not None, name=key)
            listed[key] = [names[row] for row in rows]
    given = PredictorInput(
        expression_or_levels(table, expression, config["quantize"]),
        series_of_samples(series, table),
        **listed,
    )
    prepared = prepare_predictor_input(config, given)
    ready = search_input(config, prepared, int(seed))
    opened = PredictorPairs(config, ready.state, choose(backend), "float64")
    tiles = opened.space(ready.state).tiles(*opened.tile_edges(opened.config, ready.state))
    sets = judged_sets(opened, merged_in_memory(opened, tiles, int(seed)))
    cautions = [*ready.warnings, *opened.cautions(sets)]
    for caution in cautions:
        warnings.warn(caution, stacklevel=2)
    kept = pd.Index(names).get_indexer(pd.Index(prepared.genes))
    found = _labelled(named_sets(sets, table.labels[kept].to_numpy()), table.labels.dtype)
    found.attrs = {
        "counts": dict(ready.counts),
        "notes": list(ready.notes),
        "warnings": cautions,
        "device": opened.device.name,
        "settings": {
            **{key: config[key] for key in ("lag", "null", "quantize")},
            **ready.parameters,
            "estimator": {**config["estimator"], **ready.parameters["estimator"]},
            "seed": int(seed),
        },
    }
    return found


def _labelled(sets: pd.DataFrame, dtype: Any) -> pd.DataFrame:
    """Labels in their own type; without the columns of a second predictor where there is none."""
    if (sets["predictor_2"] == "").all() and len(sets):
        sets = sets.drop(columns=["predictor_2", "gain_2"])
    labels = ["target", *members(sets)]
    return sets.astype(dict.fromkeys(labels, dtype)) if len(sets) else sets


def predictor_edges(sets: pd.DataFrame, keep: Mapping[str, float] | str = "best") -> pd.DataFrame:
    """Turn predictor sets into the edges of a network, predictor to target.

    Parameters
    ----------
    sets : DataFrame
        What :func:`predictor_pairs` returns.
    keep : mapping or {"best", "all"}
        Whose edges: ``best``, the best set of each target; ``{"p_value": x}`` or ``{"fdr": x}``,
        every set in the table with a p- or q-value of at most x, of those that tell something of
        their target (``mi_bits`` above 0); ``all``, every set of a target that varies, for a
        ranking of edges.

    Returns
    -------
    DataFrame, best edge first
        The columns of the workflow's network: ``source``, ``target``, then the numbers of the best
        set that holds the edge (``mi_bits``, ``mce_bits``, ``gain_bits``: what that set loses
        without this source, ``imp_bits``, ``rank``, ``n_ties``), ``n_sets`` (in how many of the
        sets the edge is), ``p_value``, ``q_value``; and ``score``, what edges are ranked by: edges
        of best sets before those of second sets and so on, then by ``gain_bits``.

    Raises
    ------
    ValueError
        Missing columns; a ``keep`` that is not allowed, or needs p-values where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> levels = np.random.default_rng(1).integers(0, 2, (12, 41))
    >>> levels[3, 1:] = levels[5, :-1] ^ levels[8, :-1]
    >>> sets = predictor_pairs(levels=levels, permutations=99)
    >>> predictor_edges(sets, keep={"fdr": 0.2})[["source", "target", "rank"]]
       source  target  rank
    0       5       3     1
    1       8       3     1
    """
    needed = ["target", "rank", "predictor_1", "mce_bits", "n_ties", "target_entropy_bits"]
    needed += ["mi_bits", "imp_bits", "p_value", "q_value"]
    needed += [f"gain_{k + 1}" for k in range(len(members(sets)))]
    missing = [column for column in needed if column not in sets]
    if missing:
        raise ValueError(
            f"sets: found no column {', '.join(missing)}; expected a table of predictor_pairs"
        )
    if not (isinstance(keep, str) and keep == "all"):
        keep = analysis_config(PredictorPairsConfig, keep=keep)["keep"]
    if isinstance(keep, Mapping) and len(sets) and sets["p_value"].isna().all():
        raise ValueError(f"keep: found {dict(keep)}; expected best or all (there are no p-values)")
    ends = ["target", *members(sets)]
    labels = pd.Index(pd.concat([sets[end] for end in ends]).unique()).sort_values()
    numbered = sets.assign(**{end: labels.get_indexer(sets[end]) for end in ends})
    varied = numbered["target_entropy_bits"] > 0.0
    chosen = numbered[varied] if keep == "all" else kept_sets(numbered, keep)
    edges = edges_of_sets(chosen)
    for end in ("source", "target"):
        edges[end] = labels[edges[end].to_numpy()]
    edges.attrs = {"directed": True}
    return edges
