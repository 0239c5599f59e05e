"""What the stages that follow a network are given: values, samples and the network itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.arrays import BoolArray, Float64Array, Int32Array, Int64Array
from pairtile.config.conditions import ConditionConfig
from pairtile.config.preprocess import TableAnalysis, TwoTableAnalysis
from pairtile.declare.tables import read_result_table
from pairtile.errors import InputError
from pairtile.gpu.device import Device
from pairtile.io.annotations import (
    Annotations,
    AnnotationTable,
    annotations_of_table,
)
from pairtile.io.expression import Expression, read_expression
from pairtile.io.names import GeneNames
from pairtile.io.networks.table import NetworkTable
from pairtile.io.symbols import add_symbols, unique_labels
from pairtile.preprocess.expression import Prepared, prepare_expression
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.preprocess.samples import read_arranged
from pairtile.preprocess.two_tables import read_two_tables
from pairtile.preprocess.value_kind import whole_counts
from pairtile.runtime.files import write_tsv
from pairtile.statistics.counting_noise import name_keys

GENE_COLUMNS = ("source", "target", "gene", "regulator", "hub")
"""Of the tables of stages: names of genes, beside which symbols stand where there are any."""

Q_VALUE = 0.05
"""Up to which rows of a stage's table are counted, listed and drawn as found."""

MIN_GENES = 3
MISSING_GENES = "{path}: found {n} of the analysed genes; expected 3 or more, named alike"


