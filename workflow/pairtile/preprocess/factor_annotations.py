"""What annotations of the samples explain: of the values of most genes, and of hidden factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.state import copy_rows
from pairtile.errors import InputError
from pairtile.io.annotations import AnnotationTable, read_numbers
from pairtile.io.names import join_first
from pairtile.preprocess.quality import SampleQuality
from pairtile.preprocess.samples import NEAR_COPIES_SHARE, SampleDesign, parts_of, term_of
from pairtile.runtime.threads import one_blas_thread
from pairtile.statistics.dependence import evenly_spaced, leading, near_copies_of
from pairtile.statistics.hidden_factors import normal_scores
from pairtile.statistics.sample_effects import (
    Left,
    Term,
    explaining_terms,
    orthonormal,
    together,
)

message = messages_of(__package__)

MAX_GENES, MAX_SAMPLES = 500, 1000
"""More are not looked at."""

# Small groups with this share of the variance between them are measurements of one specimen, and
# not relatives: at most so many samples each, at least so many groups.
ONE_SPECIMEN, MAX_COPIES, MIN_SPECIMENS = 0.7, 10, 20

COPY_CORRELATION, MIN_COMPARED, SAME_NUMBERS = 0.7, 20, 0.95
"""Least correlation of samples that are named as copies; genes of which fewer may agree by
chance, where they have few levels; least correlation of a column of totals with these."""

MAX_APART, MIN_BETWEEN, MIN_SAMPLES = 0.15, 0.6, 14
"""Of the samples: a group of more is no accident of a few; of a component's variance (of samples of
unrelated genes at most about 0.55)."""

# Swaps are looked for among at most so many labels, of so many samples each; where more than this
# share of the samples is closer to others, labels do not go with the values at all.
MAX_LABELS, MIN_LABELLED, MAX_SWAPPED = 20, 4, 0.1

# Columns of numbers, of so many different ones, that are tried as coordinates, each with each.
MAX_PAIRED, MIN_PLACES = 6, 5


def annotations_of_factors(
    scores: NDArray[np.float64], columns: Mapping[str, Sequence[str]]
) -> list[tuple[str, float]]:
    """Test each factor against each column: numbers by Spearman's correlation, labels by the
    Kruskal-Wallis test, among the samples with a value.

    scores : float64 (factors, samples). columns : a text for each sample, "" where there is none.
    Columns of one value, or of as many labels as samples, are not tested.

    Returns, of each factor, the column that it goes with most clearly, "" where with none, and the
    p-value of the best column, times the number of tests (Bonferroni) and at most 1; NaN without a
    column to test.
    """
    tested = {name: cells for name, cells in columns.items() if _says_something(cells)}
    found = []
    for factor in scores:
        p = {
            name: _p_value(factor, cells) * len(tested) * len(scores)
            for name, cells in tested.items()
        }
        best = min(p, key=p.__getitem__, default="")
        least = min(1.0, p[best]) if p else np.nan
        found.append((best if least <= 0.05 else "", least))
    return found


def _says_something(cells: Sequence[str]) -> bool:
    known = [cell for cell in cells if cell]
    numbers = pd.to_numeric(pd.Series(known, dtype=object), errors="coerce").notna().all()
    return len(set(known)) > 1 and (bool(numbers) or len(set(known)) <= len(known) / 2)


def _p_value(factor: NDArray[np.float64], cells: Sequence[str]) -> float:
    known = np.array([cell != "" for cell in cells])
    values, labels = factor[known], pd.Series(np.array(cells, dtype=object)[known])
    numbers = pd.to_numeric(labels, errors="coerce")
    if numbers.notna().all() and labels.nunique() > 2:
        return float(scipy.stats.spearmanr(values, numbers.to_numpy(np.float64)).pvalue)
    groups = [values[(labels == label).to_numpy()] for label in labels.unique()]
    return float(scipy.stats.kruskal(*groups).pvalue)


class Looked(NamedTuple):
    """``rows``: normal scores of the genes looked at, float64 (genes, samples). ``samples``: int64,
    which of the table's."""

    rows: NDArray[np.float64]
    samples: NDArray[np.int64]

    @classmethod
    def at(cls, values: NDArray[np.float64]) -> Looked:
        """Some genes and samples of a table, evenly spaced."""
        samples = evenly_spaced(values.shape[1], MAX_SAMPLES)
        rows = copy_rows(values, evenly_spaced(len(values), MAX_GENES), samples)
        return cls(normal_scores(rows), samples)


