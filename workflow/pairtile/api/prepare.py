"""Preparation of expression in memory: logarithm, normalisation, filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.keywords import TABLE, Keywords, table_keywords
from pairtile.api.messages import tell
from pairtile.api.table import ExpressionLike, ExpressionTable, Names, SampleLabels, as_table
from pairtile.config.preprocess import Preprocess, TableAnalysis, TwoTableAnalysis
from pairtile.config.samples import SamplesConfig
from pairtile.declare.messages import Message
from pairtile.io.annotations import AnnotationTable
from pairtile.io.cells import as_text
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.expression import prepare_expression as prepare
from pairtile.preprocess.items import formula_warnings
from pairtile.preprocess.samples import (
    SampleDesign,
    arrange_samples,
    parts_of,
    remove_effects,
    without_empty_samples,
)
from pairtile.preprocess.two_tables import TwoTables, prepare_two_tables

if TYPE_CHECKING:
    from pairtile.api.keyword_types import PrepareExpressionKeywords

_SHOWN = 3
_LISTS = (Sequence, np.ndarray, pd.Index, pd.api.extensions.ExtensionArray)


_CLEANING = (key for key in Preprocess.model_fields if key != "regress_out")
_KEYWORDS = Keywords(Preprocess, *_CLEANING, *TABLE)


@_KEYWORDS.signature
def prepare_expression(
    expression: ExpressionLike,
    regress_out: Mapping[str, object] | pd.DataFrame | None = None,
    **settings: Unpack[PrepareExpressionKeywords],
) -> Prepared:
    """Clean an expression table as the workflow does, with an account of what was done.

    In this order: ``cpm`` and what else normalises raw values; log2, where zeros become
    missing unless a pseudocount is added; genes with too few samples dropped; ``quantile`` or
    ``zscore``; constant genes dropped if asked for. The input is not changed.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    regress_out : DataFrame or mapping, optional
        Effects to remove from every gene by least squares: columns of samples, each a label or a
        number for each sample (numbers as straight lines), in their order or by their names.

    Returns
    -------
    Prepared
        ``values`` float64 (kept genes, samples), ``genes``, ``samples``, ``items`` (a row for each
        gene of the input: kept or why not), ``counts``, ``notes``, ``warnings`` (also issued as
        warnings). The other functions of the library take it as it is.

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
    checked = _KEYWORDS.config(settings)
    table = as_table(expression, **table_keywords(settings), sparse=True)
    given = expression if isinstance(expression, Expression) else None
    given_effects = {} if regress_out is None else regress_out
    effects = {str(name): labels for name, labels in given_effects.items()}
    checked = checked.model_copy(update={"regress_out": tuple(effects)})
    about = known_of_samples(effects, table)
    values = as_expression(table, given)
    values, design = arrange_samples(values, SamplesConfig(), tuple(effects), table=about)
    prepared = prepare(values, checked, design=design)
    tell(prepared.messages)
    return prepared


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
        accessions=dict(table.symbols),
    )


class PreparedTable(NamedTuple):
    """``kept``: int64, which genes of the table the prepared ones are. ``messages``: of it all."""

    prepared: Prepared
    kept: NDArray[np.int64]
    design: SampleDesign
    messages: list[Message]


def prepared_table(
    expression: ExpressionLike, table: ExpressionTable, config: TableAnalysis, labels: SampleLabels
) -> PreparedTable:
    """Samples in order and values prepared, as the configuration asks; ``labels`` as
    ``arranged_table``."""
    given, design = arranged_table(expression, table, config, labels)
    if isinstance(given, Prepared):
        prepared, kept = given, np.arange(table.n_genes)
    else:
        prepared = prepare(given, config.preprocess, design=design)
        design = prepared.design
        kept = pd.Index(given.genes).get_indexer(pd.Index(prepared.genes)).astype(np.int64)
    found = [*prepared.messages, *formula_warnings(prepared.genes)]
    return PreparedTable(prepared, kept, design, found)


