"""What to beware of when reading modes: small groups, unfinished fits, missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairtile.methods.multimodal_correlation.condition_tests import unique_names
from pairtile.methods.multimodal_correlation.report_conditions_text import SMALL_P, differs_in
from pairtile.methods.multimodal_correlation.report_findings import mixture
from pairtile.methods.multimodal_correlation.report_results import mode_results
from pairtile.report.formats import count, counted, listed, percent
from pairtile.report.methods_parts import section

if TYPE_CHECKING:
    from pairtile.methods.multimodal_correlation.report_results import ModeResults
    from pairtile.report.results import Results

UNFINISHED = 0.05
"""Share of fits that had not settled from which it is said."""

FEW_COMMON = 0.2
"""Share of pairs with too few samples from which it is said."""

SHARE_TOLD = 0.1
"""Share of a condition's edges with a sign of bias from which it is said."""

COLLIDING = (25, 36, 40, 48, 188, 277, 554)
"""Numbers of samples for which two of KINC's starting points are the same sample."""

N_NAMED = 6


def cautions(results: Results) -> list[str]:
    """Warnings that the settings, counts and tables themselves give rise to."""
    found = results.cached(mode_results)
    if found is None:
        return []
    parts = [_common_samples(results), _no_threshold(results)]
    if mixture(results):
        parts += [
            _few_samples(results),
            _small_labels(results, found),
            _outliers(results, found),
            _fits(results),
            _kinc(results),
            _forced(results),
            _one_gene(found),
        ]
    parts += _missing(found)
    return [text for text in parts if text]


def _samples(results: Results) -> tuple[int, int]:
    """How many there are, and how many a mode needs."""
    least = section(results, "estimator").get("min_samples") or 0
    return int(results.counts.get("samples") or 0), int(least)


def _common_samples(results: Results) -> str:
    pairs, few = results.counts.get("pairs", 0), results.counts.get("too_few_samples", 0)
    if not pairs or few <= FEW_COMMON * pairs:
        return ""
    return (
        f"{percent(few / pairs)} of the pairs share fewer than {_samples(results)[1]} samples and "
        "have no correlation: values are missing in one gene or the other. A smaller "
        "estimator.min_samples, or preprocess.pseudocount where zeros were read as missing, keeps "
        "more of them."
    )


def _no_threshold(results: Results) -> str:
    if section(results, "threshold").get("method") != "none" or results.network.empty:
        return ""
    return (
        "No threshold was set (threshold: none): every stored mode is an edge, and many may be "
        "chance."
    )


def _few_samples(results: Results) -> str:
    samples, least = _samples(results)
    if not samples or samples >= 2 * least:
        return ""
    if samples < least:
        return (
            f"Too few samples: there are {count(samples)}, and a mode needs {least} "
            "(estimator.min_samples), so no pair of genes can have one. Lower "
            "estimator.min_samples."
        )
    return (
        f"Few samples: of {count(samples)}, no two groups can have the {least} that a mode needs "
        "(estimator.min_samples). Where a pair has two modes, at most one of them got a "
        "correlation."
    )


def _label_sizes(found: ModeResults) -> list[tuple[str, int]]:
    return [
        (f"{each.name} {label}", int((each.codes == k).sum()))
        for each in found.conditions
        if each.kind == "categorical"
        for k, label in enumerate(each.labels)
    ]


def _named(labels: list[tuple[str, int]]) -> str:
    told = [f"{label} ({count(n)})" for label, n in labels[:N_NAMED]]
    more = len(labels) - N_NAMED
    return listed([*told, counted(more, "more label")] if more > 0 else told)


def _small_labels(results: Results, found: ModeResults) -> str:
    _, least = _samples(results)
    small = [(label, n) for label, n in _label_sizes(found) if n < least]
    if not small:
        return ""
    return (
        f"No mode can be made of these alone, since a mode needs {least} samples: {_named(small)}. "
        "Edges of theirs show only together with other samples, or with a smaller "
        "estimator.min_samples."
    )


