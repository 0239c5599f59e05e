"""Differential co-expression of tables in memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.keywords import SAMPLES, TABLE, Keywords, label_keywords, table_keywords
from pairtile.api.messages import tell
from pairtile.api.prepare import (
    label_table,
    places_of_samples,
    prepared_table,
    preprocess_of,
    stated_samples,
)
from pairtile.api.regulators import listed_genes
from pairtile.api.settings import checked_section
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
from pairtile.preprocess.value_kind import whole_counts
from pairtile.statistics.counting_noise import Counts, name_keys, relative_depths
from pairtile.statistics.exchangeable import Exchangeable

if TYPE_CHECKING:
    from pairtile.api.keyword_types import DifferentialKeywords

_KEYWORDS = Keywords(
    DifferentialConfig, "score", "preprocess", *SAMPLES, *TABLE, "backend", optional=("preprocess",)
)


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


@_KEYWORDS.signature
def differential(
    expression: Matrix,
    label: Labels,
    *,
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    best: int = MAX_BEST,
    **settings: Unpack[DifferentialKeywords],
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
    config = checked_section(DifferentialConfig, {"label": "label", "score": settings["score"]})
    table = as_table(expression, **table_keywords(settings), sparse=True)
    labels = {**label_keywords(settings), "label": label}
    cleaning = preprocess_of(expression, settings["preprocess"])
    samples = stated_samples(label_keywords(settings), settings["step"], settings["preprocess"])
    analysis = TableAnalysis.model_construct(
        preprocess=checked_section(Preprocess, cleaning or {}),
        samples=checked_section(SamplesConfig, samples),
        differential=config,
    )
    groups = label_table({"label": label}, table).columns["label"]
    prepared, kept, design, found = prepared_table(expression, table, analysis, labels)
    places = places_of_samples(table, prepared.samples)
    rows = None
    if regulators is not None:
        listed = listed_genes(regulators, table)
        rows = listed.among(kept)
        found += listed.messages(table.labels[kept])
    counts, raw = None, whole_counts(table.values)
    if raw is not None and prepared.quality.counted:
        raw = raw[kept][:, places]
        removed = "degrees_given_up" in design.state
        counts = Counts(raw, relative_depths(raw), name_keys(prepared.genes), removed)
    compared = LabelledSamples(
        prepared.values,
        list(table.labels[kept]),
        [groups[place] for place in places],
        Exchangeable.of(design.state),
        counts,
        rows,
        int(design.state.get("degrees_given_up", np.zeros(1))[0]),
    )
    large = large_groups(compared.labels)
    pairs, hubs, n_tested, n_differing = [], [], {}, {}
    for each in compared_groups(compared, config.score, choose(settings["backend"])):
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
        tell(found),
    )