class ValueArrays(SampleArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | values | (genes, samples) | as they were scored, before ranks and bins; NaN where missing |
    | genes, samples | (genes,), (samples,) | names |
    | columns | (columns,) | names of the annotations |
    | cells | (columns, samples) | annotations as text, "" where there is none |
    | counts | (genes, samples) | whole numbers that ``values`` were made from, if they were |
    | keys, effects_removed | (genes,), () | ``statistics.counting_noise.Counts`` |
    """

    values: Float64Array
    genes: NDArray[np.str_]
    samples: NDArray[np.str_]
    columns: NDArray[np.str_]
    cells: NDArray[np.str_]
    counts: NotRequired[NDArray[np.unsignedinteger]]
    keys: NotRequired[NDArray[np.uint64]]
    effects_removed: NotRequired[BoolArray]


def prepare_values(config: TableAnalysis, kept: list[str], scratch: Path) -> ValueArrays:
    """The expression of an analysis, prepared as for its scores, and all that is stated of the
    samples.

    kept : names of the genes that were paired, in order; a row of NaN for one that has no values
    here. Arrays too large for memory are mapped from files in ``scratch``. Raises InputError as
    ``read_arranged`` and ``prepare_expression``.
    """
    if isinstance(config, TwoTableAnalysis) and config.other_expression is not None:
        return _arrays(read_two_tables(config, scratch).prepared, kept)
    expression, design = read_arranged(config, scratch)
    are_levels = config.table_path() != config.expression
    settings = config.preprocess.of_levels if are_levels else config.preprocess
    compared = config.differential is not None or bool(config.obs)  # of a group: ``split_by``
    raw = whole_counts(expression.values, scratch) if compared else None
    names = pd.Index(expression.genes)
    prepared = prepare_expression(expression, settings, True, design, scratch)
    del expression
    arrays = _arrays(prepared, kept)
    if raw is not None and prepared.quality.is_counts:
        rows = names.get_indexer(pd.Index(kept))
        if (rows >= 0).all():
            arrays["counts"], arrays["keys"] = raw[rows], name_keys(kept)
            arrays["effects_removed"] = np.array("degrees_given_up" in arrays)
    return arrays


def _arrays(prepared: Prepared, kept: list[str]) -> ValueArrays:
    values = prepared.values
    if prepared.genes != kept:
        row = {name: k for k, name in enumerate(prepared.genes)}
        values = np.full((len(kept), len(prepared.samples)), np.nan)
        for k, name in enumerate(kept):
            if name in row:
                values[k] = prepared.values[row[name]]
    annotations = prepared.design.annotations
    return {
        **prepared.design.state,
        "values": values,
        "genes": np.array(kept, dtype=np.str_),
        "samples": np.array(prepared.samples, dtype=np.str_),
        "columns": np.array(list(annotations), dtype=np.str_),
        "cells": np.array(list(annotations.values()), dtype=np.str_),
    }


def conditions_of(
    samples: list[str],
    annotations: Mapping[str, list[str]],
    conditions: Iterable[ConditionConfig],
    of_group: bool,
) -> Annotations:
    """Some annotations as ``annotations_of_table`` gives them."""
    table = AnnotationTable("samples", samples, dict(annotations), ["samples"] * len(samples), [])
    asked = list(conditions)
    return annotations_of_table(table, asked, of_group) if asked else Annotations([])


def read_other_samples(config: TableAnalysis) -> Expression:
    """The table ``other_samples``, as it is."""
    return read_expression(
        config.other_samples or "", config.orientation, "auto", config.duplicates,
        config.ignore_versions,
    )  # fmt: skip


@dataclass(frozen=True)
class Given:
    """What a stage works on.

    values : float64 (genes, samples), NaN where missing, memory-mapped. genes, samples : names, in
    the order of its rows and columns. annotations : column -> a text for each sample. known : what
    is stated of the samples. network : edges, ``source`` and ``target`` by name. folder : where it
    writes its tables, and where those of other stages are. directed : whether edges run from source
    to target. score : the column that edges were chosen by, where there is one.
    """

    config: TableAnalysis
    values: Float64Array
    genes: list[str]
    samples: list[str]
    annotations: Mapping[str, list[str]]
    known: SampleArrays
    items: pd.DataFrame
    network: pd.DataFrame
    folder: Path
    seed: int
    device: Device
    directed: bool = False
    score: str | None = None
    value: str | None = None

    @property
    def network_table(self) -> NetworkTable:
        """The network as its writers take it."""
        return NetworkTable.build(
            self.network,
            self.items,
            directed=self.directed,
            metadata={"method": self.config.method},
            score=self.score,
            value=self.value,
        )

    @property
    def labels(self) -> list[str]:
        """What people call the genes: symbols where the table has them, else their names."""
        found = unique_labels(self.items) if "symbol" in self.items else {}
        return [found.get(gene, gene) for gene in self.genes]

    @property
    def degrees_given_up(self) -> int:
        """Degrees of freedom that went with effects removed from the values."""
        return int(np.sum(self.known.get("degrees_given_up", 0)))

    @property
    def blocks(self) -> list[Int32Array]:
        """Series and batch of each sample, as far as they are stated."""
        return [codes for codes in (self.series, self.batch) if codes is not None]

    @property
    def batch(self) -> Int32Array | None:
        """The batch of each sample, int32 (samples,) from 0; None where none is stated."""
        return self.known.get("sample_batch")

    @property
    def of_group(self) -> bool:
        """Whether the samples are one group of a table that is split (``split_by``)."""
        return bool(self.config.obs)

    @property
    def series(self) -> Int32Array | None:
        """The series (subject, run) of each sample, as ``batch``."""
        return self.known.get("sample_series")

    def conditions(self, conditions: Iterable[ConditionConfig]) -> Annotations:
        """These annotations as conditions that can be tested. Raises InputError."""
        return conditions_of(self.samples, self.annotations, conditions, self.of_group)

    def genes_of_both(self) -> tuple[Int64Array, Float64Array]:
        """Rows of the genes that ``other_samples`` has, too, and their values there, float64
        (genes, other samples), prepared alike but for what needs annotations."""
        settings = self.config.preprocess.model_copy(update={"regress_out": ()})
        other = prepare_expression(read_other_samples(self.config), settings, True)
        found = GeneNames.of_items(other.items, False, False).find(self.genes).rows
        rows = np.array([k for k, gene in enumerate(self.genes) if gene in found], dtype=np.int64)
        if rows.size < MIN_GENES:
            raise InputError(MISSING_GENES.format(path=self.config.other_samples, n=rows.size))
        return rows, np.asarray(other.values)[[found[self.genes[row]][0] for row in rows]]

    def table(self, name: str) -> pd.DataFrame:
        """The table that another stage wrote. Raises StoreError."""
        return read_result_table(self.folder / name, __package__)

    def write(self, name: str, table: pd.DataFrame) -> None:
        """Write a table with a header and tabs, whole or not at all."""
        if named := [column for column in GENE_COLUMNS if column in table]:
            table = add_symbols(table, self.items, named)
        write_tsv(self.folder / name, table)
