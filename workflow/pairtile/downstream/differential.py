"""Stage ``differential``: every pair of genes between each pair of groups of samples.

Groups are the labels of a column of annotations. More than two are compared two at a time, as
users of DGCA do (McKenzie et al. 2016, BMC Syst Biol 10:106): a difference then has a direction,
from the first label in the order of the alphabet to the second.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairtile.arrays import Float64Array, IntegerArray
from pairtile.config.downstream import DifferentialConfig
from pairtile.config.preprocess import TableAnalysis
from pairtile.declare.columns import arrow_schema, with_metadata
from pairtile.declare.messages import Message, messages_of
from pairtile.declare.tables import empty_table
from pairtile.downstream.given import Given
from pairtile.downstream.group_comparison import (
    CLASSES,
    INFORMATION_COST,
    MIN_DRAWS,
    POOL,
    Q_VALUE,
    GroupComparison,
)
from pairtile.downstream.group_scores import MIN_SAMPLES
from pairtile.engine.estimator import TableSummary
from pairtile.errors import InputError
from pairtile.gpu.device import Device
from pairtile.runtime.files import atomic_path
from pairtile.runtime.record import log
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.counting_noise import Counts
from pairtile.statistics.exchangeable import Exchangeable
from pairtile.statistics.group_factors import group_factors
from pairtile.statistics.modules import leiden_modules

message = messages_of(__package__)

TABLE, BEST, HUBS = "differential.parquet", "differential.tsv", "differential_hubs.tsv"

MAX_ROWS = 50_000_000
"""Of the table of pairs: of more, those up to the largest of ``LIMITS`` that leaves no more."""

LIMITS = (1.0, 0.1, 0.01, 1e-3, 1e-4)
MAX_BEST = 100_000


@dataclass(frozen=True)
class LabelledSamples:
    """What is compared.

    values : float64 (genes, samples), NaN where missing. genes : names. labels : a text for each
    sample, "" where there is none. counts : that the values were made from, if known.
    """

    values: Float64Array
    genes: Sequence[object]
    labels: Sequence[str]
    exchangeable: Exchangeable
    counts: Counts | None = None
    regulators: IntegerArray | None = None
    given_up: int = 0


class ComparedGroups(NamedTuple):
    """Two labels, how their pairs were tested, a row for each gene with significant ones, and the
    largest p that the table of pairs holds."""

    first: str
    second: str
    tested: GroupComparison
    hubs: pd.DataFrame
    limit: float
    messages: list[Message]


def large_groups(labels: Sequence[str], name: str = "label") -> list[str]:
    """Labels with samples enough to be compared, in the order of the alphabet.

    Raises InputError where fewer than two have; ``name``: of the labels, for messages.
    """
    sizes = pd.Series([label for label in labels if label]).value_counts().sort_index()
    large = [str(label) for label in sizes.index[sizes >= MIN_SAMPLES]]
    if len(large) < 2:
        listed = [f"{label!r} ({n})" for label, n in sizes.items()]
        found = ", ".join(listed[:10]) + (" ..." if len(listed) > 10 else "")
        raise InputError(
            f"differential: {name!r} has {found or 'no labels'}; expected two labels with at least "
            f"{MIN_SAMPLES} samples each"
        )
    return large


def compared_groups(
    samples: LabelledSamples,
    score: str,
    device: Device,
    name: str = "label",
    chunks: Path | None = None,
) -> Iterator[ComparedGroups]:
    """Compare each pair of groups that have ``MIN_SAMPLES`` samples.

    Raises InputError as ``large_groups``. ``chunks``: as of ``GroupComparison.test``.
    """
    labels, large = np.array(samples.labels, dtype=object), large_groups(samples.labels, name)
    sizes = pd.Series(labels[labels != ""]).value_counts().sort_index()
    small = [f"{label!r} ({sizes[label]})" for label in sizes.index if label not in large]
    said = [message("small_groups", names=", ".join(small), least=MIN_SAMPLES)] if small else []
    for names in combinations(large, 2):
        between = dict(zip(("first", "second"), names, strict=True))
        codes = np.select([labels == name for name in names], [0, 1], -1).astype(np.int32)
        values = samples.values
        if samples.counts is not None:
            equal = samples.counts.equalised(np.asarray(values), np.arange(len(values)), codes)
            if n := int(equal.unequal.sum()):
                kept = samples.counts.effects_removed
                code = "unequal_noise_kept" if kept else "noise_made_equal"
                said.append(message(code, n=n, **between))
            values = equal.values
        tested = GroupComparison(
            values,
            codes,
            score,
            device,
            exchangeable=samples.exchangeable,
            regulators=samples.regulators,
            given_up=samples.given_up,
        )
        log.info("%s against %s: %d pairs, %d draws", *names, tested.n_pairs, tested.draws)
        said += _messages(tested.test(chunks), between)
        permuted, _ = samples.exchangeable.permute(codes, draws=200)
        said += [
            message("factors_of_group", label=names[group], share=share, n=number)
            for group, share, number in group_factors(np.array(values), codes, permuted)
        ]
        rows = {limit: int(tested.observed[tested.p <= limit].sum()) for limit in LIMITS}
        limit = next((limit for limit, n in rows.items() if n <= MAX_ROWS), LIMITS[-1])
        if limit < 1.0:
            left = int(tested.observed[tested.p > limit].sum())
            said.append(message("pairs_left_out", n=left, p=limit, **between))
        yield ComparedGroups(*names, tested, _hubs(tested, samples.genes), limit, said)
        said = []


def _messages(tested: GroupComparison, between: dict[str, str]) -> list[Message]:
    if not tested.movable:
        return [message("labels_not_exchangeable", n=tested.units, **between)]
    said = []
    if untested := tested.n_genes - tested.genes.size:
        said.append(message("genes_untested", n=untested, least=MIN_SAMPLES, **between))
    irregular = float((tested.irregular > 0).mean()) if tested.irregular.size else 0.0
    # More genes with heavy tails than that make tests of Pearson's correlation doubtful.
    if tested.score == "pearson" and irregular > 0.05:
        said.append(message("irregular_genes", share=irregular, **between))
    n_first, n_second = np.bincount(tested.layout.codes, minlength=2).tolist()
    numbers = {**between, "n_first": n_first, "n_second": n_second, "pairs": tested.n_tested}
    r = tested.detectable_correlation()
    if np.isnan(r):
        return [*said, message("nothing_detectable", **numbers)]
    return [*said, message("detectable_difference", r=r, found=tested.n_differing, **numbers)]


def _hubs(tested: GroupComparison, names: Sequence[object]) -> pd.DataFrame:
    """A row for each gene with significant pairs, those with most first."""
    n_genes = len(names)
    largest_p = float(tested.p[tested.q <= Q_VALUE].max(initial=-1.0))  # none: -1
    edges = pd.concat(tested.blocks(largest_p), ignore_index=True)
    edges = edges[edges["q"] <= Q_VALUE]
    ends = np.concatenate([edges["i"], edges["j"]]).astype(np.int64)
    kinds = np.tile(edges["kind"], 2)
    pairs = np.bincount(ends, minlength=n_genes)
    rows = np.flatnonzero(pairs)
    # Permuted counts are known from a few limits on: the one that leaves about as many pairs.
    totals = tested.hubs.sum(axis=1) / 2
    limit = max(0, int((totals >= len(edges)).sum()) - 1)
    observed = np.zeros(n_genes, np.int64)
    observed[tested.genes] = tested.hubs[limit]
    chance = np.sort(tested.by_chance[:, limit].ravel())
    p = (chance.size - np.searchsorted(chance, observed[rows]) + 1.0) / (chance.size + 1.0)
    strongest = edges.nsmallest(1_000_000, "p")  # of which modules are found
    difference = strongest["score_b"] - strongest["score_a"]
    module = leiden_modules(strongest["i"], strongest["j"], difference, n_genes, seed=1)
    genes = pd.Series(list(names), dtype=object).to_numpy()
    of_kind = {
        kind: np.bincount(ends[kinds == number], minlength=n_genes)[rows]
        for number, kind in enumerate(CLASSES)
        if kind
    }
    table = {
        "gene": genes[rows],
        "pairs": pairs[rows],
        **of_kind,
        "module": module[rows],
        "p_value": p,
        "q_value": benjamini_hochberg(p, n_tests=tested.genes.size),
    }
    order = ["pairs", "p_value", "gene"]
    return pd.DataFrame(table).sort_values(order, ascending=[False, True, True])


# --- tables ---


def rows_of_pairs(
    block: pd.DataFrame, found: ComparedGroups, genes: Sequence[object], groups: Sequence[str]
) -> pd.DataFrame:
    """Rows of the table of pairs; ``groups``: all labels, each of which has a column of scores."""
    nowhere = pd.Series(np.nan, index=block.index, dtype=np.float32)
    scores = {found.first: block["score_a"], found.second: block["score_b"]}
    comparison = pd.CategoricalDtype([f"{found.second} vs {found.first}"])
    only = np.zeros(len(block), dtype=np.int64)
    return pd.DataFrame(
        {
            "source": _named(block["i"], genes),
            "target": _named(block["j"], genes),
            **{f"score_{label}": scores.get(label, nowhere) for label in groups},
            "difference": block["score_b"] - block["score_a"],
            "z": block["z"],
            "p_value": block["p"],
            "q_value": block["q"],
            "class": _named(block["kind"], CLASSES),
            "comparison": pd.Categorical.from_codes(only, dtype=comparison),
        }
    )


def _named(codes: pd.Series[int], names: Sequence[object]) -> pd.Categorical:
    kind = pd.CategoricalDtype(pd.Index(names, dtype=object, tupleize_cols=False))
    return pd.Categorical.from_codes(codes.to_numpy(), dtype=kind)


def best_pairs(
    found: ComparedGroups, genes: Sequence[object], groups: Sequence[str], most: int = MAX_BEST
) -> pd.DataFrame:
    """The pairs of smallest p, at most so many, ascending."""
    # The least p at which at least so many pairs are, or all.
    tested = found.tested
    by_p = np.argsort(tested.p, kind="stable")
    enough = int(np.searchsorted(tested.observed[by_p].cumsum(), most))
    limit = float(tested.p[by_p[min(enough, by_p.size - 1)]])
    whole = pd.concat(tested.blocks(limit), ignore_index=True)
    order = np.lexsort([whole["j"], whole["i"], -whole["z"].abs(), whole["p"]])[:most]
    return rows_of_pairs(whole.iloc[order].reset_index(drop=True), found, genes, groups)


def seconds(config: TableAnalysis, genes: int, threads: int) -> float:
    """What the stage takes for all pairs of so many genes in two groups."""
    by_information = getattr(config.differential, "score", "") == "mi"
    each, cost = (5e-7, INFORMATION_COST) if by_information else (2.5e-8, 1)
    return each * max(POOL / cost, MIN_DRAWS * genes**2 / 2) / threads


def run(given: Given) -> TableSummary:
    """Write ``differential.parquet``, ``differential.tsv`` and ``differential_hubs.tsv``."""
    config: DifferentialConfig = given.config.differential  # type: ignore[assignment]
    regulators = np.flatnonzero(given.network_table.is_regulator)
    samples = LabelledSamples(
        given.values,
        given.genes,
        given.annotations[config.label],
        Exchangeable.of_state(given.known),
        Counts.of_state(given.known),
        regulators if regulators.size else None,
        given.degrees_given_up,
    )
    counts = dict.fromkeys(("differential_tested", "differential_significant"), 0)
    try:
        groups = large_groups(samples.labels, config.label)
    except InputError as error:
        if not given.of_group:
            raise
        # A group of samples that has nothing to compare has tables without rows.
        schema = with_metadata(arrow_schema(__package__, TABLE), __package__, TABLE)
        with atomic_path(given.folder / TABLE) as temporary:
            pq.write_table(schema.empty_table(), temporary)
        given.write(BEST, schema.empty_table().to_pandas())
        given.write(HUBS, empty_table(__package__, HUBS))
        return TableSummary(counts, [message("group_not_compared", reason=str(error))])
    said: list[Message] = []
    # What is done of a run that was ended; a whole run leaves none.
    best, hubs, chunks = [], [], given.folder / "differential_chunks"

    def blocks() -> Iterator[pd.DataFrame]:
        for found in compared_groups(samples, config.score, given.device, config.label, chunks):
            for block in found.tested.blocks(found.limit):
                yield rows_of_pairs(block, found, given.genes, groups)
            best.append(best_pairs(found, given.genes, groups).astype({"comparison": str}))
            hubs.append(found.hubs.assign(comparison=f"{found.second} vs {found.first}"))
            counts["differential_tested"] += found.tested.n_tested
            counts["differential_significant"] += found.tested.n_differing
            said.extend(found.messages)

    with atomic_path(given.folder / TABLE) as temporary:
        _write_pairs(blocks(), temporary)
    given.write(BEST, pd.concat(best).sort_values("p_value", kind="stable").head(MAX_BEST))
    given.write(HUBS, pd.concat(hubs))
    shutil.rmtree(chunks, ignore_errors=True)
    return TableSummary(counts, said)


def _write_pairs(blocks: Iterator[pd.DataFrame], path: Path) -> None:
    """Write rows of pairs to one file, with the declared metadata."""
    text = pa.dictionary(pa.int32(), pa.string())  # the same type whatever the comparison
    tables = (pa.Table.from_pandas(rows, preserve_index=False) for rows in blocks)
    first = next(tables)
    fields = [f.with_type(text) if pa.types.is_dictionary(f.type) else f for f in first.schema]
    schema = with_metadata(pa.schema(fields), __package__, TABLE)
    with pq.ParquetWriter(path, schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table.cast(schema))