@one_blas_thread()
def with_surfaces(design: SampleDesign, looked: Looked) -> SampleDesign:
    """The design with as many waves of what ``regress_out`` has as smooth as values ask for."""
    for term in design.surfaces:
        chosen = term.for_samples(looked.samples)
        basis = orthonormal(design.covariates[looked.samples])
        number = chosen.design(looked.rows, basis).shape[1]
        covariates = np.hstack([design.covariates, term.all_columns(number)])
        design = replace(design, covariates=covariates)
    return design


@one_blas_thread()
def look_at_annotations(
    before: Looked, values: NDArray[np.float64], design: SampleDesign, quality: SampleQuality
) -> tuple[SampleDesign, list[Message]]:
    """Hold every annotation against what samples share; the design with what the named ones would
    take off. Not in time courses that are stated: their nulls keep what neighbours share. Nor
    totals and numbers of genes seen: every gene is a part of these, and genes of one module most,
    so that to take them off ties unrelated genes to each other.

    before : values before effects are removed. values : float64 (genes, samples), prepared.
    quality : the samples as they were read.
    """
    after = Looked.at(values)
    samples, rows = after.samples, after.rows
    columns = {**design.annotations, **design.others}
    stated = design.removed if design.removed.size else np.empty((values.shape[1], 0))
    table = AnnotationTable("samples", quality.samples, columns, [""] * len(stated), [])
    labels = {name: [cells[k] for k in samples] for name, cells in columns.items()}
    shown = [quality.samples[k] for k in samples]
    rest = removed = orthonormal(stated[samples])
    found: list[Message] = []
    if not design.series.size:
        others = {name: cells for name, cells in columns.items() if not _is_size(quality, cells)}
        terms = [term.for_samples(samples) for term in _terms(replace(table, columns=others))]
        if chosen := explaining_terms(rows, terms, removed):
            found.append(_named(rows, removed, chosen, labels, design.effects))
            every = [
                term_of(term.name, table).all_columns(taken.shape[1]) for term, taken in chosen
            ]
            named = tuple(part for term, _ in chosen for part in parts_of(term.name))
            design = replace(design, explained=np.hstack(every), named=named)
            rest = orthonormal(design.explained[samples], removed)
        apart, few = _few_apart(before.rows, rest, shown)
        found += apart + _copies(before.rows, together([few], rest), labels, shown)
    effects = [part for name in design.effects for part in parts_of(name)]
    for name in dict.fromkeys([*effects, *design.named]):
        found += _swaps(before.rows, name, labels.get(name, []), shown)
    return design, found


def _terms(table: AnnotationTable) -> list[Term]:
    """How columns can be taken off: labels and numbers as they are, numbers as curves too, and two
    columns of numbers as coordinates where hardly two samples have the same place.

    Not columns that ``regress_out`` refuses, nor labels that most samples have alone.
    """
    found, curves = [], []
    for name in table.columns:
        with suppress(InputError):
            term = term_of(name, table)
            if term.smooth or 0 < term.columns.shape[1] < len(term.columns) / 2:
                found.append(term)
        with suppress(InputError):
            curve = term_of(f"smooth({name})", table)
            different = np.unique(curve.columns[:, 0]).size
            if curve.columns.shape[1] == 1 and different > 2:
                found.append(curve)
                curves += [curve] * (different >= MIN_PLACES)
    if any(term.smooth and term.columns.shape[1] > 1 for term in found):
        curves = []  # the places of samples are known
    for first, second in combinations(curves[:MAX_PAIRED], 2):
        places = np.hstack([first.columns, second.columns])
        if len(np.unique(places, axis=0)) >= 0.9 * len(places):
            parts = ":".join(parts_of(first.name) + parts_of(second.name))
            found.append(Term(f"smooth({parts})", places, True))
    return found