def prepared_tables(
    expression: ExpressionLike,
    table: ExpressionTable,
    other: ExpressionLike,
    config: TwoTableAnalysis,
    labels: SampleLabels,
) -> tuple[PreparedTable, TwoTables]:
    """As ``prepared_table``, of two tables whose samples have the same names (or, in both, none);
    ``kept`` is empty, as genes have the names in ``prepared``.

    Raises ValueError for values that are prepared already, and for another number of samples.
    """
    given = []
    for name, what in (("expression", expression), ("other_expression", other)):
        if isinstance(what, Prepared):
            raise ValueError(f"{name}: found prepared values; expected them as they were read")
        of_name = table if name == "expression" else as_table(what, name=name, sparse=True)
        read = as_expression(of_name, what if isinstance(what, Expression) else None)
        given.append(without_empty_samples(replace(read, source=read.source or name)))
        if of_name.samples is None and of_name.n_samples != table.n_samples:
            raise ValueError(
                f"{name}: found {of_name.n_samples} samples without names; expected "
                f"{table.n_samples}, in the order of expression"
            )
    first, second = given
    about = known_of_samples(labels, table, config.preprocess.regress_out)
    both = prepare_two_tables(first, second, config, table=about)
    found = [*both.prepared.messages, *formula_warnings(both.prepared.genes)]
    kept = np.empty(0, dtype=np.int64)
    return PreparedTable(both.prepared, kept, both.prepared.design, found), both


def arranged_table(
    expression: ExpressionLike, table: ExpressionTable, config: TableAnalysis, labels: SampleLabels
) -> tuple[Expression | Prepared, SampleDesign]:
    """What was given, its samples in order, and what is known of them: ``labels``, and of an
    AnnData the columns of ``obs`` whose effects are to be removed."""
    about = known_of_samples(labels, table, config.preprocess.regress_out)
    if isinstance(expression, Prepared):
        if "time" in about.columns:
            raise ValueError(
                "time: found it beside prepared values; expected expression (samples are put in "
                "order before anything else), or prepared samples in the order of time"
            )
        as_it_is = Expression(expression.values, expression.genes, expression.samples)
        design = arrange_samples(as_it_is, config.samples, table=about)[1]
        before, batches = expression.design, [design.covariates] if design.batch.size else []
        design = design.with_removed(before)
        if batches:  # taken off as if stated before
            covariates = np.hstack(
                [*batches, *([before.covariates] * bool(before.covariates.size))]
            )
            values = expression.values.copy()
            remove_effects(values, covariates)
            design = replace(design, covariates=covariates)
            expression = replace(expression, values=values, design=design)
        return expression, design
    given = as_expression(table, expression if isinstance(expression, Expression) else None)
    given = without_empty_samples(given)
    about = about.of(given.samples)
    return arrange_samples(given, config.samples, config.preprocess.regress_out, table=about)


def preprocess_of(
    expression: ExpressionLike, preprocess: Mapping[str, object] | None
) -> Mapping[str, object] | None:
    """The keyword ``preprocess``; ValueError where it stands beside values that are prepared."""
    if not isinstance(expression, Prepared):
        return preprocess
    if preprocess is not None:
        raise ValueError("preprocess: found it beside prepared values; expected None")
    return {"min_samples": expression.parameters["min_samples"]}


def preparation_of(expression: ExpressionLike) -> list[Mapping[str, object]]:
    """How values were prepared, where they were; nothing for others."""
    return [expression.parameters] if isinstance(expression, Prepared) else []


