"""Prepare an expression table: logarithm, normalisation, filters; and keep account of it all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.preprocess import Preprocess
from pairtile.declare.messages import HasMessages, Message, messages_of
from pairtile.engine.large_table import empty_table, map_rows, releasing, take_columns
from pairtile.errors import InputError
from pairtile.io.cells import MIN_ZEROS, normalisation_of, sample_of_cells
from pairtile.io.expression import Expression
from pairtile.io.regulators import read_regulators
from pairtile.io.sparse_rows import columns_of, stored_values
from pairtile.preprocess.count_residuals import CountResiduals
from pairtile.preprocess.factor_annotations import (
    Looked,
    annotations_of_factors,
    look_at_annotations,
    with_surfaces,
)
from pairtile.preprocess.filled_in import are_filled_in
from pairtile.preprocess.items import NOT_VARIABLE, TOO_FEW, TOO_RARE, CleaningLog, items_table
from pairtile.preprocess.normalize import (
    GROUP_SIZE,
    DepthRanks,
    dispersion_trend,
    factors_to_total,
    median_ratio_factors,
    quantile_normalize,
    stabilise_variance,
    take_log2,
    tmm_factors,
    zscore,
)
from pairtile.preprocess.null_design import dependence_arrays, hidden_factors
from pairtile.preprocess.quality import SampleQuality
from pairtile.preprocess.samples import SampleDesign, remove_effects
from pairtile.preprocess.spread import equalise_spreads, unequal_spreads
from pairtile.preprocess.statistics import (
    RawCounts,
    RowStatistics,
    blocks_of,
    count_values,
    row_statistics,
)
from pairtile.preprocess.value_kind import (
    MAX_TOTALS_VARIATION,
    MIN_POSITIVE,
    Scale,
    measure_scale,
    undo_scaling,
    unequal_factors,
)
from pairtile.runtime.record import doing, say_done
from pairtile.runtime.threads import in_threads
from pairtile.statistics.hidden_factors import MIN_GENES as MIN_GENES_OF_FACTORS
from pairtile.statistics.hidden_factors import without_factors

message = messages_of(__package__)

MIN_GENES = 2

MIN_CONTROLS = 10
"""Genes from which hidden factors can be told from chance."""

MIN_DEPTH_VARIANCE, MIN_DEPTH_GENES = 0.25, 250
"""Of a gene's variance, that of size factors from which values that are no shares get them, and
genes that are above zero in every sample. Compendia of many conditions reach 0.2; genes of a small
panel may rise and fall together for their own reasons."""

TOTALS = {"cpm": 1e6, "cp10k": 1e4}
"""Sums to which samples are scaled."""

HALF_VALUES = 1 << 32
"""Normal scores of counts beyond which two bytes for each have to do: 32 GiB as float64. They are
rounded to one part in 2,000, less than the noise of counting."""

NORMAL_SCORES = ("depth_ranks", "nb_residuals")
"""Normalisations that make normal scores of counts."""

ON_RAW_VALUES = (*TOTALS, "median_ratio", "tmm", "vst", *NORMAL_SCORES)
"""Normalisations that are defined on counts or intensities, so they come before the logarithm."""


@dataclass(repr=False)
class Prepared(HasMessages):
    """Values ready for scoring, and the account of how they came about.

    ``values``: float64 (kept genes, samples), NaN where missing, C order; ``genes`` in input
    order. ``items``: one row per input gene, kept ones first (so that row numbers of ``values``
    and ``items`` agree), see ``items_table``. ``counts``, ``messages``: what was
    changed and decided. ``parameters``: the settings as resolved, ``log2`` true or false.
    ``quality``: the samples as they were read. ``design``: what they are, and what was removed.
    ``other_names``: what else genes are called, by name.
    """

    values: np.ndarray
    genes: list[str]
    samples: list[str]
    items: pd.DataFrame
    counts: dict[str, int]
    messages: list[Message]
    parameters: dict[str, object]
    quality: SampleQuality
    design: SampleDesign
    other_names: dict[str, str]

    @property
    def source(self) -> str:
        """No file."""
        return ""

    def under(self, design: SampleDesign) -> Self:
        """A copy of these values with what is stated of their samples; effects of batches are taken
        off, as if they had been stated before."""
        values, design = self.values.copy(), design.with_removed(self.design, design.batch.size > 0)
        if design.batch.size:
            remove_effects(values, design.covariates)
        return replace(
            self,
            values=values,
            design=design,
            items=self.items.copy(),
            counts=dict(self.counts),
            messages=list(self.messages),
        )

    def __repr__(self) -> str:
        return (
            f"Prepared: {len(self.genes):,} of {len(self.items):,} genes, "
            f"{len(self.samples):,} samples, {len(self.warnings)} warnings"
        )


def prepare_expression(
    expression: Expression | Prepared,
    settings: Preprocess | None = None,
    overwrite: bool = False,
    design: SampleDesign | None = None,
    scratch: Path | None = None,
    half: bool = False,
    scale: Scale | None = None,
) -> Prepared:
    """Prepare a table as the configuration's `preprocess` section asks.

    The input is not changed, unless the caller needs its values no more and allows to
    ``overwrite`` them: a copy of a large table is then never made. Genes are prepared in blocks, so
    that a sparse table (``io.sparse_rows``) is never made dense: with a folder ``scratch``, the
    values of its kept genes are mapped from a file there where they are many. With ``half``, more
    than ``HALF_VALUES`` normal scores of counts are float16 in that file: whoever works on them
    takes them as float64 first. ``scale``: of the values, where it is known.

    In this order: ``cpm`` and what else normalises the raw values of all genes; log2, with
    zeros to missing unless a pseudocount is added; genes observed in fewer than ``min_samples``
    samples dropped, those above zero in too few (``min_expressed``), and all but the
    ``top_variable``; ``quantile`` or ``zscore`` on what is left; constant genes dropped if asked
    for (those that are constant before or after that normalisation); samples brought to the same
    spread (``sample_scale``); the effects of the covariates of ``design`` removed
    (``regress_out``); what most genes share removed (``hidden_factors``).

    ``log2: auto`` applies the logarithm where GEO2R's rule says that values are raw
    (``value_kind.measure_scale``) and none is negative. ``cpm`` and its like need raw
    values, so there ``auto`` takes whole numbers for counts and refuses all that looks like
    logarithms.

    Raises:
        InputError: fewer samples than ``min_samples``; negative values under log2 or under a
            normalisation of raw values; values that look like logarithms under one; fewer than
            two genes left.
    """
    if isinstance(expression, Prepared):
        return expression.under(design or SampleDesign.unknown())
    asked = chosen = Preprocess() if settings is None else settings
    doing("clean the values of genes")
    values = expression.values
    n_genes, n_samples = values.shape
    if n_samples < chosen.min_samples:
        raise InputError.at(
            expression.source,
            "",
            f"{n_samples} samples",
            f"at least preprocess.min_samples ({chosen.min_samples}); lower that key if so few "
            "are meant, or see whether orientation fits",
        )
    cleaning = CleaningLog(n_genes)
    scale, counted = scale or measure_scale(stored_values(values)), count_values(values)
    cleaning.n_missing_input = counted.n_missing.astype(np.int32)
    say_done(message("table_read", source=expression.source, genes=n_genes, samples=n_samples))
    say_done(message("missing_values", n=int(counted.n_missing.sum()), values=n_genes * n_samples))
    # Parts of reads have two or three decimals; a mean of 5 or 10 whole numbers has one.
    of_reads = scale.whole_numbers or (scale.estimated and scale.decimals in (2, 3))
    if isinstance(values, np.ndarray) and not of_reads and are_filled_in(values):
        cleaning.add_message("values_filled_in")
    if chosen.normalize == chosen.log2 == chosen.pseudocount == "auto" and (
        undone := undo_scaling(expression, scale, scratch)
    ):
        expression, how, are_counts = undone
        cleaning.did("counts_recovered" if are_counts else "logarithms_undone", how=how)
        values = expression.values
        scale, counted = measure_scale(stored_values(values)), count_values(values)
    quality = SampleQuality.of_expression(expression, counted, scale.is_counts, design)
    rare = _rarely_expressed(expression, chosen.min_expressed, scale, counted)
    _warn_of_normalised_cells(expression, scale, counted, cleaning)
    if chosen.normalize == "auto" and scale.levels_or_counts:
        _refuse_levels_or_counts(expression.source, scale, counted)
    chosen = _chosen_for_counts(chosen, expression, scale, counted, cleaning)
    if asked.normalize == "auto":
        chosen = _chosen_for_unequal_samples(chosen, expression, scale, counted, cleaning)
    log2 = _decide_log2(chosen, scale, expression, cleaning)
    variance = _variance_of_counts(expression, chosen, counted)
    normalize = _normalization(expression, chosen, counted, cleaning)
    if chosen.normalize in ON_RAW_VALUES:
        say_done(message("values_normalised", normalize=chosen.normalize))
    zeros_missing = asked.pseudocount == "auto" and scale.zeros_missing

    def cleaned(rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """The values of some genes, and how many of their zeros became missing."""
        block = normalize(values[rows], rows)
        n_zeros = np.zeros(len(block), dtype=np.int32)
        if zeros_missing:
            n_zeros = (block == 0.0).sum(axis=1, dtype=np.int32)
            block[block == 0.0] = np.nan
        if not log2:
            return block, n_zeros
        return block, n_zeros + take_log2(block, expression, float(chosen.pseudocount), rows)

    design = design or SampleDesign.unknown()
    changed = design.covariates.size or design.surfaces or chosen.hidden_factors != "none"
    half = half and n_genes * n_samples > HALF_VALUES and not changed
    # Made once where there is room or it takes long; rows of dropped genes are overwritten then.
    once: np.ndarray | None = values if overwrite and isinstance(values, np.ndarray) else None
    if once is None and chosen.normalize in NORMAL_SCORES:
        once = empty_table((n_genes, n_samples), scratch, np.float16 if half else np.float64)

    def measured(rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], RowStatistics]:
        block, n_zeros = cleaned(rows)
        if once is not None:
            once[rows[0] : rows[-1] + 1] = block
        return n_zeros, row_statistics(block)

    blocks = blocks_of(np.arange(n_genes), n_samples)
    parts = releasing(in_threads(measured, blocks), values, once)
    for rows, (n_zeros, statistics) in zip(blocks, parts, strict=True):
        cleaning.n_zeros[rows] = n_zeros
        cleaning.record(rows, statistics)
    if zeros_missing:
        cleaning.did("zeros_not_detected", n=int(cleaning.n_zeros.sum()), lowest=scale.lowest)
    elif log2:
        _note_log2(chosen, cleaning, n_samples)
        say_done(
            message(
                "logarithm_taken",
                added=float(chosen.pseudocount),
                zeros=int(cleaning.n_zeros.sum()),
            )
        )
    elif asked.pseudocount not in ("auto", 0):
        cleaning.add_message("pseudocount_unused", pseudocount=asked.pseudocount)
    cleaning.drop(np.flatnonzero(cleaning.n_observed < chosen.min_samples), TOO_FEW)
    cleaning.drop(rare, TOO_RARE)
    if chosen.top_variable is not None:
        left = np.flatnonzero(cleaning.reason == "")
        spread = (cleaning.sd**2 if variance is None else variance)[left]
        most_variable_first = left[np.argsort(-spread, kind="stable")]
        cleaning.drop(most_variable_first[chosen.top_variable :], NOT_VARIABLE)
    if chosen.drop_constant:
        cleaning.drop_constant()
    kept = _left(expression, chosen, cleaning)
    if once is not None:
        for place in releasing(np.flatnonzero(kept != np.arange(kept.size)), once):
            once[place] = once[kept[place]]  # each moves up
        out = once[: kept.size]
    else:
        out = empty_table((kept.size, n_samples), scratch)
        begin = 0
        for block, _ in releasing(in_threads(cleaned, blocks_of(kept, n_samples)), values, out):
            out[begin : begin + len(block)] = block
            begin += len(block)
    say_done(message("genes_chosen", n=kept.size, genes=n_genes))
    out = _normalize_log(out, kept, chosen, cleaning)
    chosen = _equal_spread(out, chosen, scale, cleaning)
    before = Looked.at(out)
    design = with_surfaces(design, before)
    if design.covariates.size:
        remove_effects(out, design.covariates)
        cleaning.did("effects_removed", columns=", ".join(design.effects))
    controls = None if chosen.control_genes is None else _controls(expression, chosen, cleaning)
    design = _without_hidden_factors(out, chosen, design, cleaning, controls)
    design, said = look_at_annotations(before, out, design, quality)
    cleaning.messages += said
    kept = _left(expression, chosen, cleaning)
    _warn_of_samples(out, expression, cleaning)
    genes = [expression.genes[k] for k in kept]
    counts = _counts(cleaning, n_samples) | design.counts
    return Prepared(
        values=out,
        genes=genes,
        samples=list(expression.samples),
        items=items_table(expression.genes, cleaning, expression.symbols, expression.accessions),
        counts=counts,
        messages=[*expression.notes, *design.notes, *cleaning.messages],
        parameters={**chosen.model_dump(mode="json"), "log2": log2, "log2_requested": asked.log2},
        quality=quality,
        design=design,
        other_names=expression.other_names,
    )


def _equal_spread(
    values: np.ndarray, chosen: Preprocess, scale: Scale, cleaning: CleaningLog
) -> Preprocess:
    """Samples of the same spread, in place, where that is asked for or is wanting; counts that are
    taken as they are stay so."""
    equal = chosen.sample_scale
    if equal == "auto":
        as_they_are = scale.is_counts and chosen.normalize == "none"
        equal = not as_they_are and unequal_spreads(values)
    if equal:
        spreads = equalise_spreads(values)
        cleaning.did("samples_scaled", low=spreads.min(), high=spreads.max())
    return chosen.model_copy(update={"sample_scale": equal})


def _without_hidden_factors(
    values: np.ndarray,
    chosen: Preprocess,
    design: SampleDesign,
    cleaning: CleaningLog,
    controls: NDArray[np.int64] | None,
) -> SampleDesign:
    """Values, in place, without what most genes share, where that is asked for; the design with
    what was removed. ``controls``: rows that factors are found from, all."""
    asked = chosen.hidden_factors
    if asked == "none":
        return design
    number = None if asked == "auto" else asked
    stated = design.state
    known = stated | dependence_arrays(values, stated)[1]
    factors = hidden_factors(values, known, number, controls=controls)
    if number is not None and len(factors.shares) < number:
        raise InputError(
            f"preprocess.hidden_factors: found {number}; expected at most {len(factors.shares)} of "
            "this table: half as many as samples, fewer than genes, no more than control genes"
        )
    if number is None and not factors.strong:
        why = "no component that is spread over the genes is strong enough to relate them"
        if len(values) < MIN_GENES_OF_FACTORS and controls is None:
            why = (
                f"among fewer than {MIN_GENES_OF_FACTORS} genes a factor is not told from a module"
            )
        cleaning.add_message("no_hidden_factors", why=why)
        return design
    map_rows(partial(without_factors, factors=factors), values, values)
    n_factors, of = len(factors.shares), "" if controls is None else " of the control genes"
    cleaning.did("hidden_factors_removed", n=n_factors, share=factors.share, of=of)
    goes_with = annotations_of_factors(factors.scores, design.annotations)
    for number, (column, p_value) in enumerate(goes_with, start=1):
        if column:
            cleaning.add_message("factor_annotated", number=number, column=column, p=p_value)
    columns = tuple(column for column, _ in goes_with)
    counts = design.counts | {"hidden_factors": n_factors}
    return replace(design, factors=factors.scores, factor_columns=columns, counts=counts)


def _controls(
    expression: Expression, chosen: Preprocess, cleaning: CleaningLog
) -> NDArray[np.int64]:
    """Places of the control genes among those that are left."""
    kept = _left(expression, chosen, cleaning)
    names = read_regulators(str(chosen.control_genes), "control gene")
    listed = expression.gene_names.find(names)
    cleaning.messages.extend(listed.messages(len(names), "control genes"))
    rows = np.flatnonzero(np.isin(kept, [row for rows in listed.rows.values() for row in rows]))
    if rows.size < MIN_CONTROLS:
        found = f"{rows.size} of {len(names)} genes among those that are left of the table"
        expected = f"at least {MIN_CONTROLS} control genes, named as in the table"
        raise InputError.at(str(chosen.control_genes), "", found, expected)
    cleaning.add_message("control_genes", n=rows.size, names=len(names))
    return rows


def _rarely_expressed(
    expression: Expression, least_share: float, scale: Scale, counted: RawCounts
) -> NDArray[np.int64]:
    """Genes above zero in fewer than this share of their observed samples."""
    if least_share and scale.n_negative:
        raise InputError.at(
            expression.source,
            "",
            f"{scale.n_negative} negative values",
            "counts or intensities under preprocess.min_expressed, which asks for values above 0",
        )
    observed = len(expression.samples) - counted.n_missing
    return np.flatnonzero(counted.n_positive < least_share * observed)


def _variance_of_counts(
    expression: Expression, chosen: Preprocess, counted: RawCounts
) -> NDArray[np.float64] | None:
    """Of normal scores all genes have the same variance: that of the counts that they rank."""
    if chosen.top_variable is None or chosen.normalize not in NORMAL_SCORES:
        return None
    factors = factors_to_total(counted.totals, expression, TOTALS["cp10k"])
    return map_rows(
        lambda block: row_statistics(np.log2(block * factors + 1.0)).sd ** 2,
        expression.values,
        np.empty(len(expression.genes)),
    )


def _chosen_for_counts(
    chosen: Preprocess,
    expression: Expression,
    scale: Scale,
    counted: RawCounts,
    cleaning: CleaningLog,
) -> Preprocess:
    """The settings, with ``auto`` of ``normalize`` and ``pseudocount`` decided."""
    normalize, pseudocount = chosen.normalize, chosen.pseudocount
    n_zero = int(counted.n_zero.sum())
    if normalize == "auto":
        normalize = "none"
        if scale.is_counts and chosen.log2 is not False:
            n_genes, n_samples = counted.n_zero.size, counted.totals.size
            positive = int((counted.n_positive == n_samples).sum())
            expressed = counted.n_zero[counted.n_positive > 0]
            # Where one gene blooms, what it leaves of equal totals is the depth of all others.
            some = np.nan_to_num(columns_of(expression.values, sample_of_cells(n_samples)))
            others = some.sum(axis=0) - some.max(axis=0)
            spread = max(np.log(np.maximum(x, 1.0)).std() for x in (counted.totals, others))
            # Zeros keep depth in scaled counts, as a correlation that grows with its variance, and
            # more samples see it: 6.2 % of unrelated pairs have p <= 0.05 at 0.04, 7.5 % at 0.1.
            shared_depth = expressed.mean() / n_samples * spread**2 * n_samples**0.5
            if shared_depth > 0.04 and chosen.pseudocount != 0:  # 0: zeros are missing
                normalize = "nb_residuals"
            elif positive >= min(MIN_POSITIVE, (n_genes + 1) // 2):
                normalize = "median_ratio"
            else:
                normalize = "cp10k"
            cleaning.add_message(
                "counts_normalised",
                kind=scale.kind,
                whole=scale.whole_share,
                maximum=scale.maximum,
                zeros=n_zero / (n_genes * n_samples),
                samples=n_samples,
                spread=spread,
                positive=positive,
                genes=n_genes,
                normalize=normalize,
            )
    if pseudocount == "auto":
        pseudocount = float(not scale.zeros_missing and (scale.is_counts or n_zero > 0))
    low, high = counted.totals.min(), counted.totals.max()
    # Counts of samples with totals so unequal have to be normalised.
    if normalize == "none" and scale.is_counts and high > 1.5 * low:
        cleaning.add_message("unequal_totals", low=low, high=high)
    return chosen.model_copy(update={"normalize": normalize, "pseudocount": pseudocount})


def _refuse_levels_or_counts(source: str, scale: Scale, counted: RawCounts) -> None:
    """Ask, where totals differ more than counting makes them: taken for levels, what samples have
    most of makes all genes agree; taken for counts, levels are divided by a depth they have not."""
    dispersion = counted.totals.var() / max(counted.totals.mean(), 1.0)
    # The dispersion of counts of equal depth is 1.
    if dispersion > 5.0:
        found = (
            f"whole numbers up to {scale.maximum:.0f}, {scale.zero_share:.0%} of them zero, and "
            f"totals of samples from {counted.totals.min():.0f} to {counted.totals.max():.0f}: "
            "counts of shallow samples, or levels"
        )
        expected = (
            "preprocess: {normalize: nb_residuals} for counts, or preprocess: {normalize: none} "
            "for levels"
        )
        raise InputError.at(source, "", found, expected)


def _chosen_for_unequal_samples(
    chosen: Preprocess,
    expression: Expression,
    scale: Scale,
    counted: RawCounts,
    cleaning: CleaningLog,
) -> Preprocess:
    """The settings, with size factors where values other than counts need them: estimates that
    nobody divided by depth, and shares of a total (TPM) of which few genes take much, so that all
    others fall when these rise."""
    raw = scale.looks_raw and not scale.n_negative and not scale.is_counts
    if not raw or chosen.log2 is False:
        return chosen
    some = columns_of(expression.values, sample_of_cells(len(expression.samples)))
    if (unequal := unequal_factors(some)) is None:
        return chosen
    shares = counted.totals.std() <= MAX_TOTALS_VARIATION * counted.totals.mean()
    large = unequal.factor**2 > MIN_DEPTH_VARIANCE * unequal.gene**2
    of_depth = large and unequal.n_genes >= MIN_DEPTH_GENES
    if not (shares or of_depth or unequal.followed):
        return chosen
    code = "shares_normalised" if shares else "samples_normalised"
    cleaning.add_message(code, factor=unequal.factor, genes=unequal.gene)
    return chosen.model_copy(update={"normalize": "median_ratio"})


def _warn_of_normalised_cells(
    expression: Expression, scale: Scale, counted: RawCounts, cleaning: CleaningLog
) -> None:
    values = expression.values
    few_zeros = counted.n_zero.sum() < MIN_ZEROS * counted.n_zero.size * counted.totals.size
    if scale.whole_numbers or scale.estimated or (few_zeros and not scale.n_negative):
        return
    if (counted.n_positive == counted.totals.size).sum() >= MIN_POSITIVE:
        return  # bulk
    if how := normalisation_of(columns_of(values, sample_of_cells(counted.totals.size)).T):
        cleaning.add_message("normalised_cells", how=how)


def _decide_log2(
    chosen: Preprocess, scale: Scale, expression: Expression, cleaning: CleaningLog
) -> bool:
    on_raw = chosen.normalize in ON_RAW_VALUES
    linear = scale.n_negative == 0 and (scale.looks_raw or scale.looks_counted or scale.is_counts)
    if on_raw and scale.n_negative:
        raise _not_raw(chosen, expression, f"{scale.n_negative} negative values", "")
    if on_raw and not linear:
        if chosen.log2 == "auto":
            found = f"values that look like logarithms: {scale.description}"
            raise _not_raw(
                chosen, expression, found, "; if they are raw indeed, set preprocess.log2 to true"
            )
        cleaning.add_message(
            "logarithms_normalised", normalize=chosen.normalize, scale=scale.description
        )
    if chosen.normalize in (*NORMAL_SCORES, "vst"):
        cleaning.add_message("log2_of_vst" if chosen.normalize == "vst" else "log2_of_scores")
        return False
    if isinstance(chosen.log2, bool):
        cleaning.add_message("log2_set" if chosen.log2 else "no_log2_set")
        if chosen.log2 and not on_raw and not linear:
            cleaning.add_message("log2_of_logarithms", scale=scale.description)
        return chosen.log2
    if scale.n_negative and scale.looks_raw:
        cleaning.add_message("negative_raw_values", n=scale.n_negative, scale=scale.description)
        return False
    if on_raw:
        cleaning.add_message("log2_after", normalize=chosen.normalize, scale=scale.description)
        return True
    cleaning.add_message(
        "log2_auto" if scale.looks_raw else "no_log2_auto", kind=scale.kind, scale=scale.description
    )
    return scale.looks_raw


def _not_raw(chosen: Preprocess, expression: Expression, found: str, hint: str) -> InputError:
    return InputError.at(
        expression.source,
        "",
        found,
        f"raw values under preprocess.normalize: {chosen.normalize} (for logarithms there is "
        f"quantile{hint})",
    )


def _normalization(
    expression: Expression, chosen: Preprocess, counted: RawCounts, cleaning: CleaningLog
) -> Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]:
    """What is done to the raw values of some genes, whose numbers are given too."""
    if total := TOTALS.get(chosen.normalize):
        cleaning.add_message("scaled_to_sum", total=total)
        to_total = factors_to_total(counted.totals, expression, total)
        return lambda block, rows: block * to_total
    if chosen.normalize == "depth_ranks":
        cleaning.add_message("depth_ranks", size=GROUP_SIZE)
        return DepthRanks(counted.totals, len(expression.genes))
    if chosen.normalize == "nb_residuals":
        factors_to_total(counted.totals, expression, 1.0)  # refuses samples without a count
        residuals = CountResiduals(expression)
        depths = residuals.depths / np.median(residuals.depths)
        cleaning.add_message("nb_residuals", low=depths.min(), high=depths.max())
        return residuals
    if chosen.normalize not in ("median_ratio", "tmm", "vst"):
        return lambda block, rows: block
    if chosen.normalize == "tmm":
        factors, how = tmm_factors(expression, counted), "trimmed means of M-values"
    else:
        factors, n_used = median_ratio_factors(expression, counted)
        how = f"median of ratios over {n_used} genes that are positive in every sample"
    cleaning.add_message("size_factors", low=factors.min(), high=factors.max(), how=how)
    if chosen.normalize != "vst":
        return lambda block, rows: block / factors
    a0, a1 = dispersion_trend(expression, factors)
    cleaning.add_message("variance_stabilised", a0=a0, a1=a1)
    return lambda block, rows: stabilise_variance(block / factors, a0, a1)


def _note_log2(chosen: Preprocess, cleaning: CleaningLog, n_samples: int) -> None:
    if chosen.pseudocount:
        cleaning.add_message("pseudocount_added", pseudocount=float(chosen.pseudocount))
    elif cleaning.n_zeros.any():
        zeros, values = int(cleaning.n_zeros.sum()), cleaning.n_zeros.size * n_samples
        cleaning.add_message("zeros_missing", n=zeros)
        if zeros > 0.2 * values:  # so many become missing without a warning
            cleaning.add_message("many_zeros_missing", share=zeros / values)


def _normalize_log(
    values: np.ndarray, kept: NDArray[np.int64], chosen: Preprocess, cleaning: CleaningLog
) -> np.ndarray:
    """Values of the genes ``kept``, normalised if that is done after log2; of those that this makes
    constant none where they are to be dropped."""
    if chosen.normalize not in ("quantile", "zscore"):
        return values
    if chosen.normalize == "quantile":
        quantile_normalize(values)
        cleaning.did("quantiles_equal")
    else:
        map_rows(zscore, values, values)
        cleaning.did("genes_scaled")
    cleaning.record(kept, row_statistics(values))
    if chosen.drop_constant:
        cleaning.drop_constant()
    still = np.flatnonzero(cleaning.reason[kept] == "")
    if still.size < len(values):
        for begin, row in enumerate(releasing(still, values)):  # each moves up
            values[begin] = values[row]
    return values[: still.size]


def _left(expression: Expression, chosen: Preprocess, cleaning: CleaningLog) -> NDArray[np.int64]:
    kept = np.flatnonzero(cleaning.reason == "")
    if kept.size < MIN_GENES:
        found = f"{kept.size} of {len(expression.genes)} genes left"
        reasons = ", ".join(f"{n} {reason}" for reason, n in cleaning.dropped().items() if n)
        raise InputError.at(
            expression.source,
            "",
            f"{found} (dropped: {reasons or 'none'})",
            f"at least {MIN_GENES} (preprocess.min_samples is {chosen.min_samples}, "
            f"drop_constant {str(chosen.drop_constant).lower()}; a pseudocount keeps zeros)",
        )
    return kept


def _warn_of_samples(values: np.ndarray, expression: Expression, cleaning: CleaningLog) -> None:
    # Of most tables the first genes say that there is none.
    empty = np.flatnonzero(np.isnan(values[:1000]).all(axis=0))
    empty = empty[np.isnan(take_columns(values, empty, None)).all(axis=0)]
    if empty.size:
        names = ", ".join(repr(expression.samples[k]) for k in empty[:5])
        cleaning.add_message("samples_without_values", n=empty.size, names=names)


def _counts(cleaning: CleaningLog, n_samples: int) -> dict[str, int]:
    dropped = cleaning.dropped()
    kept = cleaning.reason == ""
    counts = {
        "genes_read": len(kept),
        "genes_kept": int(kept.sum()),
        **{f"genes_dropped_{reason.replace(' ', '_')}": n for reason, n in dropped.items()},
        "genes_constant": int((cleaning.constant & kept).sum()),
        "samples": n_samples,
        "values_missing_in_input": int(cleaning.n_missing_input.sum()),
        "zeros_to_missing": int(cleaning.n_zeros.sum()),
        "values_missing": int((n_samples - cleaning.n_observed[kept].astype(np.int64)).sum()),
    }
    for reason, n in dropped.items():
        if n:
            asked_for = reason in (TOO_RARE, NOT_VARIABLE)
            code = "genes_left_out" if asked_for else "genes_dropped"
            cleaning.add_message(code, n=n, genes=len(kept), reason=reason)
    if counts["genes_constant"]:
        cleaning.add_message("genes_constant", n=counts["genes_constant"])
    return counts
