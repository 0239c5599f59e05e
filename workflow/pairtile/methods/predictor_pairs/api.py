"""Predictors of each gene's level, and the network they make, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.analyse import attributes, finished, kept_run
from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import Inputs, as_labelled, preprocess_of, sample_labels
from pairtile.api.settings import Keywords, SectionMapping, analysis_config
from pairtile.api.table import ExpressionTable, Labels, as_table
from pairtile.declare.messages import notes_of, warnings_of
from pairtile.engine.state import open_state
from pairtile.errors import require_columns
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.config import (
    PredictorPairsConfig,
    auto_keep,
)
from pairtile.methods.predictor_pairs.network import (
    auto_keep_message,
    edges_of_sets,
    kept_sets,
    members,
    threshold_warnings,
    weak_warnings,
)
from pairtile.methods.predictor_pairs.read_input import Series
from pairtile.methods.predictor_pairs.report import TEXT
from pairtile.methods.predictor_pairs.report_results import sets_of_file
from pairtile.methods.predictor_pairs.score import draws_of_a_test
from pairtile.simulate import BooleanSimulation

KEYWORDS = Keywords(
    PredictorPairsConfig,
    *("lag", "quantize", "preprocess", "estimator.*", "null.*"),
    include_self="estimator.self",
    null="null.kind",
)


def predictor_pairs(
    expression: Any = None,
    *,
    levels: Any = None,
    regulators: Sequence[str | int] | NDArray[np.generic] | None = None,
    targets: Sequence[str | int] | NDArray[np.generic] | None = None,
    lag: int | Sequence[object] = 1,
    series: Labels | None = None,
    time: Labels | None = None,
    step: Mapping[str, float] | None = None,
    quantize: SectionMapping | None = None,
    preprocess: SectionMapping | None = None,
    penalty: Literal["no_obs", "none", "poor_obs"] = "no_obs",
    alpha: float = 1.0,
    beta: float = 0.8,
    cardinality: int = 2,
    top: int = 10,
    include_self: bool = False,
    search: Literal["auto", "exhaustive", "sffs"] = "auto",
    null: Literal["auto", "permutation", "circular_shift", "courses", "blocks"] = "auto",
    permutations: Literal["auto"] | int = "auto",
    seed: int = 1,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    layer: str | None = "auto",
    obs: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> pd.DataFrame:
    """Find the pairs of genes (or one, three or four) that best tell each gene's next level.

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
    lag : an integer between 0 and 1000, or a list of up to 10 of them
        Time steps from predictor to target. 1: predictors in one sample, the target in the next of
        the same series. 0: both in the same sample. A list, such as [1, 2]: every candidate at each
        of these lags (columns `lag_1`, ... say which); two lags have four times the pairs.
    series : array-like [shape: (samples,)], mapping or Series, or None
        Which time course each sample is of: a label for each, in their order, or by the sample's
        name. None: one.
    time : array-like [shape: (samples,)], mapping or Series, or None
        When each sample was taken: samples are put in this order within their series. None: they
        stand in the order of time.
    step : a mapping, or None
        `{'time': 2, 'tolerance': 0.5}`: how long a step of `time` is; series are cut at others.
    quantize : mapping, optional
        How expression values become levels.
    preprocess : mapping, optional
        How expression values are cleaned before genes are paired.
    penalty : no_obs, none or poor_obs
        How few samples are made up for, with which thousands of sets look perfect. `no_obs`:
        combinations of levels that were never seen count as uninformative (weight `alpha`);
        recommended. `poor_obs`: those seen once count as uncertain (`beta`). `none`: the entropy as
        counted, for comparison.
    alpha : a number of at least 0
        Weight of each combination of levels under `penalty: no_obs`, in samples: each counts as if
        it had been seen so many times more. 0: no penalty.
    beta : a number greater than 0 and at most 1
        Under `penalty: poor_obs`, how sure one is of the target's level where a combination was
        seen once: the probability of the level that was seen; the others share the rest.
    cardinality : an integer between 1 and 3
        Predictors in a set. Threes and fours need many samples: there are 27 and 81 combinations of
        3 levels.
    top : an integer between 1 and 1000
        How many sets to report for each target, best first.
    include_self : True or False
        Whether a target may be among its own predictors: fits genes that keep their level, and
        hides what else acts on them.
    search : auto, exhaustive or sffs
        How threes and fours are found; smaller sets are all tried. `exhaustive`: all. `sffs`
        (threes): sequential forward floating selection from each target's best pairs; it may miss
        the best. `auto`: exhaustive; beyond 2e11 threes times targets `sffs`; fours that take over
        a day are refused.
    null : auto, permutation, circular_shift, courses or blocks
        What is done to a target. `permutation`: its levels are shuffled over the samples.
        `circular_shift`: each series is moved along in time, its end coming back in at the start.
        `courses`: whole series change places with others of equal times and batch (replicates of
        one stimulus). `blocks`: they are shuffled within each batch. `auto`: courses where series
        follow one course, else shifts where targets keep their level from sample to sample clearly
        more often than samples in random order would, else `blocks` where batches are stated (these
        first where samples are no time series), else permutation; `summary.json` says which and
        why.
    permutations : auto or an integer between 0 and 100000
        How many times each target is shuffled or shifted; each draw costs as much as the search. 0:
        no p-values. `auto`: 20 or more for each target, or as many as the series have, and each
        target is compared with the draws of all, standardised, and the tail fitted to the best of
        them. A number: each is compared with its own draws alone, and no p- or q-value is less than
        1 / (permutations + 1).
    seed : an integer between 0 and 4294967295
        Start of all random draws (permutations, bootstraps). The same seed gives the same result on
        any number of chunks and threads.
    orientation : genes_in_rows or samples_in_rows
        Which way the table lies. `.h5ad` files are cells x genes whatever stands here.
    layer : auto or the name of a layer (text) or None
        Which matrix of an `.h5ad` file to read: the name of a layer, for instance `counts`, or
        `raw` (with its own genes), or `X`, as None does. `auto`: the counts that X was made from,
        where X is normalised or scaled and they are in the file, of the genes of X; else X.
        `summary.json` says which. Only for `.h5ad` files.
    obs : a mapping of columns to a value or a list of values
        Read only some samples: columns of `obs` or `samples.annotations`, each with a value or a
        list of values, as `{cell_type: T cell}`; samples that fit all of them are taken.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

    Returns
    -------
    DataFrame, a row for each set: target by target, best first
        ``target``, ``rank``, ``predictor_1``, ``predictor_2``, ... (as the genes are labelled;
        numbers for an array), ``mce_bits`` (with its penalty), ``target_entropy_bits``, ``n_ties``
        (how many sets of all have this score: the order among them means nothing), ``imp_bits``,
        ``p_value``, ``q_value``, ``mi_bits`` (without penalty), ``gain_1``, ... (bits that the set
        loses without this predictor), ``spearman_1``, ... (rank correlation of this predictor with
        the target), ``n_samples``; with threes and fours ``search``. ``attrs`` has
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
    given = locals() | {"preprocess": preprocess_of(expression, preprocess)}
    if isinstance(levels, BooleanSimulation) and series is None:
        series = levels.series
    table = one_table(expression, levels, {"orientation": orientation, "layer": layer, "obs": obs})
    inputs, is_levels = Inputs(), levels is not None
    # Series of levels have a key of their own.
    of_samples = {"series": None if is_levels else series, "time": time}
    kind = "levels" if is_levels else "expression"
    if is_levels and series is not None:
        numbers, names = pd.factorize(sample_labels("series", series, table))
        inputs.hold("series", Series(numbers.astype(np.int32), [str(name) for name in names]))
    config = KEYWORDS.config(
        given,
        **{kind: inputs.table(levels if is_levels else expression, table, kind)},
        series=inputs.names.get("series"),
        samples=inputs.samples(of_samples, table, step, preprocess),
        regulators=inputs.genes(regulators, table),
        targets=inputs.genes(targets, table, "targets"),
    )
    run, folder = kept_run(config, inputs, seed, backend)
    # Without the messages on edges, which predictor_edges makes.
    found, said = finished(
        run, folder, told=("keep_auto", "kept_by_rank", "keep_cannot_be_met", TEXT.empty.code)
    )
    # predictors.tsv with the caller's labels of genes.
    sets = sets_of_file(found.folder)
    sets = sets.drop(columns=[name for name in sets if str(name).endswith("_symbol")])
    for end in ("target", *members(sets)) if len(sets) else ():
        sets[end] = as_labelled(table.labels, sets[end])
    sets.attrs = attributes(found, said) | {"settings": found.parameters}
    state, pooled = cast(PredictorArrays, open_state(run.state)), config.null.permutations == "auto"
    sets.attrs["counts"]["draws_of_a_test"] = draws_of_a_test(state, pooled)
    return sets


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
    needed = [
        *("target", "rank", "predictor_1", "mce_bits", "n_ties", "target_entropy_bits"),
        *("mi_bits", "imp_bits", "p_value", "q_value"),
        *(f"{name}_{k + 1}" for k in range(len(members(sets))) for name in ("gain", "spearman")),
    ]
    require_columns(sets, needed, "sets")
    every = isinstance(keep, str) and keep == "all"
    config = analysis_config(
        PredictorPairsConfig, expression="in memory", keep="best" if every else keep
    )
    draws = int(sets.attrs.get("counts", {}).get("draws_of_a_test", 0))
    rule = auto_keep(draws) if config.keep.rule == "auto" else config.keep
    if rule.bounds and len(sets) and sets["p_value"].isna().all():
        raise ValueError(f"keep: found {keep!r}; expected best or all (there are no p-values)")
    ends = ["target", *members(sets)]
    labels = pd.Index(pd.concat([sets[end] for end in ends]).unique()).sort_values()
    numbered = sets.assign(**{end: labels.get_indexer(sets[end]) for end in ends})
    varied = numbered["target_entropy_bits"] > 0.0
    chosen = numbered[varied] if every else kept_sets(numbered, rule)
    edges = edges_of_sets(chosen)
    edges = edges.assign(**{end: labels[edges[end].to_numpy()] for end in ("source", "target")})
    drawn = sets.attrs.get("settings", {}).get("null", {})
    said = [
        *([] if drawn.get("permutations") == "auto" else threshold_warnings(rule, draws)),
        *([auto_keep_message(rule)] if config.keep.rule == "auto" else []),
        *(weak_warnings(chosen[chosen["rank"] == 1]) if keep == "best" else []),
        *([TEXT.empty] if edges.empty else []),
    ]
    told = issue_warnings(said)
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
