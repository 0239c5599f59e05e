"""Prepare an expression table: logarithm, normalisation, filters; and keep account of it all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.preprocess import Preprocess
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.preprocess.items import (
    NOT_VARIABLE,
    TOO_FEW,
    TOO_RARE,
    Account,
    items_table,
)
from pairtile.preprocess.logarithm import Scale, measure_scale, take_log2
from pairtile.preprocess.normalize import (
    GROUP_SIZE,
    depth_ranks,
    median_ratio_factors,
    quantile_normalize,
    scale_to_total,
    zscore,
)
from pairtile.preprocess.samples import SampleDesign, remove_effects
from pairtile.preprocess.statistics import row_statistics

MIN_GENES = 2
LEAST_COUNT = 20
"""Whole numbers that never reach this may be levels or classes, not counts."""

UNEQUAL_TOTALS = 1.5
"""Largest over smallest total of a sample, from which counts have to be normalised."""

MUCH_MISSING = 0.2
"""Share of the values that may become missing under log2 without a warning."""
FEWEST_POSITIVE = 20
"""Genes above zero in every sample on which size factors can rest (or half of all genes)."""

TOTALS = {"cpm": 1e6, "cp10k": 1e4}
"""Sums to which samples are scaled."""

SPARSE, MANY_SAMPLES = 0.05, 300
"""Share of zeros, and samples, from which counts are ranked among samples of like totals."""

ON_RAW_VALUES = (*TOTALS, "median_ratio", "depth_ranks")
"""Normalisations that are defined on counts or intensities, so they come before the logarithm."""


@dataclass(repr=False)
class Prepared:
    """Values ready for scoring, and the account of how they came about.

    ``values``: float64 (kept genes, samples), NaN where missing, C order; ``genes`` in input
    order. ``items``: one row per input gene, kept ones first (so that row numbers of ``values``
    and ``items`` agree), see ``items_table``. ``counts``, ``warnings``, ``notes``: what was
    changed and decided. ``parameters``: the settings as resolved, ``log2`` true or false.
    """

    values: np.ndarray
    genes: list[str]
    samples: list[str]
    items: pd.DataFrame
    counts: dict[str, int]
    warnings: list[str]
    notes: list[str]
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"Prepared: {len(self.genes):,} of {len(self.items):,} genes, "
            f"{len(self.samples):,} samples, {len(self.warnings)} warnings"
        )


def prepare_expression(
    expression: Expression,
    settings: Preprocess | None = None,
    overwrite: bool = False,
    design: SampleDesign | None = None,
) -> Prepared:
    """Prepare a table as the configuration's `preprocess` section asks.

    The input is not changed, unless the caller needs its values no more and allows to
    ``overwrite`` them: a copy of a large table is then never made.

    In this order: ``cpm``, ``cp10k`` or ``median_ratio`` on the raw values of all genes; log2, with
    zeros to missing unless a pseudocount is added; genes observed in fewer than ``min_samples``
    samples dropped, those above zero in too few (``min_expressed``), and all but the
    ``top_variable``; ``quantile`` or ``zscore`` on what is left; constant genes dropped if asked
    for (those that are constant before or after that normalisation); the effects of the covariates
    of ``design`` removed (``regress_out``).

    ``log2: auto`` applies the logarithm where GEO2R's rule says that values are raw
    (``logarithm.measure_scale``) and none is negative. ``cpm`` and ``median_ratio`` need raw
    values, so there ``auto`` takes whole numbers for counts and refuses all that looks like
    logarithms.

    Raises:
        InputError: fewer samples than ``min_samples``; negative values under log2 or under a
            normalisation of raw values; values that look like logarithms under one; fewer than
            two genes left.
    """
    asked = chosen = Preprocess() if settings is None else settings
    n_genes, n_samples = expression.values.shape
    if n_samples < chosen.min_samples:
        raise InputError.at(
            expression.source,
            "",
            f"{n_samples} samples",
            f"at least preprocess.min_samples ({chosen.min_samples}); lower that key if so few "
            "are meant, or see whether orientation fits",
        )
    account = Account(n_genes)
    account.n_missing_input = np.isnan(expression.values).sum(axis=1, dtype=np.int32)
    scale = measure_scale(expression.values)
    rare = _rarely_expressed(expression, chosen.min_expressed, scale)
    chosen = _chosen_for_counts(chosen, scale, expression, account)
    _warn_of_unequal_counts(chosen, scale, expression, account)
    log2 = _decide_log2(chosen, scale, expression, account)
    variance = _variance_of_counts(expression, chosen)
    values = _normalize_raw(expression, chosen, account, overwrite)
    if log2:
        account.n_zeros = take_log2(values, expression, float(chosen.pseudocount))
        _note_log2(chosen, account, n_samples)
    elif asked.pseudocount not in ("auto", 0):
        account.warnings.append(
            f"The pseudocount {asked.pseudocount:g} is not used: log2 is not applied."
        )
    account.record(np.arange(n_genes), row_statistics(values))
    account.drop(np.flatnonzero(account.n_observed < chosen.min_samples), TOO_FEW)
    account.drop(rare, TOO_RARE)
    _drop_less_variable(account, chosen, account.sd**2 if variance is None else variance)
    values = _normalize_log(values, chosen, account)
    if design is not None and design.covariates.size:
        remove_effects(values, design.covariates)
        columns = ", ".join(chosen.regress_out)
        account.notes.append(f"Additive effects were removed from every gene: {columns}.")
    kept = np.flatnonzero(account.reason == "")
    _check_left(kept.size, expression, chosen, account)
    _warn_of_samples(values, expression, account)
    genes = [expression.genes[k] for k in kept]
    counts = _counts(values, account, n_samples)
    if design is not None:
        counts |= design.counts
        account.notes[:0] = design.notes
    return Prepared(
        values=values,
        genes=genes,
        samples=list(expression.samples),
        items=items_table(expression.genes, account),
        counts=counts,
        warnings=account.warnings,
        notes=[*expression.notes, *account.notes],
        parameters={**chosen.model_dump(mode="json"), "log2": log2, "log2_requested": asked.log2},
    )


def _rarely_expressed(
    expression: Expression, least_share: float, scale: Scale
) -> NDArray[np.int64]:
    """Genes above zero in fewer than this share of their observed samples."""
    if not least_share:
        return np.empty(0, dtype=np.int64)
    if scale.n_negative:
        raise InputError.at(
            expression.source,
            "",
            f"{scale.n_negative} negative values",
            "counts or intensities under preprocess.min_expressed, which asks for values above 0",
        )
    observed = (~np.isnan(expression.values)).sum(axis=1)
    positive = (expression.values > 0).sum(axis=1)
    return np.flatnonzero(positive < least_share * observed)


def _variance_of_counts(expression: Expression, chosen: Preprocess) -> NDArray[np.float64] | None:
    """Of normal scores all genes have the same variance: that of the counts that they rank."""
    if chosen.top_variable is None or chosen.normalize != "depth_ranks":
        return None
    scaled = scale_to_total(expression.values, expression, TOTALS["cp10k"])
    return np.asarray(row_statistics(np.log2(scaled + 1.0)).sd ** 2)


def _drop_less_variable(
    account: Account, chosen: Preprocess, variance: NDArray[np.float64]
) -> None:
    if chosen.top_variable is None:
        return
    left = np.flatnonzero(account.reason == "")
    order = left[np.argsort(-variance[left], kind="stable")]
    account.drop(order[chosen.top_variable :], NOT_VARIABLE)


def _chosen_for_counts(
    chosen: Preprocess, scale: Scale, expression: Expression, account: Account
) -> Preprocess:
    """The settings, with ``auto`` of ``normalize`` and ``pseudocount`` decided."""
    counted = scale.looks_counted and scale.maximum >= LEAST_COUNT
    normalize, pseudocount = chosen.normalize, chosen.pseudocount
    if normalize == "auto":
        normalize = "none"
        if counted and chosen.log2 is not False:
            n_genes = len(expression.values)
            n_samples = expression.values.shape[1]
            zeros = float((expression.values == 0).mean())
            positive = int((expression.values > 0).all(axis=1).sum())
            zeros_are_values = chosen.pseudocount != 0
            if n_samples >= MANY_SAMPLES and zeros > SPARSE and zeros_are_values:
                normalize = "depth_ranks"
            elif positive >= min(FEWEST_POSITIVE, (n_genes + 1) // 2):
                normalize = "median_ratio"
            else:
                normalize = "cp10k"
            account.notes.append(
                f"The values are counts (whole numbers up to {scale.maximum:,.0f}, {zeros:.0%} "
                f"zeros) of {n_samples:,} samples, and {positive:,} of {n_genes:,} genes are above "
                f"zero in every sample: normalize: auto took {normalize}."
            )
    if pseudocount == "auto":
        pseudocount = float(counted or bool((expression.values == 0).any()))
    return chosen.model_copy(update={"normalize": normalize, "pseudocount": pseudocount})


def _warn_of_unequal_counts(
    chosen: Preprocess, scale: Scale, expression: Expression, account: Account
) -> None:
    """Counts of samples with unlike totals, taken as they are."""
    counted = scale.looks_counted and scale.maximum >= LEAST_COUNT
    if chosen.normalize != "none" or not counted:
        return
    totals = np.nansum(expression.values, axis=0)
    low, high = totals.min(), totals.max()
    if high > UNEQUAL_TOTALS * low:
        account.warnings.append(
            f"The values are counts, and samples sum to between {low:.4g} and {high:.4g}: where "
            "totals differ, unrelated genes rise and fall together. preprocess.normalize: "
            "median_ratio (or cpm) makes samples comparable."
        )


def _decide_log2(
    chosen: Preprocess, scale: Scale, expression: Expression, account: Account
) -> bool:
    """Whether to take the logarithm; says why."""
    on_raw = chosen.normalize in ON_RAW_VALUES
    linear = scale.n_negative == 0 and (scale.looks_raw or scale.looks_counted)
    if on_raw and scale.n_negative:
        raise _not_raw(chosen, expression, f"{scale.n_negative} negative values", "")
    if on_raw and not linear:
        if chosen.log2 == "auto":
            found = f"values that look like logarithms: {scale.description}"
            raise _not_raw(
                chosen, expression, found, "; if they are raw indeed, set preprocess.log2 to true"
            )
        account.warnings.append(
            f"{chosen.normalize} is meant for raw values, but these look like logarithms: "
            f"{scale.description}."
        )
    if chosen.normalize == "depth_ranks":
        account.notes.append("Log2 not applied: ranks are the same with and without.")
        return False
    if isinstance(chosen.log2, bool):
        account.notes.append(f"Log2 {_applied(chosen.log2)}, as set.")
        if chosen.log2 and not on_raw and not linear:
            account.warnings.append(
                f"Log2 is applied as set, but the values look like logarithms: {scale.description}."
            )
        return chosen.log2
    if scale.n_negative and scale.looks_raw:
        account.warnings.append(
            f"Log2 not applied: {scale.n_negative} values are negative, although the others look "
            f"raw: {scale.description}. Set log2 true with a pseudocount, or false."
        )
        return False
    if on_raw:
        account.notes.append(f"Log2 applied after {chosen.normalize}: {scale.description}.")
        return True
    account.notes.append(
        f"Log2 {_applied(scale.looks_raw)} (auto; values count as raw if the 99% quantile is above "
        f"100, or the range above 50 and the lower quartile above 0): {scale.description}."
    )
    return scale.looks_raw


def _applied(log2: bool) -> str:
    return "applied" if log2 else "not applied"


def _not_raw(chosen: Preprocess, expression: Expression, found: str, hint: str) -> InputError:
    return InputError.at(
        expression.source,
        "",
        found,
        f"raw values under preprocess.normalize: {chosen.normalize} (for logarithms there is "
        f"quantile{hint})",
    )


def _normalize_raw(
    expression: Expression, chosen: Preprocess, account: Account, overwrite: bool
) -> np.ndarray:
    """The values or a copy of them, normalised if that is done before the logarithm."""
    if total := TOTALS.get(chosen.normalize):
        account.notes.append(f"Each sample was scaled to a sum of {total:,.0f} over all genes.")
        return scale_to_total(expression.values, expression, total)
    if chosen.normalize == "depth_ranks":
        account.notes.append(
            "Every gene was ranked among samples of about the same total (groups of about "
            f"{GROUP_SIZE}), ties in random order; the values are normal scores of the ranks."
        )
        return depth_ranks(expression.values)
    if chosen.normalize == "median_ratio":
        factors, n_used = median_ratio_factors(expression.values, expression)
        account.notes.append(
            f"Samples were divided by size factors {factors.min():.4g} to {factors.max():.4g} "
            f"(median of ratios over {n_used} genes that are positive in every sample)."
        )
        return expression.values / factors
    return expression.values if overwrite else expression.values.copy()


def _note_log2(chosen: Preprocess, account: Account, n_samples: int) -> None:
    if chosen.pseudocount:
        account.notes.append(f"{float(chosen.pseudocount):g} was added to every value before log2.")
    elif account.n_zeros.any():
        zeros, values = int(account.n_zeros.sum()), account.n_zeros.size * n_samples
        account.notes.append(f"{zeros} zeros became missing under log2.")
        if zeros > MUCH_MISSING * values:
            account.warnings.append(
                f"{zeros / values:.0%} of the values were zeros and became missing under log2: "
                "scores rest on what is left. preprocess.pseudocount: 1 keeps zeros, as the lowest "
                "value."
            )


def _normalize_log(values: np.ndarray, chosen: Preprocess, account: Account) -> np.ndarray:
    """Values of the genes that are kept at the end, normalised if that is done after log2."""
    if chosen.drop_constant:
        account.drop_constant()
    kept = np.flatnonzero(account.reason == "")
    values = values[kept] if kept.size < len(values) else values
    if chosen.normalize not in ("quantile", "zscore") or not kept.size:
        return values
    if chosen.normalize == "quantile":
        values = quantile_normalize(values)
        account.notes.append("Samples were given the same distribution (quantile).")
    else:
        values = zscore(values)
        account.notes.append("Genes were scaled to mean 0 and standard deviation 1 (zscore).")
    account.record(kept, row_statistics(values))
    if chosen.drop_constant:
        account.drop_constant()
    still = account.reason[kept] == ""
    return values if still.all() else values[still]


def _check_left(n_kept: int, expression: Expression, chosen: Preprocess, account: Account) -> None:
    if n_kept < MIN_GENES:
        found = f"{n_kept} of {len(expression.genes)} genes left"
        reasons = ", ".join(f"{n} {reason}" for reason, n in account.dropped().items() if n)
        raise InputError.at(
            expression.source,
            "",
            f"{found} (dropped: {reasons or 'none'})",
            f"at least {MIN_GENES} (preprocess.min_samples is {chosen.min_samples}, "
            f"drop_constant {str(chosen.drop_constant).lower()}; a pseudocount keeps zeros)",
        )


def _warn_of_samples(values: np.ndarray, expression: Expression, account: Account) -> None:
    empty = np.flatnonzero(np.isnan(values).all(axis=0))
    if empty.size:
        names = ", ".join(repr(expression.samples[k]) for k in empty[:5])
        account.warnings.append(f"{empty.size} samples hold no value of any kept gene: {names}.")


def _counts(values: np.ndarray, account: Account, n_samples: int) -> dict[str, int]:
    dropped = account.dropped()
    kept = account.reason == ""
    counts = {
        "genes_read": len(kept),
        "genes_kept": int(kept.sum()),
        **{f"genes_dropped_{reason.replace(' ', '_')}": n for reason, n in dropped.items()},
        "genes_constant": int((account.constant & kept).sum()),
        "samples": n_samples,
        "values_missing_in_input": int(account.n_missing_input.sum()),
        "zeros_to_missing": int(account.n_zeros.sum()),
        "values_missing": int(np.isnan(values).sum()),
    }
    for reason, n in dropped.items():
        if n:
            asked_for = reason in (TOO_RARE, NOT_VARIABLE)
            told = account.notes if asked_for else account.warnings
            told.append(f"{n} of {len(kept)} genes were dropped: {reason}.")
    if counts["genes_constant"]:
        account.warnings.append(
            f"{counts['genes_constant']} kept genes are constant over their observed samples."
        )
    return counts
