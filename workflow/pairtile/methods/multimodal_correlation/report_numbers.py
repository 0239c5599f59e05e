"""What the report of a multimodal network warns of, and the numbers of its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import messages_of
from pairtile.methods.multimodal_correlation.conditions import unique_names
from pairtile.methods.multimodal_correlation.report_results import (
    SMALL_P,
    differs_in,
    edges_with_condition,
    label_counts,
    mode_results,
)
from pairtile.report.formats import count, counted, listed

if TYPE_CHECKING:
    from pairtile.declare.messages import Message
    from pairtile.methods.multimodal_correlation.report_results import ModeResults
    from pairtile.report.results import Results

message = messages_of(__package__)

UNFINISHED = 0.05
"""Share of fits that had not settled from which it is said."""

FEW_COMMON = 0.2
"""Share of pairs with too few samples from which it is said."""

SHARE_WARNED = 0.1
"""Share of a condition's edges with a sign of bias from which it is said."""

COLLIDING = (25, 36, 40, 48, 188, 277, 554)
"""Numbers of samples for which two of KINC's starting points are the same sample."""

N_NAMED = 6


def settings(results: Results, key: str) -> dict[str, Any]:
    """A section of the parameters; empty where it is none."""
    found = results.parameters.get(key)
    return found if isinstance(found, dict) else {}


def mixture(results: Results) -> bool:
    """Whether pairs were split into modes at all."""
    return bool(settings(results, "estimator").get("clustering") != "none")