def _is_size(quality: SampleQuality, cells: Sequence[str]) -> bool:
    """Whether a column is one of totals or of numbers of genes seen, by rank correlation."""
    alike = (
        pd.DataFrame([quality.size, quality.zeros, read_numbers(cells).values])
        .T.corr("spearman", min_periods=len(cells) // 2)
        .abs()
    )
    return bool(alike.loc[2, :1].max() >= SAME_NUMBERS)


def _named(
    rows: NDArray[np.float64],
    removed: NDArray[np.float64],
    chosen: Sequence[tuple[Term, NDArray[np.float64]]],
    labels: Mapping[str, Sequence[str]],
    stated: Sequence[str],
) -> Message:
    """Which columns explain what samples share, how much, and the line that takes it off."""
    before, left = (
        Left.of_rows(rows, removed),
        Left.of_rows(rows, together([x for _, x in chosen], removed)),
    )
    share = 1.0 - left.variance / left.free * before.free / before.variance
    # An excess of half the mean squared correlation of unrelated genes: 11 % of unrelated pairs
    # have p <= 0.05.
    severe = (before.excess - left.excess) * left.free >= 0.5
    shown = []
    for term, _ in chosen:
        parts = parts_of(term.name)
        groups = set(labels[parts[0]])
        same = [
            repr(name)
            for name, cells in labels.items()
            if name not in parts
            and 2 * len(groups) <= len(cells)
            and len(groups)
            == len(set(cells))
            == len(set(zip(cells, labels[parts[0]], strict=True)))
        ]
        place = "the coordinates " if term.smooth and term.columns.shape[1] > 1 else ""
        also = f" (the same groups: {', '.join(same)})" if same and len(parts) == 1 else ""
        shown.append(f"{place}{' and '.join(map(repr, parts))}{also}")
    names = ", ".join([*stated, *(term.name for term, _ in chosen)])
    line = f"preprocess: {{regress_out: [{names}]}} takes it off"
    size = np.unique(chosen[0][1], axis=0, return_counts=True)[1]
    specimens = not stated and len(chosen) == 1 and not chosen[0][0].smooth
    specimens &= size.max() <= MAX_COPIES and size.size >= MIN_SPECIMENS
    if specimens and share >= ONE_SPECIMEN:
        line = f"samples: {{replicate: {names}}} makes one sample of each specimen"
    return message(
        "annotation_explains" if severe else "annotation_explains_little",
        columns="; ".join(shown),
        share=share,
        before=before.passing,
        after=left.passing,
        line=line,
    )


def _few_apart(
    rows: NDArray[np.float64], known: NDArray[np.float64], names: Sequence[str]
) -> tuple[list[Message], NDArray[np.float64]]:
    """A few samples that most genes set apart from all others, as those that failed; and which they
    are, (samples, 0 or 1). Their means are a standard deviation away in half of the genes: the mean
    of copies is not, nor is that of samples that have a module of their own. And they are alike,
    by their mean correlation: noisy ones are not."""
    rest = rows - (rows @ known) @ known.T
    n = len(names)
    if len(rows) < MIN_COMPARED or n < MIN_SAMPLES or not rest.any():
        return [], np.empty((n, 0))
    _, components = leading(rest.T @ rest, 4)
    count = np.arange(2, max(2, int(MAX_APART * n)) + 1)
    for component in np.hstack([components, -components]).T:
        # How much of the component lies between the samples at its end and all others.
        order = np.argsort(component)
        between = np.cumsum(component[order])[count - 1] ** 2 * (1 / count + 1 / (n - count))
        few = np.sort(order[: count[between.argmax()]])
        mean, square = rest[:, few].mean(axis=1), np.square(rest[:, few]).mean()
        alike = (len(few) * np.square(mean).mean() / square - 1) / (len(few) - 1)
        if between.max() >= MIN_BETWEEN and np.median(np.abs(mean)) >= 1.0 and alike >= 0.5:
            listed = join_first([names[k] for k in few], 20)
            member = np.isin(np.arange(n), few)[:, None].astype(np.float64)
            return [message("few_samples_apart", n=len(few), names=listed)], member
    return [], np.empty((n, 0))


def _copies(
    rows: NDArray[np.float64],
    known: NDArray[np.float64],
    labels: Mapping[str, list[str]],
    names: Sequence[str],
) -> list[Message]:
    """A few samples that are copies of others; many are warned of as near copies."""
    if len(rows) < MIN_COMPARED:
        return []
    # By signs: of two samples at one end of a module, which agree in its genes alone, the products
    # of these would be most of the sum. Genes of a module count as few genes, a sign as 0.4 of one.
    signs = np.sign(rows - (rows @ known) @ known.T)
    n_genes = int(1 / (2.5 / len(rows) + max(Left.of_rows(rows, known).excess, 0.0)))
    gram = np.sin(0.5 * np.pi / len(rows) * (signs.T @ signs))
    near = near_copies_of(gram, n_genes, COPY_CORRELATION, 0.05 / len(names))
    groups = sorted({tuple(sorted((k, *of))) for k, of in enumerate(near) if of})
    copied = {k for group in groups for k in group}
    if not 0 < len(copied) <= NEAR_COPIES_SHARE * len(names):
        return []
    line = "Leave one of each out, or state under samples.replicate which they are"
    for name, cells in labels.items():
        of_copies = [{cells[k] for k in group} for group in groups]
        if all(len(one) == 1 for one in of_copies) and len(copied) == sum(
            map(cells.count, set().union(*of_copies))
        ):
            line = f"samples: {{replicate: {name}}} makes one sample of each"
    equal = all((rows[:, group[0]] == rows[:, group[1]]).all() for group in groups)
    how = "have the same values as" if equal else "are far closer than any others to"
    listed = join_first([" = ".join(names[k] for k in group) for group in groups])
    return [message("copied_samples", n=len(copied), names=listed, how=how, line=line)]


def _swaps(
    rows: NDArray[np.float64], column: str, cells: Sequence[str], names: Sequence[str]
) -> list[Message]:
    """Samples that are closer to those of another label than to their own, as far as the others are
    to theirs, where labels are well apart."""
    codes, labels = pd.factorize(np.array(cells, dtype=object))
    size = np.bincount(codes)
    if not 2 <= size.size <= MAX_LABELS or size.min() < MIN_LABELLED:
        return []
    own = np.arange(codes.size)
    sums = rows @ np.eye(size.size)[codes]
    square, product, of_sums = (rows**2).sum(axis=0), rows.T @ sums, (sums**2).sum(axis=0)
    # Squared distances to means, less what the error of means adds; to its own without the sample.
    distance = (square[:, None] - 2 * product / size + of_sums / size**2) / (1 + 1 / size)
    n, with_own = size[codes] - 1, product[own, codes]
    to_own = square - 2 * (with_own - square) / n + (of_sums[codes] - 2 * with_own + square) / n**2
    distance[own, codes] = np.inf
    closer = distance.min(axis=1) - to_own / (1 + 1 / n)
    typical = float(np.median(closer))
    spread = 1.48 * float(np.median(np.abs(closer - typical)))
    swapped = np.flatnonzero(closer < -0.5 * typical).tolist()
    if typical < 3 * spread or not 0 < len(swapped) <= MAX_SWAPPED * codes.size:
        return []
    shown = [f"{names[k]} ({cells[k]}, closer to {labels[distance[k].argmin()]})" for k in swapped]
    return [message("swapped_samples", n=len(swapped), column=column, names=join_first(shown))]
