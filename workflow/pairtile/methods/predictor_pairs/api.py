"""Predictors of each gene's level, and the network they make, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.extensions import ExtensionDtype

from pairtile.api.analyse import scored
from pairtile.api.keywords import TABLE, Keywords, table_keywords
from pairtile.api.messages import tell, warnings_of_network
from pairtile.api.prepare import (
    arranged_table,
    as_expression,
    preprocess_of,
    sample_labels,
    stated_samples,
)
from pairtile.api.regulators import listed_genes
from pairtile.api.settings import analysis_config
from pairtile.api.table import ExpressionTable, as_table
from pairtile.declare.messages import Message, notes_of, warnings_of
from pairtile.methods.predictor_pairs.config import (
    PredictorPairsConfig,
    auto_keep,
)
from pairtile.methods.predictor_pairs.network import (
    edges_of_sets,
    kept_sets,
    members,
    said_of_auto,
    threshold_warnings,
)
from pairtile.methods.predictor_pairs.prepare import prepare_predictor_input
from pairtile.methods.predictor_pairs.read_input import PredictorInput, Series, count_levels
from pairtile.methods.predictor_pairs.report_results import predictor_results, results_of
from pairtile.methods.predictor_pairs.score import PredictorPairs, draws_of_a_test
from pairtile.methods.predictor_pairs.state import search_input
from pairtile.methods.predictor_pairs.tables import named_sets, tested_sets
from pairtile.simulate import BooleanSimulation

if TYPE_CHECKING:
    from pairtile.methods.predictor_pairs.keyword_types import PredictorPairsKeywords

_KEYWORDS = Keywords(
    PredictorPairsConfig,
    *("lag", "series", "time", "step", "quantize", "preprocess", "estimator.*"),
    *("null.kind", "null.permutations", "seed", *TABLE, "backend"),
    include_self="estimator.self",
    null="null.kind",
)


@_KEYWORDS.signature
def predictor_pairs(
    expression: Any = None,
    *,
    levels: Any = None,
    regulators: Sequence[str | int] | NDArray[np.generic] | None = None,
    targets: Sequence[str | int] | NDArray[np.generic] | None = None,
    **settings: Unpack[PredictorPairsKeywords],
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
    regulators : sequence, optional
        Candidate predictors: names of genes (gene numbers for an array) or a mask. None: all.
    targets : sequence, optional
        Genes whose predictors are sought, likewise. None: all.

    Returns
    -------
    DataFrame, a row for each set: target by target, best first
        ``target``, ``rank``, ``predictor_1``, ``predictor_2``, ... (as the genes are labelled;
        numbers for an array), ``mce_bits`` (with its penalty), ``target_entropy_bits``, ``n_ties``
        (how many sets of all have this score: the order among them means nothing), ``imp_bits``,
        ``p_value``, ``q_value``, ``mi_bits`` (without penalty), ``gain_1``, ... (bits that the set
        loses without this predictor), ``spearman_1``, ... (rank correlation of this predictor with
        the target), ``n_samples``; with threes ``search``. ``attrs`` has
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
    series = settings["series"]
    if isinstance(levels, BooleanSimulation) and series is None:
        series = levels.series
    # Series of levels have a key of their own.
    of_samples = {"series": series if levels is None else None, "time": settings["time"]}
    config = _KEYWORDS.config(
        {**settings, "preprocess": preprocess_of(expression, settings["preprocess"])},
        # Whatever stands for a path is what messages call the input.
        expression=None if levels is not None else "expression",
        levels=None if levels is None else "levels",
        series=None if series is None or levels is None else "series",
        samples=stated_samples(of_samples, settings["step"], settings["preprocess"]),
        regulators=None if regulators is None else "regulators",
        targets=None if targets is None else "targets",
    )
    seed = int(settings["seed"])
    table = one_table(expression, levels, table_keywords(settings))
    listed: dict[str, Any] = {}
    for key, genes in (("regulators", regulators), ("targets", targets)):
        listed[key] = None
        if genes is not None:
            listed[key] = listed_genes(genes, table, key).names
    if levels is None:
        arranged, design = arranged_table(expression, table, config, of_samples)
        given = PredictorInput(arranged, design=design, **listed)
    else:
        held = replace(as_expression(table), source="levels")
        courses = None
        if series is not None:
            numbers, names_of = pd.factorize(sample_labels("series", series, table))
            courses = Series(numbers.astype(np.int32), [str(name) for name in names_of])
        n_levels = count_levels(held, asked=config.quantize.levels)
        given = PredictorInput(held, n_levels, courses, **listed)
    prepared = prepare_predictor_input(config, given)
    ready = search_input(config, prepared, seed)
    opened, merged, said = scored(PredictorPairs, config, ready, seed, settings["backend"])
    sets = tested_sets(opened, merged)
    names = pd.Index([str(label) for label in table.labels])
    labels = table.labels[names.get_indexer(pd.Index(prepared.genes))]
    found = _labelled(named_sets(sets, labels.to_numpy()), table.labels.dtype)
    said += opened.warnings(sets)
    used = {
        **config.model_dump(include={"lag", "null", "quantize"}),
        **ready.parameters,
        "estimator": config.estimator.model_dump() | ready.parameters["estimator"],
        "seed": seed,
    }
    read = results_of(found, ready.state, dict(zip(labels, range(len(labels)), strict=True)))
    # Whether edges are left is for predictor_edges to say.
    some = pd.DataFrame({"source": [""], "target": [""]})
    said += warnings_of_network(
        config, some, ready.counts, used, said, read={predictor_results: read}
    )
    told = tell(said)
    found.attrs = {
        "counts": dict(ready.counts)
        | {"draws_of_a_test": draws_of_a_test(ready.state, config.null.permutations == "auto")},
        "notes": notes_of(told),
        "warnings": warnings_of(told),
        "device": opened.device.name,
        "settings": used,
    }
    return found


def _labelled(sets: pd.DataFrame, dtype: np.dtype | ExtensionDtype) -> pd.DataFrame:
    """Labels in their own type; without the columns of a second predictor where there is none."""
    if (sets["predictor_2"] == "").all() and len(sets):
        sets = sets.drop(columns=["predictor_2", "gain_2", "spearman_2"])
    labels = ["target", *members(sets)]
    return sets.astype(dict.fromkeys(labels, dtype)) if len(sets) else sets


def predictor_edges(sets: pd.DataFrame, keep: Mapping[str, float] | str = "auto") -> pd.DataFrame:
    """Turn predictor sets into the edges of a network, predictor to target.

    Parameters
    ----------
    sets : DataFrame
        What :func:`predictor_pairs` returns.
    keep : mapping or {"auto", "best", "all"}
        Whose edges: ``best``, the best set of each target; ``{"best_fdr": x}``, the best sets with
        a q-value of at most x; ``{"p_value": x}`` or ``{"fdr": x}``, every set in the table with
        such a p- or q-value, of those that tell something of their target (``mi_bits`` above 0);
        ``auto``, ``{"best_fdr": 0.05}`` where targets were compared with 99 shuffles or more, else
        ``best``; ``all``, every set of a target that varies, for a ranking of edges.

    Returns
    -------
    DataFrame, best edge first
        The columns of the workflow's network: ``source``, ``target``, then the numbers of the best
        set that holds the edge (``mi_bits``, ``mce_bits``, ``gain_bits``: what that set loses
        without this source, ``imp_bits``, ``spearman``, ``rank``, ``n_ties``), ``n_sets`` (in how
        many of the sets the edge is), ``p_value``, ``q_value``; and ``score``, what edges are
        ranked by: edges of best sets before those of second sets and so on, then by ``gain_bits``.
        ``attrs["warnings"]``: what needs attention, also issued as warnings.

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
    for k in range(len(members(sets))):
        needed += [f"gain_{k + 1}", f"spearman_{k + 1}"]
    missing = [column for column in needed if column not in sets]
    if missing:
        raise ValueError(
            f"sets: found no column {', '.join(missing)}; expected a table of predictor_pairs"
        )
    every = isinstance(keep, str) and keep == "all"
    config = analysis_config(
        PredictorPairsConfig, expression="in memory", keep="best" if every else keep
    )
    draws = int(sets.attrs.get("counts", {}).get("draws_of_a_test", 0))
    rule = auto_keep(draws) if config.keep.rule == "auto" else config.keep
    if rule.bounds and len(sets) and sets["p_value"].isna().all():
        raise ValueError(
            f"keep: found {rule.model_dump()}; expected best or all (there are no p-values)"
        )
    ends = ["target", *members(sets)]
    labels = pd.Index(pd.concat([sets[end] for end in ends]).unique()).sort_values()
    numbered = sets.assign(**{end: labels.get_indexer(sets[end]) for end in ends})
    varied = numbered["target_entropy_bits"] > 0.0
    chosen = numbered[varied] if every else kept_sets(numbered, rule)
    edges = edges_of_sets(chosen)
    for end in ("source", "target"):
        edges[end] = labels[edges[end].to_numpy()]
    drawn = sets.attrs.get("settings", {}).get("null", {})
    said = [] if drawn.get("permutations") == "auto" else threshold_warnings(rule, draws)
    said += [said_of_auto(rule)] if config.keep.rule == "auto" else []
    kept = results_of(sets.assign(kept=sets.index.isin(chosen.index)))
    said += warnings_of_network(
        config,
        edges,
        {},
        {"keep": keep if keep != "auto" else rule},
        [*map(Message, sets.attrs.get("warnings", [])), *said],
        read={predictor_results: kept},
    )
    told = tell(said)
    edges.attrs = {"directed": True, "notes": notes_of(told), "warnings": warnings_of(told)}
    return edges


def one_table(expression: Any, levels: Any, lying: Mapping[str, Any]) -> ExpressionTable:
    """The table that was given, as expression or as levels; ValueError unless it is one."""
    if (expression is None) == (levels is None):
        found = "neither" if expression is None else "both"
        raise ValueError(f"expression, levels: found {found}; expected one of them")
    if isinstance(expression, BooleanSimulation):
        raise ValueError("expression: found levels of a simulation; expected levels=simulation")
    if levels is None:
        return as_table(expression, **lying)
    if isinstance(levels, BooleanSimulation):
        frame = pd.DataFrame(levels.levels, index=levels.genes, columns=levels.samples)
        return as_table(frame, name="levels")
    return as_table(levels, **lying, name="levels")