def stated_samples(
    labels: SampleLabels,
    step: Mapping[str, float] | None = None,
    preprocess: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The section ``samples`` of a call with these labels; or with effects to remove, whose columns
    are those of ``obs``."""
    columns: dict[str, object] = {key: key for key, given in labels.items() if given is not None}
    if step is not None:
        columns["step"] = dict(step)
    stated = columns or (preprocess or {}).get("regress_out")
    return {"annotations": "in memory", **columns} if stated else {}


def label_table(labels: SampleLabels, table: ExpressionTable) -> AnnotationTable:
    """Labels in memory as what the section ``samples`` takes from a table of annotations."""
    samples = [str(name) for name in _sample_names(table)]
    columns = {
        key: [str(label) for label in sample_labels(key, given, table)]
        for key, given in labels.items()
        if given is not None
    }
    return AnnotationTable(
        "samples", samples, columns, [f"sample {name!r}" for name in samples], []
    )


def known_of_samples(
    labels: SampleLabels, table: ExpressionTable, regress_out: Sequence[str] = ()
) -> AnnotationTable:
    """The labels of a call and, of an AnnData, the columns of ``obs`` whose effects are to be
    removed; all others of ``obs`` are there to see what samples share, as in the workflow."""
    about = label_table(labels, table)
    frame = pd.DataFrame() if table.obs is None else table.obs
    obs = {str(name): [*map(as_text, frame[name])] for name in frame if name not in about.columns}
    asked = {part for name in regress_out for part in (name, *parts_of(name))}
    columns = {name: obs.pop(name) for name in asked & obs.keys()}
    return replace(about, columns=columns | about.columns, others=obs)


def names_of_samples(table: ExpressionTable, arranged: Sequence[str]) -> Names:
    """The caller's labels of samples in the order of ``arranged``, the same as text."""
    return _sample_names(table)[places_of_samples(table, arranged)]


def places_of_samples(table: ExpressionTable, arranged: Sequence[str]) -> NDArray[np.intp]:
    """The columns of samples of a table, in the order of ``arranged``."""
    return pd.Index(list(map(str, _sample_names(table)))).get_indexer(pd.Index(arranged))


def _sample_names(table: ExpressionTable) -> Names:
    return pd.RangeIndex(table.n_samples) if table.samples is None else table.samples


def sample_labels(name: str, given: object, table: ExpressionTable) -> NDArray[np.generic]:
    """A label for each sample.

    Parameters
    ----------
    name
        What messages call the labels.
    given
        One label for each sample, in their order; or, for samples with names, a mapping or a pandas
        Series from sample to label.

    Raises
    ------
    ValueError
        Labels of another number than there are samples; samples without a label; a mapping for
        samples without names.
    """
    if isinstance(given, pd.Series | Mapping):
        labels = _by_name(name, pd.Series(given), table)
    elif isinstance(given, str) or not isinstance(given, _LISTS):
        expected = "a label for each sample, or a mapping from sample to label"
        raise ValueError(f"{name}: found {given!r:.60}; expected {expected}")
    else:
        labels = np.asarray(given)
    if labels.shape != (table.n_samples,):
        raise ValueError(
            f"{name}: found shape {labels.shape}; expected a label for each of "
            f"{table.n_samples} samples"
        )
    if missing := int(pd.isna(labels).sum()):
        raise ValueError(f"{name}: found {missing} samples without a label; expected one for each")
    return labels


def _by_name(name: str, labels: pd.Series, table: ExpressionTable) -> NDArray[np.generic]:
    if table.samples is None:
        raise ValueError(
            f"{name}: found labels by the name of the sample; expected a label for each sample, in "
            "their order, since the samples have no names"
        )
    if not labels.index.is_unique:
        twice = labels.index[labels.index.duplicated()][0]
        raise ValueError(f"{name}: found sample {twice!r} more than once; expected each once")
    absent = table.samples[~table.samples.isin(labels.index)]
    if len(absent):
        shown = ", ".join(map(repr, absent[:_SHOWN])) + (", ..." if len(absent) > _SHOWN else "")
        raise ValueError(
            f"{name}: found none for {len(absent)} of {table.n_samples} samples ({shown}); "
            "expected one for each sample, named as in the table"
        )
    return labels.reindex(table.samples).to_numpy()
