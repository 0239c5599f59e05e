"""Differential co-expression of tables in memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import Inputs, as_expression, as_labelled, label_table, preprocess_of
from pairtile.api.settings import SectionMapping, checked_section
from pairtile.api.table import Labels, Matrix, as_table
from pairtile.config.downstream import DifferentialConfig
from pairtile.config.preprocess import Preprocess, TableAnalysis
from pairtile.config.samples import SamplesConfig
from pairtile.declare.messages import HasMessages, Message
from pairtile.downstream.differential import (
    MAX_BEST,
    LabelledSamples,
    best_pairs,
    compared_groups,
    large_groups,
)
from pairtile.gpu.device import choose
from pairtile.io.in_memory import inputs_in_memory
from pairtile.io.names import GeneNames
from pairtile.io.regulators import find_regulators
from pairtile.io.sparse_rows import stored_values
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.items import formula_warnings
from pairtile.preprocess.samples import read_arranged
from pairtile.preprocess.value_kind import measure_scale, whole_counts
from pairtile.statistics.counting_noise import Counts, name_keys, relative_depths
from pairtile.statistics.exchangeable import Exchangeable


@dataclass(frozen=True)
class Differential(HasMessages):
    """Pairs that are correlated differently between groups of samples.

    pairs : DataFrame, the best of all pairs by p: ``source``, ``target``, ``score_LABEL`` of each
    group, ``difference``, ``z``, ``p_value``, ``q_value``, ``class``, ``comparison``. hubs : a row
    for each gene with pairs that differ. n_tested, n_differing : pairs of each comparison that were
    tested, and those with q <= 0.05.
    """

    pairs: pd.DataFrame
    hubs: pd.DataFrame
    n_tested: dict[str, int]
    n_differing: dict[str, int]
    messages: list[Message]


def differential(
    expression: Matrix,
    label: Labels,
    *,
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    best: int = MAX_BEST,
    score: Literal["spearman", "pearson", "mi"] = "spearman",
    preprocess: SectionMapping | None = None,
    series: Labels | None = None,
    time: Labels | None = None,
    step: Mapping[str, float] | None = None,
    batch: Labels | None = None,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    layer: str | None = "auto",
    obs: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> Differential:
    """Find pairs of genes that are correlated differently in two groups of samples.

    Every pair is tested, the same as by ``differential`` of the workflow; docs/differential.md says
    how. Neither differential expression nor unequal variance of a gene counts.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    label : array-like [shape: (samples,)], mapping or Series
        The group of each sample. Each pair of groups with at least 8 samples is compared.
    regulators : sequence, optional
        Names (or numbers, of genes without names), or a mask: only their pairs are tested.
    best : int
        Pairs to return of each comparison, those of smallest p.
    score : spearman, pearson or mi
        How pairs are scored in each group. `spearman`: correlation of ranks. `pearson`: of values,
        which finds more where they are normal. `mi`: mutual information in bits, which sees
        relations that rise and fall, and no signs.
    preprocess : mapping, optional
        How expression values are cleaned before genes are paired.
    series : array-like [shape: (samples,)], mapping or Series, or None
        Which time course each sample is of: a label for each, in their order, or by the sample's
        name. None: one.
    time : array-like [shape: (samples,)], mapping or Series, or None
        When each sample was taken: samples are put in this order within their series. None: they
        stand in the order of time.
    step : a mapping, or None
        `{'time': 2, 'tolerance': 0.5}`: how long a step of `time` is; series are cut at others.
    batch : array-like [shape: (samples,)], mapping or Series, or None
        Which batch each sample is of.
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
    Differential
        ``pairs``, ``hubs``, counts, and messages, which are also issued as warnings.

    Raises
    ------
    ValueError
        As :func:`mutual_information`.
    InputError
        Fewer than two groups of 8 samples.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(1).normal(size=(20, 120))
    >>> values[1, 60:] = values[0, 60:] + 0.3 * values[1, 60:]
    >>> found = differential(values, ["none"] * 60 + ["heat"] * 60, preprocess={"log2": False})
    >>> found.pairs.loc[0, "class"]
    'lost'
    """
    config = checked_section(DifferentialConfig, {"label": "label", "score": score})
    table = as_table(expression, orientation=orientation, layer=layer, obs=obs, sparse=True)
    stated = {"series": series, "time": time, "batch": batch}
    cleaning, inputs = preprocess_of(expression, preprocess), Inputs()
    analysis = TableAnalysis.model_construct(
        expression=inputs.table(expression, table),
        preprocess=checked_section(Preprocess, cleaning or {}),
        samples=checked_section(SamplesConfig, inputs.samples(stated, table, step, preprocess)),
    )
    groups = label_table({"label": label}, table).columns["label"]
    with inputs_in_memory(inputs.held):
        arranged, design = read_arranged(analysis)
    scale = measure_scale(stored_values(arranged.values))
    raw = whole_counts(arranged.values, scale=scale)
    prepared = prepare_expression(arranged, analysis.preprocess, design=design, scale=scale)
    design, found = prepared.design, [*prepared.messages, *formula_warnings(prepared.genes)]
    kept = pd.Index(arranged.genes).get_indexer(pd.Index(prepared.genes))
    genes = as_labelled(table.labels, prepared.genes)
    places = pd.Index(as_expression(table).samples).get_indexer(pd.Index(prepared.samples))
    counts = rows = None
    if listed := inputs.genes(regulators, table):
        rows, _, said = find_regulators(listed, GeneNames.of_items(prepared.items, False, False))
        found += said
    if raw is not None and prepared.quality.is_counts:
        raw, removed = raw[kept], "degrees_given_up" in design.state
        counts = Counts(raw, relative_depths(raw), name_keys(prepared.genes), removed)
    compared = LabelledSamples(
        prepared.values,
        list(genes),
        [groups[place] for place in places],
        Exchangeable.of_state(design.state),
        counts,
        rows,
        int(design.state.get("degrees_given_up", np.zeros(1))[0]),
    )
    large = large_groups(compared.labels)
    pairs, hubs, n_tested, n_differing = [], [], {}, {}
    for each in compared_groups(compared, config.score, choose(backend)):
        name = f"{each.second} vs {each.first}"
        pairs.append(best_pairs(each, compared.genes, large, best).assign(comparison=name))
        hubs.append(each.hubs.assign(comparison=name))
        n_tested[name], n_differing[name] = each.tested.n_tested, each.tested.n_differing
        found += each.messages
    plain = {"source": object, "target": object, "class": str}
    return Differential(
        pd.concat(pairs, ignore_index=True).astype(plain).infer_objects(),
        pd.concat(hubs, ignore_index=True),
        n_tested,
        n_differing,
        issue_warnings(found),
    )