def _outliers(results: Results, found: ModeResults) -> str:
    samples, least = _samples(results)
    if not section(results, "estimator").get("outliers_before") or 4 * least >= samples:
        return ""
    rare = [(label, n) for label, n in _label_sizes(found) if least <= n < samples / 4]
    if found.conditions and not rare:
        return ""
    whom = f" Here that can be {_named(rare)}." if rare else ""
    return (
        "Outliers were taken away before pairs were split (outliers_before): a group of fewer than "
        f"a quarter of the samples ({count(samples / 4)}) that lies far from the rest counts as "
        f"outliers, and no mode is made of it.{whom} outliers_before: false keeps such groups."
    )


def _fits(results: Results) -> str:
    counts = results.counts
    fits, unfinished = counts.get("fits", 0), counts.get("fits_unfinished", 0)
    text = ""
    if fits and unfinished > UNFINISHED * fits:
        steps = 100 if results.parameters.get("compatibility") == "kinc" else 200
        text = (
            f"{percent(unfinished / fits)} of {counted(fits, 'fit')} had not settled after {steps} "
            "steps; the number of modes of these pairs, and which samples are in them, is less "
            "sure."
        )
        if steps == 100:
            text += " KINC's fits are like that; compatibility: none lets them go on."
    failed = counts.get("failed", 0)
    if failed:
        text += (
            f"{' ' if text else ''}Of {counted(failed, 'pair')} every fit failed: they have no "
            "mode and are not in the network, however strong their correlation."
        )
    return text


def _kinc(results: Results) -> str:
    samples, _ = _samples(results)
    if results.parameters.get("compatibility") != "kinc" or samples not in COLLIDING:
        return ""
    return (
        f"With {samples} samples two of KINC's starting points are the same sample, so pairs "
        "observed in all of them are never split into two modes. compatibility: none does not have "
        "this fault."
    )


def _forced(results: Results) -> str:
    least = int(section(results, "estimator").get("min_clusters") or 1)
    if least < 2:
        return ""
    return (
        f"Every pair was split into {least} modes or more (min_clusters), whether or not its "
        "samples form groups; cutting one cloud changes its correlation by itself."
    )


def _one_gene(found: ModeResults) -> str:
    apart = differs_in(found.network)
    if apart is None or found.networks.empty:
        return ""
    specific = _condition_edges(found)
    words = apart[specific & (apart != "").to_numpy()]
    other = int((words != "both").sum())
    if other <= SHARE_TOLD * len(words):
        return ""
    return (
        f"In {count(other)} of {counted(len(words), 'condition-specific edge')} the mode differs "
        f"from the pair's other samples in one gene or neither (Welch's test, p > {SMALL_P:g}): "
        "one gene's expression alone, or a cut through one cloud, may have made them. Prefer those "
        "that differ in both."
    )


def _missing(found: ModeResults) -> list[str]:
    """Conditions whose edges may come of values that are missing under one label."""
    categorical = [each for each in found.conditions if each.kind == "categorical"]
    names = unique_names([(each.name,) for each in categorical])
    sentences = []
    for condition, name in zip(categorical, names, strict=True):
        column = f"missing_by_{name}_p_value"
        edges = _condition_edges(found, condition.name)
        if column not in found.network or not edges.any():
            continue
        biased = int((found.network.loc[edges, column] <= SMALL_P).sum())
        if biased > SHARE_TOLD * edges.sum():
            sentences.append(
                f"In {count(biased)} of {counted(int(edges.sum()), 'edge')} that go with "
                f"{condition.name}, values are missing more often under one label than another "
                f"({column} ≤ {SMALL_P:g}): the pattern of missing values may have made them."
            )
    return sentences


def _condition_edges(found: ModeResults, condition: str | None = None) -> np.ndarray[Any, Any]:
    """Of each edge of the network, whether it is in a network of a condition (of any)."""
    keys = ["source", "target", "cluster"]
    table = found.networks
    if condition is not None:
        table = table[table["condition"] == condition]
    wanted = pd.MultiIndex.from_frame(table[keys].astype({"cluster": np.int64}))
    have = pd.MultiIndex.from_frame(found.network[keys].astype({"cluster": np.int64}))
    return np.asarray(have.isin(wanted))