def threshold_method(results: Results) -> str:
    """How the threshold was found, with ``auto`` as it was decided."""
    method = str(settings(results, "threshold").get("method"))
    return str((results.summary.get("threshold") or {})["method"]) if method == "auto" else method


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of modes, threshold, edges, modules and conditions."""
    found, network = results.cached(mode_results), results.network
    heights = [int(n) for n in found.arrays.get("pairs_by_modes", ())]
    sizes = found.modules["module"].value_counts().sort_index()
    first = found.modules.drop_duplicates("module")
    networks = found.networks[["condition", "label"]].drop_duplicates()
    return {
        "mixture": mixture(results),
        "rule": threshold_method(results),
        "limit": None if found.threshold is None else round(found.threshold, 4),
        "partners": found.partners.to_dict(),
        "pairs": len(found.pairs),
        "total": sum(heights),
        "fitted": sum(heights[1:]),
        "several": sum(heights[2:]),
        "modes_of_pairs": [(n, k) for k, n in enumerate(heights) if k and (n or k == 1)],
        "whole": int((network["n_modes"] == 1).sum()) if "n_modes" in network else 0,
        "negative": int((network["correlation"] < 0).sum()),
        "both_signs": int((found.pairs["signs"] > 1).sum()),
        "modules": [(int(sizes[m]), gene) for m, gene in first[["module", "gene"]].to_numpy()],
        "specific": edges_with_condition(found),
        "networks": len(networks),
        "conditions": _conditions(results, found),
    }


def _conditions(results: Results, found: ModeResults) -> list[dict[str, object]]:
    """Each condition, the labels that edges go with, most first, and what was tested."""
    said = {
        (each["code"], each["numbers"]["condition"]): each["numbers"]
        for each in results.summary.get("messages") or []
        if each["code"] in ("condition_tested", "counting_noise_thinned")
    }
    counts = label_counts(found).sort_values("edges", ascending=False, kind="stable")
    counts = counts[counts["edges"] > 0]
    return [
        {
            "name": each.name,
            "categorical": each.kind == "categorical",
            "labels": counts[counts["condition"] == each.name].to_dict("records"),
            "tested": said.get(("condition_tested", each.name)),
            "thinned": ("counting_noise_thinned", each.name) in said,
        }
        for each in found.conditions
    ]


def warnings(results: Results) -> list[Message]:
    """Warnings that the settings, counts and tables themselves give rise to."""
    found = results.cached(mode_results)
    said = [*_of_samples(results)]
    if threshold_method(results) == "none" and not results.network.empty:
        said.append(message("no_threshold_set"))
    if mixture(results):
        said += [*_of_labels(results, found), *_of_fits(results), *_one_gene(found)]
    return [*said, *_missing(found)]


def _of_samples(results: Results) -> Iterator[Message]:
    counts, estimator = results.counts, settings(results, "estimator")
    samples, least = counts.get("samples") or 0, int(estimator.get("min_samples") or 0)
    pairs, few = counts.get("pairs", 0), counts.get("too_few_samples", 0)
    if pairs and few > FEW_COMMON * pairs:
        yield message("few_common_samples", share=few / pairs, least=least)
    if not mixture(results) or not samples:
        return
    if samples < least:
        yield message("too_few_samples_for_a_mode", samples=samples, least=least)
    elif samples < 2 * least:
        yield message("too_few_samples_for_two_modes", samples=samples, least=least)


def _of_labels(results: Results, found: ModeResults) -> Iterator[Message]:
    """Of labels with too few samples for a mode, and of those that may be taken for outliers."""
    estimator, samples = settings(results, "estimator"), results.counts.get("samples") or 0
    least = int(estimator.get("min_samples") or 0)
    sizes = [
        (f"{each.name} {label}", int((each.codes == k).sum()))
        for each in found.conditions
        if each.kind == "categorical"
        for k, label in enumerate(each.labels)
    ]
    small = [(label, n) for label, n in sizes if n < least]
    if small:
        yield message("labels_too_small", least=least, labels=_named(small))
    rare = [(label, n) for label, n in sizes if least <= n < samples / 4]
    cut = estimator.get("outliers_before") and 4 * least < samples
    if cut and (rare or not found.conditions):
        which = f"; here that can be {_named(rare)}" if rare else ""
        yield message("groups_taken_for_outliers", quarter=samples / 4, which=which)


def _named(labels: list[tuple[str, int]]) -> str:
    named = [f"{label} ({count(n)})" for label, n in labels[:N_NAMED]]
    more = len(labels) - N_NAMED
    return listed([*named, counted(more, "more label")] if more > 0 else named)


def _of_fits(results: Results) -> Iterator[Message]:
    counts, kinc = results.counts, results.parameters.get("compatibility") == "kinc"
    fits, unfinished = counts.get("fits", 0), counts.get("fits_unfinished", 0)
    if fits and unfinished > UNFINISHED * fits:
        code = "kinc_fits_not_settled" if kinc else "fits_not_settled"
        yield message(code, share=unfinished / fits, fits=fits)
    if failed := counts.get("failed", 0):
        yield message("fits_failed_in_pairs", failed=failed)
    if kinc and counts.get("samples") in COLLIDING:
        yield message("starts_coincide", samples=counts["samples"])
    least = int(settings(results, "estimator").get("min_clusters") or 1)
    if least > 1:
        yield message("modes_forced", least=least)


def _one_gene(found: ModeResults) -> Iterator[Message]:
    apart = differs_in(found.network)
    if apart is None or found.networks.empty:
        return
    words = apart[_condition_edges(found) & (apart != "").to_numpy()]
    other = int((words != "both").sum())
    if other > SHARE_WARNED * len(words):
        yield message("modes_differ_in_one_gene", n=other, edges=len(words), p=SMALL_P)


def _missing(found: ModeResults) -> Iterator[Message]:
    """Of conditions whose edges may come of values that are missing under one label."""
    categorical = [each for each in found.conditions if each.kind == "categorical"]
    names = unique_names([(each.name,) for each in categorical])
    for condition, name in zip(categorical, names, strict=True):
        column = f"missing_by_{name}_p_value"
        edges = _condition_edges(found, condition.name)
        if column not in found.network or not edges.any():
            continue
        biased, total = int((found.network.loc[edges, column] <= SMALL_P).sum()), int(edges.sum())
        if biased > SHARE_WARNED * total:
            yield message(
                "missing_under_a_label", n=biased, edges=total, condition=condition.name,
                column=column, p=SMALL_P,
            )  # fmt: skip


def _condition_edges(found: ModeResults, condition: str | None = None) -> NDArray[np.bool_]:
    """Of each edge of the network, whether it is in a network of a condition (of any)."""
    keys = ["source", "target", "cluster"]
    table = found.networks
    if condition is not None:
        table = table[table["condition"] == condition]
    wanted = pd.MultiIndex.from_frame(table[keys].astype({"cluster": np.int64}))
    have = pd.MultiIndex.from_frame(found.network[keys].astype({"cluster": np.int64}))
    return np.asarray(have.isin(wanted))
