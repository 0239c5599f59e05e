"""Preparation of expression in memory: logarithm, normalisation, filters."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.messages import issue_warnings
from pairtile.api.regulators import listed_genes
from pairtile.api.settings import SectionMapping, checked_section
from pairtile.api.table import ExpressionLike, ExpressionTable, Names, SampleLabels, as_table
from pairtile.config.preprocess import Preprocess
from pairtile.config.samples import SamplesConfig
from pairtile.io.annotations import AnnotationTable
from pairtile.io.cells import as_text
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.expression import prepare_expression as prepare
from pairtile.preprocess.samples import arrange_samples, parts_of

_SHOWN = 3
_LISTS = (Sequence, np.ndarray, pd.Index, pd.api.extensions.ExtensionArray)


def prepare_expression(
    expression: ExpressionLike,
    regress_out: Mapping[str, object] | pd.DataFrame | None = None,
    *,
    log2: Literal["auto"] | bool = "auto",
    pseudocount: Literal["auto"] | float = "auto",
    normalize: Literal[
        "auto",
        "none",
        "quantile",
        "cpm",
        "cp10k",
        "median_ratio",
        "tmm",
        "vst",
        "depth_ranks",
        "nb_residuals",
        "zscore",
    ] = "auto",
    min_samples: int = 20,
    min_expressed: float = 0.0,
    top_variable: int | None = None,
    drop_constant: bool = False,
    sample_scale: Literal["auto"] | bool = "auto",
    hidden_factors: Literal["none", "auto"] | int = "none",
    control_genes: str | PathLike[str] | None = None,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    layer: str | None = "auto",
    obs: SectionMapping | None = None,
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
    log2 : auto, True or False
        Take the logarithm to base 2 of every value. `auto`: where the values look like counts or
        intensities (GEO2R's rule: 99 % quantile above 100, or range above 50 and lower quartile
        above 0) and none is negative. `True`: always; negative values are an error. `False`: never.
    pseudocount : auto or a number of at least 0
        Added to every value before log2, after normalisation. `auto`: 1 for counts and for tables
        that hold zeros, which so stay, as the lowest value; 0 where nothing lies just above zero,
        which then means not detected. With 0, zeros become missing values.
    normalize : str
        Makes samples, or genes, comparable. `auto`: of counts (also estimated ones, or recovered
        from logarithms or CPM), unless log2 is `False`, `nb_residuals` where depths differ and
        zeros would show it, else `median_ratio`, or `cp10k` where few genes are above zero in every
        sample; of other values `median_ratio` where size factors are unequal, else `none`;
        docs/methods/mutual_information.md has the rules, `summary.json` says which and why. `none`:
        values as they are. `quantile`: every sample gets the same distribution (microarrays).
        `cpm`, `cp10k`: counts per million or per 10,000. `nb_residuals`: normal scores of the
        counts under a negative binomial model of each gene with the depth of each sample (single
        cells, and whatever else has many zeros). `depth_ranks`: ranks among samples of about the
        same total, as normal scores (for many hundreds of samples). `median_ratio`: size factors as
        in DESeq2 (bulk counts). `tmm`: size factors as in edgeR. `vst`: the variance-stabilising
        transform of DESeq; no log2 after it. `zscore`: each gene to mean 0 and standard deviation
        1; does nothing under `transform: rank`.
    min_samples : an integer between 3 and 1000000
        Least number of samples. Genes observed in fewer are dropped, and pairs observed together in
        fewer get no score. Scores from few samples come out too good by chance.
    min_expressed : a number of at least 0 and at most 1
        Least share of the samples in which a gene must be above zero, before anything is changed;
        other genes are dropped. Not for tables with negative values.
    top_variable : an integer between 2 and 10000000, or None
        Keep this many genes, those of the largest variance after log2 (under `nb_residuals` and
        `depth_ranks` of counts per 10,000 on that scale); None: all.
    drop_constant : True or False
        Drop genes that have the same value in all samples. `False`: they score 0 with every gene.
    sample_scale : auto, True or False
        Bring all samples to the same spread about the genes' medians, after log2 and normalisation.
        `auto`: where the noise of samples differs (what other samples do not predict of a sample;
        standard deviation of its logarithm 0.2 or more).
    hidden_factors : none, auto or an integer between 1 and 50
        Remove what most genes share and nothing states: quality, mixtures of cell types, batches.
        `auto`: components above those of exchanged samples, turned to simple structure, whose
        loadings are spread over more than a fifth of the genes. A number: so many of the first
        components. Values become normal scores of each gene less what the factors hold, after all
        else. A module of a quarter of the genes or more is taken for a factor.
    control_genes : a path (text) or None
        Genes, one a line, that have nothing in common but what samples share (spike-ins,
        housekeeping genes): `hidden_factors` is then found from these alone, as RUV does. None:
        from all genes.
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
    arguments = locals()
    cleaning = {key: arguments[key] for key in Preprocess.model_fields if key != "regress_out"}
    checked = checked_section(Preprocess, cleaning)
    table = as_table(expression, orientation=orientation, layer=layer, obs=obs, sparse=True)
    given_effects = {} if regress_out is None else regress_out
    effects = {str(name): labels for name, labels in given_effects.items()}
    checked = checked.model_copy(update={"regress_out": tuple(effects)})
    values, design = arrange_samples(
        as_expression(table, expression),
        SamplesConfig(),
        tuple(effects),
        table=known_of_samples(effects, table),
    )
    prepared = prepare(values, checked, design=design)
    issue_warnings(prepared.messages)
    return prepared


def as_expression(
    table: ExpressionTable, given: object = None, name: str = "expression"
) -> Expression:
    """A table in memory as what the readers give; genes without names are called by number.

    ``given``: what the table was made of, where its source and notes are known.
    """
    read = given if isinstance(given, Expression) else None
    return Expression(
        values=table.values,
        genes=[str(label) for label in table.labels],
        samples=[str(label) for label in table.sample_labels],
        source=(read.source if read else "") or name,
        notes=list(read.notes if read else table.notes),
        symbols=read.symbols if read else {},
        accessions=dict(table.symbols),
    )


class KeptFolder:
    """A temporary folder that goes with this object."""

    def __init__(self) -> None:
        self.name = mkdtemp(prefix="pairtile-")
        weakref.finalize(self, rmtree, self.name, ignore_errors=True)


class Inputs:
    """The inputs of a call, as an analysis reads them: they stay in memory. ``folder``: for the
    files of the analysis."""

    def __init__(self) -> None:
        self.folder = KeptFolder()
        self.held: dict[str, object] = {}

    @property
    def names(self) -> dict[str, str]:
        """Keys of what is in memory, each with what stands there for the path."""
        return {key: key for key in self.held}

    def hold(self, key: str, value: object) -> str:
        """Keep what the reader of this key would give; what stands for its path."""
        self.held[key] = value
        return key

    def table(
        self, expression: ExpressionLike, table: ExpressionTable, name: str = "expression"
    ) -> str:
        """What stands for the path of a table; its values are left alone."""
        held = expression
        if not isinstance(held, Prepared):
            held = as_expression(table, expression, name)
            if isinstance(held.values, np.ndarray):
                held = replace(held, values=held.values.copy())
            if held.source.lower().endswith(".h5ad"):  # whose annotations would be read again
                held = replace(held, source=name)
        return self.hold(name, held)

    def other(
        self, other: ExpressionLike | None, table: ExpressionTable, beside: bool
    ) -> str | None:
        """What stands for the path of a second table of the same samples.

        Raises ValueError for one with regulators ``beside`` it, for values that are prepared
        already, and for another number of samples without names.
        """
        name = "other_expression"
        if other is None:
            return None
        if beside:
            raise ValueError(f"{name}: cannot be used with regulators or key_added")
        second = as_table(other, name=name, sparse=True)
        if any(isinstance(each, Prepared) for each in (other, self.held["expression"])):
            raise ValueError(f"{name}: found prepared values; expected them as they were read")
        if second.samples is None and second.n_samples != table.n_samples:
            raise ValueError(
                f"{name}: found {second.n_samples} samples without names; expected "
                f"{table.n_samples}, in the order of expression"
            )
        return self.table(other, second, name)

    def genes(self, listed: Any, table: ExpressionTable, key: str = "regulators") -> str | None:
        """What stands for the path of a list of genes (``listed_genes``)."""
        return None if listed is None else self.hold(key, listed_genes(listed, table, key).names)

    def samples(
        self,
        labels: SampleLabels,
        table: ExpressionTable,
        step: Mapping[str, float] | None = None,
        preprocess: SectionMapping | None = None,
    ) -> dict[str, object]:
        """The section ``samples`` of a call with these labels, and what is held for its table of
        annotations (``known_of_samples``)."""
        effects = (preprocess or {}).get("regress_out", ())
        effects = [effects] if isinstance(effects, str) else effects
        about = known_of_samples(labels, table, effects)
        stated: dict[str, object] = {key: key for key, one in labels.items() if one is not None}
        stated |= {} if step is None else {"step": dict(step)}
        if not stated and not effects and not (about.others and "expression" in self.held):
            return {}
        if "time" in stated and isinstance(self.held.get("expression"), Prepared):
            raise ValueError(
                "time: cannot be used with prepared values, since samples are put in order before "
                "anything else; give the table as it was read, or prepare samples in the order of "
                "time"
            )
        return {"annotations": self.hold("samples", about), **stated}


def as_labelled(labels: Names, texts: Iterable[str]) -> Names:
    """The labels that are these as text."""
    return labels[pd.Index(list(map(str, labels))).get_indexer(pd.Index(texts))]


def preprocess_of(
    expression: ExpressionLike, preprocess: Mapping[str, object] | None
) -> Mapping[str, object] | None:
    """The keyword ``preprocess``; ValueError where it stands beside values that are prepared."""
    if not isinstance(expression, Prepared):
        return preprocess
    if preprocess is not None:
        raise ValueError("preprocess: cannot be used with values that are already prepared")
    return {"min_samples": expression.parameters["min_samples"]}


def preparation_of(expression: ExpressionLike) -> list[Mapping[str, object]]:
    """How values were prepared, where they were; nothing for others."""
    return [expression.parameters] if isinstance(expression, Prepared) else []


def label_table(labels: SampleLabels, table: ExpressionTable) -> AnnotationTable:
    """Labels in memory as what the section ``samples`` takes from a table of annotations."""
    samples = [str(name) for name in table.sample_labels]
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


def sample_labels(name: str, given: object, table: ExpressionTable) -> NDArray[np.generic]:
    """A label for each sample.

    Parameters
    ----------
    name
        What messages call the labels.
    given
        One label for each sample, in their order; for samples with names a mapping or a pandas
        Series from sample to label; of an AnnData the name of a column of ``obs``.

    Raises
    ------
    ValueError
        Labels of another number than there are samples; samples without a label; a mapping for
        samples without names.
    """
    if isinstance(given, str) and table.obs is not None and given in table.obs:
        given = table.obs[given]
    if isinstance(given, pd.Series | Mapping):
        labels = _by_name(name, pd.Series(given), table)
    elif isinstance(given, str) or not isinstance(given, _LISTS):
        raise ValueError(
            f"{name}: found {given!r:.60}; expected a label for each sample, a mapping from sample "
            "to label, or of an AnnData a column of obs"
        )
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
